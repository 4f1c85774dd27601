package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A client declares what it has handlers for, in the
// words of the revision.
func TestCapabilitiesByRevision(t *testing.T) {
	t.Parallel()
	tools := client.OnSampling(sampleYes, client.SamplingTools, client.SamplingContext)
	ext := client.WithCapabilities(mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{"com.example/x": json.RawMessage(`{"a":1}`)}})
	all := []client.Option{tools, client.OnElicitForm(formYes), client.OnElicitURL(urlYes), client.WithRoots(), ext}
	tests := []struct {
		version, want string
		opts          []client.Option
	}{
		{"2024-11-05", `{}`, nil},
		{"2026-07-28", `{}`, nil},
		{"2024-11-05", `{"roots":{"listChanged":true},"sampling":{},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-03-26", `{"roots":{"listChanged":true},"sampling":{},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-06-18", `{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-11-25", `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2026-07-28", `{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-06-18", `{}`, []client.Option{client.OnElicitURL(urlYes)}},
		{"2025-11-25", `{"elicitation":{"url":{}}}`, []client.Option{client.OnElicitURL(urlYes)}},
		{"2025-11-25", `{"experimental":{"a":{},"b":{"n":2}},"extensions":{"com.example/x":{"a":1}},"x":1,"y":3}`, []client.Option{
			client.WithCapabilities(mcp.ClientCapabilities{
				Experimental: map[string]json.RawMessage{"a": json.RawMessage(`{}`), "b": json.RawMessage(`{"n":1}`)},
				Extra:        mcp.Members{{Name: "x", Value: json.RawMessage(`1`)}, {Name: "y", Value: json.RawMessage(`2`)}},
			}), ext,
			client.WithCapabilities(mcp.ClientCapabilities{
				Experimental: map[string]json.RawMessage{"b": json.RawMessage(`{"n":2}`)},
				Extra:        mcp.Members{{Name: "y", Value: json.RawMessage(`3`)}},
			}),
		}},
		{"2026-07-28", `{"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{"a":1}}}`, []client.Option{client.WithTasks(), ext}},
		{"2025-11-25", `{"sampling":{}}`, []client.Option{client.OnSampling(sampleYes)}},
		{"2025-11-25", `{"sampling":{"context":{},"tools":{}},"elicitation":{}}`, []client.Option{tools, client.WithCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})}},
	}
	for _, tt := range tests {
		speaking(t, tt.version, func(t *testing.T, c *client.Client, s *fakeServer) {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			for _, line := range s.received() {
				var m struct {
					Method string
					Params struct {
						Capabilities json.RawMessage
						Meta         map[string]json.RawMessage `json:"_meta"`
					}
				}
				require.NoError(t, json.Unmarshal([]byte(line), &m))
				switch {
				case tt.version == "2026-07-28": // on each request
					require.JSONEq(t, tt.want, string(m.Params.Meta[mcp.MetaClientCapabilities]), m.Method)
				case m.Method == "initialize":
					require.JSONEq(t, tt.want, string(m.Params.Capabilities))
				}
			}
		}, tt.opts...)
	}
}

// Ids need a prefix, settings are objects.
func TestExtensionsAreChecked(t *testing.T) {
	t.Parallel()
	for id, settings := range map[string]string{"noprefix": `{}`, "1bad.label/x": `{}`, "com.example/": `[]`, "com.example/x": `true`, "com.example/y": ``} {
		tr, _ := newFake(t)
		_, err := client.Connect(t.Context(), tr, client.WithCapabilities(mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{id: json.RawMessage(settings)}}))
		require.ErrorContains(t, err, "extension", id)
	}
}

// One registration answers requests of the session era and rounds of
// the stateless one, in the same words.
func TestOneHandlerForBothEras(t *testing.T) {
	t.Parallel()
	want := map[string]string{"sampling/createMessage": saidSample, "elicitation/create": saidForm, "roots/list": saidRoots}
	asks := map[string]string{"sampling/createMessage": askSample, "elicitation/create": askForm, "roots/list": `{}`}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		for method, answer := range want {
			s.request(len(method), method, asks[method])
			require.JSONEq(t, answer, s.told(len(method)))
		}
	}, everything...)
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		rounds := s.askFirst(asks)
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.Len(t, *rounds, 2)
		for method, answer := range want {
			require.JSONEq(t, answer, string((*rounds)[1].InputResponses[method]))
		}
	}, everything...)
}

