package inbound

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Handlers are called in order. One notification per list waits for ListChanged, and a missed one
// is not delivered to OnNotification.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		all  bool // with a handler of all notifications
		want []string
	}{
		"lists alone": {false, []string{
			"event 1", "list notifications/tools/list_changed", "log error", "list notifications/prompts/list_changed", "list acme/list_changed",
		}},
		"all notifications": {true, []string{
			"event 1", "list notifications/tools/list_changed", "any notifications/tools/list_changed", "any notifications/tools/list_changed",
			"log error", "any notifications/message", "any notifications/message", // one of them cannot be read
			"list notifications/prompts/list_changed", "list acme/list_changed", "any acme/list_changed",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := core.Core{Log: slog.New(slog.DiscardHandler)}
				l := &k.Life
				l.Begin()
				var got []string
				note := func(text string) { got = append(got, text) }
				started, release := make(chan struct{}), make(chan struct{})
				h := Handlers{
					Log:         func(_ context.Context, m mcp.LoggingMessageParams) { note("log " + string(m.Level)) },
					ListChanged: func(_ context.Context, method string) { note("list " + method) },
				}
				if tt.all {
					h.Notification = func(_ context.Context, n jsonrpc.Notification) { note("any " + n.Method) }
				}
				h.Event = append(h.Event, func(_ context.Context, e event.Event) {
					close(started)
					<-release
					note("event " + e.(event.RequestDropped).Method)
				})
				n := newNotifier(&k, &h)
				n.Event(event.RequestDropped{Method: "1"})
				<-started
				for _, come := range []jsonrpc.Notification{
					{Method: mcp.MethodToolsListChanged},
					{Method: mcp.MethodToolsListChanged},
					{Method: mcp.MethodMessage, Params: []byte(`{"level":"error","data":1}`)},
					{Method: mcp.MethodMessage, Params: []byte(`{"level":`)}, // cannot be read
				} {
					n.Notification(t.Context(), come)
				}
				n.Unheard(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
				n.Notification(t.Context(), jsonrpc.Notification{Method: "acme/list_changed"})
				close(release)
				require.True(t, l.Await(time.Minute))
				require.Equal(t, tt.want, got)

				n.Stop()
				n.Notification(t.Context(), jsonrpc.Notification{Method: mcp.MethodToolsListChanged})
				require.True(t, l.Await(time.Minute))
				require.Equal(t, tt.want, got, "nothing is delivered any more")
			})
		})
	}
}

func TestWant(t *testing.T) {
	t.Parallel()
	none := Handlers{}
	require.False(t, none.Any())
	require.False(t, none.Want(mcp.MethodMessage))
	logs := Handlers{Log: func(context.Context, mcp.LoggingMessageParams) {}}
	require.True(t, logs.Any())
	require.True(t, logs.Want(mcp.MethodMessage))
	require.False(t, logs.Want(mcp.MethodToolsListChanged))
	lists := Handlers{ListChanged: func(context.Context, string) {}}
	require.True(t, lists.Want("acme/list_changed"))
	require.False(t, lists.Want("acme/x"))
	all := Handlers{Notification: func(context.Context, jsonrpc.Notification) {}}
	require.True(t, all.Want("acme/x"))
}
