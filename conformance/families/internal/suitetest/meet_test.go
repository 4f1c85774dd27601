package suitetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// strange runs a stranger over lines, with write in place of its way to write
// one; n counts what it has written.
func strange(first string, write func(n int, answer string) string) wire.Serve {
	answer := stranger(`{"tools":{}}`)
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		_, err := io.WriteString(out, first)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 64<<20)
		for n := 0; err == nil && lines.Scan(); {
			if text := answer(lines.Bytes()); text != "" {
				_, err = io.WriteString(out, write(n, text))
				n++
			}
		}
		return err
	}
}

func plainly(_ int, answer string) string { return answer + "\n" }

// TestMeet_Unreadable: a server whose answer to initialize cannot be taken for one
// is told at once, or when it has been quiet for as long as an answer may take:
// with its bytes and the rule, and without a scenario of the run.
func TestMeet_Unreadable(t *testing.T) {
	t.Parallel()
	const start, answer = 5 * time.Minute, 10 * time.Second
	for name, c := range map[string]struct {
		serve    wire.Serve
		within   time.Duration
		says     string
		rule     string
		received string
	}{
		"a byte order mark": {
			strange("\ufeff", plainly), 0, "begins with a byte order mark (U+FEFF)", "STDIO-01/clean", "\ufeff{\"jsonrpc\"",
		},
		"a byte order mark on every line": {
			strange("", func(_ int, a string) string { return "\ufeff" + a + "\n" }), 0, "byte order mark", "STDIO-01/clean", "\ufeff{\"jsonrpc\"",
		},
		"a banner without a newline": {
			strange("Weather 1.0 ready. > ", plainly), 0, `follows "Weather 1.0 ready. > " on its line`, "STDIO-01/clean", "Weather 1.0 ready. > {",
		},
		"a log line around it": {
			strange("Starting\n", func(_ int, a string) string { return "sent: " + a + " (12 ms)\n" }), 0, `follows "sent: " on its line`, "STDIO-01/clean", "Starting\nsent: {",
		},
		"a remark behind it": {
			strange("", func(_ int, a string) string { return a + " // done\n" }), 0, `is followed by "// done" on its line`, "STDIO-01/clean", "{",
		},
		"a response that has a method": {
			strange("", func(_ int, a string) string {
				return strings.Replace(a, `"id"`, `"method":"initialize","id"`, 1) + "\n"
			}), 0,
			`has a member "method"`, "RPC-07/exclusive", `{"jsonrpc":"2.0","method":"initialize"`,
		},
		"an echo": {
			func(_ context.Context, in io.Reader, out io.Writer) error { _, err := io.Copy(out, in); return err }, 0,
			"the server echoes its input", "LC-01/answered", `"method":"initialize"`,
		},
		"an answer over several lines": {
			strange("", func(_ int, a string) string { return strings.ReplaceAll(a, ",", ",\n  ") + "\n" }), 0, "is spread over several lines", "STDIO-01/newlines", "{\"jsonrpc\":\"2.0\",\n",
		},
		"an answer without a newline": {
			strange("", func(_ int, a string) string { return a }), answer, "does not end with a newline", "STDIO-01/newlines", "{\"jsonrpc\"",
		},
		"another id": {
			strange("", func(_ int, a string) string { return strings.Replace(a, `"id":"c-1"`, `"id":1`, 1) + "\n" }), answer, `has the id 1 and not "c-1"`, "RPC-06/known", `"id":1`,
		},
		"an id that is null": {
			strange(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`+"\n", func(int, string) string { return "" }), answer,
			`has the id null and not "c-1"`, "RPC-06/known", `"id":null`,
		},
		"nothing but log lines": {
			strange("info: listening on stdio\n", func(int, string) string { return "info: a request came\n" }), start, "it wrote lines that are no messages", "STDIO-01/clean", "info: listening on stdio\ninfo: a request came",
		},
		"messages, and no answer": {
			strange(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}`+"\n", func(int, string) string { return "" }), start,
			"did not answer initialize in 5m0s", "LC-01/answered", `"notifications/message"`,
		},
		"silence": {strange("", func(int, string) string { return "" }), start, "did not answer initialize in 5m0s", "LC-01/answered", ""},
		"an answer that is not flushed": {
			func(ctx context.Context, in io.Reader, out io.Writer) error {
				var kept strings.Builder
				if err := strange("", plainly)(ctx, in, &kept); err != nil {
					return err
				}
				_, err := io.WriteString(out, kept.String())
				return err
			}, start, "does not flush", "LC-01/answered", `{"jsonrpc"`,
		},
		"UTF-16": {
			strange("", func(int, string) string { return "\xff\xfe{\x00}\x00\n\x00" }), 0, "is UTF-16", "STDIO-01/clean", "\xff\xfe{",
		},
		"headers as in LSP": {
			strange("", func(_ int, a string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(a), a) }), answer,
			"has a Content-Length header", "STDIO-01/newlines", "Content-Length: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, scenarios := time.Now(), 0
				_, err := runAll(t.Context(), conformance.FuncSubject{Serve: c.serve, Grace: time.Second}, conformance.Options{Answer: answer, StartTimeout: start, OnResult: func(conformance.Result) { scenarios++ }})
				var unreachable *conformance.UnreachableError
				require.ErrorAs(t, err, &unreachable)
				require.ErrorContains(t, err, c.says)
				require.Equal(t, c.rule, unreachable.Rule.ID)
				require.NotEmpty(t, unreachable.Rule.Spec.Quote)
				require.Contains(t, string(unreachable.Received), c.received)
				require.Equal(t, c.received == "", len(unreachable.Received) == 0)
				require.Zero(t, scenarios)
				require.GreaterOrEqual(t, time.Since(began), c.within)
				require.LessOrEqual(t, time.Since(began), c.within+2*time.Second, "and the time it has to end in")
			})
		})
	}
}

