package client_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// fakePrograms is a transport whose connections are programs as far as the client
// can tell, in virtual time. set says what the n-th of them is, counted from 1; an
// error is that of starting it.
type fakePrograms struct {
	t   testing.TB
	set func(n int, s *fakeServer) error

	mu   sync.Mutex
	runs []*fakeServer
}

func (f *fakePrograms) String() string { return "program" }

func (f *fakePrograms) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, &transport.Failure{Reason: transport.ReasonCanceled, NotSent: true, Err: ctx.Err()}
	}
	tr, s := newFake(f.t)
	f.mu.Lock()
	f.runs = append(f.runs, s)
	n := len(f.runs)
	f.mu.Unlock()
	if f.set != nil {
		if err := f.set(n, s); err != nil {
			_ = s.conn.Close()
			return nil, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: err, Process: &mcperrors.ProcessEvidence{Command: []string{"program"}}}
		}
	}
	conn, err := tr.Connect(ctx, h)
	return fakeProgram{Conn: conn, s: s}, err
}

// count is how many programs were started.
func (f *fakePrograms) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.runs)
}

// last is the program that was started last.
func (f *fakePrograms) last() *fakeServer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[len(f.runs)-1]
}

// fakeProgram is a connection whose value cannot be compared, as those of
// applications may be: the client must tell connections apart by something else.
type fakeProgram struct {
	transport.Conn
	s *fakeServer
	_ []byte
}

func (fakeProgram) Traits() transport.Traits { return transport.Traits{Process: true} }

func (p fakeProgram) Received() uint64 { return p.Conn.(link.Counter).Received() }

func (p fakeProgram) Late() uint64 { return p.Conn.(link.Counter).Late() }

func (p fakeProgram) Backlog() jsonrpc.Backlog { return p.Conn.(link.Outbox).Backlog() }

func (p fakeProgram) Exited() <-chan struct{} {
	if p.s.exited != nil {
		return p.s.exited
	}
	return p.s.done
}

func (p fakeProgram) Kill(error) { _ = p.s.conn.Close() }

func (p fakeProgram) Close() error { return ignoreClosed(p.Conn.Close()) }

func (p fakeProgram) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	answer, err := p.Conn.Call(ctx, req)
	if f, ok := errors.AsType[*transport.Failure](err); ok && f.Reason == transport.ReasonLost {
		f.Process = p.Ended().Process
	}
	return answer, err
}

func (p fakeProgram) Ended() *transport.Failure {
	return &transport.Failure{
		Reason: transport.ReasonLost, NotSent: true, Err: jsonrpc.ErrPeerClosed,
		Process: &mcperrors.ProcessEvidence{Command: []string{"program"}, Exited: true, Exit: 3, Stderr: []string{"out of luck"}},
	}
}

// crash ends the program.
func (s *fakeServer) crash() { _ = s.conn.Close() }

// crashesOn ends the program when a request of a method comes.
func (s *fakeServer) crashesOn(method string) {
	s.on(method, func(jsonrpc.Request) any { s.crash(); return nil })
}

// happenings are the events of a client, in a few words.
type happenings struct {
	mu  sync.Mutex
	all []string
}

func (h *happenings) option() client.Option {
	return client.OnEvent(func(_ context.Context, e client.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch e := e.(type) {
		case client.StateChanged:
			h.all = append(h.all, e.From.String()+" to "+e.To.String())
		case client.Restarted:
			h.all = append(h.all, "restarted")
		case client.Disconnected:
			h.all = append(h.all, "disconnected")
		case client.Reinitialized:
			h.all = append(h.all, "reinitialized")
		case client.Negotiated:
			h.all = append(h.all, "era "+string(e.Version))
		case client.SubscriptionGap:
			h.all = append(h.all, "gap")
		}
	})
}

