package suitetest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/mainstay-mcp/mainstay/conformance/report"
	"github.com/mainstay-mcp/mainstay/internal/reportsample"
)

// TestGitHub_Hostile: what the server said is text, whatever it says.
func TestGitHub_Hostile(t *testing.T) {
	t.Parallel()
	var b, page bytes.Buffer
	require.NoError(t, report.GitHub(&b, reportsample.Wide()))
	require.NoError(t, goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(b.Bytes(), &page))
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page.String(), -1) {
		require.True(t, m[1] == "https://example.com/run/1" || strings.HasPrefix(m[1], specSite), m[1])
	}
	require.NotContains(t, page.String(), "<script")
	prose := regexp.MustCompile(`(?s)<(pre|code).*?</(pre|code)>`).ReplaceAllString(page.String(), "") // in code nothing has a meaning
	require.NotContains(t, prose, "@all")
	require.NotContains(t, prose, "#1 ")
	require.NotContains(t, b.String(), "\x1b")
	require.Equal(t, 3*6, strings.Count(page.String(), "<td"), "no cell came from the server")
}
