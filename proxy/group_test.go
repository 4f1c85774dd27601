package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// several is a host before a proxy before two servers: a of the session era, and b of the
// stateless one.
type several struct {
	host *client.Client
	a, b *clienttest.Server
	log  *strings.Builder // of the proxy
}

// eachHost runs f for a host of each era. prepare gets the servers before the host connects.
func eachHost(t *testing.T, prepare func(a, b *clienttest.Server), f func(t *testing.T, s *several), opts ...client.Option) {
	t.Helper()
	for name, version := range map[string]mcp.Version{"session": mcp.LatestSession, "stateless": mcp.Latest} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &several{a: clienttest.NewServer(t), b: clienttest.NewServer(t), log: &strings.Builder{}}
				prepare(s.a, s.b)
				stream, end := transport.InMemory()
				ended := make(chan error, 1)
				go func() {
					ended <- proxy.Stdio(context.WithoutCancel(t.Context()), end, end, s.servers(), proxy.WithLogger(slog.New(slog.NewTextHandler(s.log, nil))))
				}()
				var err error
				s.host, err = client.Connect(t.Context(), stream, append(opts, client.WithProtocolVersion(string(version)), client.WithLogger(slog.New(slog.DiscardHandler)),
					client.WithRequiredCapabilities())...)
				require.NoError(t, err)
				t.Cleanup(func() {
					require.NoError(t, s.host.Close())
					requireEnded(t, <-ended)
				})
				f(t, s)
			})
		})
	}
}

// servers are a and b, under names that no API of a model accepts.
func (s *several) servers() proxy.Server {
	return proxy.Servers(
		proxy.Named{Name: "My files", Target: pinned(s.a, mcp.LatestSession)},
		proxy.Named{Name: "__b__", Target: pinned(s.b, mcp.Latest)},
	)
}

func pinned(s *clienttest.Server, version mcp.Version) proxy.Target {
	return func(ctx context.Context, own ...client.Option) (*client.Client, error) {
		return client.Connect(ctx, s.Transport(), append(own, client.WithProtocolVersion(string(version)))...)
	}
}

func answers(said string) clienttest.Handler {
	return func(*clienttest.Call) (any, error) { return clienttest.Text(said), nil }
}

// tools are the names of the tools that the host sees.
func (s *several) tools(t *testing.T) []string {
	t.Helper()
	list, err := s.host.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, list.NextCursor)
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (s *several) call(t *testing.T, tool string) *mcp.CallToolResult {
	t.Helper()
	res, err := s.host.CallTool(t.Context(), tool, nil)
	require.NoError(t, err)
	return res
}

