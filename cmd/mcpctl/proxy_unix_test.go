//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// listening is a proxy that listens, as a process.
type listening struct {
	cmd   *exec.Cmd
	url   string
	lines *bufio.Reader // of stderr
	token string
	roots *x509.CertPool // nil without TLS
}

// startListening starts a proxy before a program.
func startListening(t *testing.T, args ...string) *listening {
	t.Helper()
	return listenBefore(t, []string{"--", "fakeserver"}, args...)
}

// listenBefore starts a proxy before a server.
func listenBefore(t *testing.T, server []string, args ...string) *listening {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	cmd := exec.Command("mcpctl", slices.Concat([]string{"proxy", "--listen", "127.0.0.1:0", "--token-file", file}, args, server)...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	l := &listening{cmd: cmd, lines: bufio.NewReader(stderr)}
	line, err := l.lines.ReadString('\n')
	require.NoError(t, err)
	found := regexp.MustCompile(`listening at (https?://127\.0\.0\.1:[1-9][0-9]*/mcp)\n`).FindStringSubmatch(line)
	require.NotNil(t, found, "the real port: %s", line)
	l.url = found[1]
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	l.token = strings.TrimSpace(string(raw))
	return l
}

// post sends a message and returns the status and the session.
func (l *listening) post(t *testing.T, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+l.token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: l.roots}}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, resp.Header.Get("Mcp-Session-Id")
}

// end sends a signal and returns the exit status.
func (l *listening) end(t *testing.T, s os.Signal) int {
	t.Helper()
	require.NoError(t, l.cmd.Process.Signal(s))
	_, _ = io.Copy(io.Discard, l.lines)
	_ = l.cmd.Wait() // its status says more
	return l.cmd.ProcessState.ExitCode()
}

const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`

// What a proxy that listens refuses and bounds, and how a signal ends it.
func TestListen(t *testing.T) {
	t.Parallel()
	l := startListening(t, "--max-sessions", "1", "--allow-host", "proxy.example")
	for name, tt := range map[string]struct {
		want   int
		header []string
	}{
		"no token": {401, []string{"Authorization", ""}}, "another token": {401, []string{"Authorization", "Bearer x"}},
		"another host": {403, []string{"Host", "evil.example"}}, "another origin": {403, []string{"Origin", "http://evil.example"}},
		"an allowed host": {200, []string{"Host", "proxy.example:8080"}},
	} {
		status, _ := l.post(t, opening, tt.header...)
		require.Equal(t, tt.want, status, name)
	}
	status, _ := l.post(t, `{"x":"`+strings.Repeat("x", 8<<20)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)

	// The only session is in use: there is no room for another one.
	_, session := l.post(t, opening)
	require.NotEmpty(t, session)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url, http.NoBody)
	require.NoError(t, err)
	for name, value := range map[string]string{"Accept": "text/event-stream", "Authorization": "Bearer " + l.token, "Mcp-Session-Id": session} {
		r.Header.Set(name, value)
	}
	stream, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, stream.StatusCode)
	status, _ = l.post(t, opening)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, 143, l.end(t, syscall.SIGTERM))
	require.NoError(t, stream.Body.Close())

	l = startListening(t)
	require.Equal(t, 130, l.end(t, os.Interrupt))
}

// The token stays the same, and a port in use is said to be.
func TestListenAgain(t *testing.T) {
	t.Parallel()
	l := startListening(t)
	address := strings.TrimSuffix(strings.TrimPrefix(l.url, "http://"), "/mcp")
	code, _, stderr := script(t, t.TempDir(), "", "proxy", "--listen", address, "--no-auth", "--", "fakeserver")
	require.Equal(t, 3, code, stderr)
	require.Contains(t, stderr, "address already in use")
	require.Equal(t, 143, l.end(t, syscall.SIGTERM))
	file := filepath.Join(t.TempDir(), "kept")
	first, _, err := (&listener{tokenFile: file}).token()
	require.NoError(t, err)
	again, _, err := (&listener{tokenFile: file}).token()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, first, 26)
}

// However a proxy or its host ends, its programs end with it within 3 s, also those that do not
// end with their stdin, and during a call.
func TestProgramsEndWithTheProxy(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(proxy *os.Process, stdin io.Closer) error{
		"proxy is killed": func(p *os.Process, _ io.Closer) error { return p.Kill() },
		"proxy gets TERM": func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGTERM) },
		"host is killed":  func(_ *os.Process, stdin io.Closer) error { return stdin.Close() },

		"host is killed during a call": func(_ *os.Process, stdin io.Closer) error {
			_, err := io.WriteString(stdin.(io.Writer), `{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}}
`)
			return errors.Join(err, stdin.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fifo, ended := watchFrames(t, io.Discard)
			cmd := exec.Command("mcpctl", "proxy", "-e", "FRAMES="+fifo, "--", "fakeserver", "deaf")
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.WriteString(stdin, opening+"\n")
			require.NoError(t, err)
			lines := bufio.NewReader(stdout)
			_, err = lines.ReadString('\n')
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, stop(cmd.Process, stdin))
			if strings.HasPrefix(name, "host is killed") {
				require.NoError(t, stdout.Close())
			}
			require.NoError(t, <-ended, "no process has the fifo open any more")
			require.Less(t, time.Since(began), 3*time.Second+busy)
			_ = cmd.Wait() // it was killed, or not
		})
	}
}

// busy is how much later a loaded machine may be.
const busy = 7 * time.Second

// With --share two sessions have one program.
func TestListenShare(t *testing.T) {
	t.Parallel()
	w := &watcher{text: "\x00", do: func() {}}
	fifo, ended := watchFrames(t, w)
	l := startListening(t, "--share", "-e", "FRAMES="+fifo)
	for range 2 {
		status, session := l.post(t, opening)
		require.Equal(t, http.StatusOK, status)
		require.NotEmpty(t, session)
	}
	require.Equal(t, 143, l.end(t, syscall.SIGTERM))
	require.NoError(t, <-ended)
	require.Equal(t, 1, w.count(`"method":"notifications/initialized"`))
}

// With --forward-header a server behind a URL gets the header of each host, and with
// --check-arguments no arguments that do not match.
func TestListenForwards(t *testing.T) {
	t.Parallel()
	s := clienttest.NewServer(t)
	s.Tool("add", `{"type":"object","required":["a"]}`, func(*clienttest.Call) (any, error) { return clienttest.Text("added"), nil })
	l := listenBefore(t, []string{s.URL()}, "--forward-header", "x-tenant", "--check-arguments", "--protocol-version", "2025-06-18")
	for _, tenant := range []string{"ada", "grace"} {
		status, session := l.post(t, opening, "X-Tenant", tenant, "X-Other", "x")
		require.Equal(t, http.StatusOK, status)
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}`,
		} {
			l.post(t, body, "X-Tenant", tenant, "Mcp-Session-Id", session)
		}
	}
	require.Equal(t, 143, l.end(t, syscall.SIGTERM))
	var tenants []string
	for _, r := range s.Requests() {
		require.Empty(t, r.Header.Get("X-Other"))
		if r.Method == mcp.MethodInitialize {
			tenants = append(tenants, r.Header.Get("X-Tenant"))
		}
	}
	require.Equal(t, []string{"ada", "grace"}, tenants)
	require.Equal(t, 2, s.Count(mcp.MethodToolsCall))
}
