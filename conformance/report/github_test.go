package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sampleGitHub = "### ✗ MCP conformance failed: every\\\\u202ething 2.0.0 (session 2025-11-25, stdio)\n\n" +
	"1 broken requirement, 1 inconclusive, 1 recommendation, 1 fault of the suite.\n\n" +
	"- ✗ **every response has exactly one of result and error** (`RPC-07/exclusive`, MUST, breaks every client): got both, with \\\\x1b\\[31mcolour\\\\x1b\\[0m\n" +
	"  sent `{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}` · \"All messages MUST follow JSON-RPC 2.0.\" · [spec](https://modelcontextprotocol.io/specification/2025-11-25/basic#messages)  \n" +
	"  `mcpctl conform server --only RPC-07/exclusive -- './my server' --flag`\n\n" +
	"- E **the file equals the input byte for byte** (`S0-STORE-02`, MUST): disk full\n" +
	"- ? **200 pings sent at once are each answered once** (`X-WIRE-12/pings`, MUST): the server closed the connection\n" +
	"- ! **a cursor the server never gave is answered with -32602** (`UTIL-15/bad-cursor`, SHOULD): expected error -32602, got result \\{\\}\n\n" +
	"| | pass | fail | warn | inconclusive | n/a |\n|---|--:|--:|--:|--:|--:|\n" +
	"| base | 1 | **1** |  |  |  |\n| others |  |  | 1 | 2 | 1 |\n\n"

func TestGitHub(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, GitHub(&b, sampleReport()))
	require.Equal(t, sampleGitHub, b.String()[:min(len(sampleGitHub), b.Len())])
	require.Error(t, GitHub(fullDisk{}, sampleReport()))
	b.Reset()
	require.NoError(t, GitHub(&b, passedReport()))
	require.True(t, strings.HasPrefix(b.String(), "### ✓ MCP conformance passed"), b.String())
}

// TestGitHub_Limit: a summary has at most 60 lines, whatever was found.
func TestGitHub_Limit(t *testing.T) {
	t.Parallel()
	r := manyFindings(60)
	for i := range 60 {
		r.Results[i].Area = fmt.Sprintf("area %d", i)
	}
	var b bytes.Buffer
	require.NoError(t, GitHub(&b, r))
	require.LessOrEqual(t, strings.Count(b.String(), "\n"), 60, b.String())
	require.Contains(t, b.String(), "- 51 more are in the other reports\n")
	require.Less(t, b.Len(), 1<<20)
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, Annotations(&b, sampleReport()))
	require.Equal(t, `::error title=RPC-07/exclusive MUST::every response has exactly one of result and error: got both, with \x1b[31mcolour\x1b[0m
::warning title=S0-STORE-02 MUST::the file equals the input byte for byte: disk full
::warning title=X-WIRE-12/pings MUST::200 pings sent at once are each answered once: the server closed the connection
::warning title=UTIL-15/bad-cursor SHOULD::a cursor the server never gave is answered with -32602: expected error -32602, got result {}
`, b.String())

	r := sampleReport()
	for i := range 20 {
		broken := r.Results[1]
		broken.ID, broken.Scenario = "A,B:"+strings.Repeat("x", i), strings.Repeat("x", i)
		broken.Actual = "100%\n::error::x"
		r.Results = append(r.Results, broken)
	}
	b.Reset()
	require.NoError(t, Annotations(&b, r))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 10)
	require.Equal(t, "::warning title=MCP conformance::15 more findings are in the report", lines[9])
	require.Contains(t, lines[1], "title=A%2CB%3A MUST::")
	require.Contains(t, lines[1], "100%25 ::error::x")
}
