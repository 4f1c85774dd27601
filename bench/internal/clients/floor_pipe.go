package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// child is a server on pipes.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func startChild(ctx context.Context, argv []string) (*child, error) {
	// The process outlives ctx, which bounds connecting.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{cmd, in, out}, nil
}

// stop closes the pipe, which ends the server.
func (c *child) stop() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}

// pipe is the raw floor: write a line, read a line, on the caller's goroutine.
// One call at a time, and contexts do not count.
type pipe struct {
	*child
	frames frames
	buf    []byte
}

func dialPipe(ctx context.Context, o Options) (Client, error) {
	c, err := startChild(ctx, o.Argv)
	if err != nil {
		return nil, err
	}
	p := &pipe{child: c, frames: frames{modern: o.Modern}, buf: make([]byte, 64<<10)}
	if err := p.open(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *pipe) open() error {
	_, rest := p.frames.opening()
	answer, _, err := p.exchange(withID(nil, 1, rest))
	if err != nil {
		return err
	}
	if bytes.Contains(answer, errorKey) {
		return fmt.Errorf("handshake: %.200s", answer)
	}
	if !p.frames.modern {
		_, err = io.WriteString(p.in, initialized)
	}
	return err
}

// exchange sends a request and reads up to the end of the next line. It returns
// what is in memory of the line, and the length of all of it.
func (p *pipe) exchange(request []byte) (head []byte, size int, err error) {
	if _, err := p.in.Write(request); err != nil {
		return nil, 0, err
	}
	n := 0
	for {
		if n == len(p.buf) {
			// A large answer is read and thrown away.
			n = 0
		}
		m, err := p.out.Read(p.buf[n:])
		if err != nil {
			return nil, 0, err
		}
		n += m
		size += m
		// One request is under way, so the newline is the last byte.
		if p.buf[n-1] == '\n' {
			return p.buf[:n], size, nil
		}
	}
}

// Call implements Client.
func (p *pipe) Call(_ context.Context, tool string, args any) (int, error) {
	request, err := p.frames.whole(tool, args)
	if err != nil {
		return 0, err
	}
	answer, size, err := p.exchange(request)
	if err != nil {
		return 0, err
	}
	if size > len(p.buf) {
		return size, nil
	}
	return textLength(answer)
}

// List implements Client.
func (p *pipe) List(context.Context) (int, error) {
	if _, err := p.in.Write(withID(nil, 1, p.frames.rest("tools/list", ""))); err != nil {
		return 0, err
	}
	return countTools(p.out, p.buf, true)
}

// Close implements Client.
func (p *pipe) Close() error { return p.stop() }

// countTools reads an answer of any length through buf and counts the tools in
// it; up to the end of the line, or of the reader.
func countTools(r io.Reader, buf []byte, line bool) (int, error) {
	n, tools := 0, 0
	for {
		m, err := r.Read(buf[n:])
		n += m
		tools += bytes.Count(buf[:n], nameKey)
		done := errors.Is(err, io.EOF) || line && n > 0 && buf[n-1] == '\n'
		if done {
			return tools, nil
		}
		if err != nil {
			return 0, err
		}
		// The key may be cut in two by the end of what was read.
		keep := min(n, len(nameKey)-1)
		copy(buf, buf[n-keep:n])
		n = keep
	}
}
