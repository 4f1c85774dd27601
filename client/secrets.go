package client

import (
	"context"
	"log/slog"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// secrets are the values that a client sends and shows to nobody. Servers repeat
// them: in the body of a refusal, in an error's message, on stderr. Nothing is
// looked for before there is something to show.
type secrets struct {
	ofTransport, ofConn []string
	mcperrors.Secrets   // both, prepared
}

// keepSecrets makes the client's log and traces those of a client with secrets.
func (c *Client) keepSecrets(t transport.Transport) {
	if t, ok := t.(transport.Secretive); ok {
		if values := t.Secrets(); len(values) > 0 {
			c.parts.get().secrets.Store(&secrets{ofTransport: values, Secrets: mcperrors.NewSecrets(values...)})
		}
	}
	if c.log.Handler() != slog.DiscardHandler {
		c.log = slog.New(&hidingHandler{c.log.Handler(), c})
	}
	trace := &c.cfg.trace
	trace.Sent, trace.Received, trace.Noise = c.hideFrames(trace.Sent), c.hideFrames(trace.Received), c.hideFrames(trace.Noise)
	if stderr := trace.Stderr; stderr != nil {
		trace.Stderr = func(line string) { stderr(c.secrets().Hide(line)) }
	}
}

// secrets returns what is secret at this moment.
func (c *Client) secrets() mcperrors.Secrets {
	var values []string
	if l := c.live.Load(); l != nil {
		if conn, ok := l.Conn.(transport.Secretive); ok {
			values = conn.Secrets()
		}
	}
	known := c.parts.get().secrets.Load()
	switch {
	case known == nil && len(values) == 0:
		return mcperrors.Secrets{}
	case known == nil:
		known = &secrets{}
	}
	if !slices.Equal(known.ofConn, values) {
		all := slices.Concat(known.ofTransport, values)
		known = &secrets{known.ofTransport, values, mcperrors.NewSecrets(all...)}
		c.parts.get().secrets.Store(known)
	}
	return known.Secrets
}

func (c *Client) hide(err error) error { return c.secrets().HideError(err) }

func (c *Client) hideOurs(e *mcperrors.Error) *mcperrors.Error {
	return c.hide(e).(*mcperrors.Error) //nolint:errorlint // an *Error stays one
}

// hideFrames hides secrets from a function of the application that sees traffic.
func (c *Client) hideFrames(f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	return func(frame []byte) {
		text := string(frame)
		if hidden := c.secrets().Hide(text); hidden != text {
			frame = []byte(hidden)
		}
		f(frame)
	}
}

// hideServer returns what a server calls itself without secrets. One that repeats
// a secret has no icons and no unknown members then: a part of those is no use.
func hideServer(now mcperrors.Secrets, s mcp.Implementation) mcp.Implementation {
	raw, err := mcp.Marshal(&s)
	if err == nil && now.Hide(string(raw)) == string(raw) {
		return s
	}
	return mcp.Implementation{
		Name: now.Hide(s.Name), Version: now.Hide(s.Version), Title: now.Hide(s.Title),
		Description: now.Hide(s.Description), WebsiteURL: now.Hide(s.WebsiteURL),
	}
}

// hidingHandler is the handler of the client's log, before the queue to the
// application's.
type hidingHandler struct {
	slog.Handler
	c *Client
}

// Handle implements [slog.Handler].
func (h *hidingHandler) Handle(ctx context.Context, r slog.Record) error {
	now := h.c.secrets()
	out := slog.NewRecord(r.Time, r.Level, now.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(hideAttr(now, a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements [slog.Handler].
func (h *hidingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = hideAttr(h.c.secrets(), a)
	}
	return &hidingHandler{h.Handler.WithAttrs(hidden), h.c}
}

// WithGroup implements [slog.Handler].
func (h *hidingHandler) WithGroup(name string) slog.Handler {
	return &hidingHandler{h.Handler.WithGroup(name), h.c}
}

func hideAttr(now mcperrors.Secrets, a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(now.Hide(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.AnyValue(now.HideError(err))
		}
	case slog.KindGroup:
		group := slices.Clone(a.Value.Group())
		for i := range group {
			group[i] = hideAttr(now, group[i])
		}
		a.Value = slog.GroupValue(group...)
	default: // numbers and times
	}
	return a
}
