package proxy

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
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
	common  *commonLevels // of a shared server, else nil

	mu    sync.Mutex
	limit *slog.Level // of a session host, nil before it has set one
	open  []*request  // of stateless hosts, the oldest first
}

// begin adds a request, and lowers the level of a session server if necessary. A stateless one
// gets it with the request.
func (l *levels) begin(ctx context.Context, c *client.Client, r *request) error {
	if r.level == "" || !c.HasCapability("logging") || c.ProtocolVersion().Era() == mcp.EraStateless {
		l.add(r)
		return nil
	}
	if l.common != nil {
		if err := l.common.need(ctx, c, r.level); err != nil {
			return err
		}
		l.add(r)
		return nil
	}
	select {
	case l.setting <- struct{}{}:
		defer func() { <-l.setting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	wanted := r.level.Slog()
	if l.lowest == nil || wanted < *l.lowest {
		if err := c.SetLogLevel(ctx, r.level); err != nil {
			return err
		}
		l.lowest = &wanted
	}
	l.add(r)
	return nil
}

func (l *levels) add(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, r)
}

// end removes a request that begin has added.
func (l *levels) end(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = slices.DeleteFunc(l.open, func(other *request) bool { return other == r })
}

// only sets the level of a session host.
func (l *levels) only(level mcp.LoggingLevel) {
	limit := level.Slog()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = &limit
}

// wants reports whether a session host wants a message: all of them before it has set a level,
// but no details that the server sends only because another host has set one.
func (l *levels) wants(message json.RawMessage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.limit != nil:
		return *l.limit <= severity(message)
	case l.common != nil && l.common.set.Load():
		return slog.LevelInfo <= severity(message)
	}
	return true
}

// logged passes a log message on. of is the request that it belongs to, nil if that is unknown.
func (up *upstream) logged(n jsonrpc.Notification, of *request) {
	if up.from != nil {
		n.Params = withLogger(n.Params, up.from.Name)
	}
	l := &up.logs
	switch {
	case up.version.Era() == mcp.EraSession && l.wants(n.Params):
		on := up.host.line
		if of != nil {
			on = of.line
		}
		up.host.tell(on, n)
	case up.version.Era() == mcp.EraSession:
	case of == nil && up.shared != nil: // the user says that it may be for all
		for _, r := range l.wantingAll(n.Params) {
			up.host.tell(r.line, n)
		}
	default:
		r := l.wanting(n.Params, of, up.host.strangers)
		if r != nil && (of != nil || !up.host.strangers || up.calls.only(r)) {
			up.host.tell(r.line, n)
		}
	}
}

// wantingAll returns the open requests of stateless hosts that want a message.
func (l *levels) wantingAll(message json.RawMessage) (all []*request) {
	level := severity(message)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.open {
		if r.wants(level) {
			all = append(all, r)
		}
	}
	return all
}

// wants reports whether a request of a stateless host wants messages of a level.
func (r *request) wants(level slog.Level) bool { return r.level != "" && r.level.Slog() <= level }

// wanting returns the request of a stateless host that a message is for, nil for none: of, if it
// is known, else the oldest open one that wants the message. Of strangers, no host may see the
// messages of another: then it must be the only one.
func (l *levels) wanting(message json.RawMessage, of *request, strangers bool) *request {
	level := severity(message)
	l.mu.Lock()
	defer l.mu.Unlock()
	if of == nil && strangers {
		if len(l.open) != 1 {
			return nil
		}
		of = l.open[0]
	}
	if of == nil {
		if i := slices.IndexFunc(l.open, func(r *request) bool { return r.wants(level) }); i >= 0 {
			of = l.open[i]
		}
	}
	if of == nil || !of.wants(level) {
		return nil
	}
	return of
}

// severity returns the level of a message. Without one it is information.
func severity(message json.RawMessage) slog.Level {
	var params struct {
		Level mcp.LoggingLevel `json:"level"`
	}
	_ = jsonrpc.Unmarshal(message, &params)
	return params.Level.Slog()
}
