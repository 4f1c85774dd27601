package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The lines of the README can be pasted: those of mcpctl that need no network are
// run here, in a shell. What conform prints is tested where the suite is.
func TestREADMELinesRun(t *testing.T) {
	t.Parallel()
	if testing.Short() || raced {
		t.Skip("builds the reference server")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the lines are for a shell")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.NotRegexp(t, "mainstay/cmd/[a-z]+@", string(readme), "no release is published: a version cannot be installed")
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../refserver")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	ran := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(readme), -1) {
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
	require.GreaterOrEqual(t, ran, 3)
}
