package connect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Rehearsed is a request as it would be sent.
type Rehearsed struct {
	Body []byte
	// Header is nil for a program.
	Header http.Header
}

// Rehearse returns the request that Request would send. The client makes it, and
// [Dialer.DryRun] keeps it from the server.
func (d *Dialer) Rehearse(ctx context.Context, c *Connection, method string, params any) (*Rehearsed, error) {
	c.stage.holds.Store(&method)
	_, err := c.Call(ctx, method, params, client.WithProgress(func(mcp.ProgressParams) {}), d.Times())
	if held := c.stage.held.Load(); held != nil {
		return held, nil
	}
	return nil, err
}

// stage holds back the requests of one method.
type stage struct {
	holds atomic.Pointer[string]
	held  atomic.Pointer[Rehearsed]
}

var errHeld = errors.New("a dry run sends nothing")

func (s *stage) takes(method string, r *Rehearsed) bool {
	if holds := s.holds.Load(); holds == nil || *holds != method {
		return false
	}
	s.held.Store(r)
	return true
}

// httpStage holds back requests with their headers.
type httpStage struct {
	http.RoundTripper
	*stage
}

// RoundTrip implements [http.RoundTripper].
func (s httpStage) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || s.holds.Load() == nil {
		return s.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // all was read
	if err != nil {
		return nil, err
	}
	if m, err := jsonrpc.Decode(body); err == nil {
		if req, ok := m.(jsonrpc.Request); ok && s.takes(req.Method, &Rehearsed{body, r.Header.Clone()}) {
			return nil, errHeld
		}
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return s.RoundTripper.RoundTrip(r)
}

// programStage holds back requests to a program.
type programStage struct {
	transport.Transport
	*stage
}

// Connect implements [transport.Transport].
func (s programStage) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	conn, err := s.Transport.Connect(ctx, h)
	if err != nil {
		return nil, err
	}
	return stagedConn{conn, s.stage}, nil
}

type stagedConn struct {
	transport.Conn
	*stage
}

// Call implements [transport.Conn].
func (c stagedConn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	if c.takes(req.Method, &Rehearsed{Body: req.AppendJSON(nil)}) {
		return transport.Answer{}, errHeld
	}
	return c.Conn.Call(ctx, req)
}
