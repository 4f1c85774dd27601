package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// shared is a proxy whose hosts share a server, which is a program or behind a URL.
type shared struct {
	*web
	server    *clienttest.Server
	connected atomic.Int32
}

var everything = mcp.ServerCapabilities{
	Tools: &mcp.ListChangedCapability{ListChanged: true}, Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}, Logging: &mcp.EmptyCapability{},
}

// eachShared runs f for servers of both eras, as programs and by a URL.
func eachShared(t *testing.T, prepare func(s *clienttest.Server), f func(t *testing.T, w *shared), opts ...proxy.Option) {
	t.Helper()
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		for _, way := range []string{"program", "URL"} {
			t.Run(fmt.Sprint(version.Era(), " ", way), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					s.SetCapabilities(everything)
					prepare(s)
					w := &shared{server: s}
					w.web = newWeb(t, proxy.Target(func(ctx context.Context, own ...client.Option) (*client.Client, error) {
						w.connected.Add(1)
						own = append(own, client.WithProtocolVersion(string(version)))
						if way == "URL" {
							return client.Connect(ctx, s.HTTP(), own...)
						}
						return client.Connect(ctx, s.Transport(), own...)
					}), append(opts, proxy.WithSharedServer())...)
					f(t, w)
				})
			})
		}
	}
}

// guest is a host of a shared server.
type guest struct {
	*client.Client
	mu   sync.Mutex
	seen []string
}

func (g *guest) note(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = append(g.seen, text)
}

// took returns what came since the last call, in the order of the alphabet.
func (g *guest) took() []string {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := g.seen
	g.seen = nil
	slices.Sort(seen)
	return seen
}

// guest connects a host that declares all capabilities: the server must still ask it nothing.
func (w *shared) guest(version mcp.Version) *guest {
	w.t.Helper()
	g := &guest{}
	g.Client = w.host(client.WithProtocolVersion(string(version)),
		client.OnLog(func(_ context.Context, m mcp.LoggingMessageParams) { g.note("log " + string(m.Data)) }),
		client.OnListChanged(func(_ context.Context, method string) { g.note(method) }),
		client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
			w.t.Error("a host was asked")
			return client.AcceptForm(nil)
		}),
		client.WithRoots(mcp.Root{URI: "file:///secret"}))
	return g
}

func (g *guest) subscribe(t *testing.T, filter mcp.SubscriptionFilter) {
	t.Helper()
	_, err := g.Subscribe(t.Context(), filter, func(_ context.Context, ch client.Change) { g.note(strings.TrimSpace(ch.Method + " " + ch.URI)) })
	require.NoError(t, err)
	synctest.Wait()
}

// last returns the params of the last request with a method.
func last(s *clienttest.Server, method string) (params string, count int) {
	for _, r := range s.Requests() {
		if r.Method == method {
			params, count = string(r.Params), count+1
		}
	}
	return params, count
}

// Hosts of both eras share one program or session, which learns nothing of what they can be asked
// for, and cannot ask them.
func TestShare(t *testing.T) {
	t.Parallel()
	eachShared(t, func(s *clienttest.Server) {
		s.Tool("echo", "", func(c *clienttest.Call) (any, error) {
			c.Progress(0.5, string(c.Arguments))
			return clienttest.Text(string(c.Arguments)), nil
		})
		s.Tool("ask", "", func(c *clienttest.Call) (any, error) {
			_, err := c.Ask(mcp.MethodElicitationCreate, json.RawMessage(`{"message":"Who?"}`))
			return clienttest.Text(fmt.Sprint(err)), nil
		})
	}, func(t *testing.T, w *shared) {
		var all sync.WaitGroup
		for n, version := range []mcp.Version{mcp.LatestSession, mcp.Latest, mcp.Version2025_06_18, mcp.Latest} {
			g := w.guest(version)
			for call := range 5 {
				all.Go(func() {
					var progress []string
					args := fmt.Sprintf(`{"host":%d,"call":%d}`, n, call)
					raw, err := g.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"echo","arguments":`+args+`}`),
						client.WithProgress(func(p mcp.ProgressParams) { progress = append(progress, p.Message) }))
					require.NoError(t, err)
					require.Contains(t, string(raw), strings.ReplaceAll(args, `"`, `\"`))
					require.Equal(t, []string{args}, progress)
				})
			}
			if w.server.Count(mcp.MethodInitialize) > 0 { // in the stateless era the server would have to ask in its result
				res, err := g.CallTool(t.Context(), "ask", nil)
				require.NoError(t, err)
				require.Contains(t, text(t, res), "-32601")
			}
			if version.Era() == mcp.EraSession {
				require.NoError(t, g.Notify(t.Context(), mcp.MethodRootsListChanged, nil))
			}
		}
		all.Wait()
		require.EqualValues(t, 1, w.connected.Load())
		require.LessOrEqual(t, w.server.Count(mcp.MethodInitialize), 1)
		for _, r := range w.server.Requests() {
			for _, declared := range []string{"elicitation", "roots", "sampling"} {
				require.NotContains(t, string(r.Params), `"`+declared+`"`, r.Method)
			}
		}
		require.Zero(t, w.server.Count(mcp.MethodRootsListChanged))
	})
}

