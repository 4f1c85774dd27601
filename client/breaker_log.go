package client

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// breakerLog is where the breakers of [DefaultResilience] log: they are made before
// there is a client with a logger and a server's name. Clients that share them log
// each transition once, by the first of them that has a logger and is open.
type breakerLog struct {
	mu      sync.Mutex
	clients []*Client
}

// join adds a client. The last one that was closed stays until then, since its log
// may still get what happened before.
func (l *breakerLog) join(c *Client) {
	if l == nil || c.log.Handler() == slog.DiscardHandler {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = append(slices.DeleteFunc(l.clients, (*Client).isClosed), c)
}

// client is the one that logs, nil for none.
func (l *breakerLog) client() *Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.clients {
		if !c.isClosed() {
			return c
		}
	}
	if n := len(l.clients); n > 0 {
		return l.clients[n-1]
	}
	return nil
}

// settings are those of a breaker that logs here.
func (l *breakerLog) settings() breaker.Settings {
	return breaker.Settings{Logger: slog.New((*breakerLogHandler)(l))}
}

// breakerLogHandler is the handler of those breakers.
type breakerLogHandler breakerLog

// Enabled implements [slog.Handler].
func (h *breakerLogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	c := (*breakerLog)(h).client()
	return c != nil && c.log.Enabled(ctx, level)
}

// Handle implements [slog.Handler]: with the server's name in that of the breaker,
// as it is where the client makes its own.
func (h *breakerLogHandler) Handle(ctx context.Context, r slog.Record) error {
	c := (*breakerLog)(h).client()
	if c == nil {
		return nil
	}
	named := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "breaker" {
			name := c.server
			if tool := a.Value.String(); tool != "" {
				name += "/" + tool
			}
			a.Value = slog.StringValue(name)
		}
		named.AddAttrs(a)
		return true
	})
	return c.log.Handler().Handle(ctx, named)
}

// WithAttrs and WithGroup implement [slog.Handler]; breakers use neither.
func (h *breakerLogHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements [slog.Handler].
func (h *breakerLogHandler) WithGroup(string) slog.Handler { return h }
