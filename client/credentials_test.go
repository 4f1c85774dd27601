package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// counted has a HeaderFunc and an Authorizer that count their calls.
type counted struct {
	mu                             sync.Mutex
	headers, authorize, challenged int
	token                          string // of now
	byUser                         bool   // the token is that of the user in the context
	once                           bool   // credentials are for one request
}

func (c *counted) HeaderFunc(context.Context) (http.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers++
	return http.Header{"X-Tenant": {"acme"}}, nil
}

func (c *counted) Authorize(ctx context.Context, _ transport.AuthorizedRequest) (*transport.Credentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authorize++
	token := c.token
	if user, _ := ctx.Value(userKey{}).(string); c.byUser && user != "" {
		token = user
	}
	return c.credentials(token), nil
}

func (c *counted) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.challenged++
	c.token = "renewed"
	return c.credentials(c.token), nil
}

func (c *counted) credentials(token string) *transport.Credentials {
	scope := token
	if token == "renewed" {
		scope = "first" // the same caller's
	}
	return &transport.Credentials{Header: http.Header{"Authorization": {token}}, Scope: scope, Once: c.once}
}

// take returns the counts and begins them again.
func (c *counted) take() (headers, authorize, challenged int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	headers, authorize, challenged = c.headers, c.authorize, c.challenged
	c.headers, c.authorize, c.challenged = 0, 0, 0
	return headers, authorize, challenged
}

// keyedPeer is a listPeer behind a door that scripts can shut.
type keyedPeer struct {
	*listPeer
	mem *memhttp.Server

	mu     sync.Mutex
	next   map[string][]func(http.ResponseWriter, *http.Request) bool // by method; true if it has answered
	tokens map[string][]string                                        // those that came, by method
}

func newKeyedPeer(t *testing.T, version string) *keyedPeer {
	t.Helper()
	p := &keyedPeer{
		listPeer: &listPeer{t: t, version: version, http: true, ttl: 60_000, tools: peerTool, result: peerReturn, asked: map[string]int{}, answers: map[string]func(json.RawMessage) string{}},
		next:     map[string][]func(http.ResponseWriter, *http.Request) bool{}, tokens: map[string][]string{},
	}
	p.mem = memhttp.New(p)
	return p
}

func (p *keyedPeer) script(method string, steps ...func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[method] = steps
}

// counts returns how many requests came, by method.
func (p *keyedPeer) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]int{}
	for method, tokens := range p.tokens {
		n[method] = len(tokens)
	}
	return n
}

// since returns how many more came since then.
func (p *keyedPeer) since(then map[string]int) map[string]int {
	n := p.counts()
	for method, before := range then {
		if n[method] -= before; n[method] == 0 {
			delete(n, method)
		}
	}
	return n
}

func (p *keyedPeer) came(method string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens[method]
}

func (p *keyedPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &m) == nil && m.Method != "" {
		method = m.Method
	}
	p.mu.Lock()
	p.tokens[method] = append(p.tokens[method], r.Header.Get("Authorization"))
	var step func(http.ResponseWriter, *http.Request) bool
	if steps := p.next[method]; len(steps) > 0 {
		step, p.next[method] = steps[0], steps[1:]
	}
	p.mu.Unlock()
	if p.version < "2026" && r.Method == http.MethodPost {
		w.Header().Set("Mcp-Session-Id", "s1")
	}
	if step != nil && step(w, r) {
		return
	}
	p.listPeer.ServeHTTP(w, r)
}

func statusStep(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		return true
	}
}

func cutStep(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// answersForms accepts every form.
var answersForms = client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
	return client.AcceptForm(map[string]any{})
})

