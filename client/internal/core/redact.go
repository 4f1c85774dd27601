package core

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Redactor hides the secrets of one client. It looks for them only once there is
// something to show. Its methods may be called from many goroutines at once.
type Redactor struct {
	links *link.Holder
	known atomic.Pointer[secrets] // nil while there are none
}

// secrets are the values that are hidden.
type secrets struct {
	ofTransport, ofConn []string
	mcperrors.Secrets   // both, prepared
}

// Begin makes the secrets of t known, and those of the live link from now on. Call
// it before the other methods.
func (r *Redactor) Begin(links *link.Holder, t transport.Transport) {
	r.links = links
	if t, ok := t.(link.Secretive); ok {
		if values := t.Secrets(); len(values) > 0 {
			r.known.Store(&secrets{ofTransport: values, Secrets: mcperrors.NewSecrets(values...)})
		}
	}
}

// Secrets returns what is secret at this moment.
func (r *Redactor) Secrets() mcperrors.Secrets {
	var values []string
	if l := r.links.Load(); l != nil {
		if conn, ok := l.Conn.(link.Secretive); ok {
			values = conn.Secrets()
		}
	}
	known := r.known.Load()
	switch {
	case known == nil && len(values) == 0:
		return mcperrors.Secrets{}
	case known == nil:
		known = &secrets{}
	}
	if !slices.Equal(known.ofConn, values) {
		all := slices.Concat(known.ofTransport, values)
		known = &secrets{known.ofTransport, values, mcperrors.NewSecrets(all...)}
		r.known.Store(known)
	}
	return known.Secrets
}

// Error returns e without secrets.
func (r *Redactor) Error(e *mcperrors.Error) *mcperrors.Error {
	return r.Secrets().HideError(e).(*mcperrors.Error) //nolint:errorlint // an *Error stays one
}

// Logger returns a logger that hides secrets before l.
func (r *Redactor) Logger(l *slog.Logger) *slog.Logger {
	if l.Handler() == slog.DiscardHandler {
		return l
	}
	return slog.New(&handler{l.Handler(), r})
}

// Trace returns a trace that hides secrets before t.
func (r *Redactor) Trace(t transport.Trace) transport.Trace {
	t.Sent, t.Received, t.Noise = r.frames(t.Sent), r.frames(t.Received), r.frames(t.Noise)
	if stderr := t.Stderr; stderr != nil {
		t.Stderr = func(line string) { stderr(r.Secrets().Hide(line)) }
	}
	return t
}

// frames hides secrets from a function that sees traffic.
func (r *Redactor) frames(f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	return func(frame []byte) {
		text := string(frame)
		if hidden := r.Secrets().Hide(text); hidden != text {
			frame = []byte(hidden)
		}
		f(frame)
	}
}

// HideServer returns how a server identifies itself, without secrets. One that repeats
// a secret has no icons and no unknown members then: a part of those is no use.
func HideServer(now mcperrors.Secrets, s mcp.Implementation) mcp.Implementation {
	raw, err := mcp.Marshal(&s)
	if err == nil && now.Hide(string(raw)) == string(raw) {
		return s
	}
	return mcp.Implementation{
		Name: now.Hide(s.Name), Version: now.Hide(s.Version), Title: now.Hide(s.Title),
		Description: now.Hide(s.Description), WebsiteURL: now.Hide(s.WebsiteURL),
	}
}

// handler hides secrets in front of another handler.
type handler struct {
	slog.Handler
	r *Redactor
}

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	now := h.r.Secrets()
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
		hidden[i] = hideAttr(h.r.Secrets(), a)
	}
	return &handler{h.Handler.WithAttrs(hidden), h.r}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.r}
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