// TestMeet_Takes: what comes before a good answer, on lines of its own, keeps
// nobody from judging the server.
func TestMeet_Takes(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"a banner":       "Weather 1.0\n  {not JSON}\nlistening\n",
		"a log":          "[INFO] Weather 1.0\n[\n",
		"a log message":  `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}` + "\n",
		"a line of JSON": `{"level":"info","msg":"started","id":"c-0"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := runAll(t.Context(), conformance.InProcess(strange(first, plainly)), conformance.Options{Only: []string{"LC-01/answered", "RPC-17/no-batch", "STDIO-01/clean"}, Answer: time.Second})
			require.NoError(t, err)
			require.Equal(t, conformance.Pass, statuses(report)["LC-01/answered"].Status)
			require.Equal(t, conformance.Pass, statuses(report)["RPC-17/no-batch"].Status)
			clean := statuses(report)["STDIO-01/clean"]
			require.Equal(t, strings.HasPrefix(first, "{"), clean.Status == conformance.Pass)
			if clean.Status == conformance.Fail {
				require.Contains(t, clean.Actual, "no message during initialize")
			}
		})
	}
}

// TestMeet_Program: how a program ended, and what it said, is told at once.
func TestMeet_Program(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	for name, c := range map[string]struct {
		script, says     string
		exit             int
		received, stderr string
	}{
		"a crash at once":        {"echo DB_URL is not set >&2; exit 3", "exited with status 3", 3, "", "DB_URL is not set"},
		"a crash after a banner": {"echo Weather 1.0; echo no disk >&2; exit 1", "exited with status 1", 1, "Weather 1.0", "no disk"},
		"a crash when asked":     {"read line; echo panic >&2; exit 2", "exited with status 2", 2, "", "panic"},
		"half an answer":         {`read line; printf '{"jsonrpc":"2.0","id":'; exit 0`, "exited with status 0", 0, `{"jsonrpc":"2.0","id":`, ""},
		"status 0, silently":     {"exit 0", "exited with status 0", 0, "", ""},
		"a signal":               {"kill -9 $$", "signal: killed", -1, "", ""},
		"a byte order mark":      {`read line; printf '\357\273\277{"jsonrpc":"2.0","id":"c-1","result":{}}\n'; echo hello >&2; read line; exit 0`, "byte order mark", -1, "\ufeff{", "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			starts := filepath.Join(t.TempDir(), "starts")
			s := conformance.Command([]string{"sh", "-c", `echo x >> "$STARTS"; ` + c.script}, append(os.Environ(), "STARTS="+starts))
			_, err := runAll(t.Context(), s, conformance.Options{})
			var unreachable *conformance.UnreachableError
			require.ErrorAs(t, err, &unreachable)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.exit, unreachable.Exit)
			require.Equal(t, c.received != "", len(unreachable.Received) > 0)
			require.Contains(t, string(unreachable.Received), c.received)
			require.Contains(t, unreachable.Stderr, c.stderr)
			data, err := os.ReadFile(starts)
			require.NoError(t, err)
			require.Equal(t, "x\n", string(data), "it is not started for each scenario")
		})
	}
}

// TestMeet_HTTP: an address that answers, and never with MCP, is told with what it
// said, in either era.
func TestMeet_HTTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media, body, says, rule string
	}{
		"a web page":               {"text/html; charset=utf-8", "<!doctype html><title>Login</title>", "200 text/html; charset=utf-8", "HTTP-03/media-type"},
		"JSON that is no message":  {"application/json", `"hello"`, "200 application/json", "HTTP-03/one"},
		"a byte order mark":        {"application/json", "\ufeff" + `{"jsonrpc":"2.0","id":"c-1","result":{}}`, "200 application/json", "HTTP-03/one"},
		"a response with a method": {"application/json", `{"jsonrpc":"2.0","id":"c-1","method":"x","result":{}}`, `has a member "method"`, "RPC-07/exclusive"},
		"an empty body":            {"application/json", "", "200 application/json", "LC-01/answered"},
		"a stream of nothing":      {"text/event-stream", "", "200 text/event-stream", "LC-01/answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				fmt.Fprint(w, c.body)
			}))
			t.Cleanup(srv.Close)
			scenarios := 0
			_, err := runAll(t.Context(), conformance.URL(srv.URL, nil), conformance.Options{OnResult: func(conformance.Result) { scenarios++ }})
			var unreachable *conformance.UnreachableError
			require.ErrorAs(t, err, &unreachable)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.rule, unreachable.Rule.ID)
			require.Equal(t, c.body, string(unreachable.Received))
			require.Zero(t, scenarios)
		})
	}
}

// TestMeet_Says: a run says what it waits for.
func TestMeet_Says(t *testing.T) {
	t.Parallel()
	var said []string
	_, err := runAll(t.Context(), conformance.InProcess(strange("Weather 1.0\n", plainly)), conformance.Options{
		Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"LC-01"}, Answer: time.Second, OnProgress: func(doing string, done, total int) {
			said = append(said, fmt.Sprintf("%s %d/%d", doing, done, total))
		},
	})
	require.NoError(t, err)
	all := strings.Join(said, "\n")
	require.True(t, strings.HasPrefix(all, "waiting for the answer to initialize, at most 5m0s 0/0\n"), all)
	require.Contains(t, all, `the server wrote "Weather 1.0", which is no message; waiting for the answer to initialize, at most 5m0s`)
	require.Regexp(t, `2025-11-25 lifecycle \d+/\d+`, all)
}

// TestMeet_GivesUp: a server that no longer answers initialize is not asked again
// for each scenario.
func TestMeet_GivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sessions, began := 0, time.Now()
		serve := func(ctx context.Context, in io.Reader, out io.Writer) error {
			if sessions++; sessions <= 3 {
				return strange("", plainly)(ctx, in, out)
			}
			_, err := io.Copy(io.Discard, in)
			return err
		}
		report, err := runAll(t.Context(), conformance.FuncSubject{Serve: serve, Grace: time.Second}, conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"UTIL-*", "X-WIRE-*", "TOOL-*"}})
		require.NoError(t, err)
		require.Equal(t, conformance.VerdictInconclusive, report.Verdict())
		require.Less(t, time.Since(began), 3*time.Minute)
		given := 0
		for i := range report.Results {
			if strings.Contains(report.Results[i].Detail, "so no other is sent") {
				given++
			}
		}
		require.Greater(t, given, 10)
	})
}
