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

// maxBadEvents limits the broken events of a stream.
const maxBadEvents = 100

// outcome is the end of a call whose answer came on another stream.
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

// read reads events until the answer to this exchange arrives, or the stream ends. It delivers
// other messages on the way. at is updated with the position; it is nil in the stateless era,
// which ignores ids and retry.
func (x *exchange) read(events *sse.Reader, at *place) (jsonrpc.Response, error) {
	var none jsonrpc.Response
	var bad error // the last unreadable event
	for count := 0; count < maxBadEvents; {
		x.releaseBudget()
		event, err := events.Next()
		again := at != nil && at.note(event)
		switch over := tooLong(err); {
		case over != nil:
			large := x.tooLarge(over.Head, over.Tail)
			if over.NoRoom {
				large = x.overBudget(over.Head, over.Tail)
			}
			if x.ctx.Err() != nil {
				return none, large
			}
			if large.Answered || errors.Is(err, sse.ErrEndless) {
				return none, large
			}
			theirs := *large
			theirs.Answered = true
			if !x.c.failAnswered(x.c.undecoded(over.Head), &theirs) && !x.c.failAnswered(x.c.undecoded(over.Tail), &theirs) {
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

// tooLong returns err if it is the error of an event over the limit, else nil.
func tooLong(err error) *sse.TooLongError {
	var over *sse.TooLongError
	if err != nil {
		errors.As(err, &over)
	}
	return over
}

// take delivers the content of an event or a body: a message, or the messages of a batch; a
// broken message in a batch does not affect the others. found is set if the answer to this
// exchange was among them. Then take returns the answer, or why it cannot be used; otherwise err
// is the last error of other messages. again is set if the event was delivered before.
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

// takeOne delivers one message. whole is the size of its event or body, whose memory it shares.
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
		return resp, true, nil // an error in resp is the server's answer
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

// unreadable reports an unreadable message, and whether it was the answer to this exchange. If it
// answers another call, that call ends with it.
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

// takesBatch reports whether data is a batch: only one revision has batches, and elsewhere an
// array is an error.
func (x *exchange) takesBatch(data []byte) bool {
	return x.c.batches.Load() && !x.stateless && jsonrpc.IsBatch(data)
}

// hasBatches reports whether a revision has batches.
func hasBatches(version string) bool { return version == string(mcp.Version2025_03_26) }

// handOver delivers requests and notifications of the server. Messages that were delivered before
// the stream broke are not delivered again (transports, "Resumability and Redelivery").
func (x *exchange) handOver(m jsonrpc.Message, size int, again bool) {
	if again {
		return
	}
	switch m := m.(type) {
	case jsonrpc.Notification:
		m.Params = jsonrpc.Lean(m.Params, size)
		if x.c.handler.OnNotification != nil {
			x.c.handler.OnNotification(context.WithoutCancel(x.caller), m, x.id)
		}
	case jsonrpc.Request:
		m.Params = jsonrpc.Lean(m.Params, size)
		if x.c.handler.OnRequest != nil {
			x.c.handler.OnRequest(context.WithoutCancel(x.caller), m, x.asker())
		}
	}
}

// asker returns the caller of the call on whose stream a request of the server came, nil for a
// stream without a call.
func (x *exchange) asker() *Caller {
	if x.id.IsZero() {
		return nil
	}
	return x.who
}

var errNoAnswer = errors.New("the event stream ended before the answer")

var errOtherStream = errors.New("the answer came on another stream")

// deliver ends the call with this id, whose answer came on another stream. It reports whether
// there is such a call.
func (c *httpConn) deliver(id jsonrpc.ID, end outcome) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.waiting(id)
	if x == nil || !x.otherAnswer.CompareAndSwap(nil, &end) {
		return false
	}
	if x.answered == nil {
		x.cancel(errOtherStream)
		return true
	}
	// The POST gets its reply soon, which frees its connection.
	close(x.answered)
	time.AfterFunc(drainTime, func() { x.cancel(errOtherStream) })
	return true
}

// failAnswered ends the call that a broken message answers. It reports whether that call is known.
func (c *httpConn) failAnswered(broken *jsonrpc.DecodeError, err error) bool {
	return broken != nil && broken.Answers() && c.deliver(broken.ID, outcome{err: err})
}

// undecoded returns what can be decoded from a part of a message.
func (c *httpConn) undecoded(part []byte) *jsonrpc.DecodeError {
	_, err := jsonrpc.DecodeWithin(part, c.limits.Depth)
	var broken *jsonrpc.DecodeError
	errors.As(err, &broken)
	return broken
}

// waiting returns the call of the session era with this id. Requires c.mu. Answers on other
// streams are rare, so there is no index.
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
