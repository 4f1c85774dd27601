// Package sse reads and writes event streams (text/event-stream) as the MCP
// HTTP transports use them: the parsing rules of the HTML standard, the
// dispatch rules of MCP, and bounds on
// everything a peer may send.
package sse

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// DefaultLimit bounds a line and the data of an event when no bound is given.
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
	endless    bool
	// NoRoom says that a [Room] had nothing left for the event, which was over no
	// limit.
	NoRoom bool
}

// Error implements error.
func (e *TooLongError) Error() string {
	if e.endless {
		return ErrEndless.Error()
	}
	return ErrTooLong.Error()
}

// Is reports whether target is [ErrTooLong], or [ErrEndless] where the stream
// ends with it.
func (e *TooLongError) Is(target error) bool {
	return target == ErrTooLong && !e.endless || target == ErrEndless && e.endless
}

// Room is asked for memory before an event takes more of it.
type Room interface {
	// Hold takes n bytes, or reports that there is no room for them. It may wait for
	// room. They are free again when whoever reads the events says so.
	Hold(n int) bool
}

// Event is one dispatched event.
type Event struct {
	// ID is the value of the event's own id field when HasID is set. An
	// empty ID with HasID set resets the last event id.
	ID    string
	HasID bool
	// Name is the value of the event field; empty means "message".
	Name string
	// Data is the data lines joined by line feeds. It is nil in an event that
	// is returned only because it carries an id or a retry time.
	Data []byte
	// Retry is the reconnection time when HasRetry is set.
	Retry    time.Duration
	HasRetry bool
}

const messageName = "message"

// IsMessage reports whether the event carries a JSON-RPC message: its name is
// empty or "message" and it has data.
func (e Event) IsMessage() bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == messageName)
}

// endBytes is how much is kept of either end of an event that is lost.
const endBytes = 512

// fieldSlack lets a message of exactly the limit stand on a data line.
const fieldSlack = len("data: ")

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
	data       gathered // the event's data lines so far
	hasData    bool
	over       *TooLongError // set when this event broke a limit
	patient    bool
	room       Room // nil for no bound
	free, held int  // bytes of an event that need no room, and that have it
}

// readers keeps readers with their buffers: most streams of answers are short.
var readers = sync.Pool{New: func() any { return new(Reader) }}

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
	reader := readers.Get().(*Reader)
	*reader = Reader{src: r, maxLine: maxLine, maxEvent: maxEvent, buf: reader.buf}
	return reader
}

// Free gives the reader's memory to the next one. The reader must not be used
// after it; events that it returned stay as they are. Not calling it is allowed.
func (r *Reader) Free() {
	*r = Reader{buf: r.buf}
	readers.Put(r)
}

// SkipEndless makes the reader skip a line for as long as it goes on, where
// [ErrEndless] would be the end: for streams that are more than one call's.
func (r *Reader) SkipEndless() { r.patient = true }

// Room has the reader ask for room for what an event takes beyond its first free
// bytes. An event that gets none is lost, as one over a limit is, and the stream
// ends with it unless [Reader.SkipEndless] says otherwise.
func (r *Reader) Room(room Room, free int) { r.room, r.free = room, free }

// fits asks for room for an event of so many bytes.
func (r *Reader) fits(size int) bool {
	for r.room != nil && size > r.free+r.held {
		more := max(fullChunk, min(size/8, r.maxEvent-r.free-r.held)) // no more than the event may need
		if !r.room.Hold(more) {
			return false
		}
		r.held += more
	}
	return true
}

// noRoom marks an event that found no room, which is the end of a stream that is
// one call's: whoever waits for the call is not to wait for the rest of the event.
func (r *Reader) noRoom() error {
	r.over.NoRoom = true
	if r.patient {
		return nil
	}
	r.over.endless = true
	r.err = r.over
	return r.err
}

// Ended reports whether the source is known to have ended, by itself or in an
// error. Events that came before may still be there.
func (r *Reader) Ended() bool { return r.err != nil }

// Next returns the next event that has data, an id or a retry time. Its Data
// belongs to the caller. At the end of the stream the error is [io.EOF],
// and an event that no blank line ended is discarded. An error that
// matches [ErrTooLong] costs one event only and comes with what else is known
// of that event; every other error is final: that of the source, or
// [ErrEndless].
func (r *Reader) Next() (Event, error) {
	r.begin()
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
		if r.data.size > 0 {
			event.Data = r.data.join()
			return event, nil
		}
		if event.HasID || event.HasRetry {
			return event, nil
		}
		r.begin()
	}
}

// begin forgets the event that was.
func (r *Reader) begin() {
	r.event, r.over, r.held = Event{}, nil, 0
	r.data, r.hasData = gathered{}, false
}

// field takes one non-empty line into the event.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		r.addData(value)
	case "event":
		r.event.Name = nameOf(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 { // an id with NUL is ignored
			r.event.ID, r.event.HasID = string(value), true
		}
	case "retry":
		if ms, ok := digits(value); ok {
			r.event.Retry, r.event.HasRetry = ms, true
		}
	}
}

// nameOf returns the name as a string, which is a new one only where it is not
// the usual one.
func nameOf(value []byte) string {
	if string(value) == messageName {
		return messageName
	}
	return string(value)
}

func (r *Reader) addData(value []byte) {
	if r.over != nil {
		r.over.Tail = lastBytes(append(r.over.Tail, '\n'), value)
		return
	}
	r.nextData()
	if r.data.size+len(value) > r.maxEvent {
		r.tooLong(value, value)
		return
	}
	if !r.fits(r.data.size + len(value)) {
		r.tooLong(value, value)
		_ = r.noRoom() // the next read returns it
		return
	}
	r.data.add(value)
}

// nextData begins a data line.
func (r *Reader) nextData() {
	if r.hasData {
		r.data.add(lineFeed)
	}
	r.hasData = true
}

// tooLong marks the event as lost; head and tail are the start and the end of
// the line, or the value, that broke the limit. What was gathered is let go.
func (r *Reader) tooLong(head, tail []byte) {
	if r.over != nil {
		r.over.Tail = lastBytes(r.over.Tail, tail)
		return
	}
	if r.data.size > 0 {
		head = r.data.head()
	}
	r.over = &TooLongError{
		Head: bytes.Clone(head[:min(len(head), endBytes)]),
		Tail: lastBytes(nil, tail),
	}
	r.data = gathered{}
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

// digits reads a retry value: milliseconds in ASCII digits only. A
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