// What was not declared is refused, with the code of
// the table.
func TestUndeclaredRequests(t *testing.T) {
	t.Parallel()
	form := []client.Option{client.OnElicitForm(formYes)}
	tests := []struct {
		version, method, params, want string
		opts                          []client.Option
	}{
		{"2025-11-25", "sampling/createMessage", askSample, "-32601", nil},
		{"2025-11-25", "elicitation/create", askForm, "-32601", nil},
		{"2025-11-25", "roots/list", `{}`, "-32601", nil},
		{"2025-11-25", "foo/bar", `{}`, "-32601", everything},
		{"2025-11-25", "tools/list", `{}`, "-32601", everything},
		{"2025-11-25", "tasks/get", `{"taskId":"t"}`, "-32601", everything},
		{"2025-03-26", "elicitation/create", askForm, "-32601", everything},
		{"2024-11-05", "elicitation/create", askForm, "-32601", everything},
		{"2025-11-25", "elicitation/create", askURL, "-32602", form},
		{"2025-06-18", "elicitation/create", askURL, "-32602", everything},
		{"2025-11-25", "elicitation/create", askForm, "-32602", []client.Option{client.OnElicitURL(urlYes)}},
		{"2025-11-25", "elicitation/create", `{"mode":"telepathy","message":"m"}`, "-32602", everything},
		{"2025-11-25", "elicitation/create", `{"message":"m"}`, "-32602", everything},
		{"2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"array"}}`, "-32602", everything},
		{"2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":7}}}`, "-32602", everything},
		{"2025-11-25", "sampling/createMessage", `{"messages":[]}`, "-32602", everything},
		{"2025-11-25", "sampling/createMessage", `{"messages":[],"maxTokens":1,"tools":[{"name":"x","inputSchema":{}}]}`, "-32602", everything},
		{"2025-11-25", "sampling/createMessage", `{"messages":[],"maxTokens":1,"toolChoice":{}}`, "-32602", everything},
		// Offered by hand without anybody to ask: nobody chose.
		{"2025-11-25", "elicitation/create", askForm, `{"action":"cancel"}`, []client.Option{client.WithCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})}},
		{"2025-06-18", "elicitation/create", askForm, saidForm, form},
		{"2024-11-05", "sampling/createMessage", askSample, saidSample, everything},
		// What belongs to another revision is ignored where it does no harm.
		{"2025-11-25", "elicitation/create", strings.Replace(askForm, `{"message"`, `{"task":{"ttl":1},"mode":"form","message"`, 1), saidForm, form},
	}
	for i, tt := range tests {
		speaking(t, tt.version, func(t *testing.T, _ *client.Client, s *fakeServer) {
			s.request(i, tt.method, tt.params)
			require.Truef(t, strings.HasPrefix(s.told(i), tt.want), "%s %s %s: %s", tt.version, tt.method, tt.params, s.told(i))
		}, tt.opts...)
	}
}

// A handler's outcome reaches the server in the terms of its kind; the reason of a
// failure does not.
func TestHandlerOutcomes(t *testing.T) {
	t.Parallel()
	secret := errors.New("secret key 123")
	own := &jsonrpc.Error{Code: 7, Message: "ask again"}
	tests := []struct {
		name                   string
		res                    *mcp.ElicitResult
		err                    error
		panics                 bool
		sampling, form, errand string
	}{
		{"rejected", nil, fmt.Errorf("asked: %w", client.ErrRejected), false, "-1 User rejected sampling request", `{"action":"decline"}`, `{"action":"decline"}`},
		{"fails", nil, secret, false, "-32603 The request could not be handled", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"its own error", nil, own, false, "7 ask again", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"panics", nil, nil, true, "-32603 The request could not be handled", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"nothing", nil, nil, false, "-32603 The request could not be handled", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"declines", &mcp.ElicitResult{Action: mcp.ElicitDecline, Content: json.RawMessage(`{"name":7}`)}, nil, false, "", `{"action":"decline"}`, `{"action":"decline"}`},
		{"cancels", &mcp.ElicitResult{Action: mcp.ElicitCancel, Content: json.RawMessage(`{"name":7}`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"an action of its own", &mcp.ElicitResult{Action: "maybe", Content: json.RawMessage(`{"name":"x"}`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"content that does not fit", &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":7}`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"accept"}`},
		{"content that is no object", &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`[]`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"accept"}`},
		{"both", &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"x"}`)}, secret, false, "", `{"action":"cancel"}`, `{"action":"cancel"}`},
	}
	for i, tt := range tests {
		logs := &lines{}
		speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
			for j, ask := range []struct{ method, params, want string }{
				{"sampling/createMessage", askSample, tt.sampling}, {"elicitation/create", askForm, tt.form}, {"elicitation/create", askURL, tt.errand},
			} {
				if ask.want == "" {
					continue
				}
				s.request(10*i+j, ask.method, ask.params)
				require.Equal(t, ask.want, s.told(10*i+j), tt.name)
			}
			require.NotContains(t, strings.Join(s.received(), "\n"), "secret")
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err, "the client works on")
		},
			client.WithLogger(logs.logger()),
			client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				if tt.panics {
					panic("secret")
				}
				return nil, tt.err
			}),
			client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
				if tt.panics {
					panic("secret")
				}
				return tt.res, tt.err
			}),
			client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
				if tt.panics {
					panic("secret")
				}
				if tt.res == nil {
					return "", tt.err
				}
				return tt.res.Action, tt.err
			}))
		if tt.name == "content that does not fit" {
			require.Contains(t, logs.text(), "does not fit the form", "the handler's author learns why")
			require.Contains(t, logs.text(), "must be a string, got an integer")
		}
	}
}
