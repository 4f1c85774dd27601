package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// fillIn returns the answer that a server gets for a form when the user fills it in
// with content.
func fillIn(t *testing.T, properties, required, content string) (answer string, fields []mcp.FormField, log string) {
	t.Helper()
	logs := &lines{}
	speaking(t, "2025-11-25", func(_ *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "elicitation/create", fmt.Sprintf(
			`{"message":"m","requestedSchema":{"type":"object","properties":%s,"required":%s}}`, strings.ReplaceAll(properties, "\n", ""), required))
		answer = s.told(1)
	}, client.WithLogger(logs.logger()), client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
		fields = r.Fields
		return client.AcceptForm(json.RawMessage(content))
	}))
	return answer, fields, logs.text()
}

// What the user filled in is held against the form before it is sent.
func TestFormsAreChecked(t *testing.T) {
	t.Parallel()
	tests := []struct{ field, good, bad string }{
		{`{"type":"string"}`, `""`, `1`},
		{`{"type":"string","minLength":2,"maxLength":3}`, `"ab"`, `"a"`},
		{`{"type":"string","minLength":2,"maxLength":3}`, `"äöü"`, `"abcd"`},
		{`{"type":"string","format":"email"}`, `"a@b.example"`, `"a b@c"`},
		{`{"type":"string","format":"email"}`, `"a@b.example"`, `"Ada <a@b.example>"`},
		{`{"type":"string","format":"uri"}`, `"https://x.example/"`, `"x/y"`},
		{`{"type":"string","format":"date"}`, `"2024-02-29"`, `"2023-02-29"`},
		{`{"type":"string","format":"date-time"}`, `"2024-02-29T12:00:00Z"`, `"2024-02-29"`},
		{`{"type":"number","minimum":0.5,"maximum":2}`, `0.5`, `2.01`},
		{`{"type":"integer"}`, `3`, `3.5`},
		{`{"type":"integer","maximum":7}`, `7`, `8`},
		{`{"type":"boolean"}`, `false`, `"false"`},
		{`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`, `"a"`, `"A"`},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`, `"b"`, `"B"`},
		{`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}}`, `["a","c"]`, `[]`},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`, `[]`, `["d"]`},
		{`{"type":"array","maxItems":1,"items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}`, `["b"]`, `["a","b"]`},
	}
	for _, tt := range tests {
		answer, _, _ := fillIn(t, `{"f":`+tt.field+`}`, `["f"]`, `{"f":`+tt.good+`}`)
		require.Equal(t, `{"action":"accept","content":{"f":`+tt.good+`}}`, answer, tt.field)
		answer, _, log := fillIn(t, `{"f":`+tt.field+`}`, `["f"]`, `{"f":`+tt.bad+`}`)
		require.Equal(t, `{"action":"cancel"}`, answer, "%s %s", tt.field, tt.bad)
		require.Contains(t, log, "does not fit the form", tt.field)
		answer, _, _ = fillIn(t, `{"f":`+tt.field+`}`, `["f"]`, `{}`)
		require.Equal(t, `{"action":"cancel"}`, answer, "missing")
		answer, _, _ = fillIn(t, `{"f":`+tt.field+`}`, `[]`, `{}`)
		require.Equal(t, `{"action":"accept","content":{}}`, answer, "not asked for")
	}
}

// Accepting nothing accepts the defaults, digit by digit, and values of the user stay
// (official elicitation-sep1034-client-defaults).
func TestFormDefaults(t *testing.T) {
	t.Parallel()
	const properties = `{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.50},
		"status":{"type":"string","enum":["active","inactive"],"default":"active"},"verified":{"type":"boolean","default":true},
		"none":{"type":"string"},"null":{"type":"string","default":null}}`
	answer, fields, _ := fillIn(t, properties, `[]`, `{}`)
	require.Equal(t, `{"action":"accept","content":{"name":"John Doe","age":30,"score":95.50,"status":"active","verified":true}}`, answer)
	require.Len(t, fields, 7)
	answer, _, _ = fillIn(t, properties, `["age"]`, `{"verified":false,"age":9007199254740993}`)
	require.Equal(t, `{"action":"accept","content":{"verified":false,"age":9007199254740993,"name":"John Doe","score":95.50,"status":"active"}}`, answer)
	answer, _, _ = fillIn(t, `{"a":{"type":"integer","default":"x"}}`, `[]`, `{}`)
	require.Equal(t, `{"action":"cancel"}`, answer, "a default that does not fit its own form")
}

