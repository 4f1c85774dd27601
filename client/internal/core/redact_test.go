package core_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// keeper is a transport or a connection with secrets.
type keeper struct {
	transport.Transport
	transport.Conn
	secrets []string
}

func (k *keeper) Secrets() []string { return k.secrets }

func (*keeper) Traits() transport.Traits { return transport.Traits{} }

func (*keeper) String() string { return "keeper" }

func (*keeper) Close() error { return nil }

func (*keeper) Connect(context.Context, transport.Handler) (transport.Conn, error) { return nil, nil }

// Secrets of the transport are hidden from the start, secrets of a connection while it is live.
func TestSecrets(t *testing.T) {
	t.Parallel()
	var r core.Core
	links := &r.Links
	r.Protect(&keeper{secrets: []string{"of the transport"}})
	text := "words of the transport and of the first and of the second"
	require.Equal(t, "words [redacted] and of the first and of the second", r.Secrets().Hide(text))
	links.Use(&keeper{secrets: []string{"of the first"}})
	require.Equal(t, "words [redacted] and [redacted] and of the second", r.Secrets().Hide(text))
	links.Use(&keeper{secrets: []string{"of the second"}})
	require.Equal(t, "words [redacted] and of the first and [redacted]", r.Secrets().Hide(text))

	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindServer, mcperrors.Answered, text, nil)
	require.NotContains(t, r.About(outcome.Subject{}, e).Error(), "of the second")

	var none core.Core
	none.Protect(&transport.Stream{})
	require.Equal(t, text, none.Secrets().Hide(text))
}

// Everything that the application gets is redacted.
func TestWaysOut(t *testing.T) {
	t.Parallel()
	const secret = "words that open a door"
	var r core.Core
	r.Protect(&keeper{secrets: []string{secret}})
	var out bytes.Buffer
	log := r.Redacted(slog.New(slog.NewTextHandler(&out, nil)))
	log.With("a", secret).WithGroup("g").Warn(secret, "b", secret, "c", errors.New(secret), slog.Group("d", "e", secret), "n", 1)
	require.NotContains(t, out.String(), secret)
	require.Equal(t, 5, strings.Count(out.String(), "[redacted]"), out.String())
	require.Contains(t, out.String(), "g.n=1")
	silent := slog.New(slog.DiscardHandler)
	require.Same(t, silent, r.Redacted(silent))

	var seen []string
	see := func(frame []byte) { seen = append(seen, string(frame)) }
	trace := r.RedactedTrace(transport.Trace{Sent: see, Received: see, Stderr: func(line string) { seen = append(seen, line) }})
	require.Nil(t, trace.Noise)
	trace.Sent([]byte("a " + secret))
	trace.Received([]byte("b"))
	trace.Stderr("c " + secret)
	require.Equal(t, []string{"a [redacted]", "b", "c [redacted]"}, seen)
}
