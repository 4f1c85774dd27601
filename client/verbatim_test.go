package client_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// proxyMethods are methods whose results the client reads in other calls.
var proxyMethods = []string{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead, "com.example/own"}

// declareAll declares all capabilities that calls of these tests need, in both eras.
func declareAll(w *way) {
	var caps mcp.ServerCapabilities
	require.NoError(w, json.Unmarshal([]byte(`{"tools":{},"prompts":{},"resources":{},"logging":{},"extensions":{"`+mcp.ExtensionTasks+`":{}},`+
		`"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`), &caps))
	w.SetCapabilities(caps)
}

// asksNobody has handlers that must not run.
func asksNobody(w *way) []client.Option {
	return []client.Option{
		client.WithTasks(), client.WithRoots(),
		client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
			w.Error("the client answered a question")
			return mcp.ElicitAccept, nil
		}),
		client.OnAnyRequest(func(context.Context, client.Requester, string, json.RawMessage) (json.RawMessage, error) {
			w.Error("the client answered a question")
			return json.RawMessage(`{}`), nil
		}),
	}
}

// Every result reaches the caller of a verbatim call as the server sent it, after one request.
func TestVerbatimResults(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		"no type":        `{"b":1.0,"a":1e400,"x-own":[{"z":null}]}`,
		"complete":       `{"resultType":"complete","content":5}`,
		"input_required": `{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list","x":1.0}},"requestState":"s\u0041","x-own":1.50}`,
		"state only":     `{"resultType":"input_required","requestState":"s"}`,
		"broken round":   `{"resultType":"input_required"}`,
		"a task":         `{"resultType":"task","taskId":"t","status":"working","ttlMs":1.0,"createdAt":"?"}`,
		"created task":   `{"task":{"taskId":"t","status":"working","ttl":1.0}}`,
		"unknown type":   `{"resultType":"com.example/later","x":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(w *way) {
				declareAll(w)
				for _, method := range append(proxyMethods, mcp.MethodTasksGet) {
					w.On(method, func(*clienttest.Call) (any, error) { return json.RawMessage(result), nil })
				}
				c := w.dial(append(asksNobody(w), client.WithValidation(client.Validation{Results: client.ValidateStrict}))...)
				for _, method := range append(proxyMethods, mcp.MethodTasksGet) {
					raw, err := c.Call(w.Context(), method, json.RawMessage(`{"name":"nowhere","uri":"x:y","taskId":"t"}`), client.WithVerbatim())
					require.NoError(w, err, method)
					require.Equal(w, result, string(raw), method)
					require.Equal(w, 1, w.Count(method))
				}
			})
		})
	}
}

// An error of the server reaches the caller, and no page is shown for it.
func TestVerbatimErrors(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		declareAll(w)
		data := json.RawMessage(`{"elicitations":[{"mode":"url","message":"?","url":"https://example.com/","elicitationId":"e"}]}`)
		w.On(mcp.MethodToolsCall, func(*clienttest.Call) (any, error) {
			return nil, jsonrpc.NewError(mcp.CodeURLElicitationRequired, "visit", data)
		})
		_, err := w.dial(asksNobody(w)...).Call(w.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"t"}`), client.WithVerbatim())
		var rpc *jsonrpc.Error
		require.ErrorAs(w, err, &rpc)
		require.EqualValues(w, mcp.CodeURLElicitationRequired, rpc.Code)
		require.JSONEq(w, string(data), string(rpc.Data))
		require.Equal(w, 1, w.Count(mcp.MethodToolsCall))
	})
}

// Params reach the server with everything that the caller wrote, and with what the connection
// needs.
func TestVerbatimParams(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		declareAll(w)
		got := make(chan json.RawMessage, 1)
		for _, method := range proxyMethods {
			w.On(method, func(call *clienttest.Call) (any, error) {
				got <- call.Params
				return nil, nil
			})
		}
		c := w.dial()
		require.NoError(w, c.SetLogLevel(w.Context(), mcp.LoggingLevel("error")))
		own := `"io.modelcontextprotocol/related-task":{"taskId":"t"},"io.modelcontextprotocol/later":1.50,"traceparent":"no trace","x y":null`
		level := `"io.modelcontextprotocol/logLevel":"debug"`
		for _, method := range proxyMethods {
			for _, keys := range []string{own, own + "," + level, level} {
				params := `{"name":"t","uri":"x:y","n":1e400,"inputResponses":{"q":{"b":1,"a":2.0}},"requestState":"s","task":{"ttl":5},"_meta":{` + keys + `}}`
				_, err := c.Call(w.Context(), method, json.RawMessage(params), client.WithVerbatim())
				require.NoError(w, err)
				sent := string(<-got)
				for _, part := range []string{`"n":1e400`, `"inputResponses":{"q":{"b":1,"a":2.0}}`, `"requestState":"s"`, `"task":{"ttl":5}`, keys} {
					require.Contains(w, sent, part)
				}
				require.Equal(w, w.stateless(), strings.Contains(sent, mcp.MetaProtocolVersion))
				require.Equal(w, w.stateless() && keys == own, strings.Contains(sent, `"`+mcp.MetaLogLevel+`":"error"`))
				require.Equal(w, keys != own, strings.Contains(sent, level))
			}
		}
		for _, key := range []string{mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaProgressToken} {
			_, err := c.Call(w.Context(), "com.example/own", map[string]any{"_meta": map[string]any{key: 1}}, client.WithVerbatim())
			require.Equal(w, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), key)
			require.ErrorContains(w, err, "is set by the client")
		}
		for _, meta := range []string{`5`, `null`, `{"a":1,"a":2}`} {
			_, err := c.Call(w.Context(), "com.example/own", json.RawMessage(`{"_meta":`+meta+`}`), client.WithVerbatim())
			require.Equal(w, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), meta)
		}
		_, err := c.Call(w.Context(), "com.example/own", json.RawMessage(`{"_meta":{`+level+`}}`))
		require.ErrorContains(w, err, "reserved by the protocol", "of any other call")
	})
}

