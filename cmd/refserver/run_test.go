package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// asProgram makes the test binary the program itself.
const asProgram = "MAINSTAY_TEST_REFSERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == worker.Argument {
		main()
		return
	}
	testmain.Run(m)
}

const handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// vars is an environment.
type vars map[string]string

func (v vars) lookup(name string) (string, bool) {
	s, ok := v[name]
	return s, ok
}

// event returns the first log line of an event.
func event(t *testing.T, log, name string) map[string]any {
	t.Helper()
	for l := range strings.Lines(log) {
		var rec map[string]any
		require.NoError(t, json.Unmarshal([]byte(l), &rec), l)
		if rec["event"] == name {
			return rec
		}
	}
	t.Fatalf("no %s in %s", name, log)
	return nil
}

func storeLine(t *testing.T) string {
	t.Helper()
	args, err := os.ReadFile(filepath.Join("..", "..", "examples", "artifacts", "prd-006.json"))
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, args))
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"store_artifact","arguments":` + compact.String() + "}}\n"
}

// The end of the input is a clean end.
func TestStdio_S1_TRANS_06(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	code := run(t.Context(), nil, vars{}.lookup, strings.NewReader(handshake+storeLine(t)), &out, &log)
	require.Equal(t, exitOK, code)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2, "stdout has the answers and nothing else")
	require.Contains(t, lines[1], `\"success\":true`)
	started := event(t, log.String(), "server_started")
	require.Equal(t, true, started["temporary"])
	require.NoDirExists(t, started["data_dir"].(string), "temporary data are gone at a clean end")
	event(t, log.String(), "server_stopped")
}

func TestDataIsKept(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(dir string) ([]string, vars, string){
		"--data":             func(dir string) ([]string, vars, string) { return []string{"--data", dir}, vars{}, "artifacts/prd" },
		"ARTIFACTS_BASE_DIR": func(dir string) ([]string, vars, string) { return nil, vars{"ARTIFACTS_BASE_DIR": dir}, "prd" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args, env, where := with(dir)
			var out, log bytes.Buffer
			require.Equal(t, exitOK, run(t.Context(), args, env.lookup, strings.NewReader(handshake+storeLine(t)), &out, &log))
			require.FileExists(t, filepath.Join(dir, where, "PRD-006_v1.md"))
			require.FileExists(t, filepath.Join(dir, where, "PRD-006_v1_metadata.json"))
			require.Equal(t, false, event(t, log.String(), "server_started")["temporary"])
		})
	}
}

func TestChecklistDirectory(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"validate_artifact","arguments":{"artifact_content":"x","artifact_id":"PRD-001","task_id":"t"}}}` + "\n"
	env := vars{"VALIDATION_RESOURCES_DIR": t.TempDir()}
	require.Equal(t, exitOK, run(t.Context(), nil, env.lookup, strings.NewReader(handshake+call), &out, &log))
	require.Contains(t, out.String(), "Resource not found: Checklist not found: prd_validation_v1")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"--families", "artifact,cheese"}, exitUsage, `unknown family "cheese", known: artifact`},
		{[]string{"--families", ","}, exitUsage, "no family to serve"},
		{[]string{"--nope"}, exitUsage, "flag provided but not defined: -nope"},
		{[]string{"extra"}, exitUsage, `unexpected argument "extra"`},
		{[]string{"--http", "8090"}, exitUsage, "--http:"},
	} {
		var out, log bytes.Buffer
		require.Equal(t, tc.code, run(t.Context(), tc.args, vars{}.lookup, strings.NewReader(""), &out, &log))
		require.Contains(t, log.String(), tc.text)
		require.Empty(t, out.String())
	}
}

// Help that was asked for is the output of the program.
func TestHelp(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"--help"}, vars{}.lookup, strings.NewReader(""), &out, &log))
	require.Contains(t, out.String(), "usage: refserver")
	require.Empty(t, log.String())
}

func TestHTTPAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		addr  string
		hosts []string
	}{
		":8090":          {"127.0.0.1:8090", []string{"127.0.0.1"}},
		"127.0.0.1:0":    {"127.0.0.1:0", []string{"127.0.0.1"}},
		"MCP.local:8090": {"MCP.local:8090", []string{"mcp.local"}},
		"0.0.0.0:8090":   {"0.0.0.0:8090", []string{}},
		"[::]:8090":      {"[::]:8090", []string{}},
	} {
		cfg, err := parse([]string{"--http", in}, vars{}.lookup)
		require.NoError(t, err)
		require.Equal(t, want.addr, cfg.http)
		require.Equal(t, want.hosts, cfg.opts.AllowedHosts)
	}
	cfg, err := parse([]string{"--http", "0.0.0.0:1", "--allow-host", "A.example, b.example"}, vars{}.lookup)
	require.NoError(t, err)
	require.Equal(t, []string{"a.example", "b.example"}, cfg.opts.AllowedHosts)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	logR, logW := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--http", "127.0.0.1:0"}, vars{}.lookup, strings.NewReader(""), io.Discard, logW)
		_ = logW.Close()
	}()
	log := bufio.NewReader(logR)
	var url string
	for url == "" {
		l, err := log.ReadString('\n')
		require.NoError(t, err)
		url = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp|$`).FindString(l)
	}
	first, _, _ := strings.Cut(handshake, "\n")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(first))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	client := &http.Client{Transport: &http.Transport{}}
	res, err := client.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	client.CloseIdleConnections()
	require.Contains(t, string(body), "mainstay-refserver")
	stop()
	rest, err := io.ReadAll(log)
	require.NoError(t, err)
	require.Equal(t, exitOK, <-ended)
	event(t, string(rest), "server_stopped")
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	var out, log bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), []string{"--http", l.Addr().String()}, vars{}.lookup, strings.NewReader(""), &out, &log))
	event(t, log.String(), "server_failed")
}
