package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The handler of any request gets those without another handler, whatever their method.
func TestOnAnyRequest(t *testing.T) {
	t.Parallel()
	methods := []string{
		"com.example/ask", mcp.MethodSamplingCreateMessage, mcp.MethodElicitationCreate, mcp.MethodRootsList, mcp.MethodTasksGet,
	}
	own := func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"by":"another handler"}`), nil
	}
	for name, tt := range map[string]struct {
		opts    []client.Option
		another string // the method that has another handler
	}{
		"alone":          {},
		"with OnRequest": {[]client.Option{client.OnRequest("com.example/ask", own)}, "com.example/ask"},
		"with WithRoots": {[]client.Option{client.WithRoots()}, mcp.MethodRootsList},
		"with OnSampling": {[]client.Option{client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			return nil, client.ErrRejected
		})}, mcp.MethodSamplingCreateMessage},
		"with OnElicitURL": {[]client.Option{client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
			return mcp.ElicitDecline, nil
		})}, mcp.MethodElicitationCreate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(w *way) {
				const params = `{"n":1.50,"x-own":{"y":1}}`
				w.On(mcp.MethodToolsCall, func(call *clienttest.Call) (any, error) {
					answer, err := call.Ask(call.Name, json.RawMessage(params))
					if err != nil {
						return nil, err
					}
					return map[string]any{"content": []any{}, "answer": answer}, nil
				})
				got := map[string]string{}
				c := w.dial(append([]client.Option{
					client.WithName("up"),
					client.WithCapabilities(mcp.ClientCapabilities{
						Roots: &mcp.ListChangedCapability{}, Sampling: &mcp.SamplingCapability{}, Elicitation: &mcp.ElicitationCapability{},
					}),
					client.OnAnyRequest(func(_ context.Context, from client.Requester, method string, params json.RawMessage) (json.RawMessage, error) {
						require.Equal(w, "up", from.Server)
						got[method] = string(params)
						return json.RawMessage(rawResult), nil
					}),
				}, tt.opts...)...)
				want := map[string]string{}
				for _, method := range methods {
					raw, err := c.Call(w.Context(), mcp.MethodToolsCall, map[string]any{"name": method})
					if method == tt.another {
						require.NotContains(w, string(raw), rawResult)
						continue
					}
					require.NoError(w, err, method)
					require.Contains(w, string(raw), rawResult, method)
					want[method] = params
				}
				require.Equal(w, want, got)

				if w.stateless() {
					return
				}
				// A request that belongs to no call, without a capability that announces it.
				raw, err := w.Ask(w.Context(), "com.example/other", json.RawMessage(params))
				require.NoError(w, err)
				require.Equal(w, rawResult, string(raw))
				_, err = w.Ask(w.Context(), mcp.MethodPing, nil)
				require.NoError(w, err)
				require.NotContains(w, got, mcp.MethodPing)
			})
		})
	}
}

// A raw handler needs the stream for messages of the server, even if no capability does.
func TestRawHandlersOpenTheStream(t *testing.T) {
	t.Parallel()
	answer := json.RawMessage(`{"ok":true}`)
	for name, opt := range map[string]client.Option{
		"OnRequest": client.OnRequest("com.example/ask", func(context.Context, client.Requester, json.RawMessage) (json.RawMessage, error) {
			return answer, nil
		}),
		"OnAnyRequest": client.OnAnyRequest(func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error) {
			return answer, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				c, err := client.Connect(t.Context(), s.HTTP(), sessionEra, opt)
				require.NoError(t, err)
				defer func() { require.NoError(t, c.Close()) }()
				synctest.Wait()
				raw, err := s.Ask(t.Context(), "com.example/ask", nil)
				require.NoError(t, err)
				require.Equal(t, answer, raw)
			})
		})
	}
}

// nil removes the handler, and a handler that fails does so alone.
func TestOnAnyRequestGuards(t *testing.T) {
	t.Parallel()
	type handler = func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error)
	for name, tt := range map[string]struct {
		f    handler
		text string
	}{
		"removed": {nil, "Method not found"},
		"panics": {func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error) {
			panic("secret")
		}, "could not be handled"},
		"refuses": {func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error) {
			return nil, jsonrpc.NewError(-7, "not today", nil)
		}, "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				failed := make(chan string, 1)
				c, err := client.Connect(t.Context(), s.Transport(), sessionEra,
					client.OnAnyRequest(func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(`{}`), nil
					}),
					client.OnAnyRequest(tt.f),
					client.OnEvent(func(_ context.Context, e client.Event) {
						if e, ok := e.(client.CallbackFailed); ok {
							failed <- e.Callback
						}
					}))
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				_, err = s.Ask(t.Context(), "com.example/ask", nil)
				require.ErrorContains(t, err, tt.text)
				if name == "panics" {
					require.Equal(t, "OnAnyRequest", <-failed)
				}
			})
		})
	}
}