// take returns what happened since the last time.
func (h *happenings) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// supervised runs a test with a client of programs, in a bubble.
func supervised(t *testing.T, set func(n int, s *fakeServer) error, f func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings), opts ...client.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, h := &fakePrograms{t: t, set: set}, &happenings{}
		base := []client.Option{sessionEra, client.WithEraStore(nil), h.option()}
		c, err := client.Connect(t.Context(), p, append(base, opts...)...)
		require.NoError(t, err)
		defer func() { _ = c.Close() }() // also of a test that fails
		synctest.Wait()
		h.take()
		require.Equal(t, client.StateReady, c.State())
		f(t, c, p, h)
		require.NoError(t, c.Close())
		require.Equal(t, client.StateClosed, c.State())
	})
}

func callOnce(ctx context.Context, c *client.Client) error {
	_, err := c.CallTool(ctx, "echo", message)
	return err
}

// A program that ends is started again, soon, and calls that come meanwhile wait
// for it. What was in flight is not made again.
func TestProgramIsStartedAgain(t *testing.T) {
	var inFlight error
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			s.crashesOn("tools/call")
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		require.NoError(t, c.Ping(t.Context()))
		inFlight = callOnce(t.Context(), c)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(inFlight), inFlight)
		began := time.Now()
		require.NoError(t, callOnce(t.Context(), c))
		require.Less(t, time.Since(began), 250*time.Millisecond)
		require.Equal(t, 2, p.count())
		require.Equal(t, 1, p.last().count("tools/call"))
		require.Equal(t, []string{"initialize", "notifications/initialized", "tools/call"}, p.last().methods())
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		require.Equal(t, 1, p.last().count("tools/list"), "what was kept of the one before is not used")
		synctest.Wait()
		require.Equal(t, client.StateReady, c.State())
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "restarted"}, h.take())
	})
}

// Programs that end as soon as they are started are left alone for a time:
// calls are refused at once and told how long (fault E2).
func TestCrashLoopIsHeld(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n > 1 && n < 8 {
			s.crashesOn("initialize")
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		p.last().crash()
		err := callOnce(t.Context(), c) // waits until there is a hold
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, true}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, e)
		require.Equal(t, 60*time.Second, e.RetryAfter)
		require.Contains(t, e.Message, "it is started again in 1m0s")
		require.ErrorContains(t, e, "status 3")
		require.ErrorContains(t, e, "out of luck")
		require.Equal(t, 5, p.count())
		require.Equal(t, client.StateHeld, c.State())
		pass(20 * time.Second)
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Equal(t, 40*time.Second, e.RetryAfter)
		require.ErrorAs(t, c.Notify(t.Context(), "x/y", nil), &e)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
		synctest.Wait()
		require.Equal(t, []string{"ready to restarting", "restarting to held"}, h.take())

		pass(41 * time.Second) // the sixth, which ends too: twice as long
		require.Equal(t, 6, p.count())
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Greater(t, e.RetryAfter, 110*time.Second)
		pass(2 * time.Minute) // the seventh, four minutes
		require.Equal(t, 7, p.count())
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Greater(t, e.RetryAfter, 220*time.Second)
		pass(4 * time.Minute)
		require.Equal(t, client.StateReady, c.State())
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, []string{
			"held to restarting", "restarting to held", "held to restarting", "restarting to held",
			"held to restarting", "restarting to ready", "restarted",
		}, h.take())
	})
}

// A program that is not there any more is not tried again (fault E1).
func TestProgramThatIsGoneIsNotTriedAgain(t *testing.T) {
	supervised(t, func(n int, _ *fakeServer) error {
		if n > 1 {
			return exec.ErrNotFound
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		p.last().crash()
		for range 10 {
			var e *mcperrors.Error
			require.ErrorAs(t, callOnce(t.Context(), c), &e)
			require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, false}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, e)
			require.Contains(t, e.Message, "check the command")
		}
		pass(time.Hour)
		require.Equal(t, 2, p.count())
		require.Equal(t, client.StateEnded, c.State())
		require.Equal(t, []string{"ready to restarting", "restarting to ended", "disconnected"}, h.take())
	})
}

