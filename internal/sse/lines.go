package sse

import (
	"bytes"
	"errors"
	"io"
)

// startBuffer is the size of the buffer for lines. Longer lines are gathered in chunks.
const startBuffer = 4 << 10

// line returns the next line without its end. The slice is valid until the next call. If a line
// is over the limit, it consumes the line, marks the event and returns a comment, which is not a
// field.
func (r *Reader) line() ([]byte, error) {
	scanned := 0 // bytes of the window without a line end
	for {
		window := r.buf[r.start:r.end]
		if r.skipLF && len(window) > 0 {
			r.skipLF = false
			if window[0] == '\n' {
				r.start++
				window = window[1:]
			}
		}
		if at := lineEnd(window[scanned:]); at >= 0 {
			line := window[:scanned+at]
			r.skipLF = window[len(line)] == '\r'
			r.start += len(line) + 1
			if len(line) > r.maxLine+fieldSlack {
				text := valueOf(line)
				r.tooLong(text, text)
				return comment, nil
			}
			if !r.started {
				r.started = true
				line = bytes.TrimPrefix(line, bom)
			}
			return line, nil
		}
		if len(window) > r.maxLine+fieldSlack {
			text := valueOf(window)
			r.tooLong(text, text)
			return comment, r.discardLine()
		}
		if len(window) > 0 && len(window) == len(r.buf) {
			return r.long(window)
		}
		scanned = len(window)
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

var (
	bom      = []byte("\uFEFF")
	comment  = []byte(":")
	lineFeed = []byte("\n")
	dataName = []byte("data:")
)

// valueOf returns the value of a data line, and other lines unchanged.
func valueOf(line []byte) []byte {
	value, ok := bytes.CutPrefix(line, dataName)
	if !ok {
		return line
	}
	return bytes.TrimPrefix(value, []byte(" "))
}

// long reads a line that is longer than the buffer. Data goes directly into the event, and long
// returns a comment; otherwise it returns the line of the other field.
func (r *Reader) long(head []byte) ([]byte, error) {
	if !r.started {
		r.started = true
		head = bytes.TrimPrefix(head, bom)
	}
	isData := bytes.HasPrefix(head, dataName)
	into := &r.data
	switch {
	case isData && r.over != nil:
		r.over.Tail = append(r.over.Tail, '\n')
		return comment, r.discardLine()
	case isData:
		r.nextData()
	default:
		into = &gathered{}
	}
	into.add(valueOf(head))
	r.start = r.end
	for size, ended := len(head), false; ; {
		if size > r.maxLine+fieldSlack || r.data.size > r.maxEvent {
			r.tooLong(into.head(), into.tail())
			if ended {
				return comment, nil
			}
			return comment, r.discardLine()
		}
		if ended {
			break
		}
		if !r.fits(into.size) {
			r.tooLong(into.head(), into.tail())
			if err := r.noRoom(); err != nil {
				return nil, err
			}
			return comment, r.discardLine()
		}
		n, end, err := r.fillLine(into)
		if err != nil {
			return nil, err
		}
		size += n
		ended = end
	}
	if isData {
		return comment, nil
	}
	return into.join(), nil
}

// fillLine reads more of a line, and reports whether it has read its end. The rest stays in the
// buffer.
func (r *Reader) fillLine(into *gathered) (n int, ended bool, err error) {
	room := into.room(fullChunk)
	n, err = r.read(room)
	if err != nil {
		return 0, false, err
	}
	at := lineEnd(room[:n])
	if at < 0 {
		into.grow(n)
		return n, false, nil
	}
	into.grow(at)
	r.skipLF = room[at] == '\r'
	rest := room[at+1 : n]
	if len(rest) > len(r.buf) {
		r.buf = make([]byte, len(rest))
	}
	r.start, r.end = 0, copy(r.buf, rest)
	return at, true, nil
}

// lineEnd returns the index of the first CR or LF, or -1. Two vectorized searches are faster than
// one loop over the bytes. They work on blocks, because otherwise a distant LF would be searched
// for again in each line that ends in CR.
func lineEnd(b []byte) int {
	const block = 1 << 10
	for from := 0; from < len(b); from += block {
		part := b[from:min(from+block, len(b))]
		lf := bytes.IndexByte(part, '\n')
		if lf >= 0 {
			part = part[:lf]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			return from + cr
		}
		if lf >= 0 {
			return from + lf
		}
	}
	return -1
}

// leastDropped is how much of a line may be dropped even if its limit is small.
const leastDropped = 1 << 20

// ErrEndless matches, with [errors.Is], the final error of a stream with a line of more than
// twice its limit. That error is also a [*TooLongError].
var ErrEndless = errors.New("a line of the event stream does not end")

// discardLine drops the rest of a line.
func (r *Reader) discardLine() error {
	for dropped := 0; ; {
		window := r.buf[r.start:r.end]
		if at := lineEnd(window); at >= 0 {
			r.over.Tail = lastBytes(r.over.Tail, window[:at])
			r.skipLF = window[at] == '\r'
			r.start += at + 1
			return nil
		}
		r.over.Tail = lastBytes(r.over.Tail, window)
		r.start = r.end
		if dropped += len(window); dropped > max(r.maxLine, leastDropped) && !r.patient {
			r.err = &TooLongError{Head: r.over.Head, Tail: r.over.Tail, endless: true}
			return r.err
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// fill reads more bytes behind the window, and makes space first.
func (r *Reader) fill() error {
	if r.buf == nil {
		r.buf = make([]byte, startBuffer)
	}
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	n, err := r.read(r.buf[r.end:])
	r.end += n
	return err
}

// read reads at least one byte, or returns an error.
func (r *Reader) read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	for range 100 { // as in bufio: a reader that returns nothing forever is broken
		n, err := r.src.Read(p)
		if n < 0 || n > len(p) {
			r.err = errors.New("event stream source returned an impossible count")
			return 0, r.err
		}
		r.err = err
		if n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
	r.err = io.ErrNoProgress
	return 0, r.err
}
