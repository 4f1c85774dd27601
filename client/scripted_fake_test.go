package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// scriptedServer is a transport whose requests answer decides, for what no real
// one does on demand: n counts the requests of a method from 1.
type scriptedServer struct {
	version string
	answer  func(ctx context.Context, n int, req transport.Request) (transport.Answer, error)

	mu     sync.Mutex
	asked  map[string]int
	closed chan struct{}
	close  func()
}

func newScriptedServer(version string) *scriptedServer {
	s := &scriptedServer{version: version, asked: map[string]int{}, closed: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	s.answer = func(context.Context, int, transport.Request) (transport.Answer, error) {
		return transport.Answer{}, noConnection()
	}
	return s
}

func (s *scriptedServer) String() string { return "scripted" }
func (s *scriptedServer) Connect(context.Context, transport.Handler) (transport.Conn, error) {
	return s, nil
}

func (s *scriptedServer) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	s.mu.Lock()
	s.asked[req.Method]++
	n := s.asked[req.Method]
	s.mu.Unlock()
	const about = `"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"scripted","version":"1"}}`
	switch {
	case n == 1 && req.Method == "initialize":
		return resultOf(req, `{"protocolVersion":"`+s.version+`",`+about)
	case n == 1 && req.Method == "server/discover":
		return resultOf(req, `{"resultType":"complete","supportedVersions":["`+s.version+`"],`+about)
	}
	return s.answer(ctx, n, req)
}

func (s *scriptedServer) Notify(context.Context, jsonrpc.Notification) error { return nil }
func (s *scriptedServer) Respond(context.Context, jsonrpc.Response) error    { return nil }
func (s *scriptedServer) Touch(jsonrpc.ID)                                   {}
func (s *scriptedServer) UseVersion(string)                                  {}
func (s *scriptedServer) Traits() transport.Traits                           { return transport.Traits{Exchanges: true} }
func (s *scriptedServer) Done() <-chan struct{}                              { return s.closed }
func (s *scriptedServer) Close() error                                       { s.close(); return nil }

func (s *scriptedServer) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

func (s *scriptedServer) dial(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), s, append([]client.Option{
		client.WithProtocolVersion(s.version),
		client.WithCache(client.CacheConfig{NoPreload: true}), client.WithValidation(client.Validation{Arguments: client.ValidateOff}),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// opened dials a server that then refuses connections until the circuit is open
// and its cooldown over: the next call probes.
func (s *scriptedServer) opened(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	c := s.dial(t, opts...)
	next := s.answer
	s.answer = func(context.Context, int, transport.Request) (transport.Answer, error) {
		return transport.Answer{}, noConnection()
	}
	for range 5 {
		require.Error(t, useTool(t.Context(), c))
	}
	require.Equal(t, breaker.Open, c.Breaker().State())
	<-time.After(31 * time.Second)
	s.answer = next
	return c
}

func useTool(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
	_, err := c.Call(ctx, "tools/call", map[string]any{"name": "deploy"}, opts...)
	return err
}

const toolDone = `{"resultType":"complete","content":[]}`

func resultOf(req transport.Request, text string) (transport.Answer, error) {
	return transport.Answer{Response: jsonrpc.Response{ID: req.ID, Result: json.RawMessage(text)}}, nil
}

func errorOf(req transport.Request, code int64) (transport.Answer, error) {
	return transport.Answer{Response: jsonrpc.Response{ID: req.ID, Error: jsonrpc.NewError(code, "no", nil)}}, nil
}

func statusFailure(code int, after time.Duration) error {
	return &transport.Failure{
		Reason: transport.ReasonStatus, Rejected: code == 429, RetryAfter: after,
		HTTP: &mcperrors.HTTPEvidence{Status: code}, Err: fmt.Errorf("status %d", code),
	}
}

func noConnection() error {
	return &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errors.New("connection refused")}
}

func noSession() error {
	return &transport.Failure{
		Reason: transport.ReasonSession, Rejected: true,
		HTTP: &mcperrors.HTTPEvidence{Status: 404}, Err: errors.New("no such session"),
	}
}

// unansweredRequest keeps a request until its time is over or its caller leaves.
func unansweredRequest(ctx context.Context, req transport.Request) (transport.Answer, error) {
	most, why := req.Wait.Max, jsonrpc.ErrMaxWait
	if idle := req.Wait.Idle; idle > 0 && (most == 0 || idle < most) {
		most, why = idle, jsonrpc.ErrIdle
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-timer.C:
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonTimeout, Err: why}
	case <-ctx.Done():
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonCanceled, Err: context.Cause(ctx)}
	}
}
