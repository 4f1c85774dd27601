package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// outcome is a run in this process.
type outcome struct {
	code     int
	out, err string
}

// inProcess runs the program without a process, on a terminal or not.
func inProcess(ctx context.Context, terminal bool, args ...string) outcome {
	var out, err bytes.Buffer
	code := run(ctx, args, streams{
		in: strings.NewReader(""), out: &out, err: &err, outTerminal: terminal, errTerminal: terminal, width: 80,
		env: func(name string) (string, bool) {
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
		{"call", url, "hostile"}, {"ls", url}, {"ls", "-l", url}, {"describe", url, "hostile"}, {"info", url}, {"rpc", url, "tools/list", "cursor=2"},
	} {
		for _, format := range []string{formatHuman, formatJSON, formatNDJSON, formatRaw} {
			got := inProcess(t.Context(), true, append(command, "-o", format)...)
			require.Zero(t, got.code, "%v: %s", command, got.err)
			require.NotEmpty(t, got.out)
			for _, r := range got.out + got.err {
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
	require.Equal(t, "echo(message: string)\n    only reads; stays inside\n    Says it again\n", got.out)
	got = inProcess(t.Context(), true, "info", url)
	require.Contains(t, got.out, "name          fake\n")
	require.Contains(t, got.out, "\n\nBe␛[31m nice\n")
}

// The reader of the output may leave at any time.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"ls", url}, streams{
		in: strings.NewReader(""), out: leaver{}, err: &stderr, env: func(string) (string, bool) { return "", false },
	})
	require.Equal(t, 141, code)
	require.Empty(t, stderr.String(), "nobody is left to be told")
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
	}{{errInterrupted, 130}, {errTerminated, 143}, {errHangup, 129}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &watcher{text: "tools/call", do: func() { cancel(tt.cause) }}
		url := serve(t, w) + "/mcp"
		got := inProcess(ctx, false, "call", url, "hang")
		require.Equal(t, tt.code, got.code, got.err)
		require.Equal(t, 1, w.count(`"method":"tools/call"`))
		require.Equal(t, 1, w.count("notifications/cancelled"), "the server is told")
		cancel(nil)
	}
}

// The keyboard is not read without leave, and not without saying so.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	typed := func(args ...string) outcome {
		var out, err bytes.Buffer
		code := run(t.Context(), args, streams{
			in: strings.NewReader(`{"message":"typed"}`), out: &out, err: &err, inTerminal: true,
			env: func(string) (string, bool) { return "", false },
		})
		return outcome{code, out.String(), err.String()}
	}
	got := typed("call", url, "echo", "--json", "-")
	require.Equal(t, "Echo: typed\n", got.out)
	require.Equal(t, "reading from the keyboard, end with Ctrl-D\n", got.err)
	got = typed("call", url, "echo", "--json", "-", "--no-input")
	require.Equal(t, 2, got.code)
}

func TestServerURL(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"https://x/mcp": "https://x/mcp", "http://x:1": "http://x:1", ":3000/mcp": "http://localhost:3000/mcp",
		"localhost:3000/mcp": "http://localhost:3000/mcp", ":3000": "http://localhost:3000",
	} {
		got, err := serverURL(typed)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, typed := range []string{"@x", "htp://x", "http://", "http:///mcp", "x.json#y", "cursor:x", "unix:///s", "name", "http://a b/", "a.snap.json", "b.jsonl", ""} {
		_, err := serverURL(typed)
		require.Error(t, err, typed)
		require.Equal(t, 2, exitCodes[testApp(formatHuman).failureOf(t.Context(), err).kind], typed)
	}
}

// A certificate that is not accepted is told as that, by every command alike, and
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
		require.Equal(t, exitCodes[kindUnreachable], got.code, got.err)
		require.Contains(t, got.err, "the certificate of "+strings.TrimPrefix(server.URL, "https://")+" is not accepted: x509: ")
		require.Contains(t, got.err, "SSL_CERT_FILE")
		require.NotContains(t, got.err, "closed the connection")
		got = inProcess(t.Context(), false, append(command, plain+"/mcp")...)
		require.Equal(t, exitCodes[kindUnreachable], got.code, got.err)
		require.Contains(t, got.err, "does not speak TLS")
		require.Contains(t, got.err, "http://")
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
