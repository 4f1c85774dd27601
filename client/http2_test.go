package client_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Frames of HTTP/2 (RFC 9113 section 6), as far as a server needs them that
// looks at bodies only.
const (
	h2Data     = 0
	h2Headers  = 1
	h2Reset    = 3
	h2Settings = 4
	h2Ping     = 6
	h2GoAway   = 7

	h2EndStream  = 1
	h2EndHeaders = 4
)

// h2Server speaks HTTP/2 by hand. turn returns the reply to a request; nil answers it.
type h2Server struct {
	turn func(method string, conn *h2Conn, stream uint32) (taken bool)

	secure *tls.Config // nil for none

	mu        sync.Mutex
	processed map[string]int // requests by method
	conns     int
	work      sync.WaitGroup
}

type h2Conn struct {
	net.Conn
	out chan []byte
}

func (c *h2Conn) frame(kind, flags byte, stream uint32, payload []byte) {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8|uint32(kind))
	head[4] = flags
	binary.BigEndian.PutUint32(head[5:], stream)
	c.out <- append(head, payload...)
}

func (c *h2Conn) refuse(stream uint32) { c.frame(h2Reset, 0, stream, []byte{0, 0, 0, 7}) }

// goAway names the last stream that is processed, and an error.
func (c *h2Conn) goAway(last, code uint32) {
	c.frame(h2GoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code))
}

func (s *h2Server) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	if s.secure != nil {
		theirs = tls.Server(theirs, s.secure)
	}
	c := &h2Conn{Conn: theirs, out: make(chan []byte, 1000)}
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	s.work.Go(func() {
		for b := range c.out {
			if _, err := c.Write(b); err != nil {
				break
			}
		}
		for range c.out { // the other side has left
		}
	})
	s.work.Go(func() {
		defer close(c.out)
		s.serve(c)
	})
	return socketLike{ours}, nil
}

// socketLike returns errors of failed writes as a socket does.
type socketLike struct{ net.Conn }

func (s socketLike) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if err != nil {
		err = &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return n, err
}

func (s *h2Server) serve(c *h2Conn) {
	if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	c.frame(h2Settings, 0, 0, nil)
	bodies := map[uint32][]byte{}
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(head) >> 8
		payload := make([]byte, size)
		if _, err := io.ReadFull(c, payload); err != nil {
			return
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch head[3] {
		case h2Settings:
			if head[4] == 0 {
				c.frame(h2Settings, 1, 0, nil)
			}
		case h2Data:
			bodies[stream] = append(bodies[stream], payload...)
			if head[4]&h2EndStream != 0 {
				s.request(c, stream, bodies[stream])
			}
		}
	}
}

