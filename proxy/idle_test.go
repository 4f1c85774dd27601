package proxy_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
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

// counted is a server of which each session has its own, and how many of them run.
type counted struct {
	*clienttest.Server
	started, running atomic.Int32
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	c := &counted{Server: clienttest.NewServer(t)}
	c.SetCapabilities(mcp.ServerCapabilities{
		Tools: &mcp.ListChangedCapability{ListChanged: true}, Logging: &mcp.EmptyCapability{},
		Resources: &mcp.ResourcesCapability{Subscribe: true}, Tasks: &mcp.TasksCapability{},
	})
	c.Tool("a", "", answers("I am a"))
	c.Resource("file:///a", "text/plain", "alpha")
	return c
}

func (c *counted) to(version mcp.Version) proxy.Target {
	return func(ctx context.Context, own ...client.Option) (*client.Client, error) {
		conn, err := pinned(c.Server, version)(ctx, own...)
		if err == nil {
			c.started.Add(1)
			c.running.Add(1)
			conn.AfterDone(func() { c.running.Add(-1) })
		}
		return conn, err
	}
}

// listen opens the stream of a session and returns what closes it.
func (w *web) listen(id string) (leave func()) {
	w.t.Helper()
	resp := w.do(http.MethodGet, "", "Mcp-Session-Id", id, "Accept", "text/event-stream")
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
	go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
	return func() { _ = resp.Body.Close() }
}

func (w *web) call(id, params string) *http.Response {
	w.t.Helper()
	return w.do(http.MethodPost, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{`+params+`}}`, "Mcp-Session-Id", id)
}

// The server of a host that left without DELETE ends, and its session stays: the next call starts
// the server again. A host that never opened a stream has not left because it is silent.
func TestServersOfHostsThatLeft(t *testing.T) {
	t.Parallel()
	for _, server := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		for name, tt := range map[string]struct {
			come func(w *web, id string)
			stop time.Duration // the server ends after this time, 0 for never
		}{
			"it closed its stream": {func(w *web, id string) { w.listen(id)() }, 30 * time.Second},
			"it opened no stream":  {func(*web, string) {}, 5 * time.Minute},
			"its stream is open":   {func(w *web, id string) { w.listen(id) }, 0},
			"a call is open": {func(w *web, id string) {
				w.listen(id)()
				require.NoError(w.t, w.call(id, `"name":"slow"`).Body.Close())
			}, 0},
		} {
			t.Run(name+" "+server.Era().String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newCounted(t)
					s.Tool("slow", "", slowTool)
					w := newWeb(t, s.to(server))
					id := w.session()
					tt.come(w, id)
					synctest.Wait()
					if tt.stop == 0 {
						pause(9 * time.Minute)
						require.EqualValues(t, 1, s.running.Load())
						return
					}
					pause(tt.stop - time.Second)
					require.EqualValues(t, 1, s.running.Load())
					pause(2 * time.Second)
					require.EqualValues(t, 0, s.running.Load())
					pause(time.Minute)
					require.Contains(t, body(t, w.call(id, `"name":"a"`)), "I am a")
					require.EqualValues(t, 1, s.running.Load())
					require.EqualValues(t, 2, s.started.Load())
				})
			})
		}
	}
}

// What a session has set at its server is set again when the server is started for it again, also
// the second time.
func TestServerIsAsItWas(t *testing.T) {
	t.Parallel()
	for name, several := range map[string]bool{"one server": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newCounted(t)
				to := proxy.Server(s.to(mcp.LatestSession))
				tool := "a"
				if several {
					to, tool = proxy.Servers(proxy.Named{Name: "s", Target: s.to(mcp.LatestSession)}), "s__a"
				}
				w := newWeb(t, to, proxy.WithIdleStop(time.Second))
				id := w.session()
				for _, message := range []string{
					`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`,
					`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"file:///a"}}`,
				} {
					require.Contains(t, body(t, w.do(http.MethodPost, message, "Mcp-Session-Id", id)), `"result"`)
				}
				for n := 2; n < 4; n++ {
					pause(15 * time.Second)
					require.EqualValues(t, 0, s.running.Load())
					require.Contains(t, body(t, w.call(id, `"name":"`+tool+`"`)), "I am a")
					pause(time.Second)
					require.Equal(t, n, s.Count(mcp.MethodLoggingSetLevel))
					require.Equal(t, n, s.Count(mcp.MethodResourcesSubscribe))
				}
				pause(15 * time.Second)
				stream := w.do(http.MethodGet, "", "Mcp-Session-Id", id, "Accept", "text/event-stream")
				pause(time.Second)
				require.EqualValues(t, 1, s.running.Load(), "a host that is back needs its server")
				s.Notify(mcp.MethodResourcesUpdated, map[string]string{"uri": "file:///a"})
				synctest.Wait()
				require.Contains(t, readEvents(t, stream, mcp.MethodResourcesUpdated), mcp.MethodToolsListChanged)
			})
		})
	}
}

// readEvents reads a stream up to an event that contains text.
func readEvents(t *testing.T, resp *http.Response, text string) string {
	t.Helper()
	var all []byte
	for buf := make([]byte, 4<<10); ; {
		n, err := resp.Body.Read(buf)
		require.NoError(t, err, string(all))
		all = append(all, buf[:n]...)
		if bytes.Contains(all, []byte(text)) {
			return string(all)
		}
	}
}

// A task lives in the server: a host may come back for it.
func TestServerWithATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newCounted(t)
		s.On(mcp.MethodToolsCall, func(*clienttest.Call) (any, error) {
			return map[string]any{"task": map[string]any{
				"taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 600_000,
			}}, nil
		})
		w := newWeb(t, s.to(mcp.LatestSession), proxy.WithIdleStop(time.Second))
		id := w.session()
		require.Contains(t, body(t, w.call(id, `"name":"a","task":{}`)), `"taskId"`)
		pause(9 * time.Minute)
		require.EqualValues(t, 1, s.running.Load())
	})
}

// A server that asks its host outside of a call waits for the answer.
func TestServerThatAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newCounted(t)
		w := newWeb(t, s.to(mcp.LatestSession), proxy.WithIdleStop(time.Second))
		resp := w.do(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"h","version":"1"}}}`)
		id := resp.Header.Get("Mcp-Session-Id")
		require.Equal(t, http.StatusAccepted, w.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id).StatusCode)
		asked := make(chan error, 1)
		go func() {
			_, err := s.Ask(t.Context(), mcp.MethodRootsList, struct{}{})
			asked <- err
		}()
		pause(8 * time.Minute)
		require.EqualValues(t, 1, s.running.Load())
		require.Equal(t, http.StatusAccepted, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":"proxy-1","result":{"roots":[]}}`, "Mcp-Session-Id", id).StatusCode)
		require.NoError(t, <-asked)
		pause(11 * time.Second)
		require.EqualValues(t, 0, s.running.Load())
	})
}

// Hosts that left keep no new host out, also at one address: the session that was unused for the
// longest time ends for it.
func TestRoomForNewHosts(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"of all addresses": "127.0.0.1:1", "of one address": "192.0.2.1:1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newCounted(t)
				h := proxy.NewHandler(s.to(mcp.LatestSession), proxy.WithSessionLimit(8))
				w := newWebFrom(t, h, address)
				for range 50 {
					w.session()
					synctest.Wait()
					require.LessOrEqual(t, s.running.Load(), int32(8))
				}
			})
		})
	}
}
