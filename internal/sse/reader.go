// Package sse reads and writes event streams (text/event-stream) for the MCP HTTP transports:
// with the parsing rules of the HTML standard, the dispatch rules of MCP, and limits on all
// input.
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

// DefaultLimit limits a line and the data of an event by default.
const DefaultLimit = 16 << 20

// ErrTooLong matches, with [errors.Is], the error of an event over a limit. The event is lost,
// but the stream is not: the next call of [Reader.Next] continues with the next event.
var ErrTooLong = errors.New("event is over the size limit")

// TooLongError is the error of an event over a limit. Head and Tail are the first and last bytes
// of its data, at most 512 each, to identify the call that it answers. They are valid as long as
// the error is.
type TooLongError struct {
	Head, Tail []byte
	endless    bool
	// NoRoom is set if a [Room] had no space for the event, which was over no limit.
	NoRoom bool
}

// Error implements error.
func (e *TooLongError) Error() string {
	if e.endless {
		return ErrEndless.Error()
	}
	return ErrTooLong.Error()
}

// Is reports whether target is [ErrTooLong], or [ErrEndless] if the stream ends with it.
func (e *TooLongError) Is(target error) bool {
	return target == ErrTooLong && !e.endless || target == ErrEndless && e.endless
}

// Room provides space before an event takes more memory.
type Room interface {
	// Reserve takes n bytes, and returns false if there is no space for them. It may wait for space.
	// The reader of the events releases them.
	Reserve(n int) bool
}

// Event is one dispatched event.
type Event struct {
	// ID is the value of the event's own id field if HasID is set. An empty ID with HasID set
	// resets the last event id.
	ID    string
	HasID bool
	// Name is the value of the event field; empty means "message".
	Name string
	// Data is the data lines joined by line feeds. It is nil if the event has only an id or a
	// retry time.
	Data []byte
	// Retry is the reconnection time if HasRetry is set.
	Retry    time.Duration
	HasRetry bool
}

const messageName = "message"

// IsMessage reports whether the event has a JSON-RPC message: its name is empty or "message" and
// it has data.
func (e Event) IsMessage() bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == messageName)
}

// endBytes is how much of either end of a lost event is kept.
const endBytes = 512

// fieldSlack allows a message of exactly the limit on a data line.
const fieldSlack = len("data: ")

// Reader splits a stream into events. It is not safe for concurrent use.
type Reader struct {
	src      io.Reader
	maxLine  int
	maxEvent int

	buf        []byte // bytes read and not yet consumed: buf[start:end]
	start, end int
	err        error // error of src, returned after the bytes before it
	started    bool  // a first line was read, so no BOM can follow
	skipLF     bool  // the last line ended in CR; skip a LF directly after it
	event      Event
	data       gathered // the event's data lines so far
	hasData    bool
	over       *TooLongError // set if this event is over a limit
	patient    bool
	room       Room // nil for no limit
	free, held int  // bytes of an event that need no space, and bytes of space taken
}

// readers recycles readers with their buffers: most streams are short.
var readers = sync.Pool{New: func() any { return new(Reader) }}

// NewReader returns a reader of r. maxLine limits one line without its field name, maxEvent the
// data of one event, in bytes; 0 or less means [DefaultLimit].
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

// Free recycles the reader. The reader must not be used after it; returned events stay valid.
// Free is optional.
func (r *Reader) Free() {
	*r = Reader{buf: r.buf}
	readers.Put(r)
}

// SkipEndless makes the reader skip endless lines instead of returning [ErrEndless], for streams
// that belong to more than one call.
func (r *Reader) SkipEndless() { r.patient = true }

// Room makes the reader take space for what an event needs beyond its first free bytes. Without
// space, the event is lost like one over a limit, and the stream ends unless [Reader.SkipEndless]
// was called.
func (r *Reader) Room(room Room, free int) { r.room, r.free = room, free }

// fits takes space for an event of the given size.
func (r *Reader) fits(size int) bool {
	for r.room != nil && size > r.free+r.held {
		more := max(fullChunk, min(size/8, r.maxEvent-r.free-r.held)) // no more than the event can need
		if !r.room.Reserve(more) {
			return false
		}
		r.held += more
	}
	return true
}

// noRoom marks an event without space. If the stream belongs to one call, it ends, so that the
// call does not wait for the rest of the event.
func (r *Reader) noRoom() error {
	r.over.NoRoom = true
	if r.patient {
		return nil
	}
	r.over.endless = true
	r.err = r.over
	return r.err
}

// Ended reports whether the source is known to have ended, with or without an error. Earlier
// events may not have been returned yet.
func (r *Reader) Ended() bool { return r.err != nil }

// Next returns the next event that has data, an id or a retry time. Its Data belongs to the
// caller. At the end of the stream the error is [io.EOF]; an event without a blank line after it
// is discarded. An error that matches [ErrTooLong] affects only one event, and is returned with
// the event's other fields. Every other error is final: that of the source, or [ErrEndless].
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

// begin resets the event.
func (r *Reader) begin() {
	r.event, r.over, r.held = Event{}, nil, 0
	r.data, r.hasData = gathered{}, false
}

// field adds one non-empty line to the event.
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

// nameOf returns the name as a string, without an allocation for the usual name.
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

// nextData starts a data line.
func (r *Reader) nextData() {
	if r.hasData {
		r.data.add(lineFeed)
	}
	r.hasData = true
}

// tooLong marks the event as lost, and drops its data. head and tail are the start and the end of
// the line or value that is over the limit.
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

// lastBytes returns the last bytes of have followed by more, in its own memory.
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

// digits parses a retry value: milliseconds in ASCII digits only. A value that is too large for a
// duration becomes the largest one.
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
	if err != nil || ms > most { // out of range is the only possible error
		ms = most
	}
	return time.Duration(ms) * time.Millisecond, true
}
