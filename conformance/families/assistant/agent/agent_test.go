package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// actEnv makes this test binary play an agent's program.
const actEnv = "ASSISTANT_TEST_ACT"

func TestMain(m *testing.M) {
	if act := os.Getenv(actEnv); act != "" {
		os.Exit(play(act)) //nolint:forbidigo // it is the main of another process
	}
	testmain.Run(m)
}

func play(act string) int {
	var in bytes.Buffer
	_, _ = in.ReadFrom(os.Stdin)
	dir, _ := os.Getwd()
	switch act {
	case "echo":
		line, _ := json.Marshal(map[string]any{"type": "result", "result": in.String(), "dir": dir, "args": os.Args[1:]})
		fmt.Printf("not JSON\n[1]\n%s\n{broken\n\n%s", line, `{"type":"system"}`) // the last line has no end
	case "fail":
		fmt.Fprintln(os.Stderr, "no credit left")
		return 3
	case "hang":
		fmt.Println(`{"type":"system"}`)
		<-time.After(time.Minute) // until it is killed
	}
	return 0
}

func program(t *testing.T, act string) *Program {
	t.Helper()
	return &Program{
		Path: os.Args[0], Model: "m", TempDir: t.TempDir(), Env: append(os.Environ(), actEnv+"="+act),
		Config: func() string { return `{"mcpServers":{}}` },
	}
}

