package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// hook is a function of the application under test: it fails while it is bad.
type hook struct {
	fail func()
	bad  atomic.Bool
	runs atomic.Int64
	ran  chan struct{} // gets a value when it returned; capacity 1

	told   chan client.CallbackFailed
	logged chan string
}

func newHook(fail func()) *hook {
	return &hook{fail: fail, ran: make(chan struct{}, 1), told: make(chan client.CallbackFailed, 100), logged: make(chan string, 100)}
}

func (h *hook) run() {
	h.runs.Add(1)
	if h.bad.Load() {
		h.fail()
	}
	select {
	case h.ran <- struct{}{}:
	default:
	}
}

// hookHandler is a slog handler that hands its lines to a hook.
type hookHandler struct {
	h     *hook
	fails bool
}

func (s hookHandler) Enabled(context.Context, slog.Level) bool { return true }
func (s hookHandler) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s hookHandler) WithGroup(string) slog.Handler            { return s }
func (s hookHandler) Handle(_ context.Context, r slog.Record) error {
	if s.fails {
		s.h.run()
	}
	r.Attrs(func(a slog.Attr) bool {
		select {
		case s.h.logged <- a.Value.String():
		default:
		}
		return true
	})
	return nil
}

// hookMeter fails in one of its methods.
type hookMeter struct {
	client.NoMeter
	attempt, call, happened func()
}

func (m hookMeter) AttemptEnded(client.AttemptRecord) { m.attempt() }
func (m hookMeter) CallEnded(client.CallRecord)       { m.call() }
func (m hookMeter) Observe(client.Signal)             { m.happened() }

type hookTripper struct {
	http.RoundTripper
	h *hook
}

func (t hookTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		t.h.run()
	}
	return t.RoundTripper.RoundTrip(r)
}

type hookEraStore struct {
	client.EraStore
	load, save, forget func()
}

func (v hookEraStore) Load(key string) (client.Era, bool) {
	v.load()
	return v.EraStore.Load(key)
}

func (v hookEraStore) Save(key string, e client.Era) error {
	v.save()
	return v.EraStore.Save(key, e)
}

func (v hookEraStore) Forget(key string) error {
	v.forget()
	return v.EraStore.Forget(key)
}

// site is a client, the server it is connected to, and the hook.
type hookSite struct {
	*hook
	c    *client.Client
	s    *clienttest.Server
	dial func(opts ...client.Option) (*client.Client, error)
}

// call makes a call of a tool, which may fail.
func (s *hookSite) call(t *testing.T, tool string, opts ...client.CallOption) {
	_, _ = s.c.CallTool(t.Context(), tool, nil, opts...)
}

func callTalk(t *testing.T, s *hookSite) { s.call(t, "talk") }

func callAsk(t *testing.T, s *hookSite) { s.call(t, "ask") }

func tellChange(t *testing.T, s *hookSite) {
	const method = mcp.MethodToolsListChanged
	for s.s.Listening(method) == 0 {
		<-time.After(time.Millisecond) // the stream is on its way
	}
	s.s.Notify(method, nil)
}

// hookCase is a function that the application hands over, and what makes the
// client call it.
type hookCase struct {
	name string // as CallbackFailed has it
	opts func(h *hook) []client.Option
	// tripper is that of the transport, nil for the default.
	tripper func(h *hook) http.RoundTripper
	setup   func(t *testing.T, s *hookSite)
	act     func(t *testing.T, s *hookSite)
	// only is the kind of way that it exists on, "" for all.
	only string
	// logged: the log says that it failed, no event does.
	logged bool
}

func oneOption(o client.Option) []client.Option { return []client.Option{o} }

func formAnswer(h *hook) []client.Option {
	return oneOption(client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		h.run()
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}))
}

func asks(method, params string) func(t *testing.T, s *hookSite) {
	return func(t *testing.T, s *hookSite) {
		s.s.Tool("ask", "", func(call *clienttest.Call) (any, error) {
			if _, err := call.Ask(method, json.RawMessage(params)); err != nil {
				return nil, err
			}
			return clienttest.Text("asked"), nil
		})
	}
}

func noCallback() {}