// Names have prefixes, and calls reach the server of theirs: also one whose name is long, or has
// characters that models do not take, before any list.
func TestGroupNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 70)
	eachHost(t, func(a, b *clienttest.Server) {
		a.Tool("read", "", answers("a read"))
		a.Tool("fs.read", "", answers("a fs.read"))
		b.Tool("read", "", answers("b read"))
		b.Tool(long, "", answers("b long"))
		a.Prompt(mcp.Prompt{Name: "p q"}, func(c *clienttest.Call) (any, error) {
			return json.RawMessage(`{"messages":[],"description":"` + c.Name + `"}`), nil
		})
		a.On(mcp.MethodCompletionComplete, func(c *clienttest.Call) (any, error) {
			return json.RawMessage(`{"completion":{"values":[` + string(c.Params) + `]}}`), nil
		})
		a.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{}, Prompts: &mcp.ListChangedCapability{}, Completions: &mcp.EmptyCapability{}})
	}, func(t *testing.T, s *several) {
		require.Equal(t, "a fs.read", text(t, s.call(t, "My_files__fs_read_4074bc02")))
		names := s.tools(t)
		require.Len(t, names, 4)
		said := map[string]string{}
		for _, name := range names {
			require.Regexp(t, "^[A-Za-z0-9_-]{1,64}$", name)
			said[text(t, s.call(t, name))] = name
		}
		require.Equal(t, "My_files__read", said["a read"])
		require.Equal(t, "b__read", said["b read"])
		require.Equal(t, "My_files__fs_read_4074bc02", said["a fs.read"])
		require.Regexp(t, "^b__l{52}_[0-9a-f]{8}$", said["b long"])

		prompts, err := s.host.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, prompts.Prompts, 1)
		name := prompts.Prompts[0].Name
		require.Regexp(t, "^My_files__p_q_[0-9a-f]{8}$", name)
		got, err := s.host.GetPrompt(t.Context(), name, nil)
		require.NoError(t, err)
		require.Equal(t, "p q", got.Description)
		raw, err := s.host.Call(t.Context(), mcp.MethodCompletionComplete, json.RawMessage(`{"ref":{"type":"ref/prompt","name":"`+name+`"},"argument":{"name":"x","value":""}}`))
		require.NoError(t, err)
		require.Contains(t, string(raw), `"name":"p q"`)

		_, err = s.host.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"read"}`))
		require.ErrorContains(t, err, "My_files__, b__")
	})
}

// The proxy describes itself and joins what the servers say.
func TestGroupDescription(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		a.On(mcp.MethodInitialize, func(*clienttest.Call) (any, error) {
			return json.RawMessage(`{"protocolVersion":"2025-11-25","serverInfo":{"name":"A","version":"1"},"capabilities":{"logging":{},"tools":{}},"instructions":" Read first. "}`), nil
		})
		b.SetCapabilities(mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{Subscribe: true}, Tools: &mcp.ListChangedCapability{ListChanged: true}})
	}, func(t *testing.T, s *several) {
		require.Equal(t, "mainstay-proxy", s.host.ServerInfo().Name)
		require.Equal(t, "My files, __b__", s.host.ServerInfo().Title)
		require.Equal(t, "# My files (its names begin with My_files__)\n\nRead first.", s.host.Instructions())
		for capability, want := range map[string]bool{
			"tools.listChanged": true, "resources.listChanged": true, "resources.subscribe": true, "logging": true, "prompts": false,
		} {
			require.Equal(t, want, s.host.HasCapability(capability), capability)
		}
	})
}

// Resources keep their URIs. One that is not listed is asked for at each server; one that two
// servers list is that of the first.
func TestGroupResources(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		a.Resource("file:///both", "text/plain", "a")
		b.Resource("file:///both", "text/plain", "b")
		b.Resource("file:///b", "text/plain", "b")
	}, func(t *testing.T, s *several) {
		read := func(uri string) string {
			res, err := s.host.ReadResource(t.Context(), uri)
			require.NoError(t, err)
			require.Len(t, res.Contents, 1)
			return *res.Contents[0].Text
		}
		require.Equal(t, "b", read("file:///b"))
		require.Equal(t, 1, s.a.Count(mcp.MethodResourcesRead))
		list, err := s.host.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Resources, 2)
		require.Equal(t, 1, strings.Count(s.log.String(), "two servers have the same resource"))
		require.Contains(t, s.log.String(), "file:///both")
		require.Equal(t, "a", read("file:///both"))
		require.Equal(t, "b", read("file:///b"))
		require.Equal(t, 2, s.a.Count(mcp.MethodResourcesRead)) // the proxy knows whose it is
		_, err = s.host.ReadResource(t.Context(), "file:///none")
		require.ErrorContains(t, err, "Resource not found")
	})
}

// Progress, cancellation and questions belong to the call, whatever server it is for.
func TestGroupCalls(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		for _, s := range []*clienttest.Server{a, b} {
			s.Tool("greet", "", func(c *clienttest.Call) (any, error) {
				c.Progress(0.5, "half")
				<-time.After(time.Second) // the progress comes before the question
				answer, err := c.Ask(mcp.MethodElicitationCreate, json.RawMessage(`{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}`))
				return clienttest.Text(string(answer)), err
			})
			s.Tool("slow", "", slowTool)
		}
	}, func(t *testing.T, s *several) {
		for prefix, server := range map[string]*clienttest.Server{"My_files__": s.a, "b__": s.b} {
			var seen []string
			res, err := s.host.CallTool(t.Context(), prefix+"greet", nil, client.WithProgress(func(p mcp.ProgressParams) { seen = append(seen, p.Message) }))
			require.NoError(t, err)
			require.Contains(t, text(t, res), "Ada")
			require.Contains(t, seen, "half")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = s.host.CallTool(ctx, prefix+"slow", nil)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			synctest.Wait()
			require.Equal(t, 1, server.Count(mcp.MethodCancelled))
		}
	}, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		return client.AcceptForm(map[string]any{"name": "Ada"})
	}))
}

// A server that cannot be started is missing, its calls fail with the reason, and it is tried
// again: after a pause, and by a call. The host learns when it is there.
func TestGroupServerIsMissing(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		a.Tool("read", "", answers("a"))
		b.Tool("read", "", answers("b"))
		b.OnConnect(func(n int) error {
			if n < 7 {
				return errors.New("no such program")
			}
			return nil
		})
	}, func(t *testing.T, s *several) {
		changes := make(chan string, 10)
		sub, err := s.host.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(_ context.Context, ch client.Change) { changes <- ch.Method })
		require.NoError(t, err)
		require.Equal(t, []string{"My_files__read"}, s.tools(t))
		raw, err := s.host.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"b__read"}`)) // the client knows no such tool
		require.NoError(t, err)
		require.Contains(t, string(raw), "The tool did not run: the server is not connected")
		require.Contains(t, string(raw), "no such program")
		require.Equal(t, "a", text(t, s.call(t, "My_files__read")))
		require.Equal(t, mcp.MethodToolsListChanged, <-changes)
		require.Equal(t, []string{"My_files__read", "b__read"}, s.tools(t))
		require.Equal(t, "b", text(t, s.call(t, "b__read")))
		require.NoError(t, sub.Close())
	})
}

