// Package sse reads and writes event streams (text/event-stream) as the MCP
// HTTP transports use them: the parsing rules of the HTML standard, the
// dispatch rules of MCP (protocol.md 6.5, SSE-01 to SSE-06), and bounds on
// everything a peer may send.
package sse

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// DefaultLimit bounds a line and the data of an event when no bound is given
// (decisions 27).
const DefaultLimit = 16 << 20

// ErrTooLong matches, with [errors.Is], the error of an event that was over a
// limit. The event is lost and the stream is not: the next call of
// [Reader.Next] goes on with the event after it.
var ErrTooLong = errors.New("event is over the size limit")

// TooLongError is the error of an event that was over a limit. Head and Tail
// are the first and last bytes of its data, at most 512 each, so that the call
// it answers may still be told. They are valid as long as the error is.
type TooLongError struct {
	Head, Tail []byte
}

// Error implements error.
func (*TooLongError) Error() string { return ErrTooLong.Error() }

// Is reports whether target is [ErrTooLong].
func (*TooLongError) Is(target error) bool { return target == ErrTooLong }

// Event is one dispatched event.
type Event struct {
	// ID is the value of the event's own id field when HasID is set. An
	// empty ID with HasID set resets the last event id.
	ID    string
	HasID bool
	// Name is the value of the event field; empty means "message".
	Name string
	// Data is the data lines joined by line feeds. It is nil in an event that
	// is returned only because it carries an id or a retry time (SSE-04).
	Data []byte
	// Retry is the reconnection time when HasRetry is set.
	Retry    time.Duration
	HasRetry bool
}

// IsMessage reports whether the event carries a JSON-RPC message: its name is
// empty or "message" and it has data (SSE-03, SSE-04).
func (e Event) IsMessage() bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == "message")
}

const (
	startBuffer = 4 << 10
	// keepBuffer is how much memory a reader keeps between events; one large
	// event does not pin its size for the life of the stream.
	keepBuffer = 64 << 10
	endBytes   = 512
	// fieldSlack lets a message of exactly the limit stand on a data line.
	fieldSlack = len("data: ")
)

// Reader splits a stream into events. Not safe for concurrent use.
type Reader struct {
	src      io.Reader
	maxLine  int
	maxEvent int

	buf        []byte // bytes read and not yet consumed: buf[start:end]
	start, end int
	err        error // the error of src, after the bytes before it
	started    bool  // a first line was seen, so no BOM any more
	skipLF     bool  // the last line ended in CR; a LF directly after belongs to it
	event      Event
	data       []byte // data lines so far, each followed by LF
	hasData    bool
	over       *TooLongError // set when this event broke a limit
	patient    bool
}

// NewReader returns a reader of r. maxLine bounds one line without its field
// name, maxEvent the data of one event, in bytes; 0 or less means
// [DefaultLimit].
func NewReader(r io.Reader, maxLine, maxEvent int) *Reader {
	if maxLine <= 0 {
		maxLine = DefaultLimit
	}
	if maxEvent <= 0 {
		maxEvent = DefaultLimit
	}
	return &Reader{src: r, maxLine: maxLine, maxEvent: maxEvent}
}

// SkipEndless makes the reader skip a line for as long as it goes on, where
// [ErrEndless] would be the end: for streams that are more than one call's.
func (r *Reader) SkipEndless() { r.patient = true }

// Next returns the next event that has data, an id or a retry time. Its Data is
// valid until the next call. At the end of the stream the error is [io.EOF],
// and an event that no blank line ended is discarded (SSE-02). An error that
// matches [ErrTooLong] costs one event only and comes with what else is known
// of that event; every other error is final: that of the source, or
// [ErrEndless].
func (r *Reader) Next() (Event, error) {
	r.event = Event{}
	r.data, r.hasData, r.over = r.data[:0], false, nil
	if cap(r.data) > keepBuffer {
		r.data = nil
	}
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			r.field(line)
			continue
		}
		event, over := r.event, r.over
		if over != nil {
			return event, over
		}
		if len(r.data) > 1 { // more than the LF of one empty line
			event.Data = r.data[:len(r.data)-1]
			return event, nil
		}
		if event.HasID || event.HasRetry {
			return event, nil
		}
		r.event = Event{}
		r.data, r.hasData = r.data[:0], false
	}
}