// A verbatim call whose fate is unknown is not made again.
func TestVerbatimIsNotRepeated(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		declareAll(w)
		w.On(mcp.MethodToolsCall, func(*clienttest.Call) (any, error) { return nil, clienttest.ErrCut })
		c := w.dial()
		for _, params := range []string{`{"name":"t"}`, `{"name":"t","requestState":"s"}`} {
			_, err := c.Call(w.Context(), mcp.MethodToolsCall, json.RawMessage(params), client.WithVerbatim())
			require.Equal(w, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		}
		require.Equal(w, 2, w.Count(mcp.MethodToolsCall))
	})
}

// A verbatim call returns after the handlers of the notifications before its answer, also if the
// answer is an error.
func TestVerbatimKeepsTheOrder(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		declareAll(w)
		w.On(mcp.MethodToolsCall, func(call *clienttest.Call) (any, error) {
			for n := range 5 {
				call.Notify("com.example/note", json.RawMessage(`{"n":`+strconv.Itoa(n)+`}`))
			}
			if call.Name == "fails" {
				return nil, jsonrpc.NewError(-7, "no", nil)
			}
			return clienttest.Text("done"), nil
		})
		var got []string
		c := w.dial(client.OnNotification(func(_ context.Context, n jsonrpc.Notification) {
			if n.Method == "com.example/note" {
				synctest.Wait() // slow: everything else has been done
				got = append(got, string(n.Params))
			}
		}))
		synctest.Wait()
		for _, name := range []string{"works", "fails"} {
			_, err := c.Call(w.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"`+name+`"}`), client.WithVerbatim())
			require.Equal(w, name == "fails", err != nil)
			require.Equal(w, []string{`{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`}, got, name)
			got = nil
		}
	})
}

// The wait for handlers is bounded, and there is none if nothing came.
func TestVerbatimWaitIsBounded(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		declareAll(w)
		w.On(mcp.MethodToolsCall, func(call *clienttest.Call) (any, error) {
			if call.Name == "talks" {
				call.Notify("com.example/note", nil)
			}
			return clienttest.Text("done"), nil
		})
		slow := make(chan struct{})
		c := w.dial(client.OnNotification(func(_ context.Context, n jsonrpc.Notification) {
			if n.Method == "com.example/note" {
				<-slow
			}
		}))
		defer close(slow)
		synctest.Wait()
		took := func(ctx context.Context, name string, opts ...client.CallOption) time.Duration {
			began := time.Now()
			_, err := c.Call(ctx, mcp.MethodToolsCall, json.RawMessage(`{"name":"`+name+`"}`), opts...)
			require.NoError(w, err)
			return time.Since(began)
		}
		require.Zero(w, took(w.Context(), "is silent", client.WithVerbatim()))
		require.Zero(w, took(w.Context(), "talks"), "no other call waits")
		require.Equal(w, time.Second, took(w.Context(), "talks", client.WithVerbatim()))
		ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
		defer cancel()
		require.Equal(w, 100*time.Millisecond, took(ctx, "talks", client.WithVerbatim()))
	})
}

// A verbatim call costs what another call with an option costs.
func TestCostVerbatim(t *testing.T) {
	c := pipeClient(t, client.OnNotification(func(context.Context, jsonrpc.Notification) {}))
	params := json.RawMessage(`{"name":"echo","arguments":` + string(smallArgs) + `}`)
	call := func(opt client.CallOption) func() {
		return func() {
			if _, err := c.Call(t.Context(), mcp.MethodToolsCall, params, opt); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, _ := cost(t, 2000, call(client.WithTimeouts(0, 0)))
	verbatim, _ := cost(t, 2000, call(client.WithVerbatim()))
	t.Logf("%.2f allocations verbatim, %.2f with another option", verbatim, other)
	require.Less(t, verbatim, other+0.5)
}

// If a client is to check arguments, a raw call is not sent if its arguments do not match, and one
// of a tool that the server does not list is sent: whether it exists is for the server to say.
func TestArgumentCheck(t *testing.T) {
	t.Parallel()
	eachWay(t, func(w *way) {
		w.Tool("add", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, func(*clienttest.Call) (any, error) {
			return clienttest.Text("added"), nil
		})
		c := w.dial(client.WithValidation(client.Validation{Arguments: client.ValidateStrict}))
		call := func(params string, opts ...client.CallOption) error {
			_, err := c.Call(w.Context(), mcp.MethodToolsCall, json.RawMessage(params), append(opts, client.WithVerbatim())...)
			return err
		}
		for _, bad := range []string{`{"name":"add"}`, `{"name":"add","arguments":{"a":"x"}}`, `{"arguments":[],"name":"add"}`} {
			err := call(bad)
			require.ErrorContains(w, err, "the arguments do not match add: ", bad)
			require.Equal(w, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}
		require.Zero(w, w.Count(mcp.MethodToolsCall))
		require.NoError(w, call(`{"name":"add","arguments":{"a":1}}`))
		var rpc *jsonrpc.Error
		require.ErrorAs(w, call(`{"name":"nowhere","arguments":{"a":1}}`), &rpc)
		require.Equal(w, 2, w.Count(mcp.MethodToolsCall))
		require.NoError(w, call(`{"name":"add"}`, client.WithoutValidation()))
	})
}
