package github_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/github"
)

// Text of a server stays text.
func TestHostileText(t *testing.T) {
	t.Parallel()
	mark := github.Annotation{Kind: "error", Title: "a, b: 100%", Text: "x\n::error::y\x1b[0m", File: "a,b.json", Line: 3}
	require.Equal(t, "::error file=a%2Cb.json,line=3,title=a%2C b%3A 100%25::x␊::error::y␛[0m", mark.String())
	mark.File = ""
	require.Equal(t, "::error title=a%2C b%3A 100%25::x␊::error::y␛[0m", mark.String())
	require.Equal(t, "\\[x\\]\\(https&#58;//e\\) @\u200ball #\u200b1 \\<b\\> a\\|b &amp;lt;␊", github.Markdown("[x](https://e) @all #1 <b> a|b &lt;\n"))
}

func TestSummary(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "summary")
	require.NoError(t, github.AppendSummary(file, "one\n"))
	require.NoError(t, github.AppendSummary(file, "two\n"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(text))
	require.ErrorContains(t, github.AppendSummary(filepath.Join(file, "x"), ""), "the summary of the step was not written")
}