// The handler gets the form in parts, in the server's order.
func TestFormFields(t *testing.T) {
	t.Parallel()
	_, fields, _ := fillIn(t, `{
		"z":{"type":"string","title":"Zed","description":"last","format":"email"},
		"e":{"type":"string","enum":["a","b"],"enumNames":["A"],"default":"b"},
		"o":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
		"m":{"type":"array","items":{"anyOf":[{"const":"y","title":"Y"}]}},
		"k":{"type":"array","items":{"type":"string","enum":["q"]}},
		"n":{"type":"integer","enum":[1,2]}}`, `["o","z"]`, `{"z":"a@b.example","o":"x"}`)
	require.Len(t, fields, 6)
	want := []mcp.FormField{
		{Name: "z", Title: "Zed", Description: "last", Type: "string", Format: "email", Required: true},
		{Name: "e", Type: "string", Default: json.RawMessage(`"b"`), Choices: []mcp.FormChoice{{Value: "a", Title: "A"}, {Value: "b", Title: "b"}}},
		{Name: "o", Type: "string", Required: true, Choices: []mcp.FormChoice{{Value: "x", Title: "X"}}},
		{Name: "m", Type: "array", Choices: []mcp.FormChoice{{Value: "y", Title: "Y"}}},
		{Name: "k", Type: "array", Choices: []mcp.FormChoice{{Value: "q", Title: "q"}}},
		{Name: "n", Type: "integer"},
	}
	for i, field := range fields {
		require.NotEmpty(t, field.Schema)
		field.Schema = nil
		require.Equal(t, want[i], field)
	}
}

// The handler gets only URLs that a browser may open, with the facts to warn of, and
// the client itself fetches nothing.
func TestElicitationURLs(t *testing.T) {
	t.Parallel()
	type shown struct {
		host      string
		lookalike bool
	}
	good := map[string]shown{
		"https://Example.com/a?b=c#d":     {"example.com", false},
		"http://localhost:8080/x":         {"localhost", false},
		"http://127.0.0.1/x":              {"127.0.0.1", false},
		"http://[::1]:9/x":                {"::1", false},
		"https://xn--pple-43d.com/":       {"xn--pple-43d.com", true},
		"https://\u0430pple.com/":         {"\u0430pple.com", true},
		"https://example.com.evil.test/x": {"example.com.evil.test", false},
	}
	bad := []string{
		"", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://example.com/", "https://", "https:///x", "//example.com",
		"http://example.com/", "http://10.0.0.1/", "https://bank.com@evil.test/", "https://exa mple.com/", "https://example.com/\n", "mailto:a@b.c",
		"https://a.example/\u202egpj.exe", "https://a.example/?q=\u2066x", "https://a.example/#\u200b", "https://a.example/\u0085x", "https://a.example/a b", "https://a.example/\u2028",
	}
	var got []client.URLRequest
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		id := 0
		ask := func(url string) string {
			raw, err := json.Marshal(url)
			require.NoError(t, err)
			id++
			s.request(id, "elicitation/create", `{"mode":"url","message":"m","url":`+string(raw)+`,"elicitationId":"e"}`)
			return s.told(id)
		}
		for url, want := range good {
			require.Equal(t, `{"action":"accept"}`, ask(url), url)
			last := got[len(got)-1]
			require.Equal(t, url, last.URL)
			require.Equal(t, want, shown{last.Host, last.Lookalike}, url)
		}
		for _, url := range bad {
			require.Contains(t, ask(url), "-32602", url)
		}
		require.Len(t, got, len(good))
	}, client.OnElicitURL(func(_ context.Context, r client.URLRequest) (mcp.ElicitAction, error) {
		got = append(got, r)
		return mcp.ElicitAccept, nil
	}))
}

// The server reports that the user has finished. Reports about other requests, and
// repeated ones, are ignored.
func TestElicitationComplete(t *testing.T) {
	t.Parallel()
	var done []<-chan struct{}
	var finished []string
	action := mcp.ElicitAccept
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		complete := func(id string) {
			s.notify("notifications/elicitation/complete", `{"elicitationId":"`+id+`"}`)
			synctest.Wait()
		}
		closed := func(i int) bool {
			select {
			case <-done[i]:
				return true
			default:
				return false
			}
		}
		s.request(1, "elicitation/create", askURL)
		require.Equal(t, `{"action":"accept"}`, s.told(1))
		complete("other")
		complete("")
		s.notify("notifications/elicitation/complete", `{}`)
		synctest.Wait()
		require.False(t, closed(0))
		complete("e1")
		require.True(t, closed(0))
		complete("e1")
		action = mcp.ElicitDecline
		s.request(2, "elicitation/create", askURL)
		require.Equal(t, `{"action":"decline"}`, s.told(2))
		complete("e1")
		require.False(t, closed(1), "nobody went there")
		action = mcp.ElicitAccept
		for id := range 300 {
			s.request(10+id, "elicitation/create", strings.Replace(askURL, `"e1"`, fmt.Sprintf(`"n%d"`, id), 1))
			s.told(10 + id)
			pass(time.Second)
		}
		complete("n0")
		require.False(t, closed(2), "forgotten")
		complete("n299")
		require.Equal(t, []string{"e1", "n299"}, finished)
	},
		client.OnElicitURL(func(_ context.Context, r client.URLRequest) (mcp.ElicitAction, error) {
			done = append(done, r.Done)
			return action, nil
		}),
		client.OnEvent(func(_ context.Context, e client.Event) {
			if e, ok := e.(client.ElicitationComplete); ok {
				finished = append(finished, e.ID)
			}
		}))
}

