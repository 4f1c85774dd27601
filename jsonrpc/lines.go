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
	// lineBuffer is the size of the buffer a busy connection reads into: what a
	// pipe holds on Linux. Longer lines are gathered in chunks.
	lineBuffer = 64 << 10
	// idleBuffer is what a connection keeps while nothing comes. It borrows a
	// larger one when a read fills this, and returns that once it is empty.
	idleBuffer = 4 << 10
)

// lineBuffers are those that no connection uses at the moment. No line leaves its
// buffer but as a copy, see [envelope.own].
var lineBuffers = sync.Pool{New: func() any { return new([lineBuffer]byte) }}

// errTooLong reports a line over the limit. The line has been skipped.
var errTooLong = errors.New("longer than the limit")

// lineReader cuts a stream into lines of any length up to a limit
// (transports, "stdio"). It allocates only for lines over lineBuffer: those
// are gathered in chunks and joined once, which costs about twice the line.
type lineReader struct {
	r     io.Reader
	limit int
	// crossed, if set, gets the start of a line as soon as the limit is
	// passed: the line may never end, and somebody waits for what it answers.
	crossed func(head []byte)
	idle    []byte
	busy    *[lineBuffer]byte // borrowed, nil mostly
	buf     []byte            // one of the two
	filled  bool              // by the last read: more waits
	unread
	err error
	// reads counts the reads that brought something. One goroutine writes it.
	reads atomic.Uint64
}

// unread is the part of the buffer that has not been returned yet.
type unread struct{ start, end int }

// line is one line without its newline.
type line struct {
	text []byte
	// owned says that text belongs to the caller; otherwise it is valid until
	// the next call of next.
	owned bool
	// whole is how many bytes share the memory of text, where those are more.
	whole int
	// open says that the stream ended before the line did.
	open bool
	// tail is the end of a line that was over the limit, text its start.
	tail []byte
}

func newLineReader(r io.Reader, limit int) *lineReader {
	l := &lineReader{r: r, limit: limit, idle: make([]byte, idleBuffer)}
	l.buf = l.idle
	return l
}

// next returns the next line. A last line without newline counts. The error is
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

// read is a Read of the stream, which is counted if it brings something.
func (l *lineReader) read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.reads.Store(l.reads.Load() + 1)
	}
	return n, err
}

// room prepares the buffer for a read: what is unread moves to its start, and a
// larger buffer is borrowed or returned. There is no room for a line that is longer
// than the large one.
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

// more reads once, and reports whether reading on like this is right: not after
// an error, which next returns, nor for a line longer than the buffer, which
// next gathers, nor when the stream's deadline passed, which ends nothing.
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

// judge returns a line that lies in the buffer, or says that it is too long.
func (l *lineReader) judge(text []byte) (line, error) {
	if len(text) > l.limit {
		return line{text: text, tail: text}, errTooLong
	}
	return line{text: text}, nil
}

// long gathers a line that does not fit the buffer, which it begins with.
func (l *lineReader) long() (line, error) {
	chunks := [][]byte{bytes.Clone(l.buf[:l.end])}
	total := l.end
	l.unread = unread{}
	ended, open := false, false
	for total <= l.limit && !ended {
		// An eighth of what is there keeps the waste under 12 %.
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

// fill reads into chunk until it is full or the line has ended, open when the
// stream has. What follows the newline is kept in the buffer.
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

// skip reads on to the end of a line that is over the limit, unless it has
// ended, and keeps its two ends, where an id may be found.
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
