package mainstay_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestREADMESnippetsRun: every Go snippet of the README stands, line by line,
// in an example that is compiled and run.
func TestREADMESnippetsRun(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	files, err := filepath.Glob("*/example_test.go")
	require.NoError(t, err)
	var examples []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		examples = append(examples, unindented(string(text)))
	}
	blocks := goBlock.FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.True(t, standsIn(block[1], examples), "not in any example:\n%s", block[1])
	}
}

// The check can fail.
func TestREADMESnippetsCheckFails(t *testing.T) {
	t.Parallel()
	examples := []string{unindented("func Example() {\n\ta()\n\tb()\n}")}
	require.True(t, standsIn("a()\nb()\n", examples))
	require.False(t, standsIn("a()\nc()\n", examples))
	require.False(t, standsIn("b()\na()\n", examples))
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
