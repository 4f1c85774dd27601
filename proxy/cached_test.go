package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

const startTime = 20 * time.Second

var allLists = mcp.ServerCapabilities{
	Tools: &mcp.ListChangedCapability{ListChanged: true}, Prompts: &mcp.ListChangedCapability{ListChanged: true},
	Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
}

// pause waits in the virtual time of a bubble.
func pause(d time.Duration) { <-time.After(d) }

// slowServer is a server with these tools that needs some time to start.
func slowServer(t *testing.T, tools ...string) *clienttest.Server {
	t.Helper()
	s := clienttest.NewServer(t)
	s.SetCapabilities(allLists)
	s.OnConnect(func(int) error {
		pause(startTime)
		return nil
	})
	for _, name := range tools {
		s.Tool(name, "", func(*clienttest.Call) (any, error) { return clienttest.Text("I am " + name), nil })
	}
	return s
}

// folder is a store for answers.
func folder(t *testing.T) *toolcache.FileStore {
	t.Helper()
	return &toolcache.FileStore{Dir: filepath.Join(t.TempDir(), "cache")}
}

// asked sends a request in the era of the host, and returns the answer.
func (h *rawHost) asked(era mcp.Era, id int, method, params string) string {
	h.t.Helper()
	h.ask(era, id, method, params)
	answer := h.read()
	require.Contains(h.t, answer, fmt.Sprintf(`"id":%d,`, id))
	return answer
}

// ask sends a request in the era of the host.
func (h *rawHost) ask(era mcp.Era, id int, method, params string) {
	h.t.Helper()
	if era == mcp.EraSession {
		h.send(id, method, "{"+params+"}")
	} else {
		if params != "" {
			params = "," + params
		}
		h.stateless(id, method, `{}`, ``, params)
	}
}

// begin opens the conversation of a host in its era.
func (h *rawHost) begin(era mcp.Era) {
	h.t.Helper()
	if era == mcp.EraSession {
		h.initialize(`{}`)
		return
	}
	require.Contains(h.t, h.asked(era, 1, mcp.MethodDiscover, ""), `"result"`)
}

// eachEra runs f for each pair of eras in virtual time.
func eachEra(t *testing.T, f func(t *testing.T, host mcp.Era, server mcp.Version)) {
	t.Helper()
	for _, host := range []mcp.Era{mcp.EraSession, mcp.EraStateless} {
		for _, server := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
			t.Run(fmt.Sprint(host, " to ", server.Era()), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { f(t, host, server) })
			})
		}
	}
}

// The first start before a slow server waits for it. The second one answers at once, as stale,
// and its calls wait. Each server is started once.
func TestSecondStart(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		for start := range 2 {
			s := slowServer(t, "a")
			s.Resource("file:///a", "text/plain", "alpha")
			connected := 0
			s.OnConnect(func(int) error {
				connected++
				pause(startTime)
				return nil
			})
			h := newRawHost(t, s, server, proxy.WithCache(store, "s"))
			began := time.Now()
			h.begin(host)
			tools := h.asked(host, 2, mcp.MethodToolsList, "")
			require.Contains(t, tools, `"name":"a"`)
			require.Contains(t, h.asked(host, 3, mcp.MethodResourcesList, ""), `file:///a`)
			require.Contains(t, h.asked(host, 4, mcp.MethodResourceTemplatesList, ""), `"resourceTemplates":[]`)
			require.Contains(t, h.asked(host, 5, mcp.MethodPromptsList, ""), `"prompts":[]`)
			switch start {
			case 0:
				require.GreaterOrEqual(t, time.Since(began), startTime)
			case 1:
				require.Zero(t, time.Since(began))
				if host == mcp.EraStateless {
					require.Contains(t, tools, `"ttlMs":0,"cacheScope":"private"`)
				}
			}
			require.Contains(t, h.asked(host, 6, mcp.MethodToolsCall, `"name":"a"`), "I am a")
			require.GreaterOrEqual(t, time.Since(began), startTime)
			synctest.Wait()
			require.Equal(t, 1, connected)
			require.NoError(t, h.close())
		}
		files, err := os.ReadDir(store.Dir)
		require.NoError(t, err)
		require.Len(t, files, 1)
		info, err := files[0].Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
}

// What has another identity, other capabilities or another revision is not answered from the
// cache.
func TestCacheKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := folder(t)
		for n, tt := range []struct {
			identity, version, capabilities string
			slow                            bool
		}{
			{"s", "2025-11-25", `{"roots":{},"sampling":{}}`, true},
			{"s", "2025-11-25", `{"sampling":{},"roots":{}}`, false},
			{"t", "2025-11-25", `{"roots":{},"sampling":{}}`, true},
			{"s", "2025-06-18", `{"roots":{},"sampling":{}}`, true},
			{"s", "2025-11-25", `{"roots":{}}`, true},
		} {
			h := newRawHost(t, slowServer(t, "a"), mcp.LatestSession, proxy.WithCache(store, tt.identity))
			began := time.Now()
			h.send(1, mcp.MethodInitialize, `{"protocolVersion":"`+tt.version+`","clientInfo":{"name":"h","version":"1"},"capabilities":`+tt.capabilities+`}`)
			require.Contains(t, h.read(), `"protocolVersion":"`+tt.version+`"`)
			require.Equal(t, tt.slow, time.Since(began) > 0, n)
			require.NoError(t, h.close())
		}
	})
}

