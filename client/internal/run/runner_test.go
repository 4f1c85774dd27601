package run

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// peer is a connection whose requests end with its answers, in order. It is also the client,
// which needs only errors.
type peer struct {
	hooks *guard.Hooks
	transport.Conn
	traits   transport.Traits
	answers  []func(ctx context.Context) (transport.Answer, error)
	requests []transport.Request
	noted    chan jsonrpc.Notification
}

func (p *peer) Traits() transport.Traits { return p.traits }

func (p *peer) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	n := len(p.requests)
	p.requests = append(p.requests, req)
	return p.answers[n](ctx)
}

func (p *peer) Hooks() *guard.Hooks { return p.hooks }

func (p *peer) Notify(_ context.Context, n jsonrpc.Notification) error {
	p.noted <- n
	return nil
}

func (p *peer) Close() error { return nil }

func (*peer) Catalog() *catalog.Catalog { panic("no list is needed") }
func (*peer) Inbound() *inbound.Inbound { panic("nothing is asked") }

func (*peer) InputError(err error, _ json.RawMessage) *mcperrors.Error {
	return errormap.From(err, mcperrors.Answered)
}
func (*peer) MissingCapability(*mcperrors.Error) error  { return nil }
func (*peer) RenewVersion(VersionRefusal) (bool, error) { return false, nil }

type answer = func(context.Context) (transport.Answer, error)

// runner returns a Runner over p, on whose link a is agreed.
func runner(t *testing.T, p *peer, a link.Agreement, set Settings) *Runner {
	t.Helper()
	k := &core.Core{Server: "s", Log: slog.New(slog.DiscardHandler)}
	links, alive := &k.Links, &k.Life
	if set.Offer == nil {
		set.Offer = &ask.Offer{}
	}
	r := &Runner{Core: k, Set: &set, Client: p}
	p.hooks = &guard.Hooks{Core: k, Keeper: &r.Keeper}
	r.Guard.Init(&guard.Settings{}, false, p)
	alive.Begin()
	t.Cleanup(func() {
		alive.End()
		require.True(t, alive.Await(time.Minute))
	})
	links.Use(p)
	links.Agree(&a)
	return r
}

func result(raw string) answer {
	return func(context.Context) (transport.Answer, error) {
		return transport.Answer{Response: jsonrpc.Response{Result: json.RawMessage(raw)}}, nil
	}
}

func fails(f transport.Failure) answer {
	if f.Err == nil {
		f.Err = errors.New("it failed")
	}
	return func(context.Context) (transport.Answer, error) { return transport.Answer{}, &f }
}

// A timeout counts against the server if it is the client's own, and not if it is a shorter one
// of the caller.
func TestImpatienceIsNoVerdict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts Options
		want breaker.Verdict
	}{
		{"the client's times", Options{}, breaker.Failure},
		{"longer times", Options{Wait: jsonrpc.Wait{Idle: time.Hour, Max: 2 * time.Hour}}, breaker.Failure},
		{"a shorter idle time", Options{Wait: jsonrpc.Wait{Idle: time.Second}}, breaker.Neutral},
		{"a shorter maximum", Options{Wait: jsonrpc.Wait{Max: time.Second}}, breaker.Neutral},
	} {
		p := &peer{answers: []answer{fails(transport.Failure{Reason: transport.ReasonTimeout, NotSent: true})}}
		r := runner(t, p, link.Agreement{}, Settings{Wait: jsonrpc.Wait{Idle: time.Minute, Max: 10 * time.Minute}})
		out := r.Attempt(t.Context(), &Call{Request: Request{Options: tt.opts}})
		require.Equal(t, tt.want, out.Record.Judge(false).Server, tt.name)
	}
}