func TestProgram_S4_PIT_01_02_Argv(t *testing.T) {
	t.Parallel()
	p := &Program{Path: "/bin/agent", Model: "m", Config: func() string { return `{"a":1}` }}
	require.Equal(t, []string{
		"/bin/agent", "-p", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose",
		"--model", "m", "--mcp-config", `{"a":1}`, "--tools", "",
	}, p.Argv())
	p.Model = ""
	require.NotContains(t, p.Argv(), "--model", "an empty model is none: the program chooses")

	p = program(t, "echo")
	var args [][]string
	for _, token := range []string{"first", "second"} {
		var lines []json.RawMessage
		err := p.Run(t.Context(), Task{System: "token " + token, Content: "hi; $(touch x) 'quoted'"}, func(l json.RawMessage) { lines = append(lines, l) })
		require.NoError(t, err)
		require.Len(t, lines, 2, "what is no JSON object is passed over")
		var got struct {
			Result, Dir string
			Args        []string
		}
		require.NoError(t, json.Unmarshal(lines[0], &got))
		require.Equal(t, "token "+token+"\n\nhi; $(touch x) 'quoted'", got.Result, "the token goes in by standard input")
		require.NoDirExists(t, got.Dir, "the working directory was a fresh one")
		require.Equal(t, "--tools", got.Args[len(got.Args)-2])
		require.Empty(t, got.Args[len(got.Args)-1])
		args = append(args, got.Args)
	}
	require.True(t, slices.Equal(args[0], args[1]))
	left, err := filepath.Glob(p.TempDir + "/*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestProgram_Ends(t *testing.T) {
	t.Parallel()
	err := program(t, "fail").Run(t.Context(), Task{Content: "x"}, func(json.RawMessage) {})
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no credit left")
	missing := program(t, "echo")
	missing.Path = filepath.Join(t.TempDir(), "none")
	require.Error(t, missing.Run(t.Context(), Task{}, func(json.RawMessage) {}))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = program(t, "hang").Run(ctx, Task{}, func(json.RawMessage) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

func TestLines_OverlongIsSkipped(t *testing.T) {
	t.Parallel()
	const most = 100_000
	long := func(n int) string { return `{"x":"` + strings.Repeat("y", n-9) + "\"}\n" }
	var got []int
	require.NoError(t, lines(strings.NewReader(long(most+1)+long(most)+long(3*most)+"{}"), most, func(l json.RawMessage) { got = append(got, len(l)) }))
	require.Equal(t, []int{most - 1, 2}, got)
}

func TestScripted_BadConfig(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ config, want string }{
		"unknown type": {`{"mcpServers":{"assistant":{"type":"x"}}}`, "unknown type"},
		"other name":   {`{"mcpServers":{"other":{"type":"http","url":"http://127.0.0.1:1/mcp"}}}`, "assistant"},
		"stdio":        {`{"mcpServers":{"assistant":{"type":"stdio","command":"x"}}}`, "over http"},
		"nobody there": {`{"mcpServers":{"assistant":{"type":"http","url":"http://127.0.0.1:1/mcp"}}}`, "connect"},
	} {
		s := &Scripted{Config: func() string { return tt.config }}
		err := s.Run(t.Context(), Task{System: "session_token='abc'", Content: "x"}, func(json.RawMessage) {})
		require.ErrorContains(t, err, tt.want, name)
	}
}

func TestScripted_HeadersGoToTheServerAlone(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 4)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- "other" + r.Header.Get("Authorization") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	s := &Scripted{
		Config: func() string {
			return `{"mcpServers":{"assistant":{"type":"http","url":"` + server.URL + `/mcp","headers":{"Authorization":"Bearer ${` + Variable + `}"}}}}`
		},
		Getenv: func(name string) string { return map[string]string{Variable: "s3cret"}[name] },
	}
	require.Error(t, s.Run(t.Context(), Task{System: "session_token='abc'", Content: "x"}, func(json.RawMessage) {}))
	require.Equal(t, "Bearer s3cret", <-seen)
	for len(seen) > 0 {
		require.NotContains(t, <-seen, "other")
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"# A b\nc": "A b", "": "Untitled", "###": "Untitled", "\n\n x \n": "x", strings.Repeat("ü", 300): strings.Repeat("ü", 120)} {
		require.Equal(t, want, title(in))
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	const created = `ARTIFACT_CREATED:{\"id\":\"1\",\"artifact_type\":\"generated_file\",\"title\":\"A\"}|x`
	for name, tt := range map[string]struct {
		line, id  string
		malformed bool
		complete  bool
		usage     Usage
	}{
		"result":             {`{"type":"result","result":"` + created + `","usage":{"input_tokens":3,"output_tokens":4}}`, "1", false, true, Usage{3, 4}},
		"no usage":           {`{"type":"result","result":"` + created + `"}`, "1", false, true, Usage{}},
		"usage of null":      {`{"type":"result","result":null,"usage":null}`, "", false, true, Usage{}},
		"usage of text":      {`{"type":"result","result":"x","usage":{"input_tokens":"many"}}`, "", false, true, Usage{}},
		"result of object":   {`{"type":"result","result":{}}`, "", false, true, Usage{}},
		"assistant":          {`{"type":"assistant","message":{"content":[{"type":"text","text":"` + created + `"}]}}`, "1", false, false, Usage{}},
		"assistant as text":  {`{"type":"assistant","message":{"content":"` + created + `"}}`, "1", false, false, Usage{}},
		"tool result":        {`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"` + created + `"}]}]}}`, "1", false, false, Usage{}},
		"tool result, plain": {`{"type":"user","message":{"content":[{"type":"tool_result","content":"` + created + `"}]}}`, "1", false, false, Usage{}},
		"malformed":          {`{"type":"result","result":"ARTIFACT_CREATED:{"}`, "", true, true, Usage{}},
		"what the user said": {`{"type":"user","message":{"content":[{"type":"text","text":"` + created + `"}]}}`, "", false, false, Usage{}},
		"a tool's input":     {`{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"x":"` + created + `"}}]}}`, "", false, false, Usage{}},
		"other":              {`{"type":"system","result":"` + created + `"}`, "", false, false, Usage{}},
		"no JSON":            {`{`, "", false, false, Usage{}},
	} {
		c := Translate(json.RawMessage(tt.line))
		require.Equal(t, tt.id != "", c.Created != nil, name)
		if c.Created != nil {
			require.Equal(t, tt.id, c.Created.ID, name)
		}
		require.Equal(t, tt.malformed, c.Malformed, name)
		require.Equal(t, tt.complete, c.Complete, name)
		require.Equal(t, tt.usage, c.Usage, name) // S4-MARK-04
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add([]byte(`{"type":"result","result":"ARTIFACT_CREATED:{}|","usage":{}}`))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"text":"ARTIFACT_CREATED:"}]}]}}`))
	f.Fuzz(func(_ *testing.T, line []byte) { Translate(line) })
}