// A server that is slow to start delays the host by ten seconds, and no call to another one.
func TestGroupSlowStart(t *testing.T) {
	t.Parallel()
	for _, call := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &several{a: clienttest.NewServer(t), b: clienttest.NewServer(t)}
			s.a.Tool("read", "", answers("a"))
			s.b.OnConnect(func(int) error { time.Sleep(time.Minute); return nil })
			h := startHost(t, s.servers())
			began := time.Now()
			if call {
				h.stateless(1, mcp.MethodToolsCall, `{}`, ``, `,"name":"My_files__read"`)
				require.Contains(t, h.read(), `"text":"a"`)
				require.Less(t, time.Since(began), time.Second)
			} else {
				h.initialize(`{}`)
				require.Equal(t, 10*time.Second, time.Since(began))
				h.send(2, mcp.MethodToolsList, `{}`)
				require.Contains(t, h.read(), `"tools":[{"name":"My_files__read"`)
				h.send(3, mcp.MethodToolsCall, `{"name":"b__x"}`) // it waits for the start
				for range 3 {
					require.Contains(t, h.read(), `list_changed`)
				}
				require.Contains(t, h.read(), `"id":3`)
				require.Equal(t, time.Minute, time.Since(began).Round(time.Second))
			}
			require.NoError(t, h.close())
		})
	}
}

// A server that dies during a call fails that call alone. It is started again.
func TestGroupServerDies(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		calls := 0
		a.Tool("pay", "", func(*clienttest.Call) (any, error) {
			if calls++; calls == 1 {
				return nil, clienttest.ErrCut
			}
			return clienttest.Text("paid"), nil
		})
		b.Tool("read", "", func(*clienttest.Call) (any, error) {
			<-time.After(30 * time.Second)
			return clienttest.Text("b"), nil
		})
	}, func(t *testing.T, s *several) {
		read := make(chan error, 1)
		go func() {
			res, err := s.host.CallTool(t.Context(), "b__read", nil)
			if err == nil && res.IsError {
				err = errors.New(res.Text())
			}
			read <- err
		}()
		synctest.Wait()
		res := s.call(t, "My_files__pay")
		require.True(t, res.IsError)
		require.Contains(t, text(t, res), "The tool may have run")
		require.Equal(t, "paid", text(t, s.call(t, "My_files__pay")))
		require.NoError(t, <-read)
	})
}