// The steps of a call after each answer, and its result.
func TestDo(t *testing.T) {
	t.Parallel()
	lost := fails(transport.Failure{Reason: transport.ReasonLost, NotSent: true})
	maybe := fails(transport.Failure{Reason: transport.ReasonLost})
	session := link.Agreement{Version: mcp.Version2025_11_25, Era: mcp.EraSession}
	stateless := link.Agreement{Version: mcp.Version2026_07_28, Era: mcp.EraStateless}
	for name, tt := range map[string]struct {
		agreed  link.Agreement
		method  string
		set     Settings
		answers []answer
		want    string // the result
		err     string
		fate    mcperrors.Delivery
	}{
		"a result":                          {agreed: session, method: mcp.MethodPing, answers: []answer{result(`{}`)}, want: `{}`},
		"sent again: it was not sent":       {agreed: session, method: mcp.MethodToolsCall, answers: []answer{lost, result(`{}`)}, want: `{}`},
		"not sent again: it may have run":   {agreed: session, method: mcp.MethodToolsCall, answers: []answer{maybe}, err: "lost", fate: mcperrors.Unknown},
		"sent again: it may run twice":      {agreed: session, method: mcp.MethodToolsList, answers: []answer{maybe, result(`{}`)}, want: `{}`},
		"no more than three times":          {agreed: session, method: mcp.MethodToolsList, answers: []answer{lost, lost, lost}, err: "lost", fate: mcperrors.NotSent},
		"the policy of the client":          {agreed: session, method: mcp.MethodToolsList, set: Settings{Retry: RetrySettings{Policy: resilience.Never}}, answers: []answer{lost}, err: "lost", fate: mcperrors.NotSent},
		"in doubt once, in doubt forever":   {agreed: session, method: mcp.MethodToolsList, answers: []answer{maybe, lost, lost}, err: "lost", fate: mcperrors.Unknown},
		"complete":                          {agreed: stateless, method: mcp.MethodToolsList, answers: []answer{result(`{"resultType":"complete"}`)}, want: `{"resultType":"complete"}`},
		"without a type":                    {agreed: stateless, method: mcp.MethodToolsList, answers: []answer{result(`{}`)}, want: `{}`},
		"without a type, which is required": {agreed: stateless, method: mcp.MethodToolsList, set: Settings{Typed: true}, answers: []answer{result(`{}`)}, err: "no resultType", fate: mcperrors.Answered},
		"of an unknown type":                {agreed: stateless, method: mcp.MethodToolsList, answers: []answer{result(`{"resultType":"x"}`)}, err: "unexpected result type", fate: mcperrors.Answered},
		"a task that nobody asked for":      {agreed: stateless, method: mcp.MethodToolsList, answers: []answer{result(`{"resultType":"task"}`)}, err: "unexpected result type", fate: mcperrors.Answered},
		"a question of a method that cannot ask": {
			agreed: stateless, method: mcp.MethodToolsList, answers: []answer{result(`{"resultType":"input_required"}`)},
			err: "does not support", fate: mcperrors.Answered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &peer{answers: tt.answers}
				r := runner(t, p, tt.agreed, tt.set)
				c := New(tt.method)
				raw, err := r.Do(t.Context(), &c)
				require.Len(t, p.requests, len(tt.answers))
				require.Equal(t, len(tt.answers), c.Attempts)
				if tt.err != "" {
					require.ErrorContains(t, err, tt.err)
					require.Equal(t, tt.fate, mcperrors.DeliveryOf(err))
					return
				}
				require.NoError(t, err)
				require.JSONEq(t, tt.want, string(raw))
			})
		})
	}
}

// A call ends at its maximum time, whatever the server answers.
func TestDoEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) (transport.Answer, error) {
			<-time.After(4 * time.Second)
			return transport.Answer{}, &transport.Failure{Reason: transport.ReasonLost, NotSent: true, Err: errors.New("lost")}
		}
		p := &peer{answers: []answer{slow, slow, slow}}
		r := runner(t, p, link.Agreement{Era: mcp.EraSession}, Settings{Wait: jsonrpc.Wait{Max: 7 * time.Second}})
		c := New(mcp.MethodToolsList)
		_, err := r.Do(t.Context(), &c)
		require.Error(t, err)
		require.Len(t, p.requests, 2)
		require.Less(t, p.requests[1].Wait.Max, 4*time.Second, "what is left")
	})
}

// The server gets a notification for abandoned requests that it may have, unless the end of an
// exchange cancels them.
func TestAbandon(t *testing.T) {
	t.Parallel()
	gaveUp := transport.Failure{Reason: transport.ReasonCanceled, Err: context.Canceled}
	notSent, lost := gaveUp, transport.Failure{Reason: transport.ReasonLost, Err: errors.New("x")}
	notSent.NotSent = true
	stateless := link.Agreement{Era: mcp.EraStateless}
	for name, tt := range map[string]struct {
		failure transport.Failure
		agreed  link.Agreement
		traits  transport.Traits
		request Request
		told    bool
	}{
		"given up":           {failure: gaveUp, told: true},
		"not sent":           {failure: notSent},
		"lost":               {failure: lost},
		"an exchange":        {failure: gaveUp, agreed: stateless, traits: transport.Traits{Exchanges: true}},
		"stateless on stdio": {failure: gaveUp, agreed: stateless, told: true},
		"the handshake":      {failure: gaveUp, request: Request{Purpose: link.Handshake}},
		"about a task":       {failure: gaveUp, request: Request{Uncancelled: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &peer{traits: tt.traits, answers: []answer{fails(tt.failure)}, noted: make(chan jsonrpc.Notification, 1)}
				r := runner(t, p, tt.agreed, Settings{})
				c := Call{Request: tt.request}
				c.Method = mcp.MethodToolsCall
				r.Attempt(t.Context(), &c)
				synctest.Wait()
				if !tt.told {
					require.Empty(t, p.noted)
					return
				}
				n := <-p.noted
				require.Equal(t, mcp.MethodCancelled, n.Method)
				require.Contains(t, string(n.Params), c.ID.String())
			})
		})
	}
}

// A liveness probe uses the method of the era, and bypasses all limits.
func TestPing(t *testing.T) {
	t.Parallel()
	for era, want := range map[mcp.Era]string{mcp.EraSession: mcp.MethodPing, mcp.EraStateless: mcp.MethodDiscover} {
		p := &peer{answers: []answer{result(`{}`)}}
		r := runner(t, p, link.Agreement{Era: era}, Settings{Wait: jsonrpc.Wait{Idle: time.Second, Max: time.Second}})
		out := r.Ping(t.Context(), time.Minute)
		require.NoError(t, out.Error())
		require.Equal(t, want, p.requests[0].Method)
		require.Equal(t, jsonrpc.Wait{Max: time.Minute}, p.requests[0].Wait)
	}
}
