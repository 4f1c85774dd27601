package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/reportsample"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const sampleScreen = `MCP conformance · every\u202ething 2.0.0 · session 2025-11-25 · 8.1 s
  -- './my server' --flag
side effects: all (granted by the server)

  base             ✓ 1   ✗ 1
  tools            ! 1
  concurrency      ? 1
  store_artifact   E 1
  – http (of another transport)

E MUST S0-STORE-02  the file equals the input byte for byte: disk full
? MUST X-WIRE-12/pings  200 pings sent at once are each answered once: the …
! SHOULD UTIL-15/bad-cursor  a cursor the server never gave is answered wit…

✗ every response has exactly one of result and error
    breaks every client: MUST RPC-07/exclusive
    sent      {"jsonrpc":"2.0","id":1,"method":"ping"}
    got       both, with \x1b[31mcolour\x1b[0m
    rule      "All messages MUST follow JSON-RPC 2.0."
    https://modelcontextprotocol.io/specification/2025-11-25/basic#messages
    again: mcpctl conform server --only RPC-07/exclusive -- './my server' --flag

failed · 1 broken requirement · 1 inconclusive · 1 recommendation · 1 passed
  1 not applicable · 1 fault of the suite
next: mcpctl conform server --only RPC-07/exclusive -v -- './my server' --flag
exit 1
`

const sampleText = `MCP conformance · every\u202ething 2.0.0 · session 2025-11-25 · 8.1 s · -- './my server' --flag
side effects: all (granted by the server)

base
  ✓ MUST   RPC-01/version      every message has jsonrpc "2.0"
  ✗ MUST   RPC-07/exclusive    every response has exactly one of result and error
tools
  ! SHOULD UTIL-15/bad-cursor  a cursor the server never gave is answered with -32602
concurrency
  ? MUST   X-WIRE-12/pings     200 pings sent at once are each answered once
http
  – MUST   HTTP-19/get         GET is answered with an event stream or 405 (transport: a rule of http)
store_artifact
  E MUST   S0-STORE-02         the file equals the input byte for byte

✗ MUST   RPC-07/exclusive   spec 2025-11-25 basic#messages
        every response has exactly one of result and error
        "All messages MUST follow JSON-RPC 2.0."
        expected that of all, got both, with \x1b[31mcolour\x1b[0m
        → {"jsonrpc":"2.0","id":1,"method":"ping"}
        ← 200 application/json  {"id":1,"result":{}… (9000 bytes)  [cut]
        again: mcpctl conform server --only RPC-07/exclusive -- './my server' --flag

E MUST   S0-STORE-02   requirement S0-STORE-02
        the file equals the input byte for byte
        disk full
        again: mcpctl conform server --only S0-STORE-02 -- './my server' --flag

? MUST   X-WIRE-12/pings   spec 2025-11-25 basic#messages
        200 pings sent at once are each answered once
        "All messages MUST follow JSON-RPC 2.0."
        the server closed the connection
        again: mcpctl conform server --only X-WIRE-12/pings -- './my server' --flag

! SHOULD UTIL-15/bad-cursor   spec 2025-11-25 basic#messages
        a cursor the server never gave is answered with -32602
        "All messages MUST follow JSON-RPC 2.0."
        expected error -32602, got result {}
        again: mcpctl conform server --only UTIL-15/bad-cursor -- './my server' --flag

failed · 1 broken requirement · 1 inconclusive · 1 recommendation · 1 passed · 1 not applicable · 1 fault of the suite
exit 1
`

func TestText(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, Text(&b, sampleReport(), TextOptions{Verbose: true}))
	require.Equal(t, sampleText, b.String())

	b.Reset()
	require.NoError(t, Text(&b, sampleReport(), TextOptions{Quiet: true, ASCII: true}))
	require.Equal(t, "failed | 1 broken requirement | 1 inconclusive | 1 recommendation | 1 passed | 1 not applicable | 1 fault of the suite\nexit 1\n", b.String())

	b.Reset()
	require.NoError(t, Text(&b, sampleReport(), TextOptions{}))
	require.Equal(t, sampleScreen, b.String())
	b.Reset()
	require.NoError(t, Text(&b, sampleReport(), TextOptions{Color: true}))
	require.Contains(t, b.String(), "  base             \x1b[32m✓\x1b[0m 1   \x1b[31m✗\x1b[0m 1\n")
	b.Reset()
	r := sampleReport()
	r.Again = []string{"mcpctl", "conform", "server", "-e", "A=b c"}
	require.NoError(t, Text(&b, r, TextOptions{Verbose: true}))
	require.Contains(t, b.String(), "again: mcpctl conform server -e 'A=b c' --only RPC-07/exclusive -- './my server' --flag\n")

	require.Error(t, Text(fullDisk{}, sampleReport(), TextOptions{}))
}

// TestText_OneScreen: without -v any number of failures fits on one screen: the worst, and
// the number of the others.
func TestText_OneScreen(t *testing.T) {
	t.Parallel()
	r := wideReport()
	for i := range 300 {
		res := r.Results[1+i%2]
		res.ID, res.Actual, res.Baseline = fmt.Sprintf("RPC-%d/x", i), strings.Repeat("é", i+1), conformance.BaselineNone
		r.Results = append(r.Results, res)
	}
	blocked := r.Results[1]
	blocked.ID, blocked.Status, blocked.Reason, blocked.Baseline = "RPC-999/blocked", conformance.Skip, conformance.SkipPrerequisite, conformance.BaselineNone
	r.Results = append(r.Results, blocked)
	var b bytes.Buffer
	require.NoError(t, Text(&b, r, TextOptions{}))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.LessOrEqual(t, len(lines), 60)
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 200, line)
	}
	require.Regexp(t, `(?m)^  and \d+ more: -v shows them all$`, b.String())
	require.Regexp(t, `\nfix first: .*\nnext: mcpctl conform server :3000/mcp .*--only .* -v\nexit 1\n$`, b.String())

	b.Reset()
	r.Results = []conformance.Result{r.Results[0], blocked}
	r.Results[0].Baseline = conformance.BaselineNone
	require.NoError(t, Text(&b, r, TextOptions{}))
	require.Contains(t, b.String(), "– MUST RPC-999/blocked", "what keeps the run from a verdict is named")

	b.Reset()
	r.Results = []conformance.Result{wideReport().Results[1]}
	require.NoError(t, Text(&b, r, TextOptions{}))
	require.Contains(t, b.String(), "known: ")
	require.NotContains(t, b.String(), "next: ", "a known failure is nothing to do")
}

// TestText_Terminal: on a terminal of 80 columns and 24 lines a run without findings fits,
// and at the end of any other one sees what breaks a requirement, without advice.
func TestText_Terminal(t *testing.T) {
	t.Parallel()
	r := wideReport()
	sample := r.Results[0]
	sample.Baseline = conformance.BaselineNone
	r.Results, r.Target.Name = nil, "everything"
	for _, area := range strings.Fields("lifecycle base errors tools resources prompts completion content input tasks subscriptions logging caching utilities concurrency http stdio") {
		for _, revision := range r.Revisions {
			res := sample
			res.Area, res.ID, res.Revision = area, strings.ToUpper(area)+"-01/x", revision.Revision
			r.Results = append(r.Results, res)
		}
	}
	var b bytes.Buffer
	require.NoError(t, Text(&b, r, TextOptions{}))
	require.Contains(t, b.String(), "  ✓ lifecycle 2, base 2, ")
	require.LessOrEqual(t, screenLines(b.String()), screenHeight, b.String())

	for i := range 10 {
		res := sample
		res.ID, res.Status, res.Expected = fmt.Sprintf("BAD-%d/%s", i, strings.Repeat("x", i)), conformance.Fail, strings.Repeat("number ", i+1)
		res.Title, res.Actual = strings.Repeat("a title ", 8), "something else"
		res.Spec.Quote = strings.Repeat("Servers MUST do it. ", 10)
		r.Results = append(r.Results, res)
		res.ID, res.Status, res.Level = "ADVICE"+res.ID, conformance.Warn, conformance.Advice
		r.Results = append(r.Results, res)
		res.ID, res.Level = "SHOULD"+res.ID, conformance.Should
		r.Results = append(r.Results, res)
	}
	b.Reset()
	require.NoError(t, Text(&b, r, TextOptions{}))
	require.LessOrEqual(t, screenLines(b.String()), 60, b.String())
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.NotContains(t, strings.Join(lines[len(lines)-24:], "\n"), "! ")
	require.Contains(t, b.String(), "! advice: 10 checks, -v shows it\n")
	require.Equal(t, 10, strings.Count(b.String(), "✗ a title"))
}

// strangerReport is the report of a sound server that others wrote: it has advice in most
// areas, some broken recommendations, and many areas that do not apply.
func strangerReport() *conformance.Report {
	r := reportsample.Passed()
	sample := r.Results[0]
	r.Revisions = []conformance.RevisionReport{{Revision: mcp.Version(r.Target.Revision), Tools: 13, ReadOnly: 9}}
	r.Policy = conformance.Policy{SideEffects: "none"}
	r.Target = conformance.Target{
		Role: conformance.RoleServer, Name: "mcp-servers/everything", Version: "2.0.0", Revision: r.Target.Revision,
		Argv: strings.Fields("npx -y @modelcontextprotocol/server-everything stdio"),
	}
	r.Results = nil
	add := func(status conformance.Status, level conformance.Level, reason conformance.SkipReason, n int, areas string) {
		for _, area := range strings.Fields(areas) {
			for i := range n {
				res := sample
				res.Area, res.Status, res.Level, res.Reason = area, status, level, reason
				res.ID = fmt.Sprintf("%s-%d/%s-%d", strings.ToUpper(area), n, status, i)
				res.Title = fmt.Sprintf("title %d of %s: a cursor the server never gave is rejected with -32602", i, area)
				res.Expected, res.Actual = "error -32602", fmt.Sprintf("%s %d", area, i)
				r.Results = append(r.Results, res)
			}
		}
	}
	add(conformance.Pass, conformance.Must, "", 48, "lifecycle base errors tools resources prompts calls logging stdio")
	add(conformance.Pass, conformance.Must, "", 5, "completion content tasks concurrency")
	add(conformance.Warn, conformance.Advice, "", 10, "lifecycle base errors tools resources prompts calls logging")
	add(conformance.Warn, conformance.Should, "", 1, "base errors tools resources prompts logging stdio")
	add(conformance.Skip, conformance.Must, conformance.SkipNoFixture, 3, "input utilities")
	add(conformance.Skip, conformance.Must, conformance.SkipNotInRevision, 3, "subscriptions caching")
	add(conformance.Skip, conformance.Must, conformance.SkipTransport, 3, "http sse")
	add(conformance.Skip, conformance.Must, conformance.SkipNotDeclared, 3, "roots")
	return r
}

// TestText_Stranger: the run of a sound server leaves a line of the screen for the prompt of
// the shell, and shows what counts. Where something is broken, its area keeps a line.
func TestText_Stranger(t *testing.T) {
	t.Parallel()
	var plain, colored bytes.Buffer
	r := strangerReport()
	require.NoError(t, Text(&plain, r, TextOptions{}))
	require.LessOrEqual(t, screenLines(plain.String()), 23, plain.String())
	for _, want := range []string{
		"MCP conformance · mcp-servers/everything 2.0.0 · session 2025-11-25 · ",
		"0 of 13 tools were called: --side-effects read-only calls 9\n",
		"  ✓ lifecycle 48, base 48, ", "  ! lifecycle 10, base 11, ",
		"input, utilities (the tools they need are not there); subscriptions,", "! SHOULD ", "\n  and 4 more, and 80 checks of advice: -v shows them all\n", "\npassed · 0 broken", "\nnext: ", "\nexit 0\n",
	} {
		require.Contains(t, plain.String(), want, plain.String())
	}
	require.NoError(t, Text(&colored, r, TextOptions{Color: true}))
	require.Equal(t, plain.String(), sequences.ReplaceAllString(colored.String(), ""), "colors change no line")

	r.Results[0].Status = conformance.Fail
	plain.Reset()
	require.NoError(t, Text(&plain, r, TextOptions{}))
	require.Contains(t, plain.String(), "\n  lifecycle   ✓ 47  ! 10  ✗ 1\n  ✓ base 48, ", plain.String())
	lines := strings.Split(strings.TrimSpace(plain.String()), "\n")
	require.Contains(t, strings.Join(lines[len(lines)-23:], "\n"), "✗ title 0 of lifecycle")
}

func TestCalledText(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		policy string
		run    conformance.RevisionReport
	}{
		"3 of 7 tools called, 2 with examples":                           {"none", conformance.RevisionReport{Tools: 7, Called: 3, WithExamples: 2}},
		"3 of 7 tools called":                                            {"read-only", conformance.RevisionReport{Tools: 7, Called: 3}},
		"0 of 7 tools called":                                            {"all", conformance.RevisionReport{Tools: 7, ReadOnly: 2}},
		"0 of 3 tools were called: --side-effects read-only calls 2":     {"none", conformance.RevisionReport{Tools: 3, ReadOnly: 2}},
		"0 of 3 tools were called: --calls FILE names those that may be": {"none", conformance.RevisionReport{Tools: 3}},
		"": {"all", conformance.RevisionReport{Tools: -1}},
	} {
		r := &conformance.Report{Policy: conformance.Policy{SideEffects: tt.policy}, Revisions: []conformance.RevisionReport{{Tools: -1}, tt.run}}
		require.Equal(t, want, calledText(r))
	}
}