// A subscription is of the host that has made it, and ends with it.
func TestShareSubscriptions(t *testing.T) {
	t.Parallel()
	eachShared(t, func(s *clienttest.Server) {
		s.Resource("file:///a", "text/plain", "alpha")
		s.Resource("file:///b", "text/plain", "beta")
	}, func(t *testing.T, w *shared) {
		one, two, three := w.guest(mcp.LatestSession), w.guest(mcp.LatestSession), w.guest(mcp.Latest)
		for _, g := range []*guest{one, two, three} {
			g.subscribe(t, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"file:///a"}})
		}
		one.subscribe(t, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"file:///b"}})
		update := func(uri string) {
			w.server.Notify(mcp.MethodResourcesUpdated, json.RawMessage(`{"uri":"`+uri+`"}`))
			synctest.Wait()
		}
		update("file:///a")
		update("file:///b")
		a, b := mcp.MethodResourcesUpdated+" file:///a", mcp.MethodResourcesUpdated+" file:///b"
		require.Equal(t, []string{a, b}, one.took())
		require.Equal(t, []string{a}, two.took())
		require.Equal(t, []string{a}, three.took())

		w.server.Notify(mcp.MethodToolsListChanged, nil)
		require.Equal(t, []string{mcp.MethodToolsListChanged}, one.took())
		require.Equal(t, []string{mcp.MethodToolsListChanged}, two.took())
		require.Equal(t, []string{mcp.MethodToolsListChanged}, three.took())

		require.NoError(t, one.Close())
		pause(time.Second)
		if params, n := last(w.server, mcp.MethodResourcesUnsubscribe); n > 0 {
			require.Equal(t, 1, n)
			require.Contains(t, params, "file:///b")
		} else {
			require.Equal(t, 2, w.server.Listening(mcp.MethodResourcesUpdated))
		}
		update("file:///a")
		require.Equal(t, []string{a}, two.took())
		require.Equal(t, []string{a}, three.took())
		require.EqualValues(t, 1, w.connected.Load())
	})
}

