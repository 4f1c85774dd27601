package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// rawResult has a digit string, an order and a member that no Go type of ours keeps.
const rawResult = `{"b":1.0,"a":1e400,"x-own":[{"z":null}]}`

// A proxy carries requests of servers that the typed handlers do not know, and their
// results, unchanged.
func TestOnRequest(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for name, reach := range map[string]func(*clienttest.Server) transport.Transport{
			"stdio": (*clienttest.Server).Transport,
			"http":  func(s *clienttest.Server) transport.Transport { return s.HTTP() },
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					answers := make(chan string, 10)
					ask := func(method string) clienttest.Handler {
						return func(call *clienttest.Call) (any, error) {
							answer, err := call.Ask(method, json.RawMessage(`{"n":1.50,"x-own":{"y":1}}`))
							var rpc *jsonrpc.Error
							if err != nil && !errors.As(err, &rpc) {
								return nil, err
							}
							answers <- string(answer)
							if err != nil {
								answers <- err.Error()
							}
							return clienttest.Text("done"), nil
						}
					}
					for _, method := range []string{"com.example/ask", mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage, "com.example/other"} {
						s.Tool(method[len(method)-3:], `{"type":"object"}`, ask(method))
					}
					type seen struct{ params, server string }
					var got []seen
					handler := func(result string, err error) func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
						return func(_ context.Context, from client.Requester, params json.RawMessage) (json.RawMessage, error) {
							got = append(got, seen{string(params), from.Server})
							return json.RawMessage(result), err
						}
					}
					c, err := client.Connect(t.Context(), reach(s), client.WithName("up"), client.WithProtocolVersion(version),
						client.WithCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}),
						client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
							return nil, errors.New("the raw handler replaces this one")
						}),
						client.OnRequest("com.example/ask", handler(rawResult, nil)),
						client.OnRequest(mcp.MethodElicitationCreate, handler(rawResult, nil)),
						client.OnRequest(mcp.MethodSamplingCreateMessage, handler("", jsonrpc.NewError(-1, "not today", nil))),
						client.OnRequest("com.example/other", handler(rawResult, nil)), client.OnRequest("com.example/other", nil))
					require.NoError(t, err)
					defer func() { _ = c.Close() }()
					for _, tool := range []string{"ask", "ate"} {
						_, err = c.CallTool(t.Context(), tool, nil)
						require.NoError(t, err)
						require.Equal(t, rawResult, <-answers)
					}
					require.Equal(t, []seen{{`{"n":1.50,"x-own":{"y":1}}`, "up"}, {`{"n":1.50,"x-own":{"y":1}}`, "up"}}, got)

					// The session era has an error for a request; the stateless era fails the call.
					for tool, text := range map[string]string{"age": "not today", "her": "Method not found"} {
						_, err = c.CallTool(t.Context(), tool, nil)
						if version == "2026-07-28" {
							require.ErrorContains(t, err, text)
							continue
						}
						require.NoError(t, err)
						require.Empty(t, <-answers)
						require.Contains(t, <-answers, text)
					}
				})
			})
		}
	}
}

// A handler that fails does so alone: the server gets an error without details.
func TestOnRequestGuards(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error){
		"panics": func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) { panic("secret") },
		"fails": func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("secret")
		},
		"no result": func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) { return nil, nil },
		"no object": func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
			return []byte(`[]`), nil
		},
		"no JSON": func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
			return []byte(`{"a":}`), nil
		},
		"ends with ctx": func(ctx context.Context, _ client.Requester, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				c, err := client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2025-11-25"), client.OnRequest("com.example/ask", f),
					client.WithResilience(client.Resilience{}))
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				_, err = s.Ask(t.Context(), "com.example/ask", nil)
				require.Error(t, err)
				require.NotContains(t, err.Error(), "secret")
				require.NoError(t, c.Ping(t.Context()))
			})
		})
	}
	tr, _ := newFake(t)
	for _, method := range []string{"", "ping"} {
		_, err := client.Connect(t.Context(), tr, client.OnRequest(method, func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) { return nil, nil }))
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
	}
}

// What a raw call returns is what the server sent.
func TestCallReturnsResultsUnchanged(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for name, reach := range map[string]func(*clienttest.Server) transport.Transport{
			"stdio": (*clienttest.Server).Transport,
			"http":  func(s *clienttest.Server) transport.Transport { return s.HTTP() },
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					result := rawResult
					if version == "2026-07-28" {
						result = `{"resultType":"complete","b":1.0,"a":1e400,"x-own":[{"z":null}]}`
					}
					for _, method := range []string{"com.example/echo", mcp.MethodToolsCall, mcp.MethodPromptsGet} {
						s.On(method, func(*clienttest.Call) (any, error) { return json.RawMessage(result), nil })
					}
					c, err := client.Connect(t.Context(), reach(s), client.WithProtocolVersion(version))
					require.NoError(t, err)
					defer func() { _ = c.Close() }()
					for _, method := range []string{"com.example/echo", mcp.MethodToolsCall, mcp.MethodPromptsGet} {
						raw, err := c.Call(t.Context(), method, json.RawMessage(`{"name":"t"}`))
						require.NoError(t, err)
						require.Equal(t, result, string(raw))
					}
				})
			})
		}
	}
}
