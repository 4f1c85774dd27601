package transport

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// maxBadEvents is how many broken events a stream may have.
const maxBadEvents = 100

// outcome is how a call ended on a stream that is not its own.
type outcome struct {
	resp jsonrpc.Response
	err  error
}

// newEvents reads the reply as an event stream.
func (x *exchange) newEvents() *sse.Reader {
	r := sse.NewReader(x, x.c.limits.MessageBytes, x.c.limits.MessageBytes)
	if x.c.handler.Budget != nil {
		r.Room(x, freeBytes)
	}
	return r
}

// read reads events until the answer to this exchange comes, or the stream
// ends. Other messages are handed over on the way. at is kept up to date, nil
// in the stateless era, where ids and retry mean nothing.
func (x *exchange) read(events *sse.Reader, at *place) (jsonrpc.Response, error) {
	var none jsonrpc.Response
	var bad error // the last event that could not be read
	for count := 0; count < maxBadEvents; {
		x.letGo()
		event, err := events.Next()
		again := at != nil && at.note(event)
		switch over := tooLong(err); {
		case over != nil:
			large := x.tooLarge(over.Head, over.Tail)
			if over.NoRoom {
				large = x.noRoom(over.Head, over.Tail)
			}
			if x.ctx.Err() != nil {
				return none, large
			}
			if large.Answered || errors.Is(err, sse.ErrEndless) {
				return none, large
			}
			theirs := *large
			theirs.Answered = true
			if !x.c.spoiled(x.c.undecoded(over.Head), &theirs) && !x.c.spoiled(x.c.undecoded(over.Tail), &theirs) {
				x.c.fault(large)
			}
			bad = large
			count++
			continue
		case errors.Is(err, io.EOF) && bad != nil:
			return none, bad
		case errors.Is(err, io.EOF):
			return none, x.failure(ReasonLost, errNoAnswer)
		case err != nil:
			return none, x.broken(err)
		case !event.IsMessage():
			continue
		}
		resp, found, err := x.take(event.Data, again)
		switch {
		case found:
			return resp, err
		case err != nil:
			bad = err
			count++
		}
	}
	return none, x.failure(ReasonProtocol, errors.New("too many broken events in one stream"))
}

// tooLong returns the error of an event over the limit, nil of others.
func tooLong(err error) *sse.TooLongError {
	var over *sse.TooLongError
	if err != nil {
		errors.As(err, &over)
	}
	return over
}

// take hands over what an event or a body holds: a message, or the messages of
// a batch, where one that is broken spoils no other. found says that the
// answer to this exchange was there; without an error it is returned, else err
// is what is wrong with it, or the last thing that is wrong with others. again
// says that the event was there before.
func (x *exchange) take(data []byte, again bool) (resp jsonrpc.Response, found bool, err error) {
	x.c.traceReceived(data)
	if !x.takesBatch(data) {
		return x.takeOne(data, len(data), again)
	}
	parts, err := jsonrpc.SplitBatch(data)
	if err != nil {
		x.c.fault(err)
		err, _ = x.undecodable(err, data)
	}
	answered := false
	for _, part := range parts {
		got, ours, fault := x.takeOne(part, len(data), again)
		switch {
		case ours && fault == nil:
			resp, answered = got, true
		case fault != nil:
			err = fault
			found = found || ours
		}
	}
	if answered {
		return resp, true, nil
	}
	return resp, found, err
}

// takeOne takes one message of an event or body of so many bytes, whose memory it
// shares.
func (x *exchange) takeOne(data []byte, whole int, again bool) (resp jsonrpc.Response, found bool, err error) {
	resp, other, err := jsonrpc.DecodeAnswer(data, x.c.limits.Depth, x.id)
	switch {
	case err != nil:
		found, err = x.unreadable(err, data)
		return resp, found, err
	case other != nil:
		x.handOver(other, whole, again)
		return resp, false, nil
	case x.answeredBy(resp):
		return resp, true, nil // resp.Error is what the server says, not a failure to read it
	case resp.ID.IsZero() && !x.id.IsZero():
		f := x.failure(ReasonProtocol, unnamed(resp.Error))
		f.HTTP = x.evidence(data)
		return jsonrpc.Response{}, false, f
	}
	if x.stateless || !x.c.deliver(resp.ID, outcome{resp: resp}) {
		x.c.fault(errors.New("an answer arrived that no request waits for"))
	}
	return jsonrpc.Response{}, false, nil
}

