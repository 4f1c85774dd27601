package families

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Clients behind one shared bridge each send an initialize down the same pipe.
// The specification does not say what a server does with the second one; other
// SDKs answer it like the first, so that all of these clients are served.
func TestX_GATE_02_SecondInitialize(t *testing.T) {
	t.Parallel()
	w := dial(t)
	first := w.initialize("2025-03-26")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	validate := func() string {
		a := w.call("validate_artifact", example(t, "prd-006-validate.json"))
		require.Nil(t, a.Error)
		return string(a.Result)
	}
	require.NotContains(t, validate(), "structuredContent")

	second := w.initialize("2025-11-25") // with the id of the first
	require.JSONEq(t, string(revised(t, first.Result, "2025-11-25")), string(second.Result))
	require.Contains(t, validate(), "structuredContent",
		"the first client may call before the second has sent initialized: it does not know of the second")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Contains(t, validate(), "structuredContent")
}

// revised returns a result of initialize with another revision.
func revised(t *testing.T, result json.RawMessage, version string) json.RawMessage {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal(result, &members))
	members["protocolVersion"] = version
	out, err := json.Marshal(members)
	require.NoError(t, err)
	return out
}

func TestX_GATE_02_CallOfTheFirstSessionIsAnswered(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-06-18")
	w.send(`{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"wait","arguments":{}}}`)
	w.initialize("2025-11-25")
	close(w.release)
	a := w.recv()
	require.Equal(t, `"long"`, string(a.ID))
	require.Nil(t, a.Error)
	require.Contains(t, string(a.Result), "waited")
}

// An initialize that replaces one whose handshake never completed opens nothing.
func TestX_GATE_02_SecondInitializeBeforeInitialized(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.initialize("2025-06-18")
	w.initialize("2025-11-25")
	require.Equal(t, int64(-32600), w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Error.Code)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Nil(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Error)
}

// A refused initialize changes nothing.
func TestX_GATE_02_RefusedInitializeKeepsTheSession(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-03-26")
	for _, params := range []string{`{"protocolVersion":7}`, `{"protocolVersion":"2025-11-25","capabilities":{"roots":1},"clientInfo":{"name":"t","version":"1"}}`} {
		a := w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":%s}`, params))
		require.NotNil(t, a.Error)
		a = w.call("validate_artifact", example(t, "prd-006-validate.json"))
		require.Nil(t, a.Error)
		require.NotContains(t, string(a.Result), "structuredContent", "the first revision still holds")
	}
}

// A new session has no log level and no subscriptions.
func TestX_GATE_02_StateStartsAfresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, func(o *Options) { o.Families = []string{"fixtures"} })
		w.handshake("2025-11-25")
		request := func(method, params string) (notified []string) {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":%q,"params":%s}`, method, params))
			for {
				require.True(t, w.out.Scan(), "the server has gone: %v", w.out.Err())
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
					Error  json.RawMessage `json:"error"`
				}
				require.NoError(t, json.Unmarshal(w.out.Bytes(), &m))
				if m.ID != nil {
					require.Nil(t, m.Error, w.out.Text())
					return notified
				}
				notified = append(notified, m.Method)
			}
		}
		heard := func() []string {
			time.Sleep(10 * time.Second) // the resource changes every 3 s
			return request("tools/call", `{"name":"test_tool_with_logging","arguments":{}}`)
		}
		request("logging/setLevel", `{"level":"debug"}`)
		request("resources/subscribe", `{"uri":"test://watched-resource"}`)
		got := heard()
		require.Contains(t, got, "notifications/message")
		require.Contains(t, got, "notifications/resources/updated")
		w.initialize("2025-11-25")
		require.Empty(t, heard())
	})
}

// A stream of HTTP+SSE is a pipe, too.
func TestX_GATE_02_SecondInitializeOverSSE(t *testing.T) {
	t.Parallel()
	s := serve(t, withSSE)
	o := s.stream()
	o.handshake()
	require.Contains(t, string(o.ask(oldInitialize).Result), `"protocolVersion":"2024-11-05"`)
	require.Contains(t, string(o.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Result), "validate_artifact")
}