// pages makes the tools of a server a list of pages of one tool.
func pages(s *clienttest.Server, n int, hints string) {
	s.On(mcp.MethodToolsList, func(c *clienttest.Call) (any, error) {
		var params struct{ Cursor string }
		if c.Params != nil {
			if err := json.Unmarshal(c.Params, &params); err != nil {
				return nil, err
			}
		}
		page := 0
		if _, err := fmt.Sscanf(params.Cursor, "page %d", &page); params.Cursor != "" && (err != nil || page >= n) {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "no such cursor", nil)
		}
		next := ""
		if page+1 < n {
			next = fmt.Sprintf(`,"nextCursor":"page %d"`, page+1)
		}
		return json.RawMessage(fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"t%d","inputSchema":{"type":"object"}}]%s%s}`, page, next, hints)), nil
	})
}

// Lists of several pages are merged page by page, under cursors of the proxy.
func TestGroupCursors(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		pages(a, 3, "")
		pages(b, 1, `,"ttlMs":5000,"cacheScope":"public"`)
	}, func(t *testing.T, s *several) {
		tools, err := s.host.AllTools(t.Context())
		require.NoError(t, err)
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		require.Equal(t, []string{"My_files__t0", "b__t0", "My_files__t1", "My_files__t2"}, names)
		first, err := s.host.ListTools(t.Context(), nil)
		require.NoError(t, err)
		for method, cursor := range map[string]string{mcp.MethodToolsList: "page 1", mcp.MethodPromptsList: *first.NextCursor} {
			_, err = s.host.Call(t.Context(), method, map[string]string{"cursor": cursor})
			var rpc *jsonrpc.Error
			require.ErrorAs(t, err, &rpc)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, rpc.Code)
		}
	})
}

// Caches get the shortest of the servers' times, and share nothing that one of them keeps
// private.
func TestGroupCacheHints(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ a, b, want string }{
		"private": {`,"ttlMs":5000,"cacheScope":"public"`, `,"ttlMs":3000,"cacheScope":"private"`, `"ttlMs":3000,"cacheScope":"private"`},
		"public":  {`,"ttlMs":5000,"cacheScope":"public"`, `,"ttlMs":7000,"cacheScope":"public"`, `"ttlMs":5000,"cacheScope":"public"`},
		"nothing": {`,"ttlMs":0,"cacheScope":"public"`, `,"ttlMs":7000,"cacheScope":"public"`, `"ttlMs":0,"cacheScope":"private"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b := clienttest.NewServer(t), clienttest.NewServer(t)
				pages(a, 1, tt.a)
				pages(b, 1, tt.b)
				h := startHost(t, proxy.Servers(proxy.Named{Name: "a", Target: pinned(a, mcp.Latest)}, proxy.Named{Name: "a", Target: pinned(b, mcp.Latest)}))
				h.stateless(1, mcp.MethodToolsList, `{}`, ``, ``)
				list := h.read()
				require.Contains(t, list, tt.want)
				require.Contains(t, list, `"a-2__t0"`) // the second server of the same name
				require.NoError(t, h.close())
			})
		})
	}
}

// A list that hangs is left out after ten seconds, and announced when the server is back.
func TestGroupListHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &several{a: clienttest.NewServer(t), b: clienttest.NewServer(t)}
		s.a.Tool("read", "", answers("a"))
		s.b.On(mcp.MethodToolsList, func(*clienttest.Call) (any, error) { return nil, clienttest.ErrSilent })
		h := startHost(t, s.servers())
		h.initialize(`{}`)
		began := time.Now()
		h.send(2, mcp.MethodToolsList, `{}`)
		require.Contains(t, h.read(), `"tools":[{"name":"My_files__read"`)
		require.Equal(t, 10*time.Second, time.Since(began))
		pages(s.b, 1, "")
		for range 3 {
			require.Contains(t, h.read(), `list_changed`)
		}
		require.NoError(t, h.close())
	})
}

