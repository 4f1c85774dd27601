package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
)

// A transport of the application that is not a [*http.Transport] is foreign: the guard
// cannot see which address it connects to. So this machine resolves the name before each
// request, and refuses the request if the guard refuses the address. This misses three
// cases: a name that only the transport resolves, a name that resolves differently the
// second time, and a redirect that the transport follows. Its panics become errors. A
// request that it does not end is abandoned when the context ends.

// errForeign replaces the transport's own error, whose text may contain secrets.
var errForeign = errors.New("the RoundTripper of the application failed")

// apart makes one request with the foreign transport, on its own goroutine.
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

// panicked returns the error for a panic of the foreign transport. It shows only errors
// of the runtime, because another value may contain the request.
func panicked(value any) error {
	if e, ok := value.(runtime.Error); ok {
		return fmt.Errorf("the RoundTripper of the application panicked: %w", e)
	}
	return fmt.Errorf("the RoundTripper of the application panicked with a value of type %T", value)
}
