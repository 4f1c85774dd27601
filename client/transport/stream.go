package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Stream reaches a server over an open byte stream, such as a socket or a pair
// of pipes. The framing is that of stdio: one message a line. It can connect
// once.
type Stream struct {
	// In is the input, Out the output. Closing the connection closes both.
	In  io.ReadCloser
	Out io.WriteCloser
	// Name is the result of String, "stream" if empty.
	Name string
	// Limits bound what the client accepts from the server.
	Limits Limits

	connected atomic.Bool
}

// InMemory returns a transport and the server side of its stream.
func InMemory() (*Stream, net.Conn) {
	ours, theirs := net.Pipe()
	return &Stream{In: ours, Out: ours, Name: "in-memory"}, theirs
}

// String implements [Transport].
func (s *Stream) String() string {
	if s.Name == "" {
		return "stream"
	}
	return s.Name
}

// Connect implements [Transport].
func (s *Stream) Connect(_ context.Context, h Handler) (Conn, error) {
	if s.In == nil || s.Out == nil {
		return nil, optionError("a stream transport needs In and Out")
	}
	if err := s.Limits.check(); err != nil {
		return nil, err
	}
	if s.connected.Swap(true) {
		return nil, optionError("a stream can be connected once; open another one")
	}
	in, out := guardStream(s.In, s.Out, &h)
	return newStreamConn(in, out, s.Limits, h), nil
}

// streamConn is a [Conn] over one byte stream.
type streamConn struct{ rpc *jsonrpc.Conn }

func newStreamConn(in io.ReadCloser, out io.WriteCloser, limits Limits, h Handler) *streamConn {
	limits = limits.withDefaults()
	h.Budget.fit(limits.MessageBytes)
	c := &streamConn{}
	cfg := jsonrpc.Config{
		MessageBytes: limits.MessageBytes,
		Depth:        limits.Depth,
		OnNoise:      h.Trace.Noise,
		OnSent:       h.Trace.Sent,
		OnReceived:   h.Trace.Received,
	}
	nobody := context.Background() //nolint:forbidigo // a stream does not associate messages with calls
	if h.OnRequest != nil {
		cfg.OnRequest = func(req jsonrpc.Request) { h.OnRequest(nobody, req, nil) }
	}
	if h.OnNotification != nil {
		cfg.OnNotification = func(n jsonrpc.Notification) { h.OnNotification(nobody, n, jsonrpc.ID{}) }
	}
	if h.OnFault != nil {
		cfg.OnFault = func(e *jsonrpc.DecodeError) { h.OnFault(e) }
	}
	c.rpc = jsonrpc.NewConn(in, out, cfg)
	return c
}

// Call implements [Conn].
func (c *streamConn) Call(ctx context.Context, req Request) (Answer, error) {
	resp, err := c.rpc.Call(ctx, req.Request, req.Wait)
	if err != nil {
		return Answer{}, callFailure(ctx, err)
	}
	return Answer{Response: resp}, nil
}

// Notify implements [Conn].
func (c *streamConn) Notify(ctx context.Context, n jsonrpc.Notification) error {
	if err := c.rpc.Notify(ctx, n); err != nil {
		return callFailure(ctx, err)
	}
	return nil
}

// Respond implements [Conn].
func (c *streamConn) Respond(ctx context.Context, resp jsonrpc.Response) error {
	if err := c.rpc.Respond(resp); err != nil {
		return callFailure(ctx, err)
	}
	return nil
}

// Touch implements [Conn].
func (c *streamConn) Touch(id jsonrpc.ID) { c.rpc.Touch(id) }

// UseVersion implements [Conn]. Byte streams carry no version.
func (c *streamConn) UseVersion(version string) { c.rpc.AcceptBatches(hasBatches(version)) }

// Received counts what arrives.
func (c *streamConn) Received() uint64 { return c.rpc.Received() }

// Late returns the number of answers without a waiting call.
func (c *streamConn) Late() uint64 { return c.rpc.Stats().Late }

// Backlog returns the progress of the sent data.
func (c *streamConn) Backlog() jsonrpc.Backlog { return c.rpc.Backlog() }

// Traits implements [Conn].
func (c *streamConn) Traits() Traits { return Traits{} }

// Done implements [Conn].
func (c *streamConn) Done() <-chan struct{} { return c.rpc.Done() }

// Close implements [Conn]. A socket is both In and Out, and is closed twice, as is the stdin of a
// program.
func (c *streamConn) Close() error {
	err := c.rpc.Close()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