// Calls wait for a program within their own time and within a bound; what waited
// was not sent (fault E14).
func TestCallsWaitWithinBounds(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n > 1 {
			s.on("initialize", func(jsonrpc.Request) any { return nil }) // says nothing
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		p.last().crash()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var e *mcperrors.Error
		require.ErrorAs(t, callOnce(ctx, c), &e)
		require.Equal(t, []any{mcperrors.CodeTimeout, mcperrors.NotSent}, []any{e.Code, e.Delivery}, e)
		require.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, true}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, e)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, client.StateRestarting, c.State())
		pass(50 * time.Second)
		require.Greater(t, p.count(), 2, "the start is bounded too")
		require.Zero(t, p.last().count("tools/call"))
	}, client.WithResilience(client.Resilience{Restart: client.Restart{CallWait: 10 * time.Second, StartTimeout: 20 * time.Second}}))
}

// Close ends what waits, at once, whatever the supervisor is doing.
func TestCloseWhileRestarting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set   func(s *fakeServer)
		after time.Duration
		state client.State
	}{
		"before the next start": {nil, 0, client.StateRestarting},
		"in a handshake":        {func(s *fakeServer) { s.on("initialize", func(jsonrpc.Request) any { return nil }) }, 5 * time.Second, client.StateRestarting},
		"held":                  {func(s *fakeServer) { s.crashesOn("initialize") }, 30 * time.Second, client.StateHeld},
		"after a good start":    {nil, time.Second, client.StateReady},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			supervised(t, func(n int, s *fakeServer) error {
				if n > 1 && tt.set != nil {
					tt.set(s)
				}
				return nil
			}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
				p.last().crash()
				results := make(chan error, 1)
				if tt.state == client.StateRestarting {
					synctest.Wait()
					go func() { results <- callOnce(t.Context(), c) }()
				}
				pass(tt.after)
				synctest.Wait()
				require.Equal(t, tt.state, c.State())
				began, starts := time.Now(), p.count()
				require.NoError(t, c.Close())
				require.LessOrEqual(t, time.Since(began), time.Second)
				if tt.state == client.StateRestarting {
					err := <-results
					require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err), err)
					require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
				}
				pass(time.Hour)
				require.Equal(t, starts, p.count())
			})
		})
	}
}

// The start of a program is neither refused by an open circuit nor counted by
// it, and all calls that one end takes with it are one failure.
func TestCrashIsOneFailure(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		errs := make(chan error, 20)
		for range cap(errs) {
			go func() { errs <- callOnce(t.Context(), c) }()
		}
		synctest.Wait()
		p.last().crash()
		for range cap(errs) {
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(<-errs))
		}
		for range 10 {
			require.NoError(t, callOnce(t.Context(), c))
		}
		require.Equal(t, breaker.Closed, c.Breaker().State())
	})
}

