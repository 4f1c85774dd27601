package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// atTerminal runs the program at a terminal where a person types lines.
func atTerminal(t *testing.T, lines string, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), append(args, "-q", "--color", "never"), console.Streams{
		In: strings.NewReader(lines), Out: &out, Err: &err, InTerminal: true, ErrTerminal: true, OutTerminal: true, Width: 80,
		Env: func(string) (string, bool) { return "", false },
	})
	return outcome{code, out.String(), err.String()}
}

// asker has tools that ask a form and a page, and return the answer as text.
func asker(t *testing.T) *clienttest.Server {
	t.Helper()
	s := clienttest.NewServer(t)
	ask := func(params string) clienttest.Handler {
		return func(call *clienttest.Call) (any, error) {
			answer, err := call.Ask(mcp.MethodElicitationCreate, json.RawMessage(params))
			if err != nil {
				return nil, err
			}
			return clienttest.Text(string(answer)), nil
		}
	}
	s.Tool("form", "", ask(`{"mode":"form","message":"Who are\u001b you?","requestedSchema":{"type":"object","properties":{
		"name":{"type":"string","title":"Your name","description":"as on the card","minLength":2},
		"age":{"type":"integer","minimum":0},"news":{"type":"boolean","default":true}},"required":["name"]}}`))
	s.Tool("choose", "", ask(`{"mode":"form","message":"What?","requestedSchema":{"type":"object","properties":{
		"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
		"extras":{"type":"array","items":{"type":"string","enum":["milk","sugar"]}}},"required":["color"]}}`))
	s.Tool("mail", "", ask(`{"mode":"form","message":"Where?","requestedSchema":{"type":"object","properties":{
		"to":{"type":"string","format":"email"},"on":{"type":"string","format":"date"}}}}`))
	s.Tool("page", "", ask(`{"mode":"url","message":"Pay here","url":"https://pay.example/1","elicitationId":"e1"}`))
	return s
}

func TestFormAtTheTerminal(t *testing.T) {
	t.Parallel()
	url := asker(t).URL()
	for _, tt := range []struct {
		name, tool, lines string
		flags             []string
		answer            string
		says              []string
	}{
		{
			"all fields", "form", "Ann\n7\nn\n\n", nil, `{"action":"accept","content":{"name":"Ann","age":7,"news":false}}`,
			[]string{"asks: Who are␛ you?", "Your name (text, required): as on the card", "age (whole number)", "news (yes or no) [yes]", "  age = 7\n", "[Y]es, [n]o, [e]dit"},
		},
		{"defaults, and a field left out", "form", "Ann\n\n\ny\n", nil, `{"action":"accept","content":{"name":"Ann","news":true}}`, nil},
		{
			"what does not fit is asked again", "form", "\nA\nAnn\nold\n-1\n8\nmaybe\nyes\n\n", nil, `{"action":"accept","content":{"name":"Ann","age":8,"news":true}}`,
			[]string{"a value is required", "must be an integer", "type y or n"},
		},
		{"what a flag answers is not asked", "form", "8\n\n", []string{"--answer", "name=Bob"}, `{"action":"accept","content":{"name":"Bob","news":true,"age":8}}`, nil},
		{"what a flag has wrong is asked", "form", "9\n\n", []string{"--answer", "name=Bob", "--answer", "age=old"}, `{"action":"accept","content":{"name":"Bob","news":true,"age":9}}`, []string{"age (whole number)"}},
		{"edited", "form", "Ann\n7\n\ne\nBob\n\n\n\n", nil, `{"action":"accept","content":{"name":"Bob","age":7,"news":true}}`, []string{"[Ann]"}},
		{"declined", "form", "Ann\n7\n\nn\n", nil, `{"action":"decline"}`, nil},
		{"cancelled", "form", "Ann\n", nil, `{"action":"cancel"}`, nil},
		{
			"choices", "choose", "5\ngreen\nmilk, 2\n\n", nil, `{"action":"accept","content":{"color":"g","extras":["milk","sugar"]}}`,
			[]string{"  1  r (Red)\n", "  2  sugar\n"},
		},
		{
			"formats", "mail", "ann\nann@example.com\ntomorrow\n1999-12-31\n\n", nil, `{"action":"accept","content":{"to":"ann@example.com","on":"1999-12-31"}}`,
			[]string{"must be an email address", "must be a date such as 1999-12-31"},
		},
		{"a page that is declined", "page", "no\n", nil, `{"action":"decline"}`, []string{"asks you to open a page: Pay here", "https://pay.example/1", "Open it at pay.example?"}},
		{"a page that is cancelled", "page", "", nil, `{"action":"cancel"}`, nil},
	} {
		for _, era := range []string{"session", "stateless"} {
			t.Run(tt.name+"/"+era, func(t *testing.T) {
				t.Parallel()
				got := atTerminal(t, tt.lines, append([]string{"call", url, tt.tool, "--era", era}, tt.flags...)...)
				require.Zero(t, got.code, got.err)
				require.JSONEq(t, tt.answer, got.out, got.err)
				for _, text := range tt.says {
					require.Contains(t, got.err, text)
				}
				require.NotContains(t, got.err, "Who are\x1b")
			})
		}
	}
}