var hookCases = []hookCase{
	{name: "OnNotification", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.OnNotification(func(context.Context, jsonrpc.Notification) { h.run() }))
	}},
	{name: "OnLog", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.OnLog(func(context.Context, mcp.LoggingMessageParams) { h.run() }))
	}},
	{name: "OnListChanged", act: tellChange, opts: func(h *hook) []client.Option {
		return oneOption(client.OnListChanged(func(context.Context, string) { h.run() }))
	}},
	{name: "OnEvent", logged: true, opts: func(h *hook) []client.Option {
		return oneOption(client.OnEvent(func(context.Context, client.Event) { h.run() }))
	}, act: func(t *testing.T, s *hookSite) { // a new definition is an event
		s.s.AddTool(mcp.Tool{Name: "talk", Description: fmt.Sprint(len(s.s.Requests())), InputSchema: json.RawMessage(`{"type":"object"}`)}, talked)
		for _, err := range s.c.Tools(t.Context(), client.WithCacheMode(client.CacheRefresh)) {
			require.NoError(t, err)
		}
	}},
	{name: "WithProgress", act: func(t *testing.T, s *hookSite) {
		s.call(t, "talk", client.WithProgress(func(mcp.ProgressParams) { s.run() }))
	}},
	{name: "Subscribe", act: tellChange, setup: func(t *testing.T, s *hookSite) {
		_, err := s.c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(context.Context, client.Change) { s.run() })
		require.NoError(t, err)
	}},
	{name: "OnSampling", act: callAsk, opts: func(h *hook) []client.Option {
		return oneOption(client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			h.run()
			return nil, client.ErrRejected
		}))
	}, setup: asks(mcp.MethodSamplingCreateMessage, `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":1}`)},
	{
		name: "OnElicitForm", act: callAsk, opts: formAnswer,
		setup: asks(mcp.MethodElicitationCreate, `{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`),
	},
	{name: "OnRequest", act: callAsk, opts: func(h *hook) []client.Option {
		return oneOption(client.OnRequest("com.example/ask", func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
			h.run()
			return nil, client.ErrRejected
		}))
	}, setup: asks("com.example/ask", `{}`)},
	{name: "OnAnyRequest", act: callAsk, opts: func(h *hook) []client.Option {
		return oneOption(client.OnAnyRequest(func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error) {
			h.run()
			return nil, client.ErrRejected
		}))
	}, setup: asks("com.example/ask", `{}`)},
	{name: "OnElicitURL", act: callAsk, opts: func(h *hook) []client.Option {
		return oneOption(client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
			h.run()
			return mcp.ElicitDecline, nil
		}))
	}, setup: asks(mcp.MethodElicitationCreate, `{"mode":"url","message":"?","url":"https://example.com/","elicitationId":"e"}`)},
	{name: "WithIDs", act: callTalk, opts: func(h *hook) []client.Option {
		var n atomic.Int64
		return oneOption(client.WithIDs(func() jsonrpc.ID {
			h.run()
			return jsonrpc.IntID(n.Add(1))
		}))
	}},
	{name: "WithMiddleware", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.WithMiddleware(func(next client.Next) client.Next {
			return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
				h.run()
				return next(ctx, inv)
			}
		}))
	}},
	{name: "Meter.AttemptEnded", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.WithMeter(hookMeter{attempt: h.run, call: noCallback, happened: noCallback}))
	}},
	{name: "Meter.CallEnded", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.WithMeter(hookMeter{attempt: noCallback, call: h.run, happened: noCallback}))
	}},
	{name: "Meter.Observe", opts: func(h *hook) []client.Option {
		return oneOption(client.WithMeter(hookMeter{attempt: noCallback, call: noCallback, happened: h.run}))
	}, act: func(t *testing.T, s *hookSite) {
		s.c.Breaker().Force(breaker.ForcedOpen) // a refusal happens
		s.call(t, "talk")
		s.c.Breaker().Force(breaker.Auto)
	}},
	{name: "the logger's handler", opts: func(h *hook) []client.Option {
		return []client.Option{client.WithLogger(slog.New(hookHandler{h, true})), client.OnLog(func(context.Context, mcp.LoggingMessageParams) {})}
	}, act: func(t *testing.T, s *hookSite) { s.call(t, "mumble") }},
	{name: "Trace.Sent", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.WithTrace(transport.Trace{Sent: func([]byte) { h.run() }}))
	}},
	{name: "Trace.Received", act: callTalk, opts: func(h *hook) []client.Option {
		return oneOption(client.WithTrace(transport.Trace{Received: func([]byte) { h.run() }}))
	}},
	{name: "HTTP.RoundTripper", act: callTalk, only: "http", tripper: func(h *hook) http.RoundTripper {
		return hookTripper{http.DefaultTransport, h}
	}},
	{name: "EraStore.Load", act: dialAgain, only: "http", opts: func(h *hook) []client.Option {
		return oneOption(client.WithEraStore(hookEraStore{client.MemoryEraStore(), h.run, noCallback, noCallback}))
	}},
	{name: "EraStore.Save", act: func(t *testing.T, s *hookSite) {
		for before := s.runs.Load(); s.runs.Load() == before; {
			dialAgain(t, s) // a probe that is answered late, by a busy machine, is not remembered
		}
	}, only: "http", opts: func(h *hook) []client.Option {
		return oneOption(client.WithEraStore(hookEraStore{client.MemoryEraStore(), noCallback, h.run, noCallback}))
	}},
}

// dialAgain finds out the era. Its client stays open to the end of the test: Close
// drops the events that no handler has got yet, and with them what the test waits for.
func dialAgain(t *testing.T, s *hookSite) {
	c, err := s.dial(client.WithProtocolVersion(client.AutoVersion))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
}

func talked(call *clienttest.Call) (any, error) {
	call.Progress(float64(1), "")
	call.Notify(mcp.MethodMessage, map[string]any{"level": "info", "data": "x"})
	return clienttest.Text("said"), nil
}