// The application is asked once for each attempt of a call, and once more after a
// challenge, whatever the call needs to know of its caller.
func TestCredentialsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
		_, err := c.CallTool(ctx, "echo", hello)
		return err
	}
	type counts struct{ headers, authorize, challenged int }
	once := counts{1, 1, 0}
	for name, tt := range map[string]struct {
		opts   []client.Option
		before func(c *client.Client, p *keyedPeer)
		do     func(ctx context.Context, c *client.Client, p *keyedPeer) error
		once   bool
		only   string // an era
		want   counts
		posts  map[string]int // requests of the call by method
	}{
		"a tool": {do: call, want: once, posts: map[string]int{"tools/call": 1}},
		"a tool that is not listed yet": {
			before: func(c *client.Client, _ *keyedPeer) { c.InvalidateTools() },
			do: func(ctx context.Context, c *client.Client, p *keyedPeer) error {
				p.list(peerTool + `,{"name":"new","inputSchema":{"type":"object"}}`)
				_, err := c.CallTool(ctx, "new", nil)
				return err
			},
			want: once, posts: map[string]int{"tools/call": 1, "tools/list": 1},
		},
		"no list before": {
			opts: []client.Option{client.WithCache(client.CacheConfig{NoPreload: true})},
			do:   call, want: once, posts: nil,
		},
		"a partition of the application": {
			opts: []client.Option{client.WithCache(client.CacheConfig{Partition: "team"})},
			do:   call, want: once, posts: map[string]int{"tools/call": 1},
		},
		"credentials for one request": {do: call, once: true, want: once, posts: map[string]int{"tools/call": 1}},
		"credentials for one request, and a list": {
			do: func(ctx context.Context, c *client.Client, p *keyedPeer) error {
				p.list(peerTool + `,{"name":"new","inputSchema":{"type":"object"}}`)
				c.InvalidateTools()
				_, err := c.CallTool(ctx, "new", nil)
				return err
			},
			once: true, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 1, "tools/list": 1},
		},
		"a retry after 503": {
			opts: []client.Option{retries(client.Retry{Policy: client.RetryAlways})},
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", statusStep(http.StatusServiceUnavailable))
			},
			do: call, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 2},
		},
		"a retry after a lost connection": {
			opts:   []client.Option{retries(client.Retry{Policy: client.RetryAlways})},
			before: func(_ *client.Client, p *keyedPeer) { p.script("tools/call", cutStep, cutStep) },
			do:     call, want: counts{3, 3, 0}, posts: map[string]int{"tools/call": 3},
		},
		"a hedged request": {
			opts: []client.Option{client.WithResilience(client.Resilience{
				Hedge: client.Hedge{Share: 1, After: time.Second}, Retry: client.Retry{Policy: client.RetryAlways},
			})},
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", func(_ http.ResponseWriter, r *http.Request) bool {
					<-r.Context().Done()
					return true
				})
			},
			do: call, want: counts{2, 2, 0}, // a session tells the server of the loser by a notification
		},
		"a round of input": {
			opts: []client.Option{answersForms},
			before: func(_ *client.Client, p *keyedPeer) {
				asked := false
				p.answers["tools/call"] = func(json.RawMessage) string {
					if asked {
						return `"result":` + peerReturn
					}
					asked = true
					return `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}}`
				}
			},
			do: call, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 2},
			only: "stateless",
		},
		"a question on the stream of the call": {
			opts:   []client.Option{answersForms},
			before: func(_ *client.Client, p *keyedPeer) { asksFirst(p) },
			do:     call, want: once, posts: map[string]int{"tools/call": 1, "POST": 1},
			only: "session",
		},
		"a call that is given up": {
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", func(_ http.ResponseWriter, r *http.Request) bool {
					<-r.Context().Done()
					return true
				})
			},
			do: func(ctx context.Context, c *client.Client, p *keyedPeer) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if call(ctx, c, p) == nil {
					return errors.New("the call was answered")
				}
				return nil
			},
			want: once, posts: map[string]int{"tools/call": 1, "notifications/cancelled": 1},
			only: "session",
		},
		"a challenge": {
			before: func(_ *client.Client, p *keyedPeer) { p.script("tools/call", statusStep(http.StatusUnauthorized)) },
			do:     call, want: counts{2, 1, 1}, posts: map[string]int{"tools/call": 2},
		},
		"a cache that is one for all callers": {
			opts: []client.Option{client.WithCache(client.CacheConfig{Partition: client.AllCallers})},
			do:   call, want: once, posts: map[string]int{"tools/call": 1},
		},
		"a redirect": {
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", func(w http.ResponseWriter, _ *http.Request) bool {
					w.Header().Set("Location", memhttp.URL+"/other")
					w.WriteHeader(http.StatusTemporaryRedirect)
					return true
				})
			},
			do: call, want: once, posts: map[string]int{"tools/call": 2},
		},
		"a page of tools that is kept": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.ListTools(ctx, nil)
				return err
			},
			want: once,
		},
		"a page of tools": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.ListTools(ctx, nil, client.WithCacheMode(client.CacheRefresh))
				return err
			},
			want: once, posts: map[string]int{"tools/list": 1},
		},
		"all tools": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				c.InvalidateTools()
				for _, err := range c.Tools(ctx) {
					if err != nil {
						return err
					}
				}
				return nil
			},
			want: once, posts: map[string]int{"tools/list": 1},
		},
		"a schema": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.GetToolSchema(ctx, "echo")
				return err
			},
			want: once, posts: map[string]int{},
		},
		"any method": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.Call(ctx, "tools/call", json.RawMessage(`{"name":"echo","arguments":{"message":"hi"}}`))
				return err
			},
			want: once, posts: map[string]int{"tools/call": 1},
		},
		"a notification": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				return c.Notify(ctx, "notifications/acme", nil)
			},
			want: once, posts: map[string]int{"notifications/acme": 1},
		},
		"a middleware that passes on its context": {
			opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) { return next(ctx, inv) }
			})},
			do: call, want: once, posts: map[string]int{"tools/call": 1},
		},
		"a middleware with another context": {
			opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if inv.Method == "tools/call" {
						ctx = context.WithValue(ctx, userKey{}, "bob")
					}
					return next(ctx, inv)
				}
			})},
			do: call, want: counts{2, 2, 0}, // bob's list is another: the stateless era asks for it
		},
		"a middleware that calls twice": {
			opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if inv.Method == "tools/call" {
						if _, err := next(ctx, inv); err != nil {
							return nil, err
						}
					}
					return next(ctx, inv)
				}
			})},
			do: call, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 2},
		},
	} {
		for era, version := range map[string]string{"session": "2025-11-25", "stateless": "2026-07-28"} {
			if tt.only != "" && tt.only != era {
				continue
			}
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, by := newKeyedPeer(t, version), &counted{token: "first", byUser: true, once: tt.once}
					c, err := client.Connect(t.Context(), &transport.HTTP{
						URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
					}, append([]client.Option{client.WithProtocolVersion(version)}, tt.opts...)...)
					require.NoError(t, err)
					t.Cleanup(func() {
						require.NoError(t, c.Close())
						p.mem.Close()
					})
					if tt.before != nil {
						tt.before(c, p)
					}
					synctest.Wait()
					by.take()
					before := p.counts()
					require.NoError(t, tt.do(t.Context(), c, p))
					synctest.Wait()
					var got counts
					got.headers, got.authorize, got.challenged = by.take()
					require.Equal(t, tt.want, got)
					if tt.posts != nil {
						require.Equal(t, tt.posts, p.since(before))
					}
				})
			})
		}
	}
}

