package transport

import (
	"io"
	"net"
	"net/http"
	"os"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// callbackFailed reports a callback of the application that did not return.
func (h *Handler) callbackFailed(e *callback.Error) {
	if h.OnCallbackFailed != nil {
		h.OnCallbackFailed(e.Name, e.Value, e.Stack)
	}
}

// roundTrip sends a request.
func (c *httpConn) roundTrip(r *http.Request) (*http.Response, error) {
	if c.standard {
		return c.rt.RoundTrip(r)
	}
	return c.foreignTrip(r)
}

// foreignTrip sends a request with the application's RoundTripper. A panic becomes an error. It
// runs on a goroutine of its own, since others may wait for this one.
func (c *httpConn) foreignTrip(r *http.Request) (resp *http.Response, err error) {
	callback.Aside("HTTP.RoundTripper", func(e *callback.Error) {
		err = e
		c.handler.callbackFailed(e)
	}, func() { resp, err = c.rt.RoundTrip(r) }) //nolint:bodyclose // the exchange closes it
	if err == nil {
		resp.Body = guardedStream{r: resp.Body, c: resp.Body, h: &c.handler, name: "HTTP.RoundTripper"}
	}
	return resp, err
}

// guardedStream is a stream of the application.
type guardedStream struct {
	r    io.Reader
	w    io.Writer
	c    io.Closer
	h    *Handler
	name string
}

// Read implements [io.Reader].
func (s guardedStream) Read(p []byte) (n int, err error) {
	s.run(&err, func() { n, err = s.r.Read(p) })
	return n, err
}

// Write implements [io.Writer].
func (s guardedStream) Write(p []byte) (n int, err error) {
	s.run(&err, func() { n, err = s.w.Write(p) })
	return n, err
}

// Close implements [io.Closer].
func (s guardedStream) Close() (err error) {
	s.run(&err, func() { err = s.c.Close() })
	return err
}

func (s guardedStream) run(err *error, f func()) {
	callback.Run(s.name, func(e *callback.Error) {
		*err = e
		s.h.callbackFailed(e)
	}, f)
}

// guardStream guards the two ends of a stream against panics, unless they are of the standard
// library: package jsonrpc uses those directly.
func guardStream(in io.ReadCloser, out io.WriteCloser, h *Handler) (io.ReadCloser, io.WriteCloser) {
	if !standard(in) {
		in = guardedStream{r: in, c: in, h: h, name: "Stream.In"}
	}
	if !standard(out) {
		out = guardedStream{w: out, c: out, h: h, name: "Stream.Out"}
	}
	return in, out
}

func standard(stream any) bool {
	switch stream.(type) {
	case *os.File, *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}
