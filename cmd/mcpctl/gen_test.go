package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/testdata/fakeserver"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// TestGeneratedCode calls the tools of the fake server with the code that mcpctl gen go has
// written for it; the script gen.txtar checks that it is the code of now.
func TestGeneratedCode(t *testing.T) {
	t.Parallel()
	c, err := client.Dial(t.Context(), serve(t, io.Discard)+"/mcp")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	tools := fakeserver.Server{Caller: c}

	echo, err := tools.Echo(t.Context(), fakeserver.EchoInput{Message: "hi"})
	require.NoError(t, err)
	require.Equal(t, "Echo: hi", echo.Text())

	sum, err := tools.Add(t.Context(), fakeserver.AddInput{A: 1, B: 2, Mode: new(fakeserver.AddInputModeExact), Tags: []string{"x"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"z":1.0,"sum":9007199254740993}`, string(sum.StructuredContent))

	failed, err := tools.Fail(t.Context(), fakeserver.FailInput{})
	require.Nil(t, failed)
	require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(err))
	require.ErrorContains(t, err, "it did not work")

	_, err = tools.Badout(t.Context(), fakeserver.BadoutInput{"n": "seven"})
	require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err), "n is no integer")
	out, err := tools.Badout(t.Context(), fakeserver.BadoutInput{"n": 7})
	require.NoError(t, err)
	require.Equal(t, fakeserver.BadoutOutput{N: 7}, out)

	free, err := tools.Any(t.Context(), fakeserver.AnyInput{"x": 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"x":1}`, string(free.StructuredContent))
}

// A build that has the old file open reads the old text to its end.
func TestReplaceFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, old := filepath.Join(dir, "tools.go"), filepath.Join(dir, "old")
	require.NoError(t, replaceFile(name, []byte("one")))
	require.NoError(t, os.Link(name, old))
	require.NoError(t, replaceFile(name, []byte("two")))
	for path, want := range map[string]string{name: "two", old: "one"} {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), path)
	}
	require.Error(t, replaceFile(filepath.Join(dir, "none", "tools.go"), nil))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "nothing is left beside the file")
}

func TestReplaceFile_KeepsModeAndLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there links need a privilege, and modes have no bits")
	}
	dir := t.TempDir()
	name, link := filepath.Join(dir, "tools.go"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, os.Symlink(name, link))
	require.NoError(t, replaceFile(link, []byte("new")))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
	info, err := os.Lstat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}
