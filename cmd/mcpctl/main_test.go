package main

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/completion"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	testmain.Begin()
	for _, kept := range []string{connect.EraStore, connect.ProxyCache, completion.Store} {
		if _, set := os.LookupEnv(kept); !set { // a script's programs start here too
			_ = os.Setenv(kept, "off")
		}
	}
	testscript.Main(checked{m}, map[string]func(){"mcpctl": main, "fakeserver": fakeMain, "xdg-open": browserMain, "payserver": pay})
}

// checked are the tests as every package runs them.
type checked struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (c checked) Run() int { return testmain.Check(c.m) }

// atOnce are the scripts in which a program does several things at once: they
// run under the race detector, too.
var atOnce = map[string]bool{
	"call.txtar": true, "events.txtar": true, "stubborn.txtar": true, "hang.txtar": true, "dies-in-call.txtar": true,
	"traces.txtar": true, "client.txtar": true, "info.txtar": true, "rpc.txtar": true,
}

// TestScripts runs the folders of scripts. Each has a fake server over HTTP at
// $URL, the program fakeserver, and the commands below.
func TestScripts(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/script/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
			if err != nil || len(scripts) == 0 {
				t.Fatal("no scripts", err)
			}
			if testmain.Race { // what differs between them is what is said, not which goroutines say it
				scripts = slices.DeleteFunc(scripts, func(name string) bool { return !atOnce[filepath.Base(name)] })
			}
			testscript.Run(t, testscript.Params{
				Files:               scripts,
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Setup:               setup,
				Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "sent": sent},
			})
		})
	}
}

func setup(env *testscript.Env) error {
	name := filepath.Join(env.WorkDir, "frames")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	server := httptest.NewServer(fakeHTTP(&lockedWriter{f: file}))
	env.Setenv("URL", server.URL)
	env.Setenv("CLOSED", "http://127.0.0.1:1") // nobody is there, nor will be
	env.Setenv("FRAMES", name)
	env.Setenv("ESC", "\x1b")
	generated, err := filepath.Abs("testdata/fakeserver/tools.go")
	if err != nil {
		return err
	}
	env.Setenv("GENERATED", generated)
	env.Setenv("GORACE", os.Getenv("GORACE"))
	env.Setenv(connect.ProxyCache, "off")
	env.Setenv(completion.Store, "off")
	env.Setenv(connect.EraStore, "off") // else a script's first run would decide what its second sends
	env.Defer(func() {
		server.CloseClientConnections()
		server.Close()
		_ = file.Close()
	})
	return nil
}

type lockedWriter struct {
	mu sync.Mutex
	f  *os.File
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.f.Write(p)
}

// exits runs a program and compares its exit status: exits STATUS PROGRAM ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// sent counts the frames a fake server got: sent COUNT TEXT; COUNT may be
// "some".
func sent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sent COUNT TEXT")
	}
	got := 0
	for line := range strings.Lines(ts.ReadFile(ts.Getenv("FRAMES"))) {
		if strings.Contains(line, args[1]) {
			got++
		}
	}
	if (args[0] == "some" && got == 0) || (args[0] != "some" && args[0] != strconv.Itoa(got)) {
		ts.Fatalf("%d frames have %q, want %s", got, args[1], args[0])
	}
}