// A list that is no longer what the host got is announced, once the server is there.
func TestListChangedMeanwhile(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		h := newRawHost(t, slowServer(t, "a"), server, proxy.WithCache(store, "s"))
		h.begin(host)
		h.asked(host, 2, mcp.MethodToolsList, "")
		h.asked(host, 3, mcp.MethodPromptsList, "")
		require.NoError(t, h.close())

		h = newRawHost(t, slowServer(t, "b"), server, proxy.WithCache(store, "s"))
		h.begin(host)
		if host == mcp.EraStateless {
			h.stateless(9, mcp.MethodSubscriptionsListen, `{}`, ``, `,"notifications":{"toolsListChanged":true,"promptsListChanged":true}`)
		}
		require.Contains(t, h.asked(host, 2, mcp.MethodToolsList, ""), `"name":"a"`)
		require.Contains(t, h.asked(host, 3, mcp.MethodPromptsList, ""), `"prompts":[]`)
		if host == mcp.EraStateless {
			require.Contains(t, h.read(), mcp.MethodSubscriptionsAcknowledged)
		}
		require.Contains(t, h.read(), mcp.MethodToolsListChanged)
		require.Contains(t, h.asked(host, 4, mcp.MethodToolsList, ""), `"name":"b"`)
		require.NoError(t, h.close())

		h = newRawHost(t, slowServer(t, "b"), server, proxy.WithCache(store, "s"))
		h.begin(host)
		require.Contains(t, h.asked(host, 2, mcp.MethodToolsList, ""), `"name":"b"`)
		pause(2 * startTime)
		require.Contains(t, h.asked(host, 3, mcp.MethodToolsCall, `"name":"b"`), "I am b") // nothing came before
		require.NoError(t, h.close())
	})
}

// Without the promise of announcements, the next list is simply the new one.
func TestListChangedWithoutPromise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := folder(t)
		for n, name := range []string{"a", "b"} {
			s := slowServer(t, name)
			s.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{}})
			h := newRawHost(t, s, mcp.LatestSession, proxy.WithCache(store, "s"))
			h.initialize(`{}`)
			require.Contains(t, h.asked(mcp.EraSession, 2, mcp.MethodToolsList, ""), `"name":"a"`)
			time.Sleep(2 * startTime * time.Duration(n))
			require.Contains(t, h.asked(mcp.EraSession, 3, mcp.MethodToolsList, ""), `"name":"`+name+`"`)
			require.NoError(t, h.close())
		}
	})
}

// A capability that the server no longer has is answered with an error that names it.
func TestCapabilityIsGone(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		h := newRawHost(t, slowServer(t, "a"), server, proxy.WithCache(store, "s"))
		h.begin(host)
		h.asked(host, 2, mcp.MethodPromptsList, "")
		require.NoError(t, h.close())

		s := slowServer(t, "a")
		s.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{}})
		h = newRawHost(t, s, server, proxy.WithCache(store, "s"))
		h.begin(host)
		require.Contains(t, h.asked(host, 2, mcp.MethodPromptsList, ""), `"prompts":[]`)
		if host == mcp.EraSession { // the list that it has is no longer right
			require.Contains(t, h.read(), mcp.MethodPromptsListChanged)
		}
		answer := h.asked(host, 3, mcp.MethodPromptsGet, `"name":"p"`)
		require.Contains(t, answer, `"code":-32601`)
		require.Contains(t, answer, "the server no longer has the capability prompts")
		require.Contains(t, h.asked(host, 4, mcp.MethodPromptsList, ""), "the server no longer has the capability prompts")
		require.NoError(t, h.close())

		h = newRawHost(t, s, server, proxy.WithCache(store, "s"))
		h.begin(host)
		require.NotContains(t, h.asked(host, 2, mcp.MethodPromptsList, ""), `"result"`)
		require.NoError(t, h.close())
	})
}

// What is no entry, of another version or broken, counts as none and is replaced.
func TestBrokenCache(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(raw []byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"cut":             func(raw []byte) []byte { return raw[:len(raw)-10] },
		"no JSON":         func([]byte) []byte { return []byte("hello\n") },
		"another version": func(raw []byte) []byte { return append([]byte(`{"format":2,`), raw[len(`{"format":1,`):]...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := folder(t)
				for start := range 3 {
					h := newRawHost(t, slowServer(t, "a"), mcp.LatestSession, proxy.WithCache(store, "s"))
					began := time.Now()
					h.initialize(`{}`)
					require.Equal(t, start < 2, time.Since(began) > 0)
					require.NoError(t, h.close())
					if start > 0 {
						continue
					}
					files, err := os.ReadDir(store.Dir)
					require.NoError(t, err)
					file := filepath.Join(store.Dir, files[0].Name())
					raw, err := os.ReadFile(file)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(file, damage(raw), 0o600))
				}
			})
		})
	}
}

