package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// refserver is the reference server, built once for all tests.
var refserver struct {
	build  sync.Once
	folder string
	err    error
}

// refserverFolder returns a folder with the reference server in it.
func refserverFolder(t *testing.T) string {
	t.Helper()
	refserver.build.Do(func() {
		if refserver.folder, refserver.err = os.MkdirTemp("", "mcpctl-refserver"); refserver.err != nil { //nolint:usetesting // it outlives this test
			return
		}
		testmain.AtEnd(func() { _ = os.RemoveAll(refserver.folder) })
		to := refserver.folder + string(filepath.Separator)
		out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", to, "../refserver").CombinedOutput()
		if err != nil {
			refserver.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, refserver.err)
	return refserver.folder
}

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
	bin := refserverFolder(t)
	for name, least := range map[string]int{"README.md": 3, "docs/mcpctl.md": 8} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NotRegexp(t, "mainstay/cmd/[a-z]+@", string(text), "no release is published: a version cannot be installed")
		ran, folder := 0, t.TempDir()
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				if !strings.HasPrefix(line, "mcpctl ") || strings.HasPrefix(line, "mcpctl conform ") || strings.Contains(line, " npx ") || strings.Contains(line, firstLogin) {
					continue // TestFirstLogin has the last
				}
				ran++
				cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, "/tmp/", folder+"/"))
				cmd.Dir = root
				cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s%s", line, out)
			}
		}
		require.GreaterOrEqual(t, ran, least, name)
	}
}

// firstLogin is where the server of the README listens that wants a login.
const firstLogin = ":3000"

// The lines of the README and of the page about logins of persons with which a login is
// tried can be pasted: one starts a server, one logs in, one calls.
func TestFirstLogin(t *testing.T) {
	t.Parallel()
	if testing.Short() || testmain.Race {
		t.Skip("builds the reference server")
	}
	if runtime.GOOS == "windows" {
		t.Skip("a signal is sent")
	}
	bin := filepath.Join(refserverFolder(t), "refserver")
	for _, name := range []string{"README.md", "docs/authorization/person.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", name))
			require.NoError(t, err)
			var lines [][]string
			for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
				for line := range strings.Lines(block[1]) {
					if command, _, _ := strings.Cut(line, " #"); strings.Contains(line, firstLogin) {
						lines = append(lines, strings.Fields(strings.NewReplacer("go run ./cmd/", "", "&", "").Replace(command)))
					}
				}
			}
			require.Len(t, lines, 3)
			require.Equal(t, "refserver", lines[0][0])
			address := started(t, bin, lines[0][1:])
			folder := filepath.Join(t.TempDir(), "tokens")
			for _, words := range lines[1:] {
				require.Equal(t, "mcpctl", words[0])
				args := strings.Fields(strings.ReplaceAll(strings.Join(words[1:], " "), "127.0.0.1"+firstLogin, address))
				if args[0] == "auth" {
					args = append(args, "--no-browser")
				}
				code, stdout, stderr := as(t, "demo", folder, args...)
				require.Zero(t, code, stdout+stderr)
			}
		})
	}
}

// started starts a reference server on a free port in place of that of the README, and
// returns its address once it listens.
func started(t *testing.T, bin string, args []string) string {
	t.Helper()
	for i := range args {
		if args[i] == firstLogin {
			args[i] = ":0"
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, args...)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	drained := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		<-drained
		require.NoError(t, cmd.Wait())
	})
	for read := bufio.NewReader(log); ; {
		line, err := read.ReadString('\n')
		if err != nil {
			close(drained)
		}
		require.NoError(t, err)
		if found := regexp.MustCompile(`"listening","url":"http://(127\.0\.0\.1:[0-9]+)/mcp"`).FindStringSubmatch(line); found != nil {
			go func() {
				defer close(drained)
				_, _ = io.Copy(io.Discard, read)
			}()
			return found[1]
		}
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
