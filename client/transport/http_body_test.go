package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// counted is a connection that keeps what is written.
type counted struct {
	net.Conn
	mu     *sync.Mutex
	writes *[]string
}

func (c counted) Write(p []byte) (int, error) {
	c.mu.Lock()
	*c.writes = append(*c.writes, string(p))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// A small request is sent in one packet: the standard library flushes the head separately before
// a body of an unknown type.
func TestHTTPOnePacket(t *testing.T) {
	t.Parallel()
	s := serve(t, answerAll)
	var mu sync.Mutex
	var writes []string
	rt := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return counted{c, &mu, &writes}, err
	}}
	t.Cleanup(rt.CloseIdleConnections)
	p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: rt})
	p.answers("m")
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, writes, 1)
	require.True(t, strings.HasSuffix(writes[0], `"method":"m"}`))
}

// With another layer below the standard library, delivery cannot be observed, so it is unknown.
func TestHTTPForeignProtocol(t *testing.T) {
	t.Parallel()
	rt := &http.Transport{}
	rt.RegisterProtocol("http", tripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadAll(r.Body)
		return nil, errors.New("lost after sending")
	}))
	p := dial(t, &transport.HTTP{URL: "http://foreign.test", RoundTripper: rt})
	require.False(t, p.fails("m", transport.ReasonLost).NotSent)
}

// A call that is canceled before it has a connection was not sent.
func TestHTTPGivenUpBeforeSending(t *testing.T) {
	t.Parallel()
	dialing := make(chan struct{})
	rt := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialing)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	p := dial(t, &transport.HTTP{URL: "http://slow.test", RoundTripper: rt})
	t.Cleanup(rt.CloseIdleConnections)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-dialing
		cancel()
	}()
	_, err := p.Call(ctx, p.request("m"))
	require.True(t, failure(t, err, transport.ReasonCanceled).NotSent)
}

// A call without an answer was sent, whatever ends it.
func TestHTTPGivenUpAfterSending(t *testing.T) {
	t.Parallel()
	got := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request, _ posted) {
		close(got)
		<-r.Context().Done()
	})
	p := dial(t, &transport.HTTP{URL: s.url})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-got
		cancel()
	}()
	_, err := p.Call(ctx, transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: "m"}})
	require.False(t, failure(t, err, transport.ReasonCanceled).NotSent)
}