// A program that was started again speaks another era: it is found out anew, and
// what was known is dropped (fault F1).
func TestEraChangesAtARestart(t *testing.T) {
	t.Parallel()
	session := func(s *fakeServer) error {
		s.on("server/discover", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		return nil
	}
	stateless := func(s *fakeServer) error {
		s.result("server/discover", discoverStateless)
		s.on("initialize", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		s.result("tools/call", `{"resultType":"complete","content":[]}`)
		return nil
	}
	tests := map[string]struct {
		eras []func(*fakeServer) error
		want []string
	}{
		"session to stateless": {[]func(*fakeServer) error{session, stateless}, []string{"2025-11-25", "2026-07-28"}},
		"stateless to session": {[]func(*fakeServer) error{stateless, session}, []string{"2026-07-28", "2025-11-25"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			supervised(t, func(n int, s *fakeServer) error {
				return tt.eras[min(n, len(tt.eras))-1](s)
			}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
				require.Equal(t, tt.want[0], string(c.ProtocolVersion()))
				require.NoError(t, callOnce(t.Context(), c))
				p.last().crash()
				require.NoError(t, callOnce(t.Context(), c))
				synctest.Wait()
				require.Equal(t, tt.want[1], string(c.ProtocolVersion()))
				require.Equal(t, tt.want[1], string(c.Negotiated().Version))
				_, err := c.GetToolSchema(t.Context(), "echo")
				require.NoError(t, err)
				require.Equal(t, 1, p.last().count("tools/list"), "listed anew")
				require.Equal(t, []string{"ready to restarting", "era " + tt.want[1], "restarting to ready", "restarted"}, h.take())
				require.NoError(t, callOnce(t.Context(), c))
			}, client.WithProtocolVersion(client.AutoVersion))
		})
	}
}

const discoverStateless = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`

// The new program gets what the old one had: log level, subscriptions; and who
// listens is told that something may have been missed (LC-17, CHG-09).
func TestRestartRestores(t *testing.T) {
	supervised(t, func(_ int, s *fakeServer) error {
		s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"fake","version":"1"}}`)
		s.result("logging/setLevel", `{}`)
		s.result("resources/subscribe", `{}`)
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		var changes record
		_, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		require.NoError(t, c.SetLogLevel(t.Context(), "warning"))
		p.last().crash()
		pass(time.Second)
		for _, method := range []string{"logging/setLevel", "resources/subscribe"} {
			require.Equal(t, 1, p.last().count(method), method)
		}
		require.Equal(t, []string{"gap"}, changes.all())
		require.Contains(t, h.take(), "gap")
		p.last().notify("notifications/tools/list_changed", `{}`)
		synctest.Wait()
		require.Len(t, changes.all(), 2)
	})
}

// A stream that is listened to is opened again at once (fault C11).
func TestRestartListensAgain(t *testing.T) {
	listens := func(s *fakeServer) error {
		s.result("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		s.on("subscriptions/listen", func(req jsonrpc.Request) any {
			return rawLine(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
				string(req.ID.AppendJSON(nil)) + `},"notifications":{"toolsListChanged":true}}}`)
		})
		return nil
	}
	supervised(t, func(n int, s *fakeServer) error {
		if slices.Contains([]int{2, 3, 4}, n) {
			s.on("server/discover", func(jsonrpc.Request) any { s.crash(); return nil })
			return nil
		}
		return listens(s)
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		var changes record
		_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, changes.change)
		require.NoError(t, err)
		pass(2 * time.Minute) // it was healthy
		p.last().crash()
		pass(10 * time.Second)
		require.Equal(t, client.StateReady, c.State())
		require.Equal(t, 5, p.count())
		require.Equal(t, 1, p.last().count("subscriptions/listen"))
		require.Equal(t, []string{"gap"}, changes.all())
	}, client.WithProtocolVersion("2026-07-28"))
}

// Wrong options fail at connect.
func TestRestartOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, r := range []client.Restart{{CallWait: -1}, {Crashes: -1}, {MaxHold: -time.Second}} {
		_, err := client.Connect(t.Context(), &fakePrograms{t: t}, sessionEra, client.WithResilience(client.Resilience{Restart: r}))
		require.ErrorContains(t, err, "restarts")
	}
	require.Equal(t, "held", client.StateHeld.String())
	require.Equal(t, "unknown", client.State(99).String())
	text, err := client.StateEnded.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "ended", string(text))
}

// A session that is lost and opened anew is told in the same states; one that
// cannot be opened is held until there is a next try (HTTP-16).
func TestStatesOfSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, h := newSessionSite(t), &happenings{}
		c := s.dial(t, h.option())
		synctest.Wait()
		h.take()
		s.restart()
		require.NoError(t, c.Ping(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "reinitialized"}, h.take())
		s.locked(func() { s.session, s.down = "", true })
		for range 3 {
			require.Error(t, c.Ping(t.Context()))
		}
		require.Equal(t, client.StateHeld, c.State())
		s.locked(func() { s.down = false })
		pass(time.Minute)
		require.NoError(t, c.Ping(t.Context()))
		synctest.Wait()
		got := h.take()
		require.Equal(t, []string{"ready to restarting", "restarting to held"}, got[:2])
		require.Equal(t, []string{"restarting to ready", "reinitialized"}, got[len(got)-2:])
		require.Equal(t, client.StateReady, c.State())
	})
}

