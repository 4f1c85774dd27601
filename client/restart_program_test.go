package client_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// onceEnv names the variable with the file that tells the first start of a
// program from later ones.
const onceEnv = "MAINSTAY_TEST_ONCE"

// firstStart reports whether this program is started for the first time.
func firstStart() bool {
	f, err := os.OpenFile(os.Getenv(onceEnv), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// serveOnce is a program that does something bad instead of answering its first
// call, and is a good one when it is started again.
func serveOnce(bad func()) {
	first := firstStart()
	serveSilently(func(req jsonrpc.Request) (string, bool) {
		if first && req.Method == "tools/call" {
			bad()
		}
		return wellAnswered(req), true
	})
}

// A program that is half alive is ended and started again: one that closes its
// stdout or its stdin. The call that found out about it keeps
// its fate; the next one is answered by a fresh program.
func TestHalfAliveProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"closes stdout", "closes stdin", "kills itself"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := connectSituation(t, situationCommand(name, onceEnv+"="+filepath.Join(t.TempDir(), "once")),
				sessionEra, client.WithCache(client.CacheConfig{NoPreload: true}))
			require.NoError(t, err)
			began := time.Now()
			_, err = c.CallTool(t.Context(), "echo", message, client.WithTimeouts(3*time.Second, -1)) // to a deaf one nothing ends it
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), err)
			for range 3 {
				require.NoError(t, callOnce(t.Context(), c))
			}
			require.Less(t, time.Since(began), 20*time.Second)
			require.Equal(t, client.StateReady, c.State())
		})
	}
}

// A program that only writes text to stdout is killed and restarted even without calls,
// and its lines are not all logged.
func TestChatteringProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	var log lines
	falls := make(chan client.StateChanged, 10)
	c, err := dialProgram(t, "chatters", client.WithCache(client.CacheConfig{NoPreload: true}),
		client.WithLogger(log.logger()),
		client.WithResilience(client.Resilience{Restart: client.Restart{MinPause: time.Hour}}), // once is enough
		client.OnEvent(func(_ context.Context, e client.Event) {
			if e, ok := e.(client.StateChanged); ok {
				falls <- e
			}
		}))
	require.NoError(t, err)
	_ = c.Ping(t.Context()) // with which it begins
	for e := range falls {
		if e.To == client.StateRestarting {
			require.ErrorContains(t, e.Cause, "must log to stderr")
			break
		}
	}
	require.NoError(t, c.Close())
	require.Less(t, strings.Count(log.String(), "what is not MCP; skipped"), 10)
	require.Contains(t, log.String(), "count=10000")
}
