package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// pair is a host before a proxy before a server.
type pair struct {
	host   *client.Client
	server *clienttest.Server
}

// eachPair runs f for each pair of eras, over a pipe and over HTTP. prepare gets the server before
// the host connects.
func eachPair(t *testing.T, prepare func(s *clienttest.Server), f func(t *testing.T, p *pair), opts ...client.Option) {
	t.Helper()
	eras := map[string]mcp.Version{"session": mcp.LatestSession, "stateless": mcp.Latest}
	for host, hostVersion := range eras {
		for server, serverVersion := range eras {
			for front, connect := range map[string]connector{"pipe": connect, "HTTP": connectHTTP} {
				t.Run(host+" to "+server+" over "+front, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := clienttest.NewServer(t)
						prepare(s)
						f(t, connect(t, s, hostVersion, serverVersion, opts...))
					})
				})
			}
		}
	}
}

// target is s, which speaks the revision server.
func target(s *clienttest.Server, server mcp.Version) proxy.Target {
	return func(ctx context.Context, own ...client.Option) (*client.Client, error) {
		return client.Connect(ctx, s.Transport(), append(own, client.WithProtocolVersion(string(server)))...) // also where the host's is tried first
	}
}

type connector func(t *testing.T, s *clienttest.Server, host, server mcp.Version, opts ...client.Option) *pair

// connectHTTP starts a proxy before s that hosts reach by a URL, and a host before it.
func connectHTTP(t *testing.T, s *clienttest.Server, host, server mcp.Version, opts ...client.Option) *pair {
	t.Helper()
	h := proxy.NewHandler(target(s, server))
	srv := memhttp.New(h)
	c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://localhost/mcp", RoundTripper: srv.Transport()},
		append(opts, client.WithProtocolVersion(string(host)), client.WithLogger(slog.New(slog.DiscardHandler)))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.NoError(t, h.Close(context.WithoutCancel(t.Context())))
		srv.Close()
	})
	return &pair{c, s}
}

// connect starts a proxy before s, and a host before it.
func connect(t *testing.T, s *clienttest.Server, host, server mcp.Version, opts ...client.Option) *pair {
	t.Helper()
	to := target(s, server)
	stream, end := transport.InMemory()
	ended := make(chan error, 1)
	go func() {
		ended <- proxy.Stdio(context.WithoutCancel(t.Context()), end, end, to, proxy.WithLogger(slog.New(slog.DiscardHandler)))
	}()
	c, err := client.Connect(t.Context(), stream, append(opts, client.WithProtocolVersion(string(host)), client.WithLogger(slog.New(slog.DiscardHandler)))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		requireEnded(t, <-ended)
	})
	return &pair{c, s}
}

// requireEnded: a host that closes both streams at once may end the proxy by either.
func requireEnded(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, io.ErrClosedPipe) {
		require.NoError(t, err)
	}
}

func text(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, res.Content, 1)
	raw, err := json.Marshal(res.Content[0])
	require.NoError(t, err)
	var content struct{ Text string }
	require.NoError(t, json.Unmarshal(raw, &content))
	return content.Text
}

