package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// mistakes are what people and servers get wrong most often, with the command line of each. URL
// is a server over HTTP, and fakeserver a program. exit is written here, not taken from a run.
var mistakes = []struct {
	title, command string
	exit, calls    int // calls is how many tools/call the server gets
}{
	{"A tool that is misspelt", "call ad a=1 b=2 -- fakeserver", 8, 0},
	{"An argument of the wrong type", "call add a=foo b=1 -- fakeserver", 2, 0},
	{"An argument that is missing", "call add a=1 -- fakeserver", 2, 0},
	{"An argument that the tool does not have", "call add a=1 b=2 zzz=3 -- fakeserver", 2, 0},
	{"Arguments that are no JSON", "call add --json {a:1} -- fakeserver", 2, 0},
	{"A program that is not there", "ls -- nosuchserver", 3, 0},
	{"A program that ends at its start", "call echo message=hi -- fakeserver exit", 3, 0},
	{"A program that ends during a call", "call echo message=hi -- fakeserver die-in-call", 7, 1},
	{"A call without an answer", "call hang --max-time 8s -- fakeserver", 7, 1},
	{"A tool that fails", "call fail -- fakeserver", 1, 1},
	{"An error of the server, with data", "call refuse -- fakeserver", 6, 1},
	{"A result that does not fit the tool's schema", "call badout -- fakeserver", 0, 1},
	{"The same with --strict", "call badout --strict -- fakeserver", 5, 1},
	{"Control characters in a result", "call hostile -- fakeserver", 0, 1},
	{"A banner on the program's standard output", "call echo message=hi -- fakeserver banner", 0, 1},
	{"A port that nothing listens on", "call http://127.0.0.1:1/mcp echo message=hi", 3, 0},
	{"A wrong path", "call URL/nothing echo message=hi", 3, 0},
	{"A server that wants a login", "call URL/login echo message=hi", 4, 0},
	{"A web page instead of a server", "call URL/html echo message=hi", 5, 0},
	{"A scheme that does not exist", "ls htp://x", 2, 0},
	{"A flag that is misspelt", "ls --grpe x -- fakeserver", 2, 0},
	{"A command that is misspelt", "lst -- fakeserver", 2, 0},
}

// varying is what differs from run to run: durations, ports.
var varying = []struct {
	is *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d{2,5}`), "127.0.0.1:3000"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(µs|ms)\b`), "N ms"},
	{regexp.MustCompile(`\bafter \d+(\.\d+)?s\b`), "after N ms"},
}

// TestMistakes holds docs/generated/mistakes.md: what mcpctl prints, where, with which exit status,
// and what the server got. -update writes the page.
func TestMistakes(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("race: the programs are those of TestScripts")
	}
	blocks := make([]string, len(mistakes))
	t.Run("rows", func(t *testing.T) { //nolint:paralleltest // the page below needs them all
		for i, row := range mistakes {
			t.Run(row.title, func(t *testing.T) {
				t.Parallel()
				frames, err := os.OpenFile(filepath.Join(t.TempDir(), "frames"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
				require.NoError(t, err)
				url := serve(t, &lockedWriter{f: frames})
				var out, told bytes.Buffer
				cmd := exec.CommandContext(t.Context(), "mcpctl", strings.Fields(strings.ReplaceAll(row.command, "URL", url))...)
				cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &told
				cmd.Env = append(os.Environ(), "FRAMES="+frames.Name(), connect.EraStore+"=off", "HOME="+cmd.Dir)
				code := 0
				if err := cmd.Run(); err != nil {
					var exit *exec.ExitError
					require.ErrorAs(t, err, &exit)
					code = exit.ExitCode()
				}
				require.NoError(t, frames.Close())
				require.Equal(t, row.exit, code, told.String())
				methods := received(t, frames.Name())
				called := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m != "tools/call" })
				require.Len(t, called, row.calls, "%v", methods)
				got := "nothing"
				switch {
				case row.calls > 0:
					got = "the call, once"
				case len(methods) > 0:
					got = "no call, only requests for its lists"
				}
				block := fmt.Sprintf("## %s\n\n```text\n$ mcpctl %s\n%s%sexit %d\n```\n\nThe server got: %s.\n",
					row.title, row.command, out.String(), marked(told.String()), code, got)
				for _, v := range varying {
					block = v.is.ReplaceAllString(block, v.by)
				}
				blocks[i] = strings.ReplaceAll(block, "http://127.0.0.1:3000/", "URL/")
			})
		}
	})
	page := mistakesHead + "\n" + strings.Join(blocks, "\n")
	golden := filepath.Join("..", "..", "docs", "generated", "mistakes.md")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(page), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), page, "go test ./cmd/mcpctl -run TestMistakes -update writes the page")
}

const mistakesHead = `# Mistakes, and what mcpctl prints

Made by a test that compares it with each run. ` + "`2>`" + ` marks standard error, URL is the address of
a server, and times are left out. Under each is what reached the server: a call that cannot succeed
is never sent.
`

// marked marks each line of standard error.
func marked(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("2> " + line)
	}
	return b.String()
}

// received returns the methods of the messages that reached the fake.
func received(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var methods []string
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var m struct{ Method string }
		require.NoError(t, json.Unmarshal(line, &m), string(line))
		methods = append(methods, m.Method)
	}
	return methods
}
