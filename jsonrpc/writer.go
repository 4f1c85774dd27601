package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// inlineLimit is the size up to which params are copied into the writer's
// buffer. Larger params are written from where they are, so that 16 MiB of
// arguments are not held twice.
const inlineLimit = 32 << 10

// writer sends frames down one stream, in the order they were accepted. The
// caller who finds it idle writes for everybody, as far as the stream takes
// bytes without blocking; the rest is left to a goroutine of the writer's own.
// So a peer that does not read never blocks a caller (STDIO-05), and many
// concurrent small frames share one system call.
//
// Positions count bytes accepted since the start: a frame accepted at
// [from, to) has not begun to leave while from >= taken, and has left
// completely when to <= written.
type writer struct {
	out    io.Writer
	try    *tryWriter  // nil when out cannot be written to without blocking
	limit  uint64      // bytes that may wait
	broken func(error) // told once when out fails, under no lock

	wake chan struct{} // work for the goroutine; capacity 1
	quit chan struct{} // closed to end the goroutine
	done chan struct{} // closed when it has ended

	mu       sync.Mutex
	queue    []segment
	accepted uint64
	taken    uint64
	written  uint64
	busy     bool // somebody writes
	err      error
	spare    []byte
	room     chan struct{} // closed when bytes have left; nil when nobody waits
	quiet    chan struct{} // closed when the writer falls idle; nil when nobody waits
	current  []segment     // being written; owned by whoever is busy
}

// frame is one outgoing message.
type frame struct {
	id       ID // zero for a notification
	method   string
	params   json.RawMessage
	response *Response // instead of the above
}

// appendHead appends the frame up to, but without, its params.
func (f *frame) appendHead(dst []byte) []byte {
	if f.id.IsZero() {
		return Notification{Method: f.method}.appendHead(dst)
	}
	return Request{ID: f.id, Method: f.method}.appendHead(dst)
}

func (f *frame) append(dst []byte) []byte {
	if f.response != nil {
		return append(f.response.AppendJSON(dst), '\n')
	}
	return append(appendParams(f.appendHead(dst), f.params), '\n')
}

// segment is a run of bytes to write: many small frames, or one large one.
type segment struct {
	from, to uint64
	small    []byte
	sent     int // bytes of small that have left
	large    [3][]byte
	holes    []span // frames taken back, as positions
}

type span struct{ from, to uint64 }

func newWriter(out io.Writer, limit int, broken func(error)) *writer {
	w := &writer{
		out: out, try: newTryWriter(out), limit: uint64(limit), broken: broken,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// errFull reports that more than the limit waits to be sent.
var errFull = errors.New("the peer does not read: too much waits to be sent")

// accept queues one frame and writes what it can. It waits only while more
// than the limit is queued already. The span says where the frame stands.
func (w *writer) accept(ctx context.Context, f *frame) (span, error) {
	for {
		at, err := w.acceptNow(f)
		if err != errFull {
			return at, err
		}
		select {
		case <-w.roomMade():
		case <-ctx.Done():
			return span{}, context.Cause(ctx)
		}
	}
}

// acceptNow is accept without waiting: errFull instead.
func (w *writer) acceptNow(f *frame) (span, error) {
	w.mu.Lock()
	if w.err != nil || w.accepted-w.written > w.limit {
		defer w.mu.Unlock()
		if w.err != nil {
			return span{}, w.err
		}
		return span{}, errFull
	}
	at := w.push(f)
	if w.busy {
		w.mu.Unlock()
		return at, nil
	}
	w.busy = true
	w.mu.Unlock()
	w.start()
	return at, nil
}

// roomMade is closed as soon as it may be worth trying again.
func (w *writer) roomMade() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	room := w.room
	if room == nil {
		room = make(chan struct{})
		w.room = room
	}
	if w.err != nil || w.accepted-w.written <= w.limit {
		close(room)
		w.room = nil
	}
	return room
}

// push appends a frame to the queue. Requires w.mu.
func (w *writer) push(f *frame) span {
	at := span{from: w.accepted}
	if len(f.params) > inlineLimit {
		head := append(f.appendHead(nil), `,"params":`...)
		w.accepted += uint64(len(head) + len(f.params) + len("}\n"))
		at.to = w.accepted
		w.queue = append(w.queue, segment{from: at.from, to: at.to, large: [3][]byte{head, f.params, []byte("}\n")}})
		return at
	}
	last := len(w.queue) - 1
	if last < 0 || w.queue[last].small == nil {
		w.queue = append(w.queue, segment{from: at.from, small: w.spare[:0]})
		w.spare = nil
		last++
		if w.queue[last].small == nil {
			w.queue[last].small = make([]byte, 0, 4<<10)
		}
	}
	seg := &w.queue[last]
	before := len(seg.small)
	seg.small = f.append(seg.small)
	w.accepted += uint64(len(seg.small) - before)
	at.to, seg.to = w.accepted, w.accepted
	return at
}

// takeBack removes a frame that has not begun to leave and reports whether it
// did: true proves that the peer will never see it.
func (w *writer) takeBack(at span) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.from < w.taken {
		return false
	}
	for i := range w.queue {
		seg := &w.queue[i]
		if at.from < seg.from || at.to > seg.to {
			continue
		}
		if seg.small == nil {
			seg.large = [3][]byte{}
		}
		seg.holes = append(seg.holes, at)
		return true
	}
	return false
}

