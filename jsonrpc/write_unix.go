//go:build unix

package jsonrpc

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// tryWriter writes to a pipe or socket without blocking. The runtime keeps such
// descriptors in non-blocking mode, but its Write waits for room. A caller's
// goroutine must not wait for that.
type tryWriter struct {
	conn syscall.RawConn
	// fn is bound once, so that a write allocates nothing. The fields below are its
	// argument and results.
	fn  func(fd uintptr) bool
	buf []byte
	n   int
	err error
}

// newTryWriter returns nil for a stream that is not a pollable descriptor. It
// accepts only types of the standard library: a type that embeds one of them has
// the same methods, but may have a Write of its own.
func newTryWriter(w io.Writer) *tryWriter {
	var f interface {
		syscall.Conn
		SetWriteDeadline(time.Time) error
	}
	switch w := w.(type) {
	case *os.File:
		f = w
	case *net.TCPConn:
		f = w
	case *net.UnixConn:
		f = w
	default:
		return nil
	}
	// A descriptor without deadlines is a blocking one.
	if f.SetWriteDeadline(time.Time{}) != nil {
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
	t.n, t.err = writeFD(fd, t.buf)
	return true // do not wait for room
}

// writeAll writes the queue of w until it is empty. While it waits for a full
// stream, no bytes are committed, so that frames can be taken back.
func (t *tryWriter) writeAll(w *writer) error {
	var n int
	var failed error
	err := t.conn.Write(func(fd uintptr) bool {
		for {
			buf := w.next(n)
			if buf == nil {
				return true
			}
			if n, failed = writeFD(fd, buf); failed != nil || n == 0 {
				w.settle(0)
				return failed != nil // false: called again when there is room
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// writeFD writes once. 0 and no error mean that the stream is full.
func writeFD(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case !errors.Is(err, syscall.EINTR):
			return 0, err
		}
	}
}
