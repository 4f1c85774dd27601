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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
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

// The circuits of DefaultResilience log as those of a client without options do.
func TestDefaultResilienceLogsTransitions(t *testing.T) {
	t.Parallel()
	of := func(t *testing.T, opts ...client.Option) (lines []map[string]any) {
		synctest.Test(t, func(t *testing.T) {
			var log transitions
			s := newLone(t)
			c, err := s.dial(append(opts, log.option())...)
			require.NoError(t, err)
			openBoth(t, c, s)
			lines = log.lines(t)
			require.NoError(t, c.Close())
			s.mem.Close()
		})
		return lines
	}
	want := of(t)
	require.Len(t, want, 2)
	require.Equal(t, want, of(t, client.WithResilience(client.DefaultResilience())))
}

// Clients that share circuits log a transition once, and one that is closed leaves
// it to the others.
func TestSharedResilienceLogsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := client.DefaultResilience()
		s := newLone(t)
		silent, err := s.dial(client.WithResilience(r))
		require.NoError(t, err)
		var logs [3]transitions
		var clients []*client.Client
		for i := range 2 {
			c, err := s.dial(client.WithResilience(r), logs[i].option())
			require.NoError(t, err)
			clients = append(clients, c)
		}
		openBoth(t, silent, s)
		require.Len(t, logs[0].lines(t), 2)
		require.Empty(t, logs[1].lines(t))

		require.NoError(t, clients[0].Close())
		s.result("prompts/list", `{"resultType":"complete","prompts":[]}`)
		time.Sleep(31 * time.Second)
		_, err = silent.Call(t.Context(), "prompts/list", nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, logs[0].lines(t), 2)
		require.NotEmpty(t, logs[1].lines(t))

		require.NoError(t, clients[1].Close())
		last, err := s.dial(client.WithResilience(r), logs[2].option())
		require.NoError(t, err)
		openBoth(t, silent, s)
		require.NotEmpty(t, logs[2].lines(t))
		for _, c := range []*client.Client{silent, last} {
			require.NoError(t, c.Close())
		}
		s.mem.Close()
	})
}