// What a host tells servers reaches each of them; progress reaches the one that has asked. The
// log level is set for all that log, also later. Log messages name their server.
func TestGroupNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, none := clienttest.NewServer(t), clienttest.NewServer(t), clienttest.NewServer(t)
		logs := mcp.ServerCapabilities{Logging: &mcp.EmptyCapability{}, Tools: &mcp.ListChangedCapability{}}
		a.SetCapabilities(logs)
		b.SetCapabilities(logs)
		b.OnConnect(func(n int) error {
			if n == 1 {
				time.Sleep(time.Minute)
			}
			return nil
		})
		a.Tool("sample", "", func(c *clienttest.Call) (any, error) {
			answer, err := c.Ask(mcp.MethodSamplingCreateMessage, json.RawMessage(`{"_meta":{"progressToken":7}}`))
			return clienttest.Text(string(answer)), err
		})
		h := startHost(t, proxy.Servers(
			proxy.Named{Name: "a", Target: pinned(a, mcp.LatestSession)}, proxy.Named{Name: "none", Target: pinned(none, mcp.LatestSession)},
			proxy.Named{Name: "b", Target: pinned(b, mcp.LatestSession)},
		))
		h.initialize(`{"sampling":{}}`)
		h.send(0, mcp.MethodRootsListChanged, `{}`)
		h.send(2, mcp.MethodLoggingSetLevel, `{"level":"error"}`)
		require.Contains(t, h.read(), `"id":2,"result":{}`)
		h.send(3, mcp.MethodLoggingSetLevel, `{"level":"loud"}`)
		require.Contains(t, h.read(), `"code":-32602`)
		h.send(4, mcp.MethodToolsCall, `{"name":"a__sample"}`)
		require.Contains(t, h.read(), `"progressToken":"a__7"`)
		h.send(0, mcp.MethodProgress, `{"progressToken":"a__7","progress":1}`)
		synctest.Wait()
		require.Equal(t, 1, a.Count(mcp.MethodProgress))
		require.Equal(t, 0, none.Count(mcp.MethodProgress))
		require.Contains(t, fmt.Sprint(a.Requests()), fmt.Sprint(json.RawMessage(`{"progressToken":7,"progress":1}`)))
		time.Sleep(2 * time.Minute)
		for _, s := range []*clienttest.Server{a, b} {
			require.Equal(t, 1, s.Count(mcp.MethodLoggingSetLevel))
		}
		require.Equal(t, 0, none.Count(mcp.MethodLoggingSetLevel))
		require.Equal(t, 1, none.Count(mcp.MethodRootsListChanged))
		b.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"info","data":1}`))
		b.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"error","logger":"x","data":2}`))
		require.Contains(t, h.read(), `"logger":"b/x","data":2`)
		require.NoError(t, h.close())
	})
}

// Changes of every server reach the host that subscribed to them.
func TestGroupSubscriptions(t *testing.T) {
	t.Parallel()
	eachHost(t, func(a, b *clienttest.Server) {
		for _, s := range []*clienttest.Server{a, b} {
			s.SetCapabilities(mcp.ServerCapabilities{
				Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}, Tools: &mcp.ListChangedCapability{ListChanged: true},
			})
		}
		a.Resource("file:///a", "text/plain", "a")
		b.Resource("file:///b", "text/plain", "b")
	}, func(t *testing.T, s *several) {
		_, err := s.host.ListResources(t.Context(), nil)
		require.NoError(t, err)
		var seen []string
		sub, err := s.host.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"file:///a", "file:///b"}},
			func(_ context.Context, ch client.Change) { seen = append(seen, ch.Method+" "+ch.URI) })
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"file:///a", "file:///b"}, sub.Accepted().ResourceSubscriptions)
		synctest.Wait()
		s.a.Notify(mcp.MethodResourcesUpdated, json.RawMessage(`{"uri":"file:///a"}`))
		synctest.Wait()
		s.b.Notify(mcp.MethodResourcesUpdated, json.RawMessage(`{"uri":"file:///b"}`))
		synctest.Wait()
		s.b.Notify(mcp.MethodToolsListChanged, nil)
		synctest.Wait()
		s.a.Notify(mcp.MethodToolsListChanged, nil)
		synctest.Wait()
		require.Equal(t, []string{
			mcp.MethodResourcesUpdated + " file:///a", mcp.MethodResourcesUpdated + " file:///b",
			mcp.MethodToolsListChanged + " ", mcp.MethodToolsListChanged + " ",
		}, seen)
		require.NoError(t, sub.Close())
	})
}

