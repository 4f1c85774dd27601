//go:build unix

package jsonrpc

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// tryWriter writes to a pipe or socket what it takes without blocking. The
// runtime keeps such descriptors in non-blocking mode; its own Write would
// wait for room, which a caller's goroutine must not.
type tryWriter struct {
	conn syscall.RawConn
	// fn is bound once so that a write allocates nothing; the fields below
	// carry its argument and results.
	fn  func(fd uintptr) bool
	buf []byte
	n   int
	err error
}

// newTryWriter returns nil for a stream that is not a pollable descriptor.
func newTryWriter(w io.Writer) *tryWriter {
	f, ok := w.(interface {
		syscall.Conn
		SetWriteDeadline(time.Time) error
	})
	// A descriptor without deadlines is a blocking one.
	if !ok || f.SetWriteDeadline(time.Time{}) != nil {
		return nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	t := &tryWriter{conn: conn}
	t.fn = t.attempt
	return t
}

// write returns 0 and no error when the stream is full. Not safe for
// concurrent use.
func (t *tryWriter) write(b []byte) (int, error) {
	t.buf = b
	err := t.conn.Write(t.fn)
	t.buf = nil
	if err != nil {
		return 0, err
	}
	return t.n, t.err
}

func (t *tryWriter) attempt(fd uintptr) bool {
	t.n, t.err = 0, nil
	for {
		n, err := syscall.Write(int(fd), t.buf)
		switch {
		case err == nil:
			t.n = n
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EAGAIN):
			t.err = err
		}
		return true // never wait here
	}
}
