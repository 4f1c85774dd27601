package client_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// transitions is a log of circuits that change their state.
type transitions struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *transitions) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *transitions) option() client.Option {
	return client.WithLogger(slog.New(slog.NewJSONHandler(l, nil)))
}

// lines are the transitions so far, without what differs from run to run.
func (l *transitions) lines(t *testing.T) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		if m["msg"] == "circuit breaker changed state" {
			delete(m, "time")
			delete(m, "at")
			lines = append(lines, m)
		}
	}
	return lines
}

// openBoth opens the circuit of a tool and then that of the server.
func openBoth(t *testing.T, c *client.Client, s *lone) {
	t.Helper()
	once := client.WithRetryPolicy(client.RetryNever)
	s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "broken", nil) })
	for range 5 {
		_, err := c.CallTool(t.Context(), "echo", nil, once)
		require.Error(t, err)
	}
	s.on("prompts/list", func(jsonrpc.Request) any { return status(http.StatusBadGateway, "") })
	for range 5 {
		_, err := c.Call(t.Context(), "prompts/list", nil, once)
		require.Error(t, err)
	}
	synctest.Wait()
}

// The circuits of a client log to its logger, with the server's name.
func TestCircuitsLogToTheClientsLogger(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]client.Option{nil, {client.WithResilience(client.Resilience{Retry: client.Retry{Attempts: 2}})}} {
		synctest.Test(t, func(t *testing.T) {
			var log transitions
			s := newLone(t)
			c, err := s.dial(append(opts, log.option(), seedProfile)...)
			require.NoError(t, err)
			openBoth(t, c, s)
			lines := log.lines(t)
			require.Len(t, lines, 2)
			for _, line := range lines {
				require.Contains(t, line["breaker"], memhttp.URL)
			}
			require.NoError(t, c.Close())
			s.mem.Close()
		})
	}
}
