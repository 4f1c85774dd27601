package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// walkPage is the page whose stories are run here, and the names in it that another
// machine has others for.
const (
	walkPage    = "conformance/families/docs/walk-through.md"
	walkAddress = "127.0.0.1:8090"
	walkPort    = ":8090"
	walkFolder  = "/tmp/walk"
)

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// step is one command of the page, and what the page says that it prints. "…", with
// the white space around it, is any text.
type step struct {
	command, printed string
}

// steps returns the commands of a page in order.
func steps(page string) []step {
	var all []step
	for _, block := range consoleBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, step{command: command})
				continue
			}
			last := &all[len(all)-1]
			if more, ok := strings.CutPrefix(line, ">"); ok && last.printed == "" { // as shells ask for more
				last.command += strings.TrimPrefix(more, " ")
				continue
			}
			last.printed += line
		}
	}
	return all
}

// prints reports whether out is what the page says.
func (s step) prints(out string) bool {
	parts := strings.Split(strings.TrimSpace(s.printed), "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(strings.TrimSpace(out))
}

// TestWalk runs every line of the stories in conformance/families/docs/walk-through.md, in order, as a reader
// would paste them, and compares what they print with the page.
func TestWalk(t *testing.T) {
	t.Parallel()
	if testing.Short() || testmain.Race {
		t.Skip("builds mcpctl")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the lines are for a shell")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, walkPage))
	require.NoError(t, err)
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asProgram, self)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "refserver"), []byte(program), 0o700))
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	w := &walk{t: t, root: root, bin: bin, address: address, variables: filepath.Join(t.TempDir(), "variables"), here: strings.NewReplacer(
		"go run ./cmd/refserver", "refserver", walkAddress, address, walkPort, ":"+port, walkFolder, t.TempDir())}
	all := steps(string(page))
	require.GreaterOrEqual(t, len(all), 25)
	for _, s := range all {
		w.run(s)
	}
}

// walk runs steps in the project's folder.
type walk struct {
	t         *testing.T
	root, bin string
	address   string
	variables string // the file that keeps those of the shell between steps
	here      *strings.Replacer
	server    *exec.Cmd
}

func (w *walk) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), "PATH="+w.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOBIN="+w.bin, "GOWORK=", "VARIABLES="+w.variables, "MCPCTL_AUTH_DIR="+filepath.Join(filepath.Dir(w.variables), "tokens"))
	return cmd
}

// run runs one step. A command that ends in & is a server, which takes the place of
// the one before.
func (w *walk) run(s step) {
	w.t.Helper()
	s = step{w.here.Replace(s.command), w.here.Replace(s.printed)}
	if line, ok := strings.CutSuffix(strings.TrimSpace(s.command), " &"); ok {
		w.serve(line)
		return
	}
	kept := "set -a; . \"$VARIABLES\" 2>/dev/null\n" + s.command + "\nrc=$?; declare -x > \"$VARIABLES\"; printf 'cd %q\\n' \"$PWD\" >> \"$VARIABLES\"; exit $rc"
	out, err := w.command(w.t.Context(), kept).CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(w.t, err, &exit, s.command) // its output shows whether the page expects that
	}
	require.True(w.t, s.prints(string(out)), "$ %s\nprinted:\n%s\nthe page says:\n%s", s.command, out, s.printed)
}

// serve starts the server of line, and waits until it listens.
func (w *walk) serve(line string) {
	w.t.Helper()
	w.stop()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	w.server = w.command(ctx, `. "$VARIABLES" 2>/dev/null; exec `+line)
	require.NoError(w.t, w.server.Start())
	w.t.Cleanup(w.stop)
	require.Eventually(w.t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.address)
		return err == nil && conn.Close() == nil
	}, 5*time.Minute, 10*time.Millisecond, "it does not listen: %s", line)
}

// stop ends the server as Ctrl-C does.
func (w *walk) stop() {
	if w.server == nil {
		return
	}
	_ = w.server.Process.Signal(os.Interrupt)
	_ = w.server.Wait() // the server was ended
	w.server = nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// The comparison can fail.
func TestWalkComparesWhatIsPrinted(t *testing.T) {
	t.Parallel()
	all := steps("text\n```console\n$ one \\\n>   --two\n{\"a\":1,…,\"z\":2}\n$ silent\n```\n```sh\nnot this\n```\n")
	require.Equal(t, []step{{"one \\\n  --two\n", "{\"a\":1,…,\"z\":2}\n"}, {"silent\n", ""}}, all)
	require.True(t, all[0].prints("{\"a\":1,\"b\":[\n],\"z\":2}\n"))
	require.False(t, all[0].prints("{\"a\":1,\"z\":3}"))
	require.False(t, all[0].prints("warning\n{\"a\":1,\"b\":1,\"z\":2}"))
	require.False(t, all[1].prints("something"))
}