// A program that does not answer any more is ended with its calls, and started
// again (faults E8, E10). What is no program is left alone.
func TestHungProgramIsRestarted(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() { errs <- callOnce(t.Context(), c) }()
		}
		synctest.Wait()
		silence := errors.New("no sign of life")
		began := time.Now()
		c.RestartNow(silence)
		c.RestartNow(silence) // whoever finds out, too
		for range cap(errs) {
			err := <-errs
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), err)
		}
		require.NoError(t, callOnce(t.Context(), c))
		require.Less(t, time.Since(began), time.Second)
		synctest.Wait()
		require.Equal(t, 2, p.count())
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "restarted"}, h.take())
	})
}

// Nothing is restarted that is no program, or is not to be.
func TestOnlyProgramsAreRestarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t)
		c.RestartNow(errors.New("no sign of life"))
		require.NoError(t, callOnce(t.Context(), c))
		p := &fakePrograms{t: t}
		off, err := client.Connect(t.Context(), p, sessionEra, client.WithResilience(client.Resilience{Restart: client.Restart{Off: true}}))
		require.NoError(t, err)
		off.RestartNow(errors.New("no sign of life"))
		require.NoError(t, callOnce(t.Context(), off))
		p.last().crash()
		synctest.Wait()
		require.Equal(t, client.StateEnded, off.State())
		require.Error(t, callOnce(t.Context(), off))
		require.Equal(t, 1, p.count())
		require.NoError(t, off.Close())
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// A subscription goes on in the era of the program that was started again
// (fault F1).
func TestSubscriptionsChangeTheirEra(t *testing.T) {
	const caps = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	session := func(s *fakeServer) error {
		s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"serverInfo":{"name":"fake","version":"1"}}`)
		s.result("resources/subscribe", `{}`)
		s.on("server/discover", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		return nil
	}
	stateless := func(s *fakeServer) error {
		s.result("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":`+caps+`,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		s.on("initialize", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		s.on("subscriptions/listen", func(req jsonrpc.Request) any {
			return rawLine(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
				string(req.ID.AppendJSON(nil)) + `},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:/a"]}}}`)
		})
		return nil
	}
	supervised(t, func(n int, s *fakeServer) error {
		if n%2 == 1 {
			return session(s)
		}
		return stateless(s)
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		var changes record
		s, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		methods := []string{"resources/subscribe", "subscriptions/listen"}
		for n := range 6 {
			require.Equal(t, 1+n%2, p.last().count(methods[n%2]), "program %d: one more stream for the handler", n+1)
			require.Zero(t, p.last().count(methods[1-n%2]), "program %d", n+1)
			require.Equal(t, []string{"x:/a"}, s.Accepted().ResourceSubscriptions)
			pass(2 * time.Minute)
			before := len(changes.all())
			p.last().crash()
			pass(10 * time.Second)
			require.Equal(t, client.StateReady, c.State())
			require.Greater(t, len(changes.all()), before, "told of a gap")
			require.NoError(t, s.Err())
		}
		require.NoError(t, s.Close())
	}, client.WithProtocolVersion(client.AutoVersion), client.OnListChanged(func(context.Context, string) {}))
}

// What ended long ago says nothing of a program that has been well since it was
// started again.
func TestHealthyProgramIsForgiven(t *testing.T) {
	supervised(t, nil, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		for n := range 4 {
			p.last().crash()
			pass(10 * time.Second)
			require.Equal(t, client.StateReady, c.State())
			require.Equal(t, n+2, p.count())
			pass(2 * time.Minute)
		}
	}, client.WithResilience(client.Resilience{Restart: client.Restart{Crashes: 2, Within: time.Hour, Hold: time.Hour}}))
}
