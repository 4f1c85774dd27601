package pool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/pool"
)

func serverFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadServers(t *testing.T) {
	t.Parallel()
	servers, notes, err := pool.ReadServers(serverFile(t, `{"mcpServers": {
		"files": {"command": "srv", "args": ["-v", "${ROOT:-/srv}"], "cwd": "/tmp", "env": {"KEY": "${KEY}"}},
		"web": {"url": "https://x.example/mcp", "headers": {"authorization": "Bearer ${KEY}", "Content-Type": "application/json"}},
		"old": {"type": "sse", "url": "https://x.example/sse"},
		"off": {"command": "srv", "disabled": true},
		"unset": {"command": "srv", "env": {"KEY": "${NO_KEY}"}}, // nobody set it
	}}`), func(name string) (string, bool) { return "k3y", name == "KEY" })
	require.NoError(t, err)
	require.Equal(t, []string{
		`server "web": the header Content-Type is the protocol's and left out`, `server "off": is switched off`,
	}, notes)
	require.Len(t, servers, 4)
	require.Equal(t, &transport.Command{Argv: []string{"srv", "-v", "/srv"}, Dir: "/tmp", Env: []string{"KEY=k3y"}}, servers[0].Transport)
	require.Equal(t, &transport.HTTP{URL: "https://x.example/mcp", Header: map[string][]string{"Authorization": {"Bearer k3y"}}}, servers[1].Transport)
	require.Equal(t, &transport.SSE{URL: "https://x.example/sse", Header: map[string][]string{}}, servers[2].Transport)
	require.Nil(t, servers[3].Transport)
	require.EqualError(t, servers[3].Err, `server "unset": member env: "KEY": the variable NO_KEY is not set`)
	require.Equal(t, `["files" (srv) "web" (https://x.example/mcp) "old" (https://x.example/sse) "unset" (unusable)]`, fmt.Sprint(servers))

	for text, want := range map[string]string{"": "the file is empty", "{": "ends too early", `{"mcpServers":{"a":{},"a":{}}}`: "duplicate"} {
		_, _, err = pool.ReadServers(serverFile(t, text), nil)
		require.ErrorContains(t, err, want)
		require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
		_, err = pool.Load(t.Context(), serverFile(t, text))
		require.ErrorContains(t, err, want)
	}
	_, err = pool.Load(t.Context(), filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = pool.Load(t.Context(), "", pool.WithConnectLimit(-1))
	require.ErrorContains(t, err, "WithConnectLimit")
}

// Programs that exit, hang or do not exist, in one file with one that works.
func TestLoadPoolWithPrograms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	entry := func(name string) map[string]any {
		argv := programArgv(name)
		return map[string]any{"command": argv[0], "args": argv[1:], "env": map[string]any{"GORACE": "atexit_sleep_ms=0"}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"silent": entry("silent"), "exits": entry("exit"), "good": entry("good"), "banner": entry("banner"),
		"missing": map[string]any{"command": "no-such-program-anywhere"}, "unset": map[string]any{"command": "${NO_SUCH_VARIABLE_ANYWHERE}"},
		"unknown": map[string]any{"command": "x", "frobnicate": true, "disabled": true},
	}})
	require.NoError(t, err)
	var log strings.Builder
	p, err := pool.Load(t.Context(), serverFile(t, string(text)), pool.WithStartupWait(0),
		pool.WithRequiredServers("good", "banner"), pool.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		pool.WithReconnect(0, 0), // no attempts during the checks
		pool.WithServerOptions(func(string) []client.Option { return []client.Option{sessionEra} }))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, want := range map[string]string{
		"exits": "API key is missing", "missing": "the program cannot be started", "unset": "NO_SUCH_VARIABLE_ANYWHERE is not set",
	} {
		err := p.Reconnect(ctx, name)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, p.Failures()[name], want)
	}
	require.Len(t, p.Failures(), 4)
	list, err := p.Tools(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"banner__echo", "good__echo"}, toolNames(list))
	res, err := p.CallTool(ctx, "good__echo", map[string]any{"message": "hi"})
	require.NoError(t, err)
	require.Equal(t, "done", res.Text())
	require.NoError(t, p.Close(), "the one that hangs is ended, too")
	require.Contains(t, log.String(), "is switched off")
	require.Contains(t, log.String(), `member \"frobnicate\" is not used`)
}

// The client restarts a program that exits. If the client gives up, or pauses for long, the
// pool connects again.
func TestPoolRestartsAProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	const rounds = 2
	tests := []struct {
		name     string
		restart  client.Restart
		state    pool.State // after it has died
		attempts int        // of the pool, in the end
	}{
		{"by its client", client.Restart{MinPause: time.Millisecond, Crashes: 100}, pool.Connecting, 1},
		{"by the pool", client.Restart{Off: true}, pool.Failed, 1 + rounds},
		{"by the pool, when asked", client.Restart{Crashes: 1, Hold: time.Hour}, pool.Failed, 1 + rounds},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			states := make(chan pool.Event, 64)
			p, err := pool.Open(t.Context(), []pool.Server{{
				Name: "mortal", Options: []client.Option{sessionEra, client.WithResilience(client.Resilience{Restart: tt.restart})},
				Transport: &transport.Command{Argv: programArgv("dies when called"), Env: []string{"GORACE=atexit_sleep_ms=0"}},
			}}, pool.WithReconnect(0, 0), pool.OnEvent(func(_ context.Context, e pool.Event) {
				if _, own := e.Event.(client.StateChanged); own || e.Event == nil {
					states <- e
				}
			}))
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			for range rounds {
				_, err = p.CallTool(t.Context(), "echo", map[string]any{"message": "hi"})
				require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
				if tt.state == pool.Failed {
					for h := p.Health()[0]; h.State != tt.state; h = p.Health()[0] {
						<-states
					}
					require.ErrorContains(t, p.Failures()["mortal"], "exited with status 1")
					require.NoError(t, p.Reconnect(t.Context(), "mortal"))
				} // else the next call waits for the program
			}
			require.Equal(t, tt.attempts, p.Health()[0].Attempts)
		})
	}
}