// The server has the lowest level, each host gets its own or above, and one without a level gets
// no details that another wants.
func TestShareLevels(t *testing.T) {
	t.Parallel()
	eachShared(t, func(s *clienttest.Server) {
		s.Tool("log", "", func(c *clienttest.Call) (any, error) {
			for _, level := range []string{"debug", "info", "error"} {
				c.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"`+level+`","data":"`+level+`"}`))
			}
			return clienttest.Text("done"), nil
		})
		s.Tool("wait", "", func(c *clienttest.Call) (any, error) {
			pause(time.Second)
			return clienttest.Text("done"), nil
		})
	}, func(t *testing.T, w *shared) {
		debug, severe, none, stateless := w.guest(mcp.LatestSession), w.guest(mcp.LatestSession), w.guest(mcp.LatestSession), w.guest(mcp.Latest)
		session := w.server.Count(mcp.MethodInitialize) > 0
		require.NoError(t, severe.SetLogLevel(t.Context(), mcp.LevelError))
		require.NoError(t, debug.SetLogLevel(t.Context(), mcp.LevelDebug))
		require.NoError(t, stateless.SetLogLevel(t.Context(), mcp.LevelInfo))
		if session {
			params, n := last(w.server, mcp.MethodLoggingSetLevel)
			require.Equal(t, 2, n)
			require.Contains(t, params, "debug")
		}
		all := []*guest{debug, severe, none, stateless}
		want := [][]string{{`log "debug"`, `log "error"`, `log "info"`}, {`log "error"`}, {`log "error"`, `log "info"`}, {`log "error"`, `log "info"`}}
		for n, g := range all {
			open := make(chan error, 1)
			go func() { // a request of a stateless host that may get messages
				_, err := stateless.CallTool(t.Context(), "wait", nil)
				open <- err
			}()
			synctest.Wait()
			_, err := g.CallTool(t.Context(), "log", nil)
			require.NoError(t, err)
			require.NoError(t, <-open)
			synctest.Wait()
			for m, other := range all {
				seen := other.took()
				switch named := len(w.server.Requests()[0].Header) > 0; { // by a URL the call of a message is known
				case m == n && m == 3 && !named:
					require.Subset(t, want[m], slices.Compact(seen))
					require.NotEmpty(t, seen)
				case m == n:
					require.Equal(t, want[m], seen, "its own call %d", n)
				case named:
					require.Empty(t, seen, "call of %d, host %d", n, m)
				default:
					require.Equal(t, want[m], seen, "call of %d, host %d", n, m)
				}
			}
		}
		if session {
			require.NoError(t, debug.Close())
			pause(time.Second)
			params, _ := last(w.server, mcp.MethodLoggingSetLevel)
			require.Contains(t, params, "info", "a stateless host has asked for it")
		}
	})
}

// A host that leaves ends its own calls.
func TestShareLeaving(t *testing.T) {
	t.Parallel()
	eachShared(t, func(*clienttest.Server) {}, func(t *testing.T, w *shared) {
		var cancelled atomic.Int32
		w.server.Tool("slow", "", func(c *clienttest.Call) (any, error) {
			select {
			case <-time.After(10 * time.Second):
				return clienttest.Text("done"), nil
			case <-c.Context().Done():
				cancelled.Add(1)
				return nil, c.Context().Err()
			}
		})
		id := w.session()
		stays := []*guest{w.guest(mcp.LatestSession), w.guest(mcp.Latest)}
		type answer struct {
			res *mcp.CallToolResult
			err error
		}
		answers := make(chan answer, len(stays))
		for _, g := range stays {
			go func() {
				res, err := g.CallTool(t.Context(), "slow", nil)
				answers <- answer{res, err}
			}()
		}
		resp := w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`, "Mcp-Session-Id", id)
		synctest.Wait()
		require.Equal(t, 3, w.server.Count(mcp.MethodToolsCall))
		require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", "Mcp-Session-Id", id).StatusCode)
		_, _ = io.Copy(io.Discard, resp.Body)
		pause(time.Second)
		require.EqualValues(t, 1, cancelled.Load())
		for range stays {
			a := <-answers
			require.NoError(t, a.err)
			require.Equal(t, "done", text(t, a.res))
		}
		require.EqualValues(t, 1, w.connected.Load())
	})
}

// A host that reads nothing delays no other host.
func TestShareSlowHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.SetCapabilities(everything)
		s.Tool("log", "", func(c *clienttest.Call) (any, error) {
			for range 1500 {
				c.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"info","data":"`+strings.Repeat("x", 512)+`"}`))
			}
			return clienttest.Text("done"), nil
		})
		w := &shared{web: newWeb(t, pinned(s, mcp.LatestSession), proxy.WithSharedServer()), server: s}
		stream := w.do(http.MethodGet, "", "Mcp-Session-Id", w.session(), "Accept", "text/event-stream") // never read
		other := w.guest(mcp.LatestSession)
		began := time.Now()
		_, err := other.CallTool(t.Context(), "log", nil)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 2*time.Second)
		require.Greater(t, len(other.took()), 100)
		require.NoError(t, stream.Body.Close())
	})
}

// A program that dies is started once for all, and all learn that lists may have changed.
func TestShareRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.SetCapabilities(everything)
		s.Resource("file:///a", "text/plain", "alpha")
		var programs atomic.Int32
		s.OnConnect(func(int) error {
			programs.Add(1)
			return nil
		})
		w := &shared{web: newWeb(t, pinned(s, mcp.LatestSession), proxy.WithSharedServer()), server: s}
		one, two := w.guest(mcp.LatestSession), w.guest(mcp.LatestSession)
		require.NoError(t, one.SetLogLevel(t.Context(), mcp.LevelDebug))
		one.subscribe(t, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"file:///a"}})
		s.Exit()
		pause(10 * time.Second)
		for _, g := range []*guest{one, two} {
			_, err := g.ReadResource(t.Context(), "file:///a")
			require.NoError(t, err)
			require.Contains(t, g.took(), mcp.MethodToolsListChanged)
		}
		require.EqualValues(t, 2, programs.Load())
		_, levels := last(s, mcp.MethodLoggingSetLevel)
		require.Equal(t, 2, levels)
		_, subscribed := last(s, mcp.MethodResourcesSubscribe)
		require.Equal(t, 2, subscribed)
	})
}

// Each of several servers is shared.
func TestShareGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := clienttest.NewServer(t), clienttest.NewServer(t)
		var programs atomic.Int32
		for name, s := range map[string]*clienttest.Server{"a": a, "b": b} {
			s.SetCapabilities(everything)
			s.OnConnect(func(int) error {
				programs.Add(1)
				return nil
			})
			s.Resource("file:///"+name, "text/plain", name)
			s.Tool("log", "", func(c *clienttest.Call) (any, error) {
				c.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"error","data":"`+name+`"}`))
				return clienttest.Text(name), nil
			})
		}
		w := &shared{server: a, web: newWeb(t, proxy.Servers(
			proxy.Named{Name: "a", Target: pinned(a, mcp.LatestSession)}, proxy.Named{Name: "b", Target: pinned(b, mcp.Latest)}), proxy.WithSharedServer())}
		one, two, three := w.guest(mcp.LatestSession), w.guest(mcp.LatestSession), w.guest(mcp.Latest)
		for _, g := range []*guest{one, two, three} {
			for _, name := range []string{"a", "b"} {
				res, err := g.CallTool(t.Context(), name+"__log", nil)
				require.NoError(t, err)
				require.Equal(t, name, text(t, res))
			}
		}
		require.EqualValues(t, 2, programs.Load())
		for _, g := range []*guest{one, two, three} {
			_, err := g.ListResources(t.Context(), nil) // which tells whose they are
			require.NoError(t, err)
			_ = g.took()
			g.subscribe(t, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"file:///a", "file:///b"}})
		}
		require.NoError(t, one.Close())
		a.Notify(mcp.MethodResourcesUpdated, json.RawMessage(`{"uri":"file:///a"}`))
		b.Notify(mcp.MethodResourcesUpdated, json.RawMessage(`{"uri":"file:///b"}`))
		for _, g := range []*guest{two, three} {
			require.Equal(t, []string{mcp.MethodResourcesUpdated + " file:///a", mcp.MethodResourcesUpdated + " file:///b"}, g.took())
		}
	})
}

