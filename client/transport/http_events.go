package transport

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// maxBadEvents is how many broken events a stream may have (SSE-06).
const maxBadEvents = 100

// outcome is how a call ended on a stream that is not its own.
type outcome struct {
	resp jsonrpc.Response
	err  error
}

// newEvents reads the reply as an event stream.
func (x *exchange) newEvents() *sse.Reader {
	return sse.NewReader(x, x.c.limits.MessageBytes, x.c.limits.MessageBytes)
}

// read reads events until the answer to this exchange comes, or the stream
// ends. Other messages are handed over on the way. at is kept up to date, nil
// in the stateless era, where ids and retry mean nothing (HTTP-35).
func (x *exchange) read(events *sse.Reader, at *place) (*jsonrpc.Response, error) {
	var bad error // the last event that could not be read
	for count := 0; count < maxBadEvents; {
		event, err := events.Next()
		again := at != nil && at.note(event)
		var over *sse.TooLongError
		switch {
		case errors.As(err, &over):
			bad = x.tooLarge()
			if x.answeredBy(over) {
				return nil, bad
			}
			if !x.c.spoiled(x.c.undecoded(over.Head), bad) && !x.c.spoiled(x.c.undecoded(over.Tail), bad) {
				x.c.fault(bad)
			}
			count++
			continue
		case errors.Is(err, sse.ErrEndless):
			return nil, x.tooLarge()
		case errors.Is(err, io.EOF) && bad != nil:
			return nil, bad
		case errors.Is(err, io.EOF):
			return nil, x.failure(ReasonLost, errNoAnswer)
		case err != nil:
			return nil, x.broken(err)
		case !event.IsMessage():
			continue
		}
		resp, ours, err := x.take(event.Data, again)
		switch {
		case resp != nil:
			return resp, nil
		case ours:
			return nil, err
		}
		if err != nil {
			bad = err
			count++
		}
	}
	return nil, x.failure(ReasonProtocol, errors.New("too many broken events in one stream"))
}

// answeredBy reports whether an event over the limit seems to be the answer.
func (x *exchange) answeredBy(over *sse.TooLongError) bool {
	if x.id.IsZero() {
		return false
	}
	token := x.id.AppendJSON(nil)
	return bytes.Contains(over.Head, token) || bytes.Contains(over.Tail, token)
}

// take hands over what an event or a body holds: a message, or the messages of
// a batch (RPC-15), where one that is broken spoils no other. The answer to this
// exchange is returned, else the last thing that is wrong; ours says that this
// was the answer. again says that the event was there before.
func (x *exchange) take(data []byte, again bool) (resp *jsonrpc.Response, ours bool, err error) {
	x.c.traceReceived(data)
	parts := [][]byte{data}
	if x.takesBatch(data) {
		if parts, err = jsonrpc.SplitBatch(data); err != nil {
			x.c.fault(err)
			err = x.undecodable(err, data)
		}
	}
	for _, part := range parts {
		got, fault := x.dispatch(part, again)
		var broken *jsonrpc.DecodeError
		switch {
		case got != nil:
			resp = got
		case errors.As(fault, &broken):
			err = x.undecodable(fault, part)
			if broken.Answers() && broken.ID == x.id {
				ours = true
			} else if !x.c.spoiled(broken, err) {
				x.c.fault(fault)
			}
		}
	}
	return resp, ours, err
}

// takesBatch reports whether data is to be taken as a batch: only one revision
// has them, and elsewhere an array is a fault (RPC-17).
func (x *exchange) takesBatch(data []byte) bool {
	return x.c.batches.Load() && !x.stateless && jsonrpc.IsBatch(data)
}

// hasBatches reports whether a revision has batches.
func hasBatches(version string) bool { return version == string(mcp.Version2025_03_26) }

// dispatch hands a message of a stream over; the answer to this exchange is
// returned. What has been handed over before the stream broke is not again
// (HTTP-27); an answer may be, since a call is answered once.
func (x *exchange) dispatch(data []byte, again bool) (*jsonrpc.Response, error) {
	m, err := jsonrpc.DecodeWithin(data, x.c.limits.Depth)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case jsonrpc.Response:
		if !x.id.IsZero() && (m.ID == x.id || (m.ID.IsZero() && m.Error != nil)) {
			return &m, nil //nolint:nilerr // m.Error is what the server says, not a failure to read it
		}
		if x.stateless || !x.c.deliver(m.ID, outcome{resp: m}) {
			x.c.fault(errors.New("an answer came that no request waits for"))
		}
	case jsonrpc.Notification:
		if x.c.handler.OnNotification != nil && !again {
			x.c.handler.OnNotification(m, x.id)
		}
	case jsonrpc.Request:
		if x.c.handler.OnRequest != nil && !again {
			x.c.handler.OnRequest(m)
		}
	}
	return nil, nil
}

var errNoAnswer = errors.New("the event stream ended before the answer")

var errElsewhere = errors.New("the answer came on another stream")

// deliver ends the call with this id, whose answer came on a stream that is
// not its own (HTTP-21). It reports whether there was one.
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

// undecoded says what can be told of a part of a message.
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
	for x := range c.calls {
		if x.id == id && !x.stateless {
			return x
		}
	}
	return nil
}
