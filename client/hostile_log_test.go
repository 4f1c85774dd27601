package client_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// stuckHandler is a slog handler that blocks until it is released.
type stuckHandler struct {
	free chan struct{}

	mu      sync.Mutex
	lines   int
	dropped int64
}

func (h *stuckHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *stuckHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *stuckHandler) WithGroup(string) slog.Handler            { return h }
func (h *stuckHandler) Handle(_ context.Context, r slog.Record) error {
	<-h.free
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines++
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "count" && r.Message == "[MCP] too many log lines of one kind; some were dropped" {
			h.dropped += a.Value.Int64()
		}
		return true
	})
	return nil
}

// A log that blocks stops no reading, and a server that causes a line with every
// message fills no disk: the lines are few and one of them counts the others.
func TestHostileLog(t *testing.T) {
	t.Parallel()
	const faults = 5000
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		for _, way := range []string{"stream", "http"} {
			t.Run(way+" "+string(version), func(t *testing.T) {
				t.Parallel()
				s := clienttest.NewServer(t)
				s.Tool("flood", "", func(call *clienttest.Call) (any, error) {
					for range faults {
						call.Notify(mcp.MethodProgress, map[string]any{"progress": "much"})
					}
					return clienttest.Text("done"), nil
				})
				h := &stuckHandler{free: make(chan struct{})}
				opts := []client.Option{client.WithProtocolVersion(string(version)), client.WithLogger(slog.New(h))}
				connect := func() (*client.Client, error) { return client.Connect(t.Context(), s.Transport(), opts...) }
				if way == "http" {
					connect = func() (*client.Client, error) { return client.Dial(t.Context(), s.URL(), opts...) }
				}
				c, err := connect()
				require.NoError(t, err)
				for range 3 {
					_, err = c.CallTool(t.Context(), "flood", nil)
					require.NoError(t, err, "while the log is stuck")
				}
				require.Zero(t, h.lines)
				close(h.free)
				require.NoError(t, c.Close())
				h.mu.Lock()
				defer h.mu.Unlock()
				require.Less(t, h.lines, 200)
				require.Greater(t, h.dropped, int64(3*faults-200))
			})
		}
	}
}