// After a challenge, the call goes on with the new credentials, and so do later calls.
func TestRenewedCredentials(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		p, by := newKeyedPeer(t, version), &counted{token: "first"}
		c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
			client.WithProtocolVersion(version))
		require.NoError(t, err)
		p.script("tools/call", statusStep(http.StatusUnauthorized))
		for range 2 {
			_, err = c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
		}
		require.Equal(t, []string{"first", "renewed", "renewed"}, p.came("tools/call"))
		require.NoError(t, c.Close())
		p.mem.Close()
	}
}

// Tokens expire: a call that waited before its first request asks again.
func TestCredentialsAfterAWait(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		synctest.Test(t, func(t *testing.T) {
			p, by := newKeyedPeer(t, version), &counted{token: "first"}
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
				client.WithProtocolVersion(version), client.WithMiddleware(func(next client.Next) client.Next {
					return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
						time.Sleep(11 * time.Second)
						return next(ctx, inv)
					}
				}))
			require.NoError(t, err)
			by.take()
			_, err = c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			_, authorize, _ := by.take()
			require.Equal(t, 2, authorize)
			require.NoError(t, c.Close())
			p.mem.Close()
		})
	}
}

// The list that a call fetches first may renew the credentials of the call. A middleware
// that lists as somebody else does not.
func TestCredentialsAfterTheList(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		service    bool // lists are the service's
		headers    int
		challenged int
		list, call []string // tokens
	}{
		"a challenge":            {false, 2, 1, []string{"first", "renewed"}, []string{"renewed"}},
		"a list of someone else": {true, 3, 1, []string{"service", "renewed"}, []string{"first"}},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				p, by := newKeyedPeer(t, version), &counted{token: "first", byUser: true}
				c, err := client.Connect(t.Context(), &transport.HTTP{
					URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
				}, client.WithProtocolVersion(version), client.WithMiddleware(func(next client.Next) client.Next {
					return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
						if tt.service && inv.Method == "tools/list" {
							ctx = context.WithValue(ctx, userKey{}, "service")
						}
						return next(ctx, inv)
					}
				}))
				require.NoError(t, err)
				t.Cleanup(func() {
					require.NoError(t, c.Close())
					p.mem.Close()
				})
				p.list(peerTool + `,{"name":"new","inputSchema":{"type":"object"}}`)
				p.script("tools/list", statusStep(http.StatusUnauthorized))
				by.take()
				lists := len(p.came("tools/list"))
				_, err = c.CallTool(t.Context(), "new", nil)
				require.NoError(t, err)
				headers, _, challenged := by.take()
				require.Equal(t, tt.headers, headers)
				require.Equal(t, tt.challenged, challenged)
				require.Equal(t, tt.list, p.came("tools/list")[lists:])
				require.Equal(t, tt.call, p.came("tools/call"))
			})
		}
	}
}

