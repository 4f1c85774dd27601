package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

const sampleScreen = `MCP conformance · every\u202ething 2.0.0 · -- './my server' --flag · session 2025-11-25
side effects: all (granted by the server) · 8.1 s

  base             ✓ 1   ✗ 1
  tools            ! 1
  concurrency      ? 1
  store_artifact   E 1
  – http (of another transport)

✗ MUST   RPC-07/exclusive  every response has exactly one of result and error
         expected that of all, got both, with \x1b[31mcolour\x1b[0m
E MUST   S0-STORE-02  the file equals the input byte for byte
         disk full
? MUST   X-WIRE-12/pings  200 pings sent at once are each answered once
         the server closed the connection
! SHOULD UTIL-15/bad-cursor  a cursor the server never gave is answered with -32602
         expected error -32602, got result {}

failed · 1 broken requirement · 1 inconclusive · 1 recommendation · 1 passed · 1 not applicable · 1 fault of the suite
next: mcpctl conform server --only RPC-07/exclusive -v -- './my server' --flag
exit 1
`

const sampleText = `MCP conformance · every\u202ething 2.0.0 · -- './my server' --flag · session 2025-11-25
side effects: all (granted by the server) · 8.1 s

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
		res.ID, res.Actual, res.Baseline = fmt.Sprintf("RPC-%d/x", i), strings.Repeat("é", 2000), conformance.BaselineNone
		r.Results = append(r.Results, res)
	}
	blocked := r.Results[1]
	blocked.ID, blocked.Status, blocked.Reason, blocked.Baseline = "RPC-999/blocked", conformance.Skip, conformance.SkipPrerequisite, conformance.BaselineNone
	r.Results = append(r.Results, blocked)
	var b bytes.Buffer
	require.NoError(t, Text(&b, r, TextOptions{}))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.LessOrEqual(t, len(lines), 45)
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 200, line)
	}
	require.Regexp(t, `(?m)^  and \d+ more: -v shows them all$`, b.String())
	require.NotContains(t, b.String(), "UTIL-15/bad-cursor", "a recommendation comes after 300 broken requirements")
	require.Contains(t, b.String(), "\nnext: mcpctl conform server :3000/mcp --spec 2026-07-28 --only RPC-01/version -v\n")

	b.Reset()
	r.Results = []conformance.Result{r.Results[0], blocked}
	r.Results[0].Baseline = conformance.BaselineNone
	require.NoError(t, Text(&b, r, TextOptions{}))
	require.Contains(t, b.String(), "– MUST   RPC-999/blocked", "what keeps the run from a verdict is named")

	b.Reset()
	r.Results = []conformance.Result{wideReport().Results[1]}
	require.NoError(t, Text(&b, r, TextOptions{}))
	require.Contains(t, b.String(), "known: ")
	require.NotContains(t, b.String(), "next: ", "a known failure is nothing to do")
}
