package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// settled returns the methods that a server has got by the time all is quiet.
func settled(s *fakeServer) []string {
	synctest.Wait()
	return s.methods()
}

// paramsOf returns the params of a message.
func paramsOf(t *testing.T, line string) (params map[string]json.RawMessage) {
	t.Helper()
	var m struct{ Params map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(line), &m))
	return m.Params
}

// The probe is the first message, at the preferred revision; the session after it is
// that of a client that sent no probe.
func TestProbeOnTheWire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		found(t, tr)
		require.Equal(t, []string{"server/discover", "initialize", "notifications/initialized"}, settled(s))
		probe := paramsOf(t, s.received()[0])
		require.Len(t, probe, 1)
		require.Contains(t, string(probe["_meta"]), `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
		require.Contains(t, string(probe["_meta"]), `"io.modelcontextprotocol/clientCapabilities":{`)
		session := paramsOf(t, s.received()[1])
		require.JSONEq(t, `"2025-11-25"`, string(session["protocolVersion"]))
		require.NotContains(t, session, "_meta")
	})
}

// Over HTTP the probe has the headers of its era and initialize none of them.
func TestProbeHeaders(t *testing.T) {
	t.Parallel()
	s := sessionServer(t)
	found(t, s.HTTP())
	got := s.Requests()
	require.Equal(t, "2026-07-28", got[0].Header.Get("Mcp-Protocol-Version"))
	require.Equal(t, "server/discover", got[0].Header.Get("Mcp-Method"))
	for name := range got[1].Header {
		require.False(t, strings.HasPrefix(name, "Mcp-"), "initialize carries %s", name)
	}
}

// A pinned session is byte for byte that of a client without the other era, and
// a pinned stateless revision has no way back.
func TestPinnedModes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		chosen := found(t, tr, client.WithProtocolVersion("2025-06-18"))
		require.Equal(t, []string{"initialize", "notifications/initialized"}, settled(s))
		require.Equal(t, "pinned", chosen.Evidence)
	})
	for name, tc := range map[string]struct {
		answer any
		kind   string
	}{
		"not listed":   {json.RawMessage(`{"supportedVersions":["2025-11-25"]}`), "version"},
		"unsupported":  {rpcError(-32022, "no", `{"supported":["2025-11-25"]}`), "version"},
		"error":        {rpcError(-32600, "no", ""), "protocol"},
		"other result": {json.RawMessage(`{}`), "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.on("server/discover", func(jsonrpc.Request) any { return tc.answer })
			_, err := find(t, tr, client.WithProtocolVersion("2026-07-28"))
			require.Equal(t, tc.kind, mcperrors.KindOf(err).String(), "%v", err)
			require.Equal(t, []string{"server/discover"}, s.methods())
		})
	}
}

// A server of the stateless era without server/discover is used all the same,
// when it is pinned: nothing is known of it, so nothing is required.
func TestPinnedWithoutDiscover(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2026-07-28"))
	require.NoError(t, err)
	require.False(t, c.HasCapability("tools"))
	_, err = c.CallTool(t.Context(), "echo", hello, client.WithoutValidation())
	require.NoError(t, err)
	require.Equal(t, 1, s.count("tools/call"))
	require.NoError(t, ignoreClosed(c.Close()))
}

// The probe waits for ten seconds, or for the time of the option, or for half of the
// caller's time, so that the client still reaches a silent server.
func TestProbeIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts   []client.Option
		within time.Duration // of the context, 0 for none
		want   time.Duration
	}{
		"default":               {nil, 0, 10 * time.Second},
		"option":                {[]client.Option{client.WithProbe(client.Probe{Timeout: 3 * time.Second})}, 0, 3 * time.Second},
		"half of the context":   {nil, 8 * time.Second, 4 * time.Second},
		"the request's timeout": {[]client.Option{client.WithResilience(client.Resilience{Off: true, IdleTimeout: time.Second})}, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sessionServer(t)
				s.On("server/discover", says(clienttest.ErrSilent))
				ctx := t.Context()
				if tc.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.within)
					defer cancel()
				}
				began := time.Now()
				c, err := client.Connect(ctx, s.Transport(), append([]client.Option{client.WithEraStore(nil)}, tc.opts...)...)
				require.NoError(t, err)
				require.Equal(t, tc.want, c.Negotiated().Tried[0].Took)
				require.GreaterOrEqual(t, time.Since(began), tc.want)
				require.NoError(t, ignoreClosed(c.Close()))
			})
		})
	}
	_, err := client.Connect(t.Context(), clienttest.NewServer(t).Transport(), client.WithProbe(client.Probe{Timeout: -1}))
	require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
}

// Giving up while the probe is on its way, or the handshake, writes nothing
// more: no word that a request was cancelled.
func TestGivingUpSaysNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"server/discover", "initialize"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, s := newFake(t)
				s.on(method, func(jsonrpc.Request) any { return nil })
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				_, err := client.Connect(ctx, tr, client.WithEraStore(nil))
				require.ErrorIs(t, err, context.Canceled)
				synctest.Wait()
				require.NotContains(t, s.methods(), "notifications/cancelled")
				require.Equal(t, method, s.methods()[len(s.methods())-1])
			})
		})
	}
}

// During the probe, a notification is dropped, and so is a request: it is
// reported. But a ping is answered at any time, and logs are heard during the
// handshake.
func TestWhatComesBeforeTheEraIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.on("server/discover", func(jsonrpc.Request) any {
			s.write(`{"jsonrpc":"2.0","id":"early","method":"ping"}`)
			s.write(`{"jsonrpc":"2.0","id":"question","method":"roots/list"}`)
			s.notify("notifications/message", `{"level":"info","data":"early"}`)
			return rpcError(-32601, "Method not found", "")
		})
		s.on("initialize", func(jsonrpc.Request) any {
			s.write(`{"jsonrpc":"2.0","id":"late","method":"ping"}`)
			s.notify("notifications/message", `{"level":"info","data":"late"}`)
			time.Sleep(time.Second)
			return json.RawMessage(initResult)
		})
		var logs, dropped []string
		c, err := find(t, tr, client.OnLog(func(_ context.Context, m mcp.LoggingMessageParams) { logs = append(logs, string(m.Data)) }),
			client.OnEvent(func(_ context.Context, e client.Event) {
				if e, ok := e.(client.RequestDropped); ok {
					dropped = append(dropped, e.Method)
				}
			}))
		require.NoError(t, err)
		synctest.Wait()
		all := strings.Join(s.received(), "\n")
		require.Contains(t, all, `"id":"early","result":{}`)
		require.NotContains(t, all, `"question"`)
		require.Equal(t, []string{"roots/list"}, dropped)
		require.Contains(t, all, `"id":"late","result":{}`)
		require.Equal(t, []string{`"late"`}, logs)
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// A server that was too slow for the probe and then refuses initialize is
// probed once more, and no further.
func TestLateProbe(t *testing.T) {
	t.Parallel()
	unsupported := rpcError(-32022, "Unsupported protocol version", `{"supported":["2026-07-28"]}`)
	for name, tc := range map[string]struct {
		first, initialize any
		twice             bool // is the server stateless in the end?
	}{
		"-32022":                   {nil, unsupported, true},
		"-32022 without a list":    {rpcError(-32601, "x", ""), rpcError(-32022, "no", ""), true},
		"any error after silence":  {nil, rpcError(-32600, "initialize is gone", ""), true},
		"an error that names it":   {rpcError(-32601, "x", ""), rpcError(-32602, "speak 2026-07-28", ""), true},
		"its own revision echoed":  {rpcError(-32601, "x", ""), json.RawMessage(strings.Replace(initResult, "2025-11-25", "2026-07-28", 1)), true},
		"an error about something": {rpcError(-32601, "x", ""), rpcError(-32603, "database is down", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, s := newFake(t)
				probes := 0
				s.on("server/discover", func(jsonrpc.Request) any {
					if probes++; probes == 1 {
						return tc.first
					}
					return json.RawMessage(discoverAnswer)
				})
				s.on("initialize", func(jsonrpc.Request) any { return tc.initialize })
				c, err := find(t, tr)
				if !tc.twice {
					require.ErrorContains(t, err, "database is down")
					require.Equal(t, []string{"server/discover", "initialize"}, s.methods())
					return
				}
				require.NoError(t, err)
				require.Equal(t, mcp.Version2026_07_28, c.ProtocolVersion())
				require.Equal(t, []string{"server/discover", "initialize", "server/discover"}, s.methods())
				require.NoError(t, ignoreClosed(c.Close()))
			})
		})
	}
}

// A server that always refuses both is asked a bounded number of times, and its own
// text is the error.
func TestLateProbeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.on("server/discover", func(jsonrpc.Request) any { return rpcError(-32601, "x", "") })
		s.on("initialize", func(jsonrpc.Request) any {
			return rpcError(-32022, "only 2026-07-28 here", `{"supported":["2026-07-28"]}`)
		})
		_, err := find(t, tr)
		require.Equal(t, mcperrors.KindVersion, mcperrors.KindOf(err))
		require.ErrorContains(t, err, "only 2026-07-28 here")
		require.Equal(t, []string{"server/discover", "initialize", "server/discover"}, s.methods())
	})
}

// An error after more than one request lists the requests, and the event has the chosen
// era and its reason.
func TestEvidence(t *testing.T) {
	t.Parallel()
	s := clienttest.NewServer(t)
	s.On("server/discover", says(&clienttest.HTTPError{Status: http.StatusNotFound, Body: "no such page"}))
	s.On("initialize", says(&clienttest.HTTPError{Status: http.StatusUnauthorized, Body: "who?"}))
	_, err := find(t, s.HTTP())
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
	require.ErrorContains(t, err, "tried server/discover 2026-07-28 → status 404, initialize 2025-11-25 → status 401")
	var trail *client.EraError
	require.ErrorAs(t, err, &trail)
	require.Len(t, trail.Tried, 2)

	tr, _ := newFake(t)
	var log lines
	events := make(chan client.Event, 8)
	c, err := find(t, tr, client.WithLogger(log.logger()),
		client.OnEvent(func(_ context.Context, e client.Event) { events <- e }))
	require.NoError(t, err)
	chosen, ok := (<-events).(client.Negotiated)
	require.True(t, ok, "it is the first event")
	require.IsType(t, client.Connected{}, <-events)
	require.Equal(t, mcp.EraSession, chosen.Era)
	require.Equal(t, mcp.Version2025_11_25, chosen.Version)
	require.Equal(t, "method-not-found", chosen.Evidence)
	require.Equal(t, []string{`error -32601 "Method not found"`, "revision 2025-11-25"}, []string{chosen.Tried[0].Reply, chosen.Tried[1].Reply})
	require.Equal(t, chosen, c.Negotiated())
	require.NoError(t, ignoreClosed(c.Close()))
	require.Equal(t, 1, strings.Count(log.String(), "[MCP] Era chosen"))
	require.Contains(t, log.String(), "evidence=method-not-found round_trips=2 remembered=false")
}

// sessionOnly is a transport that exists in the session era only.
type sessionOnly struct{ transport.Transport }

func (s sessionOnly) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	conn, err := s.Transport.Connect(ctx, h)
	return sessionOnlyConn{conn}, err
}

type sessionOnlyConn struct{ transport.Conn }

func (sessionOnlyConn) Traits() transport.Traits { return transport.Traits{SessionOnly: true} }

// Such a transport is not probed over.
func TestSessionOnlyIsNotProbed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		chosen := found(t, sessionOnly{tr})
		require.Equal(t, []string{"initialize", "notifications/initialized"}, settled(s))
		require.Equal(t, "transport", chosen.Evidence)
	})
}

// falling is an HTTP transport with a fallback.
type falling struct {
	*transport.HTTP
	to transport.Transport
}

func (f falling) Fallback() transport.Transport { return f.to }

// failing is a transport that cannot be opened.
type failing struct{}

func (failing) String() string { return "failing" }

func (failing) Connect(context.Context, transport.Handler) (transport.Conn, error) {
	return nil, &transport.Failure{Reason: transport.ReasonNotMCP, Err: errors.New("no event stream here")}
}

// If initialize is refused the way HTTP+SSE servers do, the client tries the fallback;
// after other refusals it does not. If the fallback fails, the error is that of
// initialize, with all requests.
func TestFallback(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		code   int64 // of an error in the body, 0 for a text
		opts   []client.Option
		falls  bool
	}{
		"400":             {400, 0, nil, true},
		"404":             {404, 0, nil, true},
		"405":             {405, 0, nil, true},
		"400 with -32000": {400, -32000, nil, true},
		"400 with -32020": {400, -32020, nil, false},
		"406":             {406, 0, nil, false},
		"406, any":        {406, 0, []client.Option{client.WithProbe(client.Probe{AnyRefusal: true})}, true},
		"401":             {401, 0, []client.Option{client.WithProbe(client.Probe{AnyRefusal: true})}, false},
		"500":             {500, 0, nil, false},
		"pinned session":  {404, 0, []client.Option{client.WithProtocolVersion("2025-11-25")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, old := sessionServer(t), sessionServer(t)
				refusal := &clienttest.HTTPError{Status: tc.status, Body: "no"}
				if tc.code != 0 {
					refusal.RPC = rpcError(tc.code, "no", "")
				}
				s.On("initialize", says(refusal))
				c, err := find(t, falling{s.HTTP(), sessionOnly{old.Stream()}}, tc.opts...)
				if !tc.falls {
					require.Error(t, err)
					require.Empty(t, old.Requests())
					return
				}
				require.NoError(t, err)
				require.True(t, c.Negotiated().Fallback)
				require.Equal(t, [][]string{{"initialize", "notifications/initialized"}}, wireOf(old))
				require.NoError(t, ignoreClosed(c.Close()))

				_, err = find(t, falling{s.HTTP(), failing{}}, tc.opts...)
				require.ErrorContains(t, err, "initialize 2025-11-25 → status")
				require.ErrorContains(t, err, "GET → no event stream here")
			})
		})
	}
}

// A program that copies its input, such as cat, sends requests that only clients send.
// It is no server, and the client fails at once.
func TestEchoIsNoServer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{client.AutoVersion, "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, conn := transport.InMemory()
				go func() { _, _ = io.Copy(conn, conn) }()
				began := time.Now()
				_, err := client.Connect(t.Context(), tr, client.WithProtocolVersion(version))
				require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err), "%v", err)
				require.ErrorContains(t, err, "sends the client's requests back")
				require.Zero(t, time.Since(began))
				_ = conn.Close()
			})
		})
	}
}