// A middleware that makes a call somebody else's: its request carries the credentials of
// the context that the middleware passes on.
func TestMiddlewareChangesTheCaller(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		p, by := newKeyedPeer(t, version), &counted{token: "first", byUser: true}
		c, err := client.Connect(asUser(t, "ann"), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
			client.WithProtocolVersion(version), client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if inv.Method == "tools/call" {
						ctx = context.WithValue(ctx, userKey{}, "bob")
					}
					return next(ctx, inv)
				}
			}))
		require.NoError(t, err)
		_, err = c.CallTool(asUser(t, "ann"), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, []string{"bob"}, p.came("tools/call"))
		require.NoError(t, c.Close())
		p.mem.Close()
	}
}

// A middleware that knows the user by something that HeaderFunc and Authorizer do not see:
// the list that one user's call fetched is not another's.
func TestMiddlewareKeepsUsersApart(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			type sessionKey struct{}
			p, by := newKeyedPeer(t, version), &counted{token: "nobody", byUser: true}
			p.list(`{"name":"only_ann","inputSchema":{"type":"object"}}`)
			var drifts int
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
				client.WithProtocolVersion(version), client.WithCache(client.CacheConfig{NoPreload: true}),
				client.OnEvent(func(_ context.Context, e client.Event) {
					if _, ok := e.(client.ToolDrift); ok {
						drifts++
					}
				}),
				client.WithMiddleware(func(next client.Next) client.Next {
					return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
						if user := ctx.Value(sessionKey{}); user != nil {
							ctx = context.WithValue(ctx, userKey{}, user)
						}
						return next(ctx, inv)
					}
				}))
			require.NoError(t, err)
			ann, bob := context.WithValue(t.Context(), sessionKey{}, "ann"), context.WithValue(t.Context(), sessionKey{}, "bob")
			_, err = c.GetToolSchema(ann, "only_ann")
			require.NoError(t, err)
			p.list(`{"name":"only_bob","inputSchema":{"type":"object"}}`)
			_, err = c.GetToolSchema(bob, "only_ann")
			require.ErrorContains(t, err, "only_ann", "bob sees what ann's call has fetched")
			_, err = c.GetToolSchema(bob, "only_bob")
			require.NoError(t, err)
			require.Equal(t, "ann", p.came("tools/list")[0])
			require.Subset(t, []string{"bob"}, p.came("tools/list")[1:])
			require.NoError(t, c.Close())
			require.Zero(t, drifts)
			p.mem.Close()
		})
	}
}

