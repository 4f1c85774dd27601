package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

const sampleGitHub = "### ✗ MCP conformance failed: every\\\\u202ething 2.0.0 (session 2025-11-25, stdio)\n\n" +
	"1 broken requirement, 1 inconclusive, 1 recommendation, 1 fault of the suite.\n\n" +
	"| | pass | fail | warn | inconclusive | n/a |\n|---|--:|--:|--:|--:|--:|\n" +
	"| base | 1 | **1** | 0 | 0 | 0 |\n| tools | 0 | 0 | 1 | 0 | 0 |\n| concurrency | 0 | 0 | 0 | 1 | 0 |\n" +
	"| store\\_artifact | 0 | 0 | 0 | 1 | 0 |\n| others | 0 | 0 | 0 | 0 | 1 |\n\n"

func TestGitHub(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, GitHub(&b, sampleReport()))
	require.Equal(t, sampleGitHub, b.String()[:min(len(sampleGitHub), b.Len())])
	require.Contains(t, b.String(), "- ✗ `RPC-07/exclusive` MUST: expected that of all, got both, with \\\\x1b\\[31mcolour")
	require.Contains(t, b.String(), " ([spec](https://modelcontextprotocol.io/specification/2025-11-25/basic#messages))\n")
	require.Contains(t, b.String(), "      → {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
	require.Contains(t, b.String(), "  `mcpctl conform server --only RPC-07/exclusive -- './my server' --flag`\n")

	require.Error(t, GitHub(fullDisk{}, sampleReport()))
	b.Reset()
	require.NoError(t, GitHub(&b, passedReport()))
	require.True(t, strings.HasPrefix(b.String(), "### ✓ MCP conformance passed"), b.String())
}

func TestGitHub_Limit(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	broken := r.Results[1]
	broken.Evidence = nil
	for range 40 {
		broken.Evidence = append(broken.Evidence, conformance.Frame{Data: bytes.Repeat([]byte("x"), 2000), Size: 2000})
	}
	for range 40 {
		r.Results = append(r.Results, broken)
	}
	var b bytes.Buffer
	require.NoError(t, GitHub(&b, r))
	require.Less(t, b.Len(), 1<<20)
	require.Contains(t, b.String(), "are not shown here: the summary is full.")
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, Annotations(&b, sampleReport()))
	require.Equal(t, `::error title=RPC-07/exclusive MUST::every response has exactly one of result and error: expected that of all, got both, with \x1b[31mcolour\x1b[0m
::warning title=UTIL-15/bad-cursor SHOULD::a cursor the server never gave is answered with -32602: expected error -32602, got result {}
::warning title=X-WIRE-12/pings MUST::200 pings sent at once are each answered once: the server closed the connection
::warning title=S0-STORE-02 MUST::the file equals the input byte for byte: disk full
`, b.String())

	r := sampleReport()
	for i := range 20 {
		broken := r.Results[1]
		broken.ID = "A,B:" + strings.Repeat("x", i)
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
