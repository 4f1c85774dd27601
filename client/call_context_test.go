package client_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// way is a server of one era that is reached over a pipe or over HTTP.
type way struct {
	*testing.T
	*clienttest.Server
	version   mcp.Version
	http      bool
	transport transport.Transport
}

// dial returns a client of the server.
func (w *way) dial(opts ...client.Option) *client.Client {
	w.Helper()
	c, err := client.Connect(w.Context(), w.transport, append(opts, client.WithProtocolVersion(string(w.version)))...)
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, ignoreClosed(c.Close())) })
	return c
}

func (w *way) stateless() bool { return w.version.Era() == mcp.EraStateless }

// eachWay runs a test with servers of both eras, over a pipe and over HTTP.
func eachWay(t *testing.T, f func(w *way)) {
	t.Helper()
	for _, version := range []mcp.Version{mcp.Version2025_11_25, mcp.Version2026_07_28} {
		for _, http := range []bool{false, true} {
			name := string(version) + " over a pipe"
			if http {
				name = string(version) + " over HTTP"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := &way{T: t, Server: clienttest.NewServer(t), version: version, http: http}
					if w.transport = w.Transport(); http {
						w.transport = w.HTTP()
					}
					f(w)
				})
			})
		}
	}
}

// Handlers get the values of the call that a message belongs to where the transport knows it:
// over HTTP, and for questions in a result of the stateless era.
func TestHandlersGetTheValuesOfTheCall(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		var both sync.WaitGroup
		both.Add(2)
		w.Tool("asks", "", func(call *clienttest.Call) (any, error) {
			answer, err := call.Ask("com.example/ask", nil)
			if err != nil {
				return nil, err
			}
			call.Notify("com.example/note", answer)
			call.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"error","data":1}`))
			both.Done()
			both.Wait() // both calls are in flight
			return clienttest.Text("done"), nil
		})
		var mu sync.Mutex
		got := map[any][]string{}
		note := func(ctx context.Context, text string) {
			mu.Lock()
			defer mu.Unlock()
			user := ctx.Value(userKey{})
			got[user] = append(got[user], text)
		}
		c := w.dial(
			client.OnRequest("com.example/ask", func(ctx context.Context, _ client.Requester, _ json.RawMessage) (json.RawMessage, error) {
				note(ctx, "asked")
				return json.RawMessage(`{}`), nil
			}),
			client.OnNotification(func(ctx context.Context, n jsonrpc.Notification) {
				require.NoError(w, ctx.Err(), "the context ends with the client, not with the call")
				note(ctx, n.Method)
			}),
			client.OnLog(func(ctx context.Context, _ mcp.LoggingMessageParams) { note(ctx, "log") }),
			client.OnListChanged(func(ctx context.Context, method string) { note(ctx, method) }))
		synctest.Wait()
		clear(got) // the stateless era acknowledges the handlers' subscription
		var calls sync.WaitGroup
		for _, user := range []string{"ann", "bob"} {
			calls.Go(func() {
				ctx, cancel := context.WithCancel(context.WithValue(w.Context(), userKey{}, user))
				defer cancel()
				_, err := c.CallTool(ctx, "asks", nil)
				require.NoError(w, err)
			})
		}
		calls.Wait()
		synctest.Wait()
		question, notes := []string{"asked"}, []string{"com.example/note", "log", mcp.MethodMessage}
		want := map[any][]string{}
		for _, user := range []any{"ann", "bob"} {
			if w.http || w.stateless() {
				want[user] = append(want[user], question...)
			} else {
				want[nil] = append(want[nil], question...)
			}
			if w.http {
				want[user] = append(want[user], notes...)
			} else {
				want[nil] = append(want[nil], notes...)
			}
		}
		for user := range want {
			require.ElementsMatch(w, want[user], got[user], user)
		}
		require.Len(w, got, len(want))

		clear(got)
		require.Equal(w, 1, w.Notify(mcp.MethodToolsListChanged, nil), "a message that belongs to no call")
		synctest.Wait()
		require.Equal(w, map[any][]string{nil: {mcp.MethodToolsListChanged, mcp.MethodToolsListChanged}}, got)
	})
}
