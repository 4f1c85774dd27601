package client_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// wireServer is an HTTP server as seen on the wire: answers are bytes in which ID is
// replaced by the id of the request.
type wireServer struct {
	down  atomic.Bool // nothing listens
	calls atomic.Int32
	pings atomic.Int32
	tool  atomic.Pointer[func() (status int, body string)] // "" is silence, 0 a reset
}

var wireID = regexp.MustCompile(`"id":("[^"]*"|\d+)`)

func (s *wireServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, body := http.StatusOK, `{"jsonrpc":"2.0","id":ID,"result":{}}`
	id := wireID.FindSubmatch(sent)
	switch {
	case id == nil:
		status, body = http.StatusAccepted, ""
	case strings.Contains(string(sent), `"initialize"`):
		body = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}}`
	case strings.Contains(string(sent), `"ping"`):
		s.pings.Add(1)
	case strings.Contains(string(sent), `"tools/call"`):
		s.calls.Add(1)
		body = `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
		if tool := s.tool.Load(); tool != nil {
			switch status, body = (*tool)(); {
			case status == 0:
				return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
			case body == "":
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
		}
	}
	if id != nil {
		body = strings.ReplaceAll(body, "ID", string(id[1]))
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func (s *wireServer) answers(status int, body string) {
	f := func() (int, string) { return status, body }
	s.tool.Store(&f)
}

func (s *wireServer) dial(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://wire.invalid/mcp", RoundTripper: s}, append([]client.Option{
		client.WithProtocolVersion("2025-06-18"), client.WithCache(client.CacheConfig{NoPreload: true}),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// An error that answers a call is the result of the call, whatever its code and its HTTP
// status are. It opens no circuit, unless the profile says that it is a failure.
func TestAnswerIsAResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code, status int
		profile      mcperrors.Profile
		opens        bool
	}{
		{code: -32603, status: 200},
		{code: -32603, status: 500},
		{code: -32000, status: 200},
		{code: -32010, status: 502},
		{code: -32000, status: 503},
		{code: -32603, status: 200, profile: mcperrors.Docling, opens: true},
		{code: -32000, status: 200, profile: mcperrors.Docling, opens: true},
		{code: -32001, status: 200, profile: mcperrors.Docling, opens: true},
		{code: -32010, status: 200, profile: mcperrors.Docling},
	} {
		t.Run(fmt.Sprintf("%d %d %s", tt.code, tt.status, tt.profile), func(t *testing.T) {
			t.Parallel()
			for _, levels := range []client.Resilience{{}, {NoToolBreakers: true}} {
				synctest.Test(t, func(t *testing.T) {
					var s wireServer
					c := s.dial(t, client.WithErrorProfile(tt.profile), client.WithResilience(levels))
					s.answers(tt.status, fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":"Not Found"}}`, tt.code))
					for range 5 {
						require.Error(t, useTool(t.Context(), c, client.WithRetryPolicy(client.RetryNever)))
					}
					s.answers(200, `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`)
					require.Equal(t, tt.opens, mcperrors.KindOf(useTool(t.Context(), c)) == mcperrors.KindCircuitOpen)
				})
			}
		})
	}
}

// The call that a half-open tool circuit lets through is answered with an error: the tool
// answers again, so its circuit closes.
func TestAnswerClosesTheCircuitOfATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s wireServer
		tools := breaker.NewGroup(breaker.GroupSettings{})
		c := s.dial(t, client.WithResilience(client.Resilience{Tools: tools}))
		tools.Get("deploy").Trip("test")
		time.Sleep(31 * time.Second)
		s.answers(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"Not Found"}}`)
		require.Error(t, useTool(t.Context(), c))
		require.Equal(t, breaker.Closed, tools.Get("deploy").State())
	})
}

// A call counts once, however often it was sent: two callers while nothing listens for
// half a second do not open the circuit.
func TestCallsCountNotAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s wireServer
		c := s.dial(t)
		s.down.Store(true)
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() { _ = useTool(t.Context(), c) }) // one may meet the server again
		}
		time.Sleep(500 * time.Millisecond)
		s.down.Store(false)
		callers.Wait()
		require.NoError(t, useTool(t.Context(), c))

		s.down.Store(true)
		before := c.Breaker().Snapshot().Failures
		for i := range 5 {
			time.Sleep(outageStep)
			require.Equal(t, breaker.Closed, c.Breaker().State(), "after %d calls", i)
			require.Error(t, useTool(t.Context(), c))
		}
		require.Equal(t, breaker.Open, c.Breaker().State())
		require.Equal(t, before+5, c.Breaker().Snapshot().Failures)
	})
}

// outageStep is how far apart failures count that say that the server is away.
const outageStep = 250 * time.Millisecond

// What many calls see at the same moment counts once: the crash of a server under eight
// calls, and half a second without a listener. A server that stays away opens its circuit
// within 1.5 s.
func TestManyCallsSeeOneOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s wireServer
		c := s.dial(t)
		crash := make(chan struct{})
		hang := func() (int, string) {
			<-crash
			return 0, ""
		}
		s.tool.Store(&hang)
		var callers sync.WaitGroup
		began := time.Now()
		var opened atomic.Int64
		for range 8 {
			callers.Go(func() {
				for time.Since(began) < 3*time.Second {
					if err := useTool(t.Context(), c); errors.Is(err, mcperrors.ErrCircuitOpen) {
						opened.CompareAndSwap(0, int64(time.Since(began)))
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		synctest.Wait()
		s.down.Store(true)
		close(crash)
		synctest.Wait()
		require.Equal(t, 1, c.Breaker().Snapshot().ConsecutiveFailures)
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, breaker.Closed, c.Breaker().State())
		callers.Wait()
		require.Equal(t, breaker.Open, c.Breaker().State())
		require.InDelta(t, 1.25, time.Duration(opened.Load()).Seconds(), 0.25)
	})
}

// A call whose later attempt succeeds has not failed.
func TestRepeatedCallThatSucceedsDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s wireServer
		c := s.dial(t)
		s.down.Store(true)
		for range 4 {
			time.Sleep(outageStep)
			require.Error(t, useTool(t.Context(), c))
		}
		done := make(chan error, 1)
		go func() { done <- useTool(t.Context(), c) }()
		synctest.Wait()
		require.Equal(t, breaker.Closed, c.Breaker().State(), "its first attempt has failed")
		s.down.Store(false)
		require.NoError(t, <-done)
		require.Zero(t, c.Breaker().Snapshot().ConsecutiveFailures)
	})
}

// Where nothing listens, a ping goes after 1, 2, 4, 8 and 16 s of the 30, so that a
// server that is back is used again. Other failures wait for the 30 s.
func TestEarlyPingWhereNothingListens(t *testing.T) {
	t.Parallel()
	for back, used := range map[time.Duration]time.Duration{
		500 * time.Millisecond: time.Second, 3 * time.Second: 4 * time.Second, 9 * time.Second: 16 * time.Second, 20 * time.Second: 30 * time.Second,
	} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s wireServer
				c := s.dial(t)
				s.down.Store(true)
				for range 5 {
					time.Sleep(outageStep)
					require.Error(t, useTool(t.Context(), c))
				}
				opened := time.Now()
				time.AfterFunc(back, func() { s.down.Store(false) })
				for useTool(t.Context(), c, client.WithRetryPolicy(client.RetryNever)) != nil {
					time.Sleep(10 * time.Millisecond)
				}
				took := time.Since(opened)
				require.InDelta(t, used.Seconds(), took.Seconds(), 0.1)
				require.EqualValues(t, 1, s.calls.Load(), "no call was the probe")
				require.EqualValues(t, 1, s.pings.Load())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var s wireServer
		c := s.dial(t)
		s.answers(502, "bad gateway")
		for range 5 {
			require.Error(t, useTool(t.Context(), c))
		}
		s.answers(200, `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`)
		time.Sleep(30 * time.Second)
		require.ErrorIs(t, useTool(t.Context(), c), mcperrors.ErrCircuitOpen)
		time.Sleep(1)
		require.NoError(t, useTool(t.Context(), c))
	})
}

// A ping that is answered proves nothing twice: the third time one real call goes through,
// and decides.
func TestPingProvesNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s wireServer
		c := s.dial(t)
		s.answers(502, "bad gateway")
		once := client.WithRetryPolicy(client.RetryNever)
		for range 5 {
			require.Error(t, useTool(t.Context(), c, once))
		}
		for round := range 5 {
			time.Sleep(30*time.Second + 1)
			before := c.Breaker().Snapshot().Generation
			calls := s.calls.Load()
			require.Error(t, useTool(t.Context(), c, once))
			require.Equal(t, calls+1, s.calls.Load())
			require.Equal(t, breaker.Open, c.Breaker().State())
			pings, states := min(round+1, 2), uint64(3) // HALF_OPEN, CLOSED, OPEN
			if round >= 2 {
				states = 2 // HALF_OPEN, OPEN
			}
			require.EqualValues(t, pings, s.pings.Load(), "round %d", round)
			require.Equal(t, before+states, c.Breaker().Snapshot().Generation, "round %d", round)
		}
		time.Sleep(30*time.Second + 1)
		s.answers(200, `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`)
		require.NoError(t, useTool(t.Context(), c, once))
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.False(t, c.Breaker().Snapshot().Probation)
		require.EqualValues(t, 2, s.pings.Load())
	})
}
