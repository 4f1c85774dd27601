package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The lines of the README and of the page about mcpctl can be pasted: those that
// need no network are run here, in a shell. The suite tests what conform prints.
func TestDocumentedLinesRun(t *testing.T) {
	t.Parallel()
	if testing.Short() || testmain.Race {
		t.Skip("builds the reference server")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the lines are for a shell")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../refserver")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for name, least := range map[string]int{"README.md": 3, "docs/mcpctl.md": 8} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NotRegexp(t, "mainstay/cmd/[a-z]+@", string(text), "no release is published: a version cannot be installed")
		ran := 0
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				if !strings.HasPrefix(line, "mcpctl ") || strings.HasPrefix(line, "mcpctl conform ") || strings.Contains(line, " npx ") {
					continue
				}
				ran++
				cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, "/tmp/", t.TempDir()+"/"))
				cmd.Dir = root
				cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s%s", line, out)
			}
		}
		require.GreaterOrEqual(t, ran, least, name)
	}
}

// TestExitCodesAreDocumented: the table of the page has the codes of the program.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mcpctl.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| ([0-9]+) \\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 13)
	for _, row := range rows {
		require.Equal(t, row[1], strconv.Itoa(failure.Kind(row[2]).ExitCode()), row[2])
	}
}