// Proxies that write the same entry at the same time leave a whole one.
func TestCacheOfTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := folder(t)
		var hosts []*rawHost
		for range 4 {
			hosts = append(hosts, newRawHost(t, slowServer(t, "a"), mcp.LatestSession, proxy.WithCache(store, "s")))
		}
		for _, h := range hosts {
			h.send(1, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":{}}`)
		}
		for _, h := range hosts {
			require.Contains(t, h.read(), `"result"`)
			h.send(0, mcp.MethodInitialized, `{}`)
			h.send(2, mcp.MethodToolsList, `{}`)
		}
		for _, h := range hosts {
			require.Contains(t, h.read(), `"name":"a"`)
		}
		for _, h := range hosts {
			require.NoError(t, h.close())
		}
		h := newRawHost(t, slowServer(t, "a"), mcp.LatestSession, proxy.WithCache(store, "s"))
		began := time.Now()
		h.initialize(`{}`)
		require.Contains(t, h.asked(mcp.EraSession, 2, mcp.MethodToolsList, ""), `"name":"a"`)
		require.Zero(t, time.Since(began))
		require.NoError(t, h.close())
	})
}

// While the server cannot be started, lists come from the cache, calls fail with the reason, and
// each tries again.
func TestDeadServer(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		var dead atomic.Bool
		s := slowServer(t, "a")
		s.OnConnect(func(int) error {
			pause(startTime)
			if dead.Load() {
				return errors.New("no such program")
			}
			return nil
		})
		h := newRawHost(t, s, server, proxy.WithCache(store, "s"))
		h.begin(host)
		h.asked(host, 2, mcp.MethodToolsList, "")
		require.NoError(t, h.close())

		dead.Store(true)
		h = newRawHost(t, s, server, proxy.WithCache(store, "s"))
		h.begin(host)
		for range 2 {
			require.Contains(t, h.asked(host, 2, mcp.MethodToolsList, ""), `"name":"a"`)
			answer := h.asked(host, 3, mcp.MethodToolsCall, `"name":"a"`)
			require.Contains(t, answer, `"isError":true`)
			require.Contains(t, answer, "The tool did not run: ")
			require.Contains(t, answer, "no such program")
		}
		dead.Store(false)
		require.Contains(t, h.asked(host, 4, mcp.MethodToolsCall, `"name":"a"`), "I am a")
		require.NoError(t, h.close())
	})
}

// A host that got the first page from the cache gets the second one of the server, whose cursors
// are others now.
func TestCachedPages(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		for start := range 3 {
			s := slowServer(t, "a")
			s.On(mcp.MethodToolsList, func(c *clienttest.Call) (any, error) {
				var params struct{ Cursor string }
				if err := json.Unmarshal(c.Params, &params); err != nil {
					return nil, err
				}
				second := fmt.Sprint("second-", start)
				switch {
				case params.Cursor == "" && start < 2:
					return json.RawMessage(`{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"` + second + `"}`), nil
				case params.Cursor == "":
					return json.RawMessage(`{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[{"name":"a","inputSchema":{"type":"object"}}]}`), nil
				case params.Cursor != second:
					return nil, fmt.Errorf("cursor %s", params.Cursor)
				}
				return json.RawMessage(`{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[{"name":"b","inputSchema":{"type":"object"}}]}`), nil
			})
			h := newRawHost(t, s, server, proxy.WithCache(store, "s"))
			h.begin(host)
			var first struct {
				Result struct{ NextCursor string }
			}
			require.NoError(t, json.Unmarshal([]byte(h.asked(host, 2, mcp.MethodToolsList, "")), &first))
			require.NotEmpty(t, first.Result.NextCursor)
			h.ask(host, 3, mcp.MethodToolsList, `"cursor":"`+first.Result.NextCursor+`"`)
			next := h.read()
			if !strings.Contains(next, `"id":3,`) { // the list has changed, which the host may learn first
				require.Contains(t, next, mcp.MethodToolsListChanged)
				next = h.read()
			}
			if start < 2 {
				require.Contains(t, next, `"name":"b"`)
			} else {
				require.Contains(t, next, `"tools":[]`)
			}
			require.NoError(t, h.close())
		}
	})
}

// lostStore is a store that does not answer.
type lostStore struct{ toolcache.Store }

// Load implements [toolcache.Store].
func (lostStore) Load(ctx context.Context, _ string) (toolcache.Entry, error) {
	<-ctx.Done()
	return toolcache.Entry{}, ctx.Err()
}

// Save implements [toolcache.Store].
func (lostStore) Save(ctx context.Context, _ string, _ toolcache.Entry) error {
	<-ctx.Done()
	return ctx.Err()
}

// A store that does not answer delays a host by a second.
func TestLostStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		h := newRawHost(t, s, mcp.LatestSession, proxy.WithCache(lostStore{}, "s"))
		began := time.Now()
		h.initialize(`{}`)
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.NoError(t, h.close())
	})
}
