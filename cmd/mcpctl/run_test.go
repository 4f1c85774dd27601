package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// outcome is a run in this process.
type outcome struct {
	code     int
	out, err string
}

// inProcess runs the program without a process, on a terminal or not.
func inProcess(ctx context.Context, terminal bool, args ...string) outcome {
	var out, err bytes.Buffer
	code := run(ctx, args, console.Streams{
		In: strings.NewReader(""), Out: &out, Err: &err, OutTerminal: terminal, ErrTerminal: terminal, Width: 80,
		Env: func(name string) (string, bool) {
			if name == "NO_COLOR" {
				return "1", true
			}
			return "", false
		},
	})
	return outcome{code, out.String(), err.String()}
}

func serve(t *testing.T, frames io.Writer) string {
	t.Helper()
	server := httptest.NewServer(fakeHTTP(frames))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL
}

// On a terminal no control character of a server passes, in any form.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	for _, command := range [][]string{
		{"call", url, "hostile"},
		{"ls", url},
		{"ls", "-l", url},
		{"describe", url, "hostile"},
		{"info", url},
		{"rpc", url, "tools/list", "cursor=2"},
		{"snapshot", url},
		{"lint", "--fail-on", "none", url},
	} {
		for _, format := range []string{console.Human, console.JSON, console.NDJSON, console.Raw} {
			got := inProcess(t.Context(), true, append(command, "-o", format)...)
			require.Zero(t, got.code, "%v: %s", command, got.err)
			require.NotEmpty(t, got.out)
			said := strings.ReplaceAll(got.err, "\r\x1b[K", "") // our own status line, where the machine is slow
			for _, r := range got.out + said {
				bad := r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
				require.Falsef(t, bad, "%U in %v -o %s: %q", r, command, format, got.out)
			}
		}
	}
}

func TestTerminalLists(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	got := inProcess(t.Context(), true, "ls", "all", url, "--grep", "^(echo|greet)$")
	require.Equal(t, "tools\n  echo  Says it again\nprompts\n  greet  A greeting\n", got.out)
	got = inProcess(t.Context(), true, "ls", "-l", url, "--grep", "^echo$")
	require.Equal(t, "echo(message: string)\n    only reads; stays within the server\n    Says it again\n", got.out)
	got = inProcess(t.Context(), true, "info", url)
	require.Contains(t, got.out, "name          fake\n")
	require.Contains(t, got.out, "\n\nBe␛[31m nice\n")
}

// The reader of the output may leave at any time.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"ls", "-q", url}, console.Streams{
		In: strings.NewReader(""), Out: leaver{}, Err: &stderr, Env: func(string) (string, bool) { return "", false },
	})
	require.Equal(t, 141, code)
	require.Empty(t, stderr.String(), "nobody is left to be told")
}

// The limit of a run may pass between two pages of a list, here because the reader of the
// first is slow: nothing is under way then, and the address is right.
func TestMaxTimeBetweenPages(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	var stderr bytes.Buffer
	frames := &watcher{}
	code := run(t.Context(), []string{"ls", "-o", "raw", "--max-time", limit.String(), serve(t, frames) + "/mcp"}, console.Streams{
		In: strings.NewReader(""), Out: slowReader(limit), Err: &stderr, Env: func(string) (string, bool) { return "", false },
	})
	require.Equal(t, failure.KindUnavailable.ExitCode(), code, stderr.String())
	require.Contains(t, stderr.String(), "no answer within 2s, the limit for the whole run")
	require.Equal(t, 1, frames.count("tools/list"), "the second page was not asked for")
}

// slowReader takes this long for each write.
type slowReader time.Duration

func (s slowReader) Write(p []byte) (int, error) {
	<-time.After(time.Duration(s))
	return len(p), nil
}

type leaver struct{}

func (leaver) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

// watcher calls a function once a frame with a text has come.
type watcher struct {
	mu     sync.Mutex
	text   string
	do     func()
	frames strings.Builder
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frames.Write(p)
	if w.do != nil && strings.Contains(string(p), w.text) {
		w.do()
		w.do = nil
	}
	return len(p), nil
}

func (w *watcher) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.frames.String(), text)
}

func TestInterruptOverHTTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cause error
		code  int
	}{{failure.ErrInterrupted, 130}, {failure.ErrTerminated, 143}, {failure.ErrHangup, 129}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &watcher{text: "tools/call", do: func() { cancel(tt.cause) }}
		url := serve(t, w) + "/mcp"
		got := inProcess(ctx, false, "call", url, "hang")
		require.Equal(t, tt.code, got.code, got.err)
		require.Equal(t, 1, w.count(`"method":"tools/call"`))
		require.Equal(t, 1, w.count("notifications/cancelled"), "one cancellation")
		cancel(nil)
	}
}

// The keyboard is not read without leave, and not without saying so.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	typed := func(args ...string) outcome {
		var out, err bytes.Buffer
		code := run(t.Context(), args, console.Streams{
			In: strings.NewReader(`{"message":"typed"}`), Out: &out, Err: &err, InTerminal: true,
			Env: func(string) (string, bool) { return "", false },
		})
		return outcome{code, out.String(), err.String()}
	}
	got := typed("call", url, "echo", "--json", "-")
	require.Equal(t, "Echo: typed\n", got.out)
	require.Equal(t, "reading standard input; end it with Ctrl-D\n", got.err)
	got = typed("call", url, "echo", "--json", "-", "--no-input")
	require.Equal(t, 2, got.code)
}

