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

// Notifications whose method the client does not know, or knows from the other era, reach
// OnNotification unchanged: those of a call, and in the session era those of the server's own.
func TestUnknownNotifications(t *testing.T) {
	t.Parallel()
	methods := []string{"com.example/note", "notifications/com.example", mcp.MethodTasksStatus, mcp.MethodElicitationComplete, mcp.MethodMessage}
	const params = `{"taskId":"t","status":"working","elicitationId":"e","level":"info","data":1,"n":1.50,"_meta":{"x-own":1e400}}`
	eachWay(t, func(w *way) {
		w.Tool("talks", "", func(call *clienttest.Call) (any, error) {
			for _, method := range methods {
				call.Notify(method, json.RawMessage(params))
			}
			return clienttest.Text("done"), nil
		})
		var got []string
		c := w.dial(client.OnNotification(func(_ context.Context, n jsonrpc.Notification) {
			if n.Method != mcp.MethodSubscriptionsAcknowledged {
				require.Equal(w, params, string(n.Params), n.Method)
				got = append(got, n.Method)
			}
		}))
		_, err := c.CallTool(w.Context(), "talks", nil)
		require.NoError(w, err)
		synctest.Wait()
		require.Equal(w, methods, got)
		if w.stateless() {
			return
		}
		got = nil
		for _, method := range methods {
			require.Equal(w, 1, w.Notify(method, json.RawMessage(params)))
		}
		synctest.Wait()
		require.Equal(w, methods, got)
	})
}