// In 2025-11-25 a call that is refused until the user was somewhere is
// made once more when he was; in all other cases the error is the answer.
func TestURLElicitationRequired(t *testing.T) {
	t.Parallel()
	const two = `{"elicitations":[{"mode":"url","message":"a","url":"https://a.example/","elicitationId":"a"},{"mode":"url","message":"b","url":"https://b.example/","elicitationId":"b"}]}`
	var asked atomic.Int64
	yes := client.OnElicitURL(func(ctx context.Context, r client.URLRequest) (mcp.ElicitAction, error) {
		asked.Add(1)
		select {
		case <-r.Done:
		case <-ctx.Done():
		}
		return mcp.ElicitAccept, nil
	})
	no := client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
		asked.Add(1)
		return mcp.ElicitDecline, nil
	})
	tests := []struct {
		name, version, data string
		refusals            int
		handler             client.Option
		calls, asked        int
		fails               mcperrors.Kind
	}{
		{"agreed", "2025-11-25", two, 1, yes, 2, 2, 0},
		{"refused again", "2025-11-25", two, 5, yes, 2, 2, mcperrors.KindInputRequired},
		{"declined", "2025-11-25", two, 1, no, 1, 1, mcperrors.KindInputRequired},
		{"no handler", "2025-11-25", two, 1, nil, 1, 0, mcperrors.KindInputRequired},
		{"a form among them", "2025-11-25", `{"elicitations":[{"mode":"form","message":"a","requestedSchema":{"type":"object"}}]}`, 1, yes, 1, 0, mcperrors.KindInputRequired},
		{"a bad URL", "2025-11-25", strings.Replace(two, "https://a", "file://a", 1), 1, yes, 1, 0, mcperrors.KindInputRequired},
		{"nothing to do", "2025-11-25", `{"elicitations":[]}`, 1, yes, 1, 0, mcperrors.KindInputRequired},
		{"no data", "2025-11-25", `null`, 1, yes, 1, 0, mcperrors.KindInputRequired},
		{"an older revision", "2025-06-18", two, 1, yes, 1, 0, mcperrors.KindServer},
		{"a newer revision", "2026-07-28", two, 1, yes, 1, 0, mcperrors.KindServer},
	}
	for _, tt := range tests {
		speaking(t, tt.version, func(t *testing.T, c *client.Client, s *fakeServer) {
			asked.Store(0)
			refused := 0
			s.on("tools/call", func(jsonrpc.Request) any {
				if refused++; refused > tt.refusals {
					return json.RawMessage(plainResult)
				}
				return &jsonrpc.Error{Code: -32042, Message: "go there", Data: json.RawMessage(tt.data)}
			})
			go func() {
				for _, id := range []string{"a", "b"} { // the user takes his time
					pass(time.Minute)
					s.notify("notifications/elicitation/complete", `{"elicitationId":"`+id+`"}`)
				}
			}()
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.Equal(t, tt.fails, mcperrors.KindOf(err), tt.name)
			// What some revision does not know is some failure of the server's,
			// which may pass; what it knows comes again.
			require.Equal(t, tt.fails == mcperrors.KindServer, mcperrors.Retryable(err), tt.name)
			require.EqualValues(t, tt.asked, asked.Load(), tt.name)
			require.Equal(t, tt.calls, s.count("tools/call"), tt.name)
			pass(3 * time.Minute)
		}, tt.handler)
	}
}

func TestCheckFormField(t *testing.T) {
	t.Parallel()
	mail := mcp.FormField{Name: "to", Type: "string", Format: "email", Schema: json.RawMessage(`{"type":"string","format":"email","maxLength":20}`)}
	for value, fits := range map[string]bool{
		`"ann@example.com"`: true, `"ann"`: false, `"a-much-too-long-name@example.com"`: false, `7`: false,
	} {
		err := client.CheckFormField(mail, json.RawMessage(value))
		require.Equal(t, fits, err == nil, value)
		if !fits {
			require.NotContains(t, err.Error(), strings.Trim(value, `"`), "the error does not repeat the value")
		}
	}
	require.NoError(t, client.CheckFormField(mcp.FormField{Schema: json.RawMessage(`no schema`)}, json.RawMessage(`1`)))
}