// What a tool says crosses, with its progress under the host's token, members that nobody
// knows, and numbers as they were written.
func TestToolCall(t *testing.T) {
	t.Parallel()
	eachPair(t, func(s *clienttest.Server) {
		s.Tool("work", "", func(c *clienttest.Call) (any, error) {
			c.Progress(0.5, "half")
			return json.RawMessage(`{"content":[{"type":"text","text":"done"}],"structuredContent":{"n":10000000000000000000001.50},"x-unknown":[1e2],"resultType":"complete"}`), nil
		})
	}, func(t *testing.T, p *pair) {
		var seen []string
		raw, err := p.host.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"work","arguments":{"a":1.0},"x-more":true}`),
			client.WithProgress(func(p mcp.ProgressParams) { seen = append(seen, p.Message) }))
		require.NoError(t, err)
		require.Contains(t, string(raw), `"structuredContent":{"n":10000000000000000000001.50},"x-unknown":[1e2]`)
		require.Equal(t, []string{"half"}, seen)
		requests := p.server.Requests()
		require.Contains(t, string(requests[len(requests)-1].Params), `"arguments":{"a":1.0},"x-more":true`)
	})
}

// Lists, resources and prompts cross, and the description of the server.
func TestFeatures(t *testing.T) {
	t.Parallel()
	eachPair(t, func(s *clienttest.Server) {
		s.Tool("a", `{"type":"object","properties":{"x":{"type":"integer"}}}`, func(*clienttest.Call) (any, error) { return clienttest.Text("a"), nil })
		s.Resource("file:///a", "text/plain", "alpha")
		s.Prompt(mcp.Prompt{Name: "p"}, func(*clienttest.Call) (any, error) {
			return json.RawMessage(`{"messages":[]}`), nil
		})
	}, func(t *testing.T, p *pair) {
		tools, err := p.host.AllTools(t.Context())
		require.NoError(t, err)
		require.Len(t, tools, 1)
		require.JSONEq(t, `{"type":"object","properties":{"x":{"type":"integer"}}}`, string(tools[0].InputSchema))
		read, err := p.host.ReadResource(t.Context(), "file:///a")
		require.NoError(t, err)
		require.Len(t, read.Contents, 1)
		_, err = p.host.GetPrompt(t.Context(), "p", nil)
		require.NoError(t, err)
		require.Equal(t, "clienttest", p.host.ServerInfo().Name)
	})
}

// An error that the server answered with crosses unchanged.
func TestErrorOfTheServer(t *testing.T) {
	t.Parallel()
	eachPair(t, func(s *clienttest.Server) {
		s.On("example/method", func(*clienttest.Call) (any, error) {
			return nil, &jsonrpc.Error{Code: -31999, Message: "No room", Data: json.RawMessage(`{"left":0}`)}
		})
	}, func(t *testing.T, p *pair) {
		_, err := p.host.Call(t.Context(), "example/method", nil)
		var rpc *jsonrpc.Error
		require.ErrorAs(t, err, &rpc)
		require.Equal(t, &jsonrpc.Error{Code: -31999, Message: "No room", Data: json.RawMessage(`{"left":0}`)}, rpc)
	})
}

// A server that dies during a call is started again, the host learns that the tool may have
// run, and the next call works. Nothing is called twice.
func TestServerDies(t *testing.T) {
	t.Parallel()
	eachPair(t, func(s *clienttest.Server) {
		calls := 0
		s.Tool("pay", "", func(*clienttest.Call) (any, error) {
			if calls++; calls == 1 {
				return nil, clienttest.ErrCut
			}
			return clienttest.Text("paid"), nil
		})
	}, func(t *testing.T, p *pair) {
		res, err := p.host.CallTool(t.Context(), "pay", nil)
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Contains(t, text(t, res), "The tool may have run: check before you call it again.")
		var meta map[string]proxy.Failure
		require.NoError(t, json.Unmarshal(res.Meta, &meta))
		require.Equal(t, "unknown", meta["io.github.mainstay-mcp/failure"].Delivery)
		require.False(t, meta["io.github.mainstay-mcp/failure"].Retryable, "the text says to check first")
		require.Equal(t, 1, p.server.Count(mcp.MethodToolsCall))
		res, err = p.host.CallTool(t.Context(), "pay", nil)
		require.NoError(t, err)
		require.Equal(t, "paid", text(t, res))
		require.Equal(t, 2, p.server.Count(mcp.MethodToolsCall))
	})
}

// What the server asks during a call reaches the person at the host, and the answer the
// server, whatever the eras are.
func TestElicitation(t *testing.T) {
	t.Parallel()
	const ask = `{"message":"Name?","mode":"form","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	eachPair(t, func(s *clienttest.Server) {
		s.Tool("greet", "", func(c *clienttest.Call) (any, error) {
			answer, err := c.Ask(mcp.MethodElicitationCreate, json.RawMessage(ask))
			if err != nil {
				return nil, err
			}
			return clienttest.Text(string(answer)), nil
		})
	}, func(t *testing.T, p *pair) {
		res, err := p.host.CallTool(t.Context(), "greet", nil)
		require.NoError(t, err)
		require.JSONEq(t, `{"action":"accept","content":{"name":"Ada"}}`, text(t, res))
	}, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		return client.AcceptForm(map[string]any{"name": "Ada"})
	}))
}

// A change that the server reports reaches the host that subscribed to it.
func TestSubscription(t *testing.T) {
	t.Parallel()
	eachPair(t, func(s *clienttest.Server) {
		s.SetCapabilities(mcp.ServerCapabilities{
			Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}, Tools: &mcp.ListChangedCapability{ListChanged: true},
		})
		s.Resource("file:///a", "text/plain", "alpha")
	}, func(t *testing.T, p *pair) {
		var seen []string
		s, err := p.host.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"file:///a"}},
			func(_ context.Context, ch client.Change) { seen = append(seen, ch.Method+" "+ch.URI) })
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 1, p.server.Notify(mcp.MethodResourcesUpdated, json.RawMessage(`{"uri":"file:///a"}`)))
		synctest.Wait()
		p.server.Notify(mcp.MethodToolsListChanged, nil)
		synctest.Wait()
		require.Equal(t, []string{mcp.MethodResourcesUpdated + " file:///a", mcp.MethodToolsListChanged + " "}, seen)
		require.NoError(t, s.Close())
	})
}

// A call that the host cancels is cancelled at the server.
func TestCancel(t *testing.T) {
	t.Parallel()
	eachPair(t, func(s *clienttest.Server) {
		s.Tool("slow", "", func(c *clienttest.Call) (any, error) {
			<-c.Context().Done()
			return nil, c.Context().Err()
		})
	}, func(t *testing.T, p *pair) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.host.CallTool(ctx, "slow", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		require.Equal(t, 1, p.server.Count(mcp.MethodCancelled))
	})
}

// A server that cannot be reached fails the handshake of a session host and each request of a
// stateless one, and is tried again.
func TestServerIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stream, end := transport.InMemory()
		ended := make(chan error, 1)
		missing := func(context.Context, ...client.Option) (*client.Client, error) {
			return nil, mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "nothing listens there", errors.New("refused"))
		}
		go func() {
			ended <- proxy.Stdio(context.WithoutCancel(t.Context()), end, end, proxy.Target(missing), proxy.WithLogger(slog.New(slog.DiscardHandler)))
		}()
		_, err := client.Connect(t.Context(), stream, client.WithLogger(slog.New(slog.DiscardHandler)))
		require.ErrorContains(t, err, "nothing listens there")
		requireEnded(t, <-ended)
	})
}