func (s *h2Server) request(c *h2Conn, stream uint32, body []byte) {
	var m fromClient
	_ = json.Unmarshal(body, &m)
	if s.turn(m.Method, c, stream) {
		return
	}
	s.mu.Lock()
	s.processed[m.Method]++
	s.mu.Unlock()
	var text string
	switch m.Method {
	case "initialize":
		text = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`
	case "server/discover":
		text = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "tools/list":
		text = `{"resultType":"complete","tools":[{"name":"pay","inputSchema":{"type":"object"}}]}`
	default:
		text = `{"resultType":"complete","content":[]}`
	}
	if m.ID == nil {
		c.frame(h2Headers, h2EndHeaders|h2EndStream, stream, append([]byte{0x08, 3}, "202"...)) // :status as a literal
		return
	}
	c.frame(h2Headers, h2EndHeaders, stream, append([]byte{0x88, 0x5f, 16}, "application/json"...)) // :status 200, content-type
	c.frame(h2Data, h2EndStream, stream, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+text+`}`))
}

// onHTTP2 runs a test with a client of such a server in each era.
func onHTTP2(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper, test func(t *testing.T, c *client.Client, s *h2Server)) {
	t.Helper()
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &h2Server{processed: map[string]int{}}
				s.turn = func(string, *h2Conn, uint32) bool { return false }
				only := &http.Protocols{}
				only.SetUnencryptedHTTP2(true)
				pool := &http.Transport{DialContext: s.dial, Protocols: only}
				var rt http.RoundTripper = pool
				if wrap != nil {
					rt = wrap(pool)
				}
				c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://h2.invalid/mcp", RoundTripper: rt}, client.WithProtocolVersion(era))
				require.NoError(t, err)
				synctest.Wait() // the streams of connecting are over: none waits for the connection's lock
				test(t, c, s)
				s.turn = func(string, *h2Conn, uint32) bool { return false }
				require.NoError(t, c.Close())
				synctest.Wait() // the last stream is over
				pool.CloseIdleConnections()
				s.work.Wait()
			})
		})
	}
}

// once does something to the first n requests of a tool.
func once(n int, do func(c *h2Conn, stream uint32)) func(string, *h2Conn, uint32) bool {
	return func(method string, c *h2Conn, stream uint32) bool {
		if method != "tools/call" || n == 0 {
			return false
		}
		n--
		do(c, stream)
		return true
	}
}

// withoutBody is a round tripper that does not pass GetBody on, as many do, so that the
// HTTP layer repeats nothing automatically.
type withoutBody struct{ http.RoundTripper }

func (w withoutBody) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.GetBody = nil
	return w.RoundTripper.RoundTrip(r)
}

// What HTTP/2 proves to be unprocessed is made again for nothing, though it pays:
// neither the retry budget nor a circuit hears of it (RFC 9113 section 8.7).
func TestHTTP2Unprocessed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wrap func(http.RoundTripper) http.RoundTripper
		turn func() func(string, *h2Conn, uint32) bool
		opts []client.CallOption
	}{
		"GOAWAY with GetBody": {nil, func() func(string, *h2Conn, uint32) bool {
			return once(1, func(c *h2Conn, stream uint32) { c.goAway(stream-2, 0) })
		}, nil},
		"REFUSED_STREAM with GetBody": {nil, func() func(string, *h2Conn, uint32) bool {
			return once(1, func(c *h2Conn, stream uint32) { c.refuse(stream) })
		}, nil},
		"REFUSED_STREAM repeatedly": {nil, func() func(string, *h2Conn, uint32) bool {
			return once(4, func(c *h2Conn, stream uint32) { c.refuse(stream) })
		}, nil},
		"GOAWAY": {func(rt http.RoundTripper) http.RoundTripper { return withoutBody{rt} }, func() func(string, *h2Conn, uint32) bool {
			return once(2, func(c *h2Conn, stream uint32) { c.goAway(max(stream, 2)-2, 0) })
		}, nil},
		"GOAWAY with an error": {func(rt http.RoundTripper) http.RoundTripper { return withoutBody{rt} }, func() func(string, *h2Conn, uint32) bool {
			return once(2, func(c *h2Conn, stream uint32) { c.goAway(max(stream, 2)-2, 11) })
		}, nil},
		"REFUSED_STREAM": {func(rt http.RoundTripper) http.RoundTripper { return withoutBody{rt} }, func() func(string, *h2Conn, uint32) bool {
			return once(2, func(c *h2Conn, stream uint32) { c.refuse(stream) })
		}, nil},
		"GOAWAY, without retries": {nil, func() func(string, *h2Conn, uint32) bool {
			return once(1, func(c *h2Conn, stream uint32) { c.goAway(stream-2, 0) })
		}, []client.CallOption{client.WithRetryPolicy(client.RetryNever)}},
		"REFUSED_STREAM, without retries": {nil, func() func(string, *h2Conn, uint32) bool {
			return once(7, func(c *h2Conn, stream uint32) { c.refuse(stream) })
		}, []client.CallOption{client.WithRetryPolicy(client.RetryNever)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHTTP2(t, tt.wrap, func(t *testing.T, c *client.Client, s *h2Server) {
				s.turn = tt.turn()
				_, err := c.CallTool(t.Context(), "pay", map[string]any{}, tt.opts...)
				require.NoError(t, err)
				require.Equal(t, 1, s.processed["tools/call"])
				if left := c.Health().RetryTokens; left != nil {
					require.Equal(t, 100, *left, "nothing was paid")
				}
				require.Zero(t, c.Breaker().Snapshot().Failures)
			})
		})
	}
}

// A server that takes nothing at all: the call was not sent, says the error, and
// the circuit stays closed, since the server lives.
func TestHTTP2TakesNothing(t *testing.T) {
	t.Parallel()
	wrap := func(rt http.RoundTripper) http.RoundTripper { return withoutBody{rt} }
	onHTTP2(t, wrap, func(t *testing.T, c *client.Client, s *h2Server) {
		s.turn = once(1000, func(c *h2Conn, stream uint32) { c.refuse(stream) })
		for range 10 {
			_, err := c.CallTool(t.Context(), "pay", map[string]any{})
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), "%v", err)
			require.True(t, mcperrors.Retryable(err))
			require.NotErrorIs(t, err, mcperrors.ErrCircuitOpen)
		}
		require.Zero(t, s.processed["tools/call"])
		require.Zero(t, c.Breaker().Snapshot().Failures)
	})
}

// The proof is about streams above the last one only: a call that the server had
// taken when it broke off is unknown, and not made again.
func TestHTTP2ProcessedIsUnknown(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(c *h2Conn, stream uint32){
		"GOAWAY that names it": func(c *h2Conn, stream uint32) {
			c.goAway(stream, 0)
			time.AfterFunc(time.Second, func() { _ = c.Close() })
		},
		"an end while a PING is acknowledged": func(c *h2Conn, _ uint32) { // a write that fails, and not of the request
			c.frame(h2Ping, 0, 0, make([]byte, 8))
			gone := make(chan struct{})
			time.AfterFunc(time.Second, func() {
				_ = c.Close()
				close(gone)
			})
			<-gone // nothing is read meanwhile
		},
		"RST_STREAM INTERNAL_ERROR": func(c *h2Conn, stream uint32) { c.frame(h2Reset, 0, stream, []byte{0, 0, 0, 2}) },
		// The standard library sends such a request again where it can.
		"RST_STREAM PROTOCOL_ERROR": func(c *h2Conn, stream uint32) { c.frame(h2Reset, 0, stream, []byte{0, 0, 0, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHTTP2(t, nil, func(t *testing.T, c *client.Client, s *h2Server) {
				s.turn = once(1, do)
				_, err := c.CallTool(t.Context(), "pay", map[string]any{})
				require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
				require.Zero(t, s.processed["tools/call"], "not made again")
			})
		})
	}
}

// The same for a call that is the first request of all, over TLS: only the
// connection says then that it speaks HTTP/2. What does no harm may be sent twice.
func TestHTTP2FirstRequestOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	secret := server.TLS.Certificates
	server.Close()
	for method, times := range map[string]int{"tools/call": 0, "server/discover": 1, "initialize": 1, "tools/list": 1, "custom": 0} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &h2Server{processed: map[string]int{}}
				reset := false
				s.turn = func(_ string, c *h2Conn, stream uint32) bool {
					if reset {
						return false
					}
					reset = true
					c.frame(h2Reset, 0, stream, []byte{0, 0, 0, 1})
					return true
				}
				s.secure = &tls.Config{Certificates: secret, NextProtos: []string{"h2"}}
				pool := &http.Transport{
					DialContext: s.dial, ForceAttemptHTTP2: true,
					TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a pipe of the test's own
				}
				conn, err := (&transport.HTTP{URL: "https://h2.invalid/mcp", RoundTripper: pool}).Connect(t.Context(), transport.Handler{})
				require.NoError(t, err)
				_, err = conn.Call(t.Context(), transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: method}})
				require.Equal(t, times == 0, err != nil, "%v", err)
				if err != nil {
					var f *transport.Failure
					require.ErrorAs(t, err, &f)
					require.Equal(t, transport.ReasonLost, f.Reason, "%v", err)
					require.False(t, f.NotSent, "%v", err)
				}
				require.Equal(t, times, s.processed[method])
				require.NoError(t, conn.Close())
				synctest.Wait() // the last stream is over
				pool.CloseIdleConnections()
				s.work.Wait()
			})
		})
	}
}
