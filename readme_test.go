package mainstay_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestSnippetsRun: every Go snippet of the README, of the page about document tools and of the pages
// about logins is, line by line, part of an example that is compiled and run.
func TestSnippetsRun(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/authorization/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	files, err := filepath.Glob("*/example*_test.go")
	require.NoError(t, err)
	files = append(files, "auth/keychain/example_test.go")
	var examples []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		examples = append(examples, unindented(string(text)))
	}
	for _, page := range append(pages, "README.md", "docs/authorization.md", "conformance/families/docs/document-tools.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		blocks := goBlock.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks, page)
		for _, block := range blocks {
			require.True(t, standsIn(block[1], examples), "%s: not in any example:\n%s", page, block[1])
		}
	}
}

// The check can fail.
func TestSnippetsCheckFails(t *testing.T) {
	t.Parallel()
	examples := []string{unindented("func Example() {\n\ta()\n\tb()\n}")}
	require.True(t, standsIn("a()\nb()\n", examples))
	require.False(t, standsIn("a()\nc()\n", examples))
	require.False(t, standsIn("b()\na()\n", examples))
}

// TestErrorsOfPages: what the pages about logins quote of errors is in the code.
func TestErrorsOfPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/authorization/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	var code strings.Builder
	require.NoError(t, filepath.WalkDir("auth", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	}))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, notQuoted(string(text), code.String()), page)
	}
	require.Equal(t, []string{"c d"}, notQuoted("| the error says |\n|---|\n| `a … b` | `x` |\n| `c d` |\n\n| other |\n| `e` |\n", "a, then b, then c and d"))
}

// errorCode is what an authorization server names an error with: they are not ours.
var errorCode = regexp.MustCompile("^[a-z]+(_[a-z]+)+$")

// notQuoted lists what the tables of errors in a page quote, and the code has not.
func notQuoted(page, code string) []string {
	var missing []string
	for _, table := range strings.Split(page, "| the error says |")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(table, -1) {
			for _, part := range strings.Split(row[1], "…") {
				if part = strings.TrimSpace(part); !errorCode.MatchString(part) && !strings.Contains(code, part) {
					missing = append(missing, part)
				}
			}
		}
	}
	return missing
}

func standsIn(snippet string, examples []string) bool {
	want := unindented(snippet)
	for _, example := range examples {
		if strings.Contains(example, want) {
			return true
		}
	}
	return false
}

// unindented drops the indentation, which differs between a README and a
// function's body.
func unindented(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n") + "\n"
}