// Every request that no call carries an answer to asks once: the handshake, the opening
// of a new session, and its end.
func TestCredentialsOfTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, by := newKeyedPeer(t, "2025-11-25"), &counted{token: "first"}
		requests := func() (n int) {
			for _, count := range p.counts() {
				n += count
			}
			return n
		}
		once := func(t *testing.T, want int) {
			t.Helper()
			headers, authorize, _ := by.take()
			require.Equal(t, want, headers)
			require.Equal(t, want, authorize)
		}
		c, err := client.Connect(t.Context(), &transport.HTTP{
			URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
		}, sessionEra)
		require.NoError(t, err)
		synctest.Wait()
		once(t, requests())
		before := requests()
		p.script("tools/call", statusStep(http.StatusNotFound)) // the session is gone
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, p.came("initialize"), 2)
		once(t, requests()-before)
		require.NoError(t, c.Close())
		once(t, 1) // DELETE
		p.mem.Close()
	})
}

// Callers whose credentials are unknown do not get the error of another one, and a
// failure is reported once for each request.
func TestUnknownCaller(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		synctest.Test(t, func(t *testing.T) {
			p := newKeyedPeer(t, version)
			var mu sync.Mutex
			failed := 0
			slow := make(chan struct{})
			c, err := client.Connect(t.Context(), &transport.HTTP{
				URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(),
				HeaderFunc: func(ctx context.Context) (http.Header, error) {
					switch user, _ := ctx.Value(userKey{}).(string); user {
					case "":
						return nil, nil
					case "panic":
						panic("no such user")
					default:
						return nil, errors.New("no vault for " + user)
					}
				},
			}, client.WithProtocolVersion(version), client.OnEvent(func(_ context.Context, e client.Event) {
				if _, ok := e.(client.CallbackFailed); ok {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}), client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if user, _ := ctx.Value(userKey{}).(string); user == "ann" {
						<-slow
					}
					return next(ctx, inv)
				}
			}))
			require.NoError(t, err)
			var work sync.WaitGroup
			for _, user := range []string{"ann", "bob"} {
				ctx := asUser(t, user)
				work.Go(func() {
					_, err := c.AllTools(ctx)
					if err == nil || !strings.Contains(err.Error(), "no vault for "+user) {
						t.Errorf("%s: %v", user, err)
					}
					_, err = c.ListTools(ctx, nil)
					if err == nil || !strings.Contains(err.Error(), "no vault for "+user) {
						t.Errorf("%s: %v", user, err)
					}
				})
				synctest.Wait()
			}
			close(slow)
			work.Wait()
			calls := len(p.came("tools/call"))
			_, err = c.CallTool(asUser(t, "panic"), "echo", hello, client.WithoutValidation())
			require.ErrorContains(t, err, "HTTP.HeaderFunc panicked")
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			synctest.Wait()
			require.Equal(t, 1, failed)
			require.Len(t, p.came("tools/call"), calls)
			require.NoError(t, c.Close())
			p.mem.Close()
		})
	}
}

// HeaderFunc holds nobody up, and may use the client itself.
func TestHeaderFuncUsesTheClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		p := newKeyedPeer(t, version)
		var c *client.Client
		c, err := client.Connect(t.Context(), &transport.HTTP{
			URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(),
			HeaderFunc: func(ctx context.Context) (http.Header, error) {
				user, _ := ctx.Value(userKey{}).(string)
				if user != "ann" {
					return http.Header{"Authorization": {"service"}}, nil
				}
				res, err := c.CallTool(context.WithValue(ctx, userKey{}, ""), "echo", hello)
				if err != nil {
					return nil, err
				}
				return http.Header{"Authorization": {res.Text()}}, nil
			},
		}, client.WithProtocolVersion(version))
		require.NoError(t, err)
		c.InvalidateTools()
		_, err = c.CallTool(asUser(t, "ann"), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, []string{"service", "done"}, p.came("tools/call"))
		require.NoError(t, c.Close())
		p.mem.Close()
	}
}