// A method that nobody here knows is for the first server that knows it.
func TestGroupUnknownMethod(t *testing.T) {
	t.Parallel()
	eachHost(t, func(_, b *clienttest.Server) {
		b.On("example/method", func(*clienttest.Call) (any, error) {
			return json.RawMessage(`{"resultType":"complete","from":"b"}`), nil
		})
		b.On("example/error", func(*clienttest.Call) (any, error) { return nil, jsonrpc.NewError(-31999, "No room", nil) })
	}, func(t *testing.T, s *several) {
		raw, err := s.host.Call(t.Context(), "example/method", nil)
		require.NoError(t, err)
		require.Contains(t, string(raw), `"from":"b"`)
		_, err = s.host.Call(t.Context(), "example/error", nil)
		require.ErrorContains(t, err, "No room")
		_, err = s.host.Call(t.Context(), "example/none", nil)
		var rpc *jsonrpc.Error
		require.ErrorAs(t, err, &rpc)
		require.EqualValues(t, jsonrpc.CodeMethodNotFound, rpc.Code)
	})
}

// A task belongs to the server that has made it; one that is not known is asked for at each server.
func TestGroupTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := func(id string) *clienttest.Server {
			s := clienttest.NewServer(t)
			const open = `","status":"working","createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z","ttl":null}`
			s.On(mcp.MethodInitialize, func(*clienttest.Call) (any, error) {
				return json.RawMessage(`{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{},"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}}`), nil
			})
			s.On(mcp.MethodToolsCall, func(*clienttest.Call) (any, error) {
				return json.RawMessage(`{"task":{"taskId":"` + id + open + `}`), nil
			})
			s.On(mcp.MethodTasksGet, func(c *clienttest.Call) (any, error) {
				if !strings.Contains(string(c.Params), id) {
					return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Unknown task", nil)
				}
				return json.RawMessage(`{"taskId":"` + id + open), nil
			})
			s.On(mcp.MethodTasksList, func(*clienttest.Call) (any, error) {
				return json.RawMessage(`{"tasks":[{"taskId":"` + id + open + `]}`), nil
			})
			return s
		}
		a, b := tasks("one"), tasks("two")
		h := startHost(t, proxy.Servers(proxy.Named{Name: "a", Target: pinned(a, mcp.LatestSession)}, proxy.Named{Name: "b", Target: pinned(b, mcp.LatestSession)}))
		h.initialize(`{}`)
		h.send(2, mcp.MethodTasksGet, `{"taskId":"two"}`) // made in another session of the host
		require.Contains(t, h.read(), `"taskId":"two"`)
		require.Equal(t, 1, a.Count(mcp.MethodTasksGet))
		h.send(3, mcp.MethodToolsCall, `{"name":"b__work","task":{}}`)
		require.Contains(t, h.read(), `"taskId":"two"`)
		h.send(4, mcp.MethodTasksGet, `{"taskId":"two"}`)
		require.Contains(t, h.read(), `"taskId":"two"`)
		require.Equal(t, 1, a.Count(mcp.MethodTasksGet))
		h.send(5, mcp.MethodTasksList, `{}`)
		require.Regexp(t, `"taskId":"one".*"taskId":"two"`, h.read())
		require.NoError(t, h.close())
	})
}

// Hosts of both eras reach several servers by one URL.
func TestGroupOverHTTP(t *testing.T) {
	t.Parallel()
	a, b := clienttest.NewServer(t), clienttest.NewServer(t)
	a.Tool("read", "", answers("a"))
	b.Tool("read", `{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}`, answers("b"))
	handler := proxy.NewHandler((&several{a: a, b: b}).servers())
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { require.NoError(t, handler.Close(context.WithoutCancel(t.Context()))) })
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		c, err := client.Dial(t.Context(), server.URL, client.WithProtocolVersion(string(version)), client.WithLogger(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		for tool, want := range map[string]string{"My_files__read": "a", "b__read": "b"} {
			res, err := c.CallTool(t.Context(), tool, map[string]string{"x": "y"})
			require.NoError(t, err)
			require.Equal(t, want, res.Text())
		}
		require.NoError(t, c.Close())
	}
}