// An error about a certificate names it, in every command alike, and
// so is a server without TLS.
func TestCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(fakeHTTP(io.Discard))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	plain := strings.Replace(serve(t, io.Discard), "http://", "https://", 1)
	for _, command := range [][]string{{"ping"}, {"conform", "server"}} {
		got := inProcess(t.Context(), false, append(command, server.URL+"/mcp")...)
		require.Equal(t, failure.KindUnreachable.ExitCode(), got.code, got.err)
		require.Contains(t, got.err, "the certificate of "+strings.TrimPrefix(server.URL, "https://")+" is not trusted: x509: ")
		require.Contains(t, got.err, "--cacert FILE")
		require.NotContains(t, got.err, "closed the connection")
		got = inProcess(t.Context(), false, append(command, plain+"/mcp")...)
		require.Equal(t, failure.KindUnreachable.ExitCode(), got.code, got.err)
		require.Contains(t, got.err, "does not use TLS")
		require.Contains(t, got.err, "http://")
	}
}

// NO_COLOR turns the colours of a terminal off, whatever its value is, and --color turns them on.
func TestNoColor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		set   bool
		flag  string
		color bool
	}{
		"a terminal":              {false, "auto", true},
		"NO_COLOR":                {true, "auto", false},
		"NO_COLOR and the flag":   {true, "always", true},
		"a terminal and the flag": {false, "never", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, err bytes.Buffer
			code := run(t.Context(), []string{"lst", "--color", row.flag}, console.Streams{
				In: strings.NewReader(""), Out: &out, Err: &err, OutTerminal: true, ErrTerminal: true, Width: 80,
				Env: func(name string) (string, bool) { return "1", row.set && name == "NO_COLOR" },
			})
			require.Equal(t, failure.KindUsage.ExitCode(), code)
			require.Equal(t, row.color, strings.Contains(err.String(), "\x1b["), err.String())
		})
	}
}

// TestAllowTool: a tool that the server does not have is said to be none.
func TestAllowTool(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	got := inProcess(t.Context(), false, "conform", "server", url, "--spec", "2025-11-25", "--only", "RPC-01/order", "--allow-tool", "echo", "--allow-tool", "ecko", "-o", "json")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "--allow-tool ecko: the server has no such tool")
	require.NotContains(t, got.err, "--allow-tool echo:")
	got = inProcess(t.Context(), false, "conform", "server", url, "--spec", "2025-11-25", "--only", "RPC-01/order", "--allow-tool", "ecko", "-q")
	require.Empty(t, got.err)
}

// TestTokensOfFiles: tokens for the suite come from files, and are not shown.
func TestTokensOfFiles(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	token, empty := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(token, []byte("t0ken-of-the-file\n"), 0o600))
	require.NoError(t, os.WriteFile(empty, []byte(" \n"), 0o600))
	for _, option := range []string{"--weak-token", "--wrong-audience-token"} {
		args := []string{"conform", "server", url, "--spec", "2025-11-25", "--only", "AUTH-18", "--only", "AUTH-21", "--dry-run", "-v", option}
		got := inProcess(t.Context(), false, append(args, "@"+token)...)
		require.Zero(t, got.code, got.err)
		require.NotContains(t, got.out+got.err, "t0ken")
		for given, says := range map[string]string{"t0ken": "takes a file", "@" + token + ".none": "no such file", "@" + empty: "there is no token"} {
			got = inProcess(t.Context(), false, append(args, given)...)
			require.Equal(t, failure.KindUsage.ExitCode(), got.code)
			require.Contains(t, got.err, says)
			require.NotContains(t, got.err, "t0ken-of")
		}
	}
}

// TestConformProgress: on a terminal a run says from the first moment what it does;
// in a pipe standard error is empty.
func TestConformProgress(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	args := []string{"conform", "server", url, "--spec", "2025-11-25", "--only", "RPC-01"}
	got := inProcess(t.Context(), true, args...)
	require.Zero(t, got.code, got.out)
	require.True(t, strings.HasPrefix(got.err, "\r\x1b[Kconform · 0 s · starting"), "%q", got.err)
	require.True(t, strings.HasSuffix(got.err, "\r\x1b[K"), "%q", got.err)
	got = inProcess(t.Context(), false, args...)
	require.Zero(t, got.code, got.out)
	require.Empty(t, got.err)
}

// TestFlagsStayInGroups: help lists flags in the order of their registration, for
// the program and for its commands.
func TestFlagsStayInGroups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, flags []string }{
		{nil, []string{"--server ", "--header ", "--env ", "--timeout ", "--output "}},
		{[]string{"call"}, []string{"--json ", "--dry-run ", "--save ", "--retry "}},
	} {
		help := inProcess(t.Context(), false, append(tt.args, "--help")...).out
		at := -1
		for _, flag := range tt.flags {
			next := strings.Index(help, "    "+flag)
			if next < 0 {
				next = strings.Index(help, ", "+flag)
			}
			require.Greater(t, next, at, "%v: %s\n%s", tt.args, flag, help)
			at = next
		}
	}
}

// TestStandardInputIsForbidden: --no-input is the reason that is given.
func TestStandardInputIsForbidden(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"call", "http://127.0.0.1:1/mcp", "echo", "--json", "-", "--no-input"}, console.Streams{
		In: strings.NewReader("{}"), Out: io.Discard, Err: &stderr, InTerminal: true,
		Env: func(string) (string, bool) { return "", false },
	})
	require.Equal(t, 2, code)
	require.Contains(t, stderr.String(), "--no-input")
}