// line returns the next line without its end. The slice is valid until the
// next call. A line over the limit is consumed, marks the event and comes back
// as a comment, which no field is.
func (r *Reader) line() ([]byte, error) {
	scanned := 0 // bytes of the window known to hold no line end
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
				r.tooLong(line)
				return comment, nil
			}
			if !r.started {
				r.started = true
				line = bytes.TrimPrefix(line, bom)
			}
			return line, nil
		}
		if len(window) > r.maxLine+fieldSlack {
			r.tooLong(window)
			return comment, r.discardLine()
		}
		scanned = len(window)
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

var (
	bom     = []byte("\uFEFF")
	comment = []byte(":")
)

// lineEnd returns the index of the first CR or LF, or -1. Two vectorised
// searches beat one loop over the bytes. They go block by block, because a LF
// far behind many lines that end in CR would be searched for again in each.
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

// leastDropped is what may be dropped of a line however small its limit is.
const leastDropped = 1 << 20

// ErrEndless is the final error of a stream with a line that goes on for as
// much as its limit again: reading on would only keep its sender alive.
var ErrEndless = errors.New("a line of the event stream does not end")

// discardLine drops what is left of a line without keeping it.
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
			r.err = ErrEndless
			return r.err
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// fill reads more bytes behind the window, making room first.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	switch {
	case r.start == r.end:
		r.start, r.end = 0, 0
		if cap(r.buf) > keepBuffer {
			r.buf = nil
		}
	case r.end == len(r.buf) && r.start >= len(r.buf)/2:
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, max(startBuffer, 2*len(r.buf)))
		r.end = copy(grown, r.buf[r.start:r.end])
		r.start = 0
		r.buf = grown
	}
	for range 100 { // as bufio does: a reader that returns nothing for ever is broken
		n, err := r.src.Read(r.buf[r.end:])
		if n < 0 || n > len(r.buf)-r.end {
			r.err = errors.New("event stream source returned an impossible count")
			return r.err
		}
		r.end += n
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// field takes one non-empty line into the event.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		r.addData(value)
	case "event":
		r.event.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 { // SSE-05
			r.event.ID, r.event.HasID = string(value), true
		}
	case "retry":
		if ms, ok := digits(value); ok {
			r.event.Retry, r.event.HasRetry = ms, true
		}
	}
}

func (r *Reader) addData(value []byte) {
	if r.over != nil {
		r.over.Tail = lastBytes(append(r.over.Tail, '\n'), value)
		return
	}
	if len(r.data)+len(value) > r.maxEvent {
		r.tooLong(value)
		return
	}
	r.data = append(append(r.data, value...), '\n')
	r.hasData = true
}

// tooLong marks the event as lost; text is the line, or the value, that broke
// the limit. What was gathered is let go.
func (r *Reader) tooLong(text []byte) {
	if r.over != nil {
		r.over.Tail = lastBytes(r.over.Tail, text)
		return
	}
	text = bytes.TrimPrefix(bytes.TrimPrefix(text, []byte("data:")), []byte(" "))
	first := text
	if r.hasData {
		first = r.data
	}
	r.over = &TooLongError{
		Head: bytes.Clone(first[:min(len(first), endBytes)]),
		Tail: lastBytes(nil, text),
	}
	r.data = nil
}

// lastBytes returns the last bytes of have followed by more, in memory of its
// own.
func lastBytes(have, more []byte) []byte {
	if len(more) >= endBytes {
		return append(have[:0], more[len(more)-endBytes:]...)
	}
	have = append(have, more...)
	if extra := len(have) - endBytes; extra > 0 {
		have = slices.Delete(have, 0, extra)
	}
	return have
}

// digits reads a retry value: milliseconds in ASCII digits only (SSE-05). A
// value too large for a duration is the largest one.
func digits(value []byte) (time.Duration, bool) {
	if len(value) == 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	ms, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || ms > most { // out of range is the only error left
		ms = most
	}
	return time.Duration(ms) * time.Millisecond, true
}
