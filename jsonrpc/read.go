package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// receiver is the state of reading. Only the current reader uses it, see [turns].
type receiver struct {
	lines   *lineReader
	scanner *scanner
	// reported is set if the line that is being skipped has failed its call.
	reported bool
	// lone counts answers in a row, since loneSince, to calls that were the only one
	// in flight.
	lone      int
	loneSince time.Time
}

func (c *Conn) receive() {
	c.lines = newLineReader(c.in, c.cfg.MessageBytes)
	c.scanner = newScanner()
	c.lines.crossed = func(head []byte) {
		if de := c.overLimit(line{text: head}); !de.ID.IsZero() {
			c.reported = true
			c.fault(de)
		}
	}
}

// read is the read loop. It decodes messages and hands them over. Of the
// application's code it runs only the functions of Config.
func (c *Conn) read() {
	defer close(c.readDone)
	defer c.Fail(ErrPeerClosed)                       // also if a stream of the application ends this goroutine
	for !c.closing.Load() && c.take(c.lines.next()) { // once closed, nobody wants the lines of the buffer
		if c.turns != nil && c.oneByOne() {
			c.turns.rest()
		}
	}
}

// lead reads on the caller's goroutine until its call has ended. It stops earlier
// where the read loop must continue: at a long line, the end of the stream, or an
// interrupt.
func (c *Conn) lead(cl *call) {
	more := true // also when a function of Config panics
	defer func() { c.turns.leave(more) }()
	for {
		for !c.closing.Load() && c.lines.ready() {
			if !c.take(c.lines.next()) {
				return
			}
		}
		if len(cl.answered) > 0 {
			more = false
			return
		}
		if !c.lines.more() {
			return
		}
	}
}

// oneByOne reports whether the last calls came one after the other, and fast.
func (c *Conn) oneByOne() bool {
	if c.lone < loneCalls {
		return false
	}
	now := time.Now()
	fast := now.Sub(c.loneSince) < loneCalls*c.turns.length
	c.lone, c.loneSince = 0, now
	return fast
}

// byteOrderMark is written by some runtimes before the first message.
var byteOrderMark = []byte("\xef\xbb\xbf")

// take handles the results of lineReader.next, and reports whether reading
// continues.
func (c *Conn) take(ln line, err error) bool {
	switch {
	case errors.Is(err, errTooLong):
		switch start := bytes.TrimLeft(bytes.TrimPrefix(ln.text, byteOrderMark), jsonSpace); {
		case c.reported:
		case len(start) > 0 && start[0] != '{' && start[0] != '[':
			c.hear(head(start))
		default:
			c.fault(c.overLimit(ln))
		}
		c.reported = false
		return true
	case errors.Is(err, io.EOF):
		c.Fail(ErrPeerClosed)
		return false
	case err != nil:
		c.Fail(err)
		return false
	}
	text := bytes.Trim(bytes.TrimPrefix(ln.text, byteOrderMark), jsonSpace)
	if len(text) == 0 {
		return true
	}
	if c.cfg.OnReceived != nil {
		c.cfg.OnReceived(text)
	}
	if text[0] != '{' && text[0] != '[' {
		c.hear(text)
		return true
	}
	ln.text = text
	if text[0] == '[' && c.batches.Load() && IsBatch(text) {
		c.batch(ln)
		return true
	}
	c.message(ln)
	return true
}

// message handles one message.
func (c *Conn) message(ln line) {
	var e envelope
	if err := c.scanner.scan(ln.text, c.cfg.Depth, &e); err != nil {
		var de *DecodeError
		errors.As(err, &de)
		c.broken(de, ln.text, ln.open)
		return
	}
	if ln.owned {
		e.params = Lean(e.params, max(ln.whole, len(ln.text)))
	} else {
		e.own()
	}
	c.dispatch(&e)
}

// broken handles text that could not be decoded: as noise, or as a fault.
func (c *Conn) broken(de *DecodeError, text []byte, open bool) {
	switch {
	case de.Syntax && bytes.HasPrefix(text, []byte("[")): // "[INFO] ready" is a log line
		c.hear(text)
	case !de.TooLarge && !de.marked && !de.Answers() && bytes.HasPrefix(text, []byte("{")): // and so are {"level":"info"} and {starting up}
		c.hear(text)
	case de.Syntax && open:
		// The peer exited in the middle of a message. Its call ends with the stream,
		// whose end comes next.
		de.ID = ID{}
		c.fault(de)
	default:
		c.fault(de)
	}
}

// hear reports noise.
func (c *Conn) hear(text []byte) {
	c.noise.Add(1)
	if c.cfg.OnNoise != nil {
		c.cfg.OnNoise(bytes.Clone(text))
	}
}

// dispatch hands one message over.
func (c *Conn) dispatch(e *envelope) {
	switch e.kind {
	case kindNotification:
		if c.cfg.OnNotification != nil {
			c.cfg.OnNotification(e.message().(Notification))
		}
	case kindRequest:
		req := e.message().(Request)
		if c.cfg.OnRequest != nil {
			c.cfg.OnRequest(req)
			return
		}
		// An error means that the peer is gone, or does not read.
		_ = c.Respond(Response{ID: req.ID, Error: NewError(CodeMethodNotFound, "Method not found", nil)})
	default:
		alone, found := c.inflight.answer(e.id, Response{Result: e.result, Error: e.err})
		switch {
		case alone:
			c.lone++
		case found:
			c.lone = 0
		case e.id != nil:
			c.late.Add(1)
		default: // only an error may have no id
			c.fault(&DecodeError{Reason: "an error without the id of a call: " + e.err.Error()})
		}
	}
}

// fault fails the call that an invalid message answers. If the call is unknown, it
// reports the message.
func (c *Conn) fault(de *DecodeError) {
	c.faults.Add(1)
	if de.Answers() && c.inflight.failOne(de.ID, de) {
		return
	}
	if c.cfg.OnFault != nil {
		c.cfg.OnFault(de)
	}
}

// overLimit describes a line that was skipped for its length.
func (c *Conn) overLimit(ln line) *DecodeError {
	de := &DecodeError{Reason: "larger than " + Size(c.cfg.MessageBytes), TooLarge: true, Head: head(ln.text)}
	var e envelope
	// The line is cut, so this fails. It is called for the id.
	_ = c.scanner.scan(ln.text, c.cfg.Depth, &e)
	de.request = e.asks()
	if e.id != nil {
		de.ID = ID{token: string(e.id)}
	} else {
		de.ID = tailID(ln.tail)
	}
	return de
}

// own makes the envelope independent of the buffer that it was scanned from. The id
// is looked up at once and needs no copy. Errors are copies already.
func (e *envelope) own() {
	e.params = bytes.Clone(e.params)
	e.result = bytes.Clone(e.result)
}

// Lean returns part, or a copy of it. part shares the memory of a message of
// whole bytes. If it is only a small part of the message, Lean copies it, so
// that the rest of the message can be freed.
//
// # Experimental
//
// The client's transports use it. Its form may change.
func Lean(part []byte, whole int) []byte {
	const small = 4 << 10 // not worth a copy
	if whole <= small || len(part) > whole/2 {
		return part
	}
	return bytes.Clone(part)
}
