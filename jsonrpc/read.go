package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// receiver is the state of reading. It belongs to the current reader, see [turns].
type receiver struct {
	lines   *lineReader
	scanner *scanner
	// reported means that the skipped line has already failed its call.
	reported bool
	// lone counts answers in a row to calls that were alone, since loneSince.
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

// read is the read loop. It decodes envelopes and hands their parts over; it
// runs nobody's code but the functions of Config.
func (c *Conn) read() {
	defer close(c.readDone)
	defer c.Fail(ErrPeerClosed) // a stream of the application may end this goroutine
	for c.take(c.lines.next()) {
		if c.turns != nil && c.oneByOne() {
			c.turns.rest()
		}
	}
}

// lead reads on the caller's goroutine until its call has ended or something
// comes up that is the loop's to do: a long line, the end of the stream, an
// interrupt.
func (c *Conn) lead(cl *call) {
	more := true // also when a function of Config panics
	defer func() { c.turns.leave(more) }()
	for {
		for c.lines.ready() {
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

// oneByOne reports whether calls came one after the other lately, and fast.
func (c *Conn) oneByOne() bool {
	if c.lone < loneCalls {
		return false
	}
	now := time.Now()
	fast := now.Sub(c.loneSince) < loneCalls*c.turns.length
	c.lone, c.loneSince = 0, now
	return fast
}

// byteOrderMark is what some runtimes begin their output with. It is no part of
// the first message.
var byteOrderMark = []byte("\xef\xbb\xbf")

// take takes what lineReader.next returned, and reports whether reading goes on.
func (c *Conn) take(ln line, err error) bool {
	switch {
	case errors.Is(err, errTooLong):
		if !c.reported {
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

// message takes one message.
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

// broken sorts what could not be decoded.
func (c *Conn) broken(de *DecodeError, text []byte, open bool) {
	switch {
	case de.Syntax && bytes.HasPrefix(text, []byte("[")): // "[INFO] ready" is a log line
		c.hear(text)
	case !de.TooLarge && !de.marked && !de.Answers() && bytes.HasPrefix(text, []byte("{")): // and so are {"level":"info"} and {starting up}
		c.hear(text)
	case de.Syntax && open:
		// The peer went away in the middle of a message: that is how its call
		// ends too, and the end of the stream is next.
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
		// An error means that the answer cannot be sent: the peer is gone.
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
		default: // only an error may come without id
			c.fault(&DecodeError{Reason: "an error that names no call: " + e.err.Error()})
		}
	}
}

// fault reports a broken message, and fails the call it answers when that can
// be told.
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
	// The line is cut, so this fails; what counts is the id met on the way.
	_ = c.scanner.scan(ln.text, c.cfg.Depth, &e)
	de.request = e.asks()
	if e.id != nil {
		de.ID = ID{token: string(e.id)}
	} else {
		de.ID = tailID(ln.tail)
	}
	return de
}

// own makes the envelope independent of the buffer it was scanned from. The
// id is looked up at once and needs no copy; errors are copies already.
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
	const small = 4 << 10 // not worth it
	if whole <= small || len(part) > whole/2 {
		return part
	}
	return bytes.Clone(part)
}
