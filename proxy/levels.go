package proxy

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// levels decides which log messages of a server reach the host. Messages may come late, when
// another level was set. Requests of a stateless host may each have a level, and the server
// has the lowest one of them.
type levels struct {
	setting chan struct{} // held while the server's level changes
	lowest  *slog.Level   // of the server

	mu   sync.Mutex
	open map[slog.Level]int // requests; nil before the first level
	last slog.Level
}

// begin adds a request with a level, "" for none, and lowers that of the server if necessary.
func (l *levels) begin(ctx context.Context, c *client.Client, level mcp.LoggingLevel) error {
	if level == "" || !c.HasCapability("logging") {
		return nil
	}
	select {
	case l.setting <- struct{}{}:
		defer func() { <-l.setting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	wanted := level.Slog()
	if l.lowest == nil || wanted < *l.lowest {
		if err := c.SetLogLevel(ctx, level); err != nil {
			return err
		}
		l.lowest = &wanted
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[slog.Level]int{}
	}
	l.open[wanted]++
	l.last = wanted
	return nil
}

// end removes a request that begin has added.
func (l *levels) end(level mcp.LoggingLevel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[level.Slog()] > 0 {
		l.open[level.Slog()]--
	}
}

// only sets the level of a session host.
func (l *levels) only(level mcp.LoggingLevel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open, l.last = map[slog.Level]int{}, level.Slog()
}

// wants reports whether a message is for an open request, or else for the last one. A host
// that never named a level gets all messages in the session era, and none in the other.
func (l *levels) wants(message json.RawMessage, era mcp.Era) bool {
	var params struct {
		Level mcp.LoggingLevel `json:"level"`
	}
	_ = jsonrpc.Unmarshal(message, &params) // without a level it is taken for information
	l.mu.Lock()
	defer l.mu.Unlock()
	open := 0
	for level, n := range l.open {
		if open += n; n > 0 && level <= params.Level.Slog() {
			return true
		}
	}
	if l.open == nil {
		return era == mcp.EraSession
	}
	return open == 0 && l.last <= params.Level.Slog()
}
