package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Every use of a tool is answered by the message that follows, which
// holds nothing else.
func TestToolTurns(t *testing.T) {
	t.Parallel()
	const (
		hi   = `{"role":"user","content":{"type":"text","text":"hi"}}`
		use1 = `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{}}]}`
		both = `{"role":"assistant","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"1","name":"x","input":{}},{"type":"tool_use","id":"2","name":"x","input":{}}]}`
		got1 = `{"type":"tool_result","toolUseId":"1","content":[]}`
		got2 = `{"type":"tool_result","toolUseId":"2","content":[]}`
	)
	user := func(blocks ...string) string {
		return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
	}
	tests := []struct {
		name     string
		messages []string
		fine     bool
	}{
		{"no tools", []string{hi}, true},
		{"one use, one result", []string{hi, use1, user(got1), hi}, true},
		{"two at once", []string{hi, both, user(got2, got1), hi}, true},
		{"two turns", []string{hi, use1, user(got1), use1, user(got1), hi}, true},
		{"no result", []string{hi, use1, hi}, false},
		{"no result at the end", []string{hi, use1}, false},
		{"one of two", []string{hi, both, user(got1), hi}, false},
		{"the other one later", []string{hi, both, user(got1), user(got2), hi}, false},
		{"with something else", []string{hi, use1, user(got1, `{"type":"text","text":"and"}`), hi}, false},
		{"another id", []string{hi, use1, user(got2), hi}, false},
		{"twice", []string{hi, use1, user(got1, got1), hi}, false},
		{"a result of nothing", []string{user(got1), hi}, false},
		{"a result by the model", []string{hi, use1, `{"role":"assistant","content":[` + got1 + `]}`, hi}, false},
		{"a use by the user", []string{`{"role":"user","content":{"type":"tool_use","id":"1","name":"x","input":{}}}`, user(got1), hi}, false},
		{"one id twice", []string{strings.Replace(both, `"2"`, `"1"`, 1), user(got1), hi}, false},
	}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		for i, tt := range tests {
			s.request(i, "sampling/createMessage",
				`{"messages":[`+strings.Join(tt.messages, ",")+`],"maxTokens":1,"tools":[{"name":"x","inputSchema":{}}]}`)
			if got := s.told(i); tt.fine {
				require.JSONEq(t, saidSample, got, tt.name)
			} else {
				require.Contains(t, got, "-32602 Invalid params", tt.name)
			}
		}
	}, client.OnSampling(sampleYes, client.SamplingTools))
}

// What a revision cannot carry is not sent.
func TestSamplingContentByRevision(t *testing.T) {
	t.Parallel()
	two := client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}}, nil
	})
	for version, want := range map[string]string{
		"2025-06-18": "-32603 The request could not be handled",
		"2025-11-25": `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"model":"m"}`,
	} {
		speaking(t, version, func(t *testing.T, _ *client.Client, s *fakeServer) {
			s.request(1, "sampling/createMessage", askSample)
			require.Equal(t, want, s.told(1))
		}, two)
	}
}
