package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
)

// A transport of the application that is not a [*http.Transport] is foreign: the guard
// cannot see which address it connects to. So this machine looks the name up before each
// request, and an address that is refused ends it. Three things stay unseen: a name that
// only the transport finds, a name that resolves differently the second time, and a
// redirect that the transport follows. Its panics are errors, and a request that it does
// not end is given up at the end of the context.

// errForeign is the cause in place of the transport's own error, whose text may have
// anything in it.
var errForeign = errors.New("the RoundTripper of the application failed")

// apart makes one request by the foreign transport, on a goroutine of its own.
func (c *Client) apart(req *http.Request) (*Answer, error) {
	ctx := req.Context()
	if err := c.judgeName(ctx, req.URL); err != nil {
		return nil, err
	}
	type result struct {
		answer *Answer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: c.failure(req, errForeign, false)}
		defer func() {
			if v := recover(); v != nil {
				r = result{err: &Error{Method: req.Method, URL: Show(req.URL.String()), Err: panicked(v)}}
			}
			done <- r
		}()
		r.answer, r.err = c.foreignTrip(req)
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, c.failure(req, context.Cause(ctx), false)
	}
}

func (c *Client) foreignTrip(req *http.Request) (*Answer, error) {
	resp, err := c.foreign.RoundTrip(req) //nolint:bodyclose // read closes it
	if err != nil {
		return nil, c.failure(req, err, false)
	}
	if resp == nil || resp.Body == nil {
		return nil, c.failure(req, errForeign, false)
	}
	return c.read(req, resp)
}

// panicked is the error of a foreign transport that panicked. Only a text of the runtime
// is shown: another value may hold the request.
func panicked(value any) error {
	if e, ok := value.(runtime.Error); ok {
		return fmt.Errorf("the RoundTripper of the application panicked: %w", e)
	}
	return fmt.Errorf("the RoundTripper of the application panicked with a value of type %T", value)
}
