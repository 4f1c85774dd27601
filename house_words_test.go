//go:build !race

package mainstay_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const (
	mostColumns     = 100
	mostReadmeLines = 120
)

// inputs are folders with pages that are data: what programs are tried on.
var inputs = []string{"testdata", "node_modules", ".git", "fixtures", "artifacts"}

// clumsy are phrases that read as translated, each with what to say in its place.
var clumsy = []struct{ phrase, better string }{
	{`\b[Ww]hoever\b`, "callers that …"},
	{`\bwhat there is\b`, "the value"},
	{`\b(is|are|was|were) told\b`, "reports"},
	{`\b[Ss]ays so\b`, "reports"},
	{`\banew\b`, "again"},
	{`\bfor ever\b`, "forever"},
	{`\bby itself\b`, "automatically"},
	{`\bas (it|they) came\b`, "unchanged"},
	{`\bthe way of (a|the) call\b`, "the path of a call"},
	{`\bis the same when made again\b`, "is idempotent"},
	{`\b[Ss]tands? in\b`, "is in"},
	{`\bhow (a|the) (client|server|list)s? stands?\b`, "the status of"},
}

// TestMarkdownIsPlain holds the pages that people read: width, phrases, and the
// length of the README. Pages in docs/generated are written by programs.
func TestMarkdownIsPlain(t *testing.T) {
	t.Parallel()
	for _, page := range markdown(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, wordFaults(string(text)), page)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), mostReadmeLines)
}

// markdown lists the pages of the project.
func markdown(t *testing.T) []string {
	t.Helper()
	var pages []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(inputs, name):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md"):
			pages = append(pages, path)
		}
		return nil
	}))
	require.Contains(t, pages, "README.md")
	return pages
}

var unbreakable = regexp.MustCompile(`^(\[[^]]+\]: )?<?https?://\S+>?$|^!\[|^\|`)

// wordFaults lists what is wrong with a page, by line. Code is left out, and a row
// of a table or a line that is one address may be long.
func wordFaults(text string) []string {
	var faults []string
	code := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if n := utf8.RuneCountInString(line); n > mostColumns && !code && !unbreakable.MatchString(line) {
			faults = append(faults, fmt.Sprintf("line %d has %d columns", i+1, n))
		}
		if code {
			continue
		}
		for _, c := range clumsy {
			if found := regexp.MustCompile(c.phrase).FindString(line); found != "" {
				faults = append(faults, fmt.Sprintf("line %d: %q; say: %s", i+1, found, c.better))
			}
		}
	}
	return faults
}

func TestWordRulesCanFail(t *testing.T) {
	t.Parallel()
	require.Empty(t, wordFaults("A client retries.\n```\nwhoever\n```\nhttps://example.com/"+strings.Repeat("a", 100)))
	require.Equal(t, []string{"line 2 has 101 columns"}, wordFaults("\n"+strings.Repeat("é", 101)))
	require.Equal(t, []string{`line 1: "Whoever"; say: callers that …`, `line 1: "anew"; say: again`}, wordFaults("Whoever asks anew waits."))
	require.Len(t, wordFaults("It is told for ever, as it came, by itself."), 4)
}
