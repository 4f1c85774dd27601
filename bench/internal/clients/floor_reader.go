package clients

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// places is how many calls the floor can have in flight.
const places = 16 << 10

// reader is the floor of a client that takes concurrent calls: writes under a
// mutex, one write a call, and a goroutine that reads and finds the caller.
type reader struct {
	*child
	frames frames
	free   chan int
	waits  [places]chan answerSize
	gone   chan struct{}

	mu  sync.Mutex // guards writes and buf
	buf []byte
}

type answerSize struct {
	size int
	err  error
}

func dialReader(ctx context.Context, o Options) (Client, error) {
	c, err := startChild(ctx, o.Argv)
	if err != nil {
		return nil, err
	}
	r := &reader{child: c, frames: frames{modern: o.Modern}, free: make(chan int, places), gone: make(chan struct{})}
	for i := range places {
		r.waits[i] = make(chan answerSize, 1)
		r.free <- i
	}
	go r.read()
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *reader) open(ctx context.Context) error {
	_, rest := r.frames.opening()
	if _, err := r.exchange(ctx, rest); err != nil {
		return err
	}
	if r.frames.modern {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := io.WriteString(r.in, initialized)
	return err
}

// read gives each answer to its caller. Long lines are counted, not kept.
func (r *reader) read() {
	defer close(r.gone)
	lines := bufio.NewReaderSize(r.out, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		id := idOf(line)
		var a answerSize
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			a.size = len(line)
			for errors.Is(err, bufio.ErrBufferFull) {
				line, err = lines.ReadSlice('\n')
				a.size += len(line)
			}
		case bytes.Contains(line, errorKey):
			a.err = fmt.Errorf("the server refused: %.200s", line)
		default:
			// An answer without text is one of the handshake.
			a.size, a.err = textLength(line)
			if a.err != nil && !bytes.Contains(line, []byte(`"content"`)) {
				a.err = nil
			}
		}
		if err != nil {
			return
		}
		if id < 0 || id >= places {
			continue
		}
		r.waits[id] <- a
	}
}

// exchange sends a request and waits. The place of a call that was given up is
// not used again, so a late answer finds nobody else.
func (r *reader) exchange(ctx context.Context, rest []byte) (int, error) {
	id := <-r.free
	if err := r.write(id, rest); err != nil {
		return 0, err
	}
	select {
	case a := <-r.waits[id]:
		r.free <- id
		return a.size, a.err
	case <-ctx.Done():
		return 0, ended(ctx)
	case <-r.gone:
		return 0, errGone
	}
}

func (r *reader) write(id int, rest []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(rest) > 64<<10 {
		// Not worth a copy.
		r.buf = withID(r.buf[:0], id, nil)
		if _, err := r.in.Write(r.buf); err != nil {
			return err
		}
		_, err := r.in.Write(rest)
		return err
	}
	r.buf = withID(r.buf[:0], id, rest)
	_, err := r.in.Write(r.buf)
	return err
}

// Call implements Client.
func (r *reader) Call(ctx context.Context, tool string, args any) (int, error) {
	rest, err := r.frames.call(tool, args)
	if err != nil {
		return 0, err
	}
	return r.exchange(ctx, rest)
}

// List returns how many bytes the list has: this floor looks into nothing.
func (r *reader) List(ctx context.Context) (int, error) {
	return r.exchange(ctx, r.frames.rest("tools/list", ""))
}

// Close implements Client.
func (r *reader) Close() error {
	err := r.in.Close()
	<-r.gone
	return errors.Join(err, r.cmd.Wait())
}