// A function of the application that panics or ends its goroutine is
// reported, is called again the next time, and costs no other call anything: over a stream
// and over HTTP, in both eras.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	for _, h := range hookCases {
		for how, fail := range failingHooks() {
			for _, way := range []string{"stream", "http"} {
				for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
					if h.only == "" || h.only == way {
						t.Run(strings.Join([]string{h.name, how, way, string(version)}, " "), func(t *testing.T) {
							t.Parallel()
							h.test(t, newHook(fail), way, version)
						})
					}
				}
			}
		}
	}
}

func (h *hookCase) test(t *testing.T, hook *hook, way string, version mcp.Version) {
	s := &hookSite{hook: hook, s: clienttest.NewServer(t)}
	s.s.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{ListChanged: true}, Logging: &mcp.EmptyCapability{}})
	s.s.Tool("talk", "", talked)
	s.s.Tool("plain", "", func(*clienttest.Call) (any, error) { return clienttest.Text("fine"), nil })
	s.s.Tool("mumble", "", func(call *clienttest.Call) (any, error) {
		call.Notify(mcp.MethodMessage, map[string]any{"level": 5})
		return clienttest.Text("said"), nil
	})
	opts := []client.Option{
		client.WithProtocolVersion(string(version)), client.WithLogger(slog.New(hookHandler{hook, false})),
		client.OnEvent(func(_ context.Context, e client.Event) {
			if failed, ok := e.(client.CallbackFailed); ok {
				hook.told <- failed
			}
		}),
	}
	if h.opts != nil {
		opts = append(opts, h.opts(hook)...)
	}
	s.dial = func(more ...client.Option) (*client.Client, error) {
		all := slices.Concat(opts, more)
		if way == "http" {
			tr := &transport.HTTP{URL: s.s.URL()}
			if h.tripper != nil {
				tr.RoundTripper = h.tripper(hook)
			}
			return client.Connect(t.Context(), tr, all...)
		}
		return client.Connect(t.Context(), s.s.Transport(), all...)
	}
	var err error
	s.c, err = s.dial()
	require.NoError(t, err)
	if h.setup != nil {
		h.setup(t, s)
	}

	hook.bad.Store(true)
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		h.act(t, s) // which a Goexit may end
	}()
	h.reported(t, hook, acted)
	<-acted
	hook.bad.Store(false)
	select {
	case <-hook.ran:
	default:
	}

	h.act(t, s)
	<-hook.ran
	res, err := s.c.CallTool(t.Context(), "plain", nil)
	require.NoError(t, err)
	require.Equal(t, "fine", res.Text())
	require.Zero(t, s.c.Health().InFlight)
	require.Equal(t, breaker.Closed, s.c.Breaker().State(), "what this side does wrong is not the server's")
	require.NoError(t, s.c.Close())
}

// reported waits until the client has reported the failure. A test that fails in act
// ends there, and nothing is reported.
func (h *hookCase) reported(t *testing.T, hook *hook, acted <-chan struct{}) {
	for {
		select {
		case line := <-hook.logged:
			if h.logged && strings.HasPrefix(line, h.name+" ") {
				return
			}
		case told := <-hook.told:
			require.False(t, h.logged)
			require.Equal(t, h.name, told.Callback)
			require.Equal(t, told.Value != nil, len(told.Stack) > 0)
			return
		case <-acted:
			if t.Failed() {
				t.FailNow()
			}
			acted = nil
		}
	}
}

func failingHooks() map[string]func() {
	return map[string]func(){"panic": func() { panic("a bug of the application") }, "Goexit": runtime.Goexit}
}

// A link of the application that panics while it is set up fails Connect.
func TestCallbackMiddleware(t *testing.T) {
	t.Parallel()
	_, err := client.Connect(t.Context(), clienttest.NewServer(t).Transport(),
		client.WithMiddleware(func(client.Next) client.Next { panic("a bug of the application") }))
	require.ErrorContains(t, err, "WithMiddleware panicked: a bug of the application")
}

// A log handler and an OnEvent handler that both fail do not report each other's
// failures forever.
func TestCallbacksThatFailOfEachOther(t *testing.T) {
	t.Parallel()
	for how, fail := range failingHooks() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHook(fail)
				h.bad.Store(true)
				var events atomic.Int64
				_, _ = connected(t, client.WithLogger(slog.New(hookHandler{h, true})), client.OnEvent(func(context.Context, client.Event) {
					events.Add(1)
					fail()
				}))
				<-time.After(time.Minute)
				before := events.Load()
				require.Positive(t, before)
				<-time.After(time.Hour)
				require.Equal(t, before, events.Load())
			})
		})
	}
}

// Each function of OnEvent is called, in order, also after one that fails.
func TestEventHandlersAddUp(t *testing.T) {
	t.Parallel()
	for how, fail := range failingHooks() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []string
				note := func(name string) client.Option {
					return client.OnEvent(func(_ context.Context, e client.Event) {
						if _, ok := e.(client.Connected); ok {
							got = append(got, name)
							fail()
						}
					})
				}
				_, _ = connected(t, note("first"), client.OnEvent(nil), note("second"))
				synctest.Wait()
				require.Equal(t, []string{"first", "second"}, got)
			})
		})
	}
}