// Hosts of a shared server get its lists from the cache, each at once, and one program is started.
func TestShareCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := folder(t)
		for start := range 2 {
			s := slowServer(t, "a")
			var programs atomic.Int32
			s.OnConnect(func(int) error {
				programs.Add(1)
				pause(startTime)
				return nil
			})
			w := newWeb(t, pinned(s, mcp.LatestSession), proxy.WithSharedServer(), proxy.WithCache(store, "s"))
			began := time.Now()
			for range 3 {
				id := w.session()
				require.Contains(t, body(t, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", id)), `"name":"a"`)
			}
			if start == 1 {
				require.Zero(t, time.Since(began))
			}
			require.Contains(t, body(t, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`, "Mcp-Session-Id", w.session())), "I am a")
			require.EqualValues(t, 1, programs.Load())
			require.NoError(t, w.h.Close(t.Context()))
		}
	})
}

// A host that is silent keeps its subscriptions at a shared server, which does not end for it.
func TestShareSilentHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.SetCapabilities(everything)
		w := newWeb(t, pinned(s, mcp.LatestSession), proxy.WithSharedServer(), proxy.WithIdleStop(time.Second))
		id := w.session()
		stream := w.do(http.MethodGet, "", "Mcp-Session-Id", id, "Accept", "text/event-stream")
		require.Contains(t, body(t, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x:/a"}}`, "Mcp-Session-Id", id)), `"result"`)
		require.NoError(t, stream.Body.Close())
		pause(time.Minute)
		require.Zero(t, s.Count(mcp.MethodResourcesUnsubscribe))
		require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", "Mcp-Session-Id", id).StatusCode)
		pause(time.Second)
		require.Equal(t, 1, s.Count(mcp.MethodResourcesUnsubscribe))
		require.Equal(t, 1, s.Count(mcp.MethodInitialize))
	})
}
