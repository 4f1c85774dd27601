package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

const (
	// lineBuffer is the size of the buffer of a busy connection: that of a pipe on
	// Linux. Longer lines are collected in chunks.
	lineBuffer = 64 << 10
	// idleBuffer is the size of the buffer that a connection keeps while nothing
	// arrives. When a read fills it, the connection borrows a larger one until that
	// is empty.
	idleBuffer = 4 << 10
)

// lineBuffers are the buffers that no connection uses at the moment. Lines leave a
// buffer only as copies, see [envelope.own].
var lineBuffers = sync.Pool{New: func() any { return new([lineBuffer]byte) }}

// errTooLong reports a line over the limit. The line has been skipped.
var errTooLong = errors.New("longer than the limit")

// lineReader splits a stream into lines up to a limit (transports, "stdio"). It
// allocates only for lines longer than lineBuffer. It collects those in chunks and
// joins them once, which takes about twice the memory of the line.
type lineReader struct {
	r     io.Reader
	limit int
	// crossed, if set, is called with the start of a line as soon as the line is
	// over the limit: the line may never end, and a call may wait for its answer.
	crossed func(head []byte)
	idle    []byte
	busy    *[lineBuffer]byte // borrowed, mostly nil
	buf     []byte            // idle or busy
	filled  bool              // the last read filled buf, so more may wait
	unread
	err error
	// reads counts the reads that returned bytes. One goroutine writes it.
	reads atomic.Uint64
}

// unread is the part of the buffer that has not been returned yet.
type unread struct{ start, end int }

// line is one line without its newline.
type line struct {
	text []byte
	// owned is set if text belongs to the caller. Otherwise text is valid until the
	// next call of next.
	owned bool
	// whole is how many bytes share the memory of text, if more than its own.
	whole int
	// open is set if the stream ended before the line.
	open bool
	// tail is the end of a line over the limit; text is its start.
	tail []byte
}

func newLineReader(r io.Reader, limit int) *lineReader {
	l := &lineReader{r: r, limit: limit, idle: make([]byte, idleBuffer)}
	l.buf = l.idle
	return l
}

// next returns the next line. A last line without newline is a line. The error is
// errTooLong, with the start and the tail of the line, or that of the stream.
func (l *lineReader) next() (line, error) {
	for {
		if at := bytes.IndexByte(l.buf[l.start:l.end], '\n'); at >= 0 {
			text := l.buf[l.start : l.start+at]
			l.start += at + 1
			return l.judge(text)
		}
		if l.err != nil {
			if l.start == l.end {
				return line{}, l.err
			}
			text := l.buf[l.start:l.end]
			l.start = l.end
			got, err := l.judge(text)
			got.open = true
			return got, err
		}
		l.room()
		if l.end == len(l.buf) {
			return l.long()
		}
		n, err := l.read(l.buf[l.end:])
		l.end += n
		l.filled = l.end == len(l.buf)
		l.err = err
	}
}

// read reads from the stream once, and counts the read if it returned bytes.
func (l *lineReader) read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.reads.Store(l.reads.Load() + 1)
	}
	return n, err
}

// room prepares the buffer for a read. It moves unread bytes to the start, and
// borrows or returns the larger buffer. A line longer than that leaves no room.
func (l *lineReader) room() {
	rest := l.buf[l.start:l.end]
	switch {
	case l.filled && l.busy == nil:
		l.busy = lineBuffers.Get().(*[lineBuffer]byte) // the pool holds nothing else
		l.buf = l.busy[:]
	case len(rest) == 0 && l.busy != nil:
		lineBuffers.Put(l.busy)
		l.busy, l.buf = nil, l.idle
	case l.start == 0:
		return
	}
	l.unread = unread{end: copy(l.buf, rest)}
	l.filled = false
}

// ready reports whether next has a whole line without reading.
func (l *lineReader) ready() bool {
	return bytes.IndexByte(l.buf[l.start:l.end], '\n') >= 0
}

// more reads once, and reports whether the caller may call it again. It may not
// after an error, which next returns; for a line longer than the buffer, which next
// collects; or after the stream's deadline has passed, which is no error.
func (l *lineReader) more() bool {
	l.room()
	if l.err != nil || l.end == len(l.buf) {
		return false
	}
	n, err := l.read(l.buf[l.end:])
	l.end += n
	l.filled = l.end == len(l.buf)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	l.err = err
	return err == nil
}

// judge returns a line that is in the buffer, or errTooLong.
func (l *lineReader) judge(text []byte) (line, error) {
	if len(text) > l.limit {
		return line{text: text, tail: text}, errTooLong
	}
	return line{text: text}, nil
}

// long collects a line that is longer than the buffer, which has its start.
func (l *lineReader) long() (line, error) {
	chunks := [][]byte{bytes.Clone(l.buf[:l.end])}
	total := l.end
	l.unread = unread{}
	ended, open := false, false
	for total <= l.limit && !ended {
		// Growing by an eighth wastes less than 12 %.
		chunk := make([]byte, max(lineBuffer, total/8))
		var n int
		n, ended, open = l.fill(chunk)
		chunks = append(chunks, chunk[:n])
		total += n
	}
	if total > l.limit {
		return l.skip(chunks, ended)
	}
	text := make([]byte, 0, total)
	for _, chunk := range chunks {
		text = append(text, chunk...)
	}
	return line{text: text, owned: true, open: open}, nil
}

// fill reads into chunk until it is full or the line has ended. open is set if the
// stream ended first. Bytes after the newline are kept in the buffer.
func (l *lineReader) fill(chunk []byte) (n int, ended, open bool) {
	for n < len(chunk) {
		got, err := l.read(chunk[n:min(len(chunk), n+lineBuffer)])
		if at := bytes.IndexByte(chunk[n:n+got], '\n'); at >= 0 {
			l.unread = unread{end: copy(l.buf, chunk[n+at+1:n+got])}
			l.err = err
			return n + at, true, false
		}
		n += got
		if err != nil {
			l.err = err
			return n, true, true
		}
	}
	return n, false, false
}

// skip reads to the end of a line over the limit. It keeps the start and the end of
// the line, where the id may be.
func (l *lineReader) skip(chunks [][]byte, ended bool) (line, error) {
	const keep = 4 << 10
	over := line{text: chunks[0]}
	var tail []byte
	for _, chunk := range chunks[max(0, len(chunks)-2):] { // the last may be short
		tail = append(tail, chunk[max(0, len(chunk)-keep):]...)
	}
	if !ended && l.crossed != nil {
		l.crossed(over.text)
	}
	scratch := make([]byte, lineBuffer)
	for !ended {
		var n int
		n, ended, _ = l.fill(scratch)
		tail = append(tail, scratch[:n]...)
		tail = append(tail[:0], tail[max(0, len(tail)-keep):]...)
	}
	over.tail = tail
	return over, errTooLong
}
