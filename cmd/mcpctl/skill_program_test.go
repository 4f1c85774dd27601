package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// The commands for skills against a server that shares no code with them: what is
// saved is what the server has, file by file.
func TestSkillsOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	if testing.Short() || testmain.Race {
		t.Skip("builds the reference server")
	}
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	samples, err := filepath.Abs("../../conformance/server/skills/sample")
	require.NoError(t, err)
	to := t.TempDir()
	mcpctl := func(args ...string) string {
		t.Helper()
		args = append(args, "--", filepath.Join(refserverFolder(t), "refserver"+suffix), "--families", "skills", "--skills", samples)
		run := exec.CommandContext(t.Context(), "mcpctl", args...)
		run.Dir = to
		var failed strings.Builder
		run.Stderr = &failed
		out, err := run.Output()
		require.NoError(t, err, "%s: %s", args, failed.String())
		return string(out)
	}
	listed := mcpctl("skill", "ls")
	require.Contains(t, listed, "change-review")
	require.Contains(t, listed, "release-notes")
	require.Contains(t, mcpctl("skill", "show", "change-review"), "# Review of a change")
	require.Contains(t, mcpctl("skill", "show", "-o", "raw", "release-notes", "templates/notes.md"), "## Mended")

	mcpctl("skill", "save", "--label", "here", "--to", to, "review/change-review")
	saved := 0
	want := os.DirFS(filepath.Join(samples, "review", "change-review"))
	require.NoError(t, filepath.WalkDir(to, func(name string, e fs.DirEntry, err error) error {
		_, inside, found := strings.Cut(filepath.ToSlash(name), "/change-review/")
		if err != nil || e.IsDir() || !found {
			return err
		}
		saved++
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		original, err := fs.ReadFile(want, inside)
		require.NoError(t, err)
		require.Equal(t, string(original), string(got), inside)
		return nil
	}))
	require.Equal(t, 3, saved)
}