// left reports whether a whole frame was accepted by the stream.
func (w *writer) left(at span) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return at.to <= w.written
}

// start writes without blocking, for whoever has just become busy.
func (w *writer) start() {
	// A few rounds pick up what others queued meanwhile; then the caller has
	// done enough for the others.
	const rounds = 5
	for round := 0; w.try != nil; round++ {
		if !w.take() {
			return
		}
		if round == rounds {
			break
		}
		whole, err := w.tryCurrent()
		if err != nil {
			w.breaks(err)
			return
		}
		if !whole {
			break
		}
	}
	w.wake <- struct{}{} // never blocks: only the busy one sends
}

// run writes what callers left, blocking as long as the stream does.
func (w *writer) run() {
	defer close(w.done)
	for {
		select {
		case <-w.wake:
		case <-w.quit:
			return
		}
		for w.take() {
			if err := w.writeCurrent(); err != nil {
				w.breaks(err)
				return
			}
		}
	}
}

// take makes the queue current. false means that there is nothing to write,
// and that the writer is idle from now on.
func (w *writer) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return false
	}
	if len(w.current) > 0 {
		return true
	}
	if len(w.queue) == 0 {
		w.busy = false
		if w.quiet != nil {
			close(w.quiet)
			w.quiet = nil
		}
		return false
	}
	w.current, w.queue = w.queue, w.current[:0]
	w.taken = w.accepted
	for i := range w.current {
		w.current[i].closeHoles()
	}
	return true
}

// closeHoles removes frames that were taken back from the bytes to write.
func (s *segment) closeHoles() {
	if len(s.holes) == 0 || s.small == nil {
		return
	}
	slices.SortFunc(s.holes, func(a, b span) int { return int(int64(b.from) - int64(a.from)) })
	for _, h := range s.holes {
		s.small = slices.Delete(s.small, int(h.from-s.from), int(h.to-s.from))
	}
}

// tryCurrent writes current without blocking. whole says that all of it left.
func (w *writer) tryCurrent() (whole bool, err error) {
	for len(w.current) > 0 {
		rest := w.current[0].rest()
		for len(rest) > 0 {
			n, err := w.try.write(rest)
			if err != nil {
				return false, err
			}
			if n == 0 {
				return false, nil
			}
			w.advance(n)
			rest = w.current[0].rest()
		}
		w.finish()
	}
	return true, nil
}

func (w *writer) writeCurrent() error {
	for len(w.current) > 0 {
		for rest := w.current[0].rest(); len(rest) > 0; rest = w.current[0].rest() {
			n, err := w.out.Write(rest)
			w.advance(n)
			if err != nil {
				return err
			}
		}
		w.finish()
	}
	return nil
}

// rest returns the next bytes of the segment to write.
func (s *segment) rest() []byte {
	if s.small != nil {
		return s.small[s.sent:]
	}
	for _, part := range s.large {
		if len(part) > 0 {
			return part
		}
	}
	return nil
}

// advance notes that n bytes of the current segment have left.
func (w *writer) advance(n int) {
	if n <= 0 {
		return
	}
	seg := &w.current[0]
	if seg.small != nil {
		seg.sent += n
	} else {
		for i := range seg.large {
			if len(seg.large[i]) > 0 {
				seg.large[i] = seg.large[i][n:]
				break
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(seg.holes) > 0 {
		// Positions inside do not match any more. Counting all of it as gone
		// can only turn "not sent" into "unknown", never the other way.
		w.written = seg.to
		return
	}
	w.written += uint64(n)
}

// finish drops the current segment, all of which has left.
func (w *writer) finish() {
	seg := w.current[0]
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = seg.to
	if seg.small != nil && w.spare == nil && cap(seg.small) <= lineBuffer {
		w.spare = seg.small[:0]
	}
	w.current = slices.Delete(w.current, 0, 1)
	if w.room != nil {
		close(w.room)
		w.room = nil
	}
}

// breaks ends the writer because the stream failed.
func (w *writer) breaks(err error) {
	w.fail(err)
	w.broken(err)
}

// fail ends the writer: nothing is accepted any more.
func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	for _, waiters := range []*chan struct{}{&w.room, &w.quiet} {
		if *waiters != nil {
			close(*waiters)
			*waiters = nil
		}
	}
}

// drain waits until everything accepted has left, but no longer than bound.
func (w *writer) drain(bound time.Duration) {
	w.mu.Lock()
	if w.err != nil || !w.busy {
		w.mu.Unlock()
		return
	}
	if w.quiet == nil {
		w.quiet = make(chan struct{})
	}
	quiet := w.quiet
	w.mu.Unlock()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	}
}

// close ends the goroutine once its present write returns; close does not
// wait for that, since only closing the stream makes it return.
func (w *writer) close(err error) {
	w.fail(err)
	close(w.quit)
}