// In a pipe nobody is asked: exit code 9 in both eras, after the result.
func TestFormInAPipe(t *testing.T) {
	t.Parallel()
	url := asker(t).URL()
	for _, era := range []string{"session", "stateless"} {
		got := inProcess(t.Context(), false, "call", url, "form", "--era", era)
		require.Equal(t, 9, got.code)
		require.JSONEq(t, `{"action":"cancel"}`, got.out)
		require.Contains(t, got.err, "--answer name=…")
		got = inProcess(t.Context(), false, "call", url, "form", "--era", era, "--answer", "name=Ann", "-o", "json")
		require.Zero(t, got.code, got.err)
		got = atTerminal(t, "Ann\n", "call", url, "form", "--era", era, "--no-input")
		require.Equal(t, 9, got.code, "--no-input")
		require.NotContains(t, got.err, "Your name (text, required)\n")
	}
}

// A tool that is marked destructive is called after a yes.
func TestDestructiveAtTheTerminal(t *testing.T) {
	t.Parallel()
	s := clienttest.NewServer(t)
	s.AddTool(mcp.Tool{Name: "wipe", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)}},
		func(*clienttest.Call) (any, error) { return clienttest.Text("wiped"), nil })
	got := atTerminal(t, "\n", "call", s.URL(), "wipe")
	require.Equal(t, 9, got.code)
	require.Contains(t, got.err, "wipe is marked destructive: it may delete or overwrite something. Call it? [y/N]")
	require.Zero(t, s.Count(mcp.MethodToolsCall))
	got = atTerminal(t, "y\n", "call", s.URL(), "wipe")
	require.Zero(t, got.code, got.err)
	require.Equal(t, 1, s.Count(mcp.MethodToolsCall))
}

// --retry repeats what is safe, and nothing else.
func TestRetry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		tool   *mcp.ToolAnnotations
		flags  []string
		sent   int
		answer int
	}{
		{"a tool that only reads", &mcp.ToolAnnotations{ReadOnlyHint: new(true)}, []string{"--retry", "2"}, 2, 0},
		{"a tool that acts", nil, []string{"--retry", "2"}, 1, 7},
		{"in the session era", &mcp.ToolAnnotations{ReadOnlyHint: new(true)}, []string{"--retry", "2", "--protocol-version", "2025-11-25"}, 2, 0},
		{"a tool that may run twice", &mcp.ToolAnnotations{IdempotentHint: new(true)}, []string{"--retry", "2", "--protocol-version", "2025-11-25"}, 2, 0},
		{"that acts, in the session era", nil, []string{"--retry", "2", "--protocol-version", "2025-11-25"}, 1, 7},
		{"without the flag", &mcp.ToolAnnotations{ReadOnlyHint: new(true)}, nil, 1, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := clienttest.NewServer(t)
			failed := false
			s.AddTool(mcp.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: tt.tool},
				func(*clienttest.Call) (any, error) {
					if !failed {
						failed = true
						return nil, &clienttest.HTTPError{Status: 502}
					}
					return clienttest.Text("seen"), nil
				})
			got := inProcess(t.Context(), false, append([]string{"call", s.URL(), "look"}, tt.flags...)...)
			require.Equal(t, tt.answer, got.code, got.err)
			require.Equal(t, tt.sent, s.Count(mcp.MethodToolsCall))

			failed = false
			rows := filepath.Join(t.TempDir(), "rows")
			require.NoError(t, os.WriteFile(rows, []byte("{}\n"), 0o600))
			got = inProcess(t.Context(), false, append([]string{"call", s.URL(), "look", "--batch", rows}, tt.flags...)...)
			require.Equal(t, tt.answer, got.code, got.err)
			require.Equal(t, 2*tt.sent, s.Count(mcp.MethodToolsCall), "a call of a batch is repeated like any other")
			if tt.answer != 0 {
				require.Contains(t, got.out, `"kind":"unknown-outcome"`)
				require.Contains(t, got.out, `"safeToRetry":false`)
				require.Contains(t, got.out, "check whether it ran before repeating it")
			}
		})
	}
}
