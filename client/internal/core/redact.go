package core

import (
	"context"
	"log/slog"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// secrets are the values to hide.
type secrets struct {
	ofTransport, ofConn []string
	mcperrors.Secrets   // both, prepared
}

// Protect hides the secrets of t and of the live connection in errors, logs, traces and events. A
// server can repeat them: in the body of an HTTP error, in an error message, on stderr. Call
// Protect before the other methods.
func (c *Core) Protect(t transport.Transport) {
	if t, ok := t.(link.Secretive); ok {
		if values := t.Secrets(); len(values) > 0 {
			c.secrets.Store(&secrets{ofTransport: values, Secrets: mcperrors.NewSecrets(values...)})
		}
	}
}

// Secrets returns the current secrets.
func (c *Core) Secrets() mcperrors.Secrets {
	var values []string
	if l := c.Links.Load(); l != nil {
		if conn, ok := l.Conn.(link.Secretive); ok {
			values = conn.Secrets()
		}
	}
	known := c.secrets.Load()
	switch {
	case known == nil && len(values) == 0:
		return mcperrors.Secrets{}
	case known == nil:
		known = &secrets{}
	}
	if !slices.Equal(known.ofConn, values) {
		all := slices.Concat(known.ofTransport, values)
		known = &secrets{known.ofTransport, values, mcperrors.NewSecrets(all...)}
		c.secrets.Store(known)
	}
	return known.Secrets
}

// hide returns e without secrets.
func (c *Core) hide(e *mcperrors.Error) *mcperrors.Error {
	return c.Secrets().HideError(e).(*mcperrors.Error) //nolint:errorlint // an *Error stays one
}

// Redacted returns a logger that hides secrets and passes records on to l.
func (c *Core) Redacted(l *slog.Logger) *slog.Logger {
	if l.Handler() == slog.DiscardHandler {
		return l
	}
	return slog.New(&handler{l.Handler(), c})
}

// RedactedTrace returns a trace that hides secrets and passes frames on to t.
func (c *Core) RedactedTrace(t transport.Trace) transport.Trace {
	t.Sent, t.Received, t.Noise = c.frames(t.Sent), c.frames(t.Received), c.frames(t.Noise)
	if stderr := t.Stderr; stderr != nil {
		t.Stderr = func(line string) { stderr(c.Secrets().Hide(line)) }
	}
	return t
}

// frames wraps a function that receives traffic, and hides secrets from it.
func (c *Core) frames(f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	return func(frame []byte) {
		text := string(frame)
		if hidden := c.Secrets().Hide(text); hidden != text {
			frame = []byte(hidden)
		}
		f(frame)
	}
}

// handler hides secrets and passes records on to another handler.
type handler struct {
	slog.Handler
	c *Core
}

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	now := h.c.Secrets()
	out := slog.NewRecord(r.Time, r.Level, now.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(hideAttr(now, a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = hideAttr(h.c.Secrets(), a)
	}
	return &handler{h.Handler.WithAttrs(hidden), h.c}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.c}
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