// unreadable reports what is wrong with a message, and whether it was the answer
// to this exchange. If it was to another, that call ends with it.
func (x *exchange) unreadable(fault error, data []byte) (ours bool, err error) {
	f, whose := x.undecodable(fault, data)
	theirs := *f
	theirs.Answered = true
	if !whose.IsZero() && whose == x.id {
		return true, &theirs
	}
	if whose.IsZero() || !x.c.deliver(whose, outcome{err: &theirs}) {
		x.c.fault(fault)
	}
	return false, f
}

// takesBatch reports whether data is to be taken as a batch: only one revision
// has them, and elsewhere an array is a fault.
func (x *exchange) takesBatch(data []byte) bool {
	return x.c.batches.Load() && !x.stateless && jsonrpc.IsBatch(data)
}

// hasBatches reports whether a revision has batches.
func hasBatches(version string) bool { return version == string(mcp.Version2025_03_26) }

// handOver passes on the messages that the server sends unasked. What has been handed over
// before the stream broke is not again (transports, "Resumability and Redelivery").
func (x *exchange) handOver(m jsonrpc.Message, size int, again bool) {
	if again {
		return
	}
	switch m := m.(type) {
	case jsonrpc.Notification:
		m.Params = jsonrpc.Lean(m.Params, size)
		if x.c.handler.OnNotification != nil {
			x.c.handler.OnNotification(m, x.id)
		}
	case jsonrpc.Request:
		m.Params = jsonrpc.Lean(m.Params, size)
		if x.c.handler.OnRequest != nil {
			x.c.handler.OnRequest(context.WithoutCancel(x.caller), m, x.asker())
		}
	}
}

// asker returns the caller of the call on whose stream a request of the server came, nil
// on a stream that belongs to no call.
func (x *exchange) asker() *Caller {
	if x.id.IsZero() {
		return nil
	}
	return x.who
}

var errNoAnswer = errors.New("the event stream ended before the answer")

var errElsewhere = errors.New("the answer came on another stream")

// deliver ends the call with this id, whose answer came on a stream that is
// not its own. It reports whether there was one.
func (c *httpConn) deliver(id jsonrpc.ID, end outcome) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.waiting(id)
	if x == nil || !x.elsewhere.CompareAndSwap(nil, &end) {
		return false
	}
	if x.came == nil {
		x.cancel(errElsewhere)
		return true
	}
	// The POST is about to be answered too, and frees its connection then.
	close(x.came)
	time.AfterFunc(drainTime, func() { x.cancel(errElsewhere) })
	return true
}

// spoiled ends the call that a broken message was to answer. It reports whether
// that can be told.
func (c *httpConn) spoiled(broken *jsonrpc.DecodeError, err error) bool {
	return broken != nil && broken.Answers() && c.deliver(broken.ID, outcome{err: err})
}

// undecoded reports what is known of a part of a message.
func (c *httpConn) undecoded(part []byte) *jsonrpc.DecodeError {
	_, err := jsonrpc.DecodeWithin(part, c.limits.Depth)
	var broken *jsonrpc.DecodeError
	errors.As(err, &broken)
	return broken
}

// waiting returns the call of the session era with this id. Requires c.mu.
// What comes on other streams is rare, so nobody keeps an index for it.
func (c *httpConn) waiting(id jsonrpc.ID) *exchange {
	if id.IsZero() {
		return nil
	}
	for x := c.calls.first; x != nil; x = x.after {
		if x.id == id && !x.stateless {
			return x
		}
	}
	return nil
}
