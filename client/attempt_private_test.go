package client

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// A timeout counts against the server when the client's own times passed, and not
// when a caller was less patient than those.
func TestImpatienceIsNoVerdict(t *testing.T) {
	t.Parallel()
	cfg, err := newConfig(nil)
	require.NoError(t, err)
	c := newClient(cfg, &transport.Stream{})
	defer func() { require.NoError(t, c.Close()) }()
	for _, tt := range []struct {
		name string
		opts callOptions
		want breaker.Verdict
	}{
		{"the client's times", callOptions{}, breaker.Failure},
		{"longer times", callOptions{timesSet: true, idle: time.Hour, max: 2 * time.Hour}, breaker.Failure},
		{"a shorter idle time", callOptions{timesSet: true, idle: time.Second}, breaker.Neutral},
		{"a shorter maximum", callOptions{timesSet: true, max: time.Second}, breaker.Neutral},
	} {
		cl := &call{request: request{opts: tt.opts}, attempt: attempt{link: &link.Link{Agreed: link.Nothing}}}
		out := c.outcomeOf(cl, transport.Answer{}, &transport.Failure{Reason: transport.ReasonTimeout, Err: errors.New("x")})
		require.Equal(t, tt.want, out.Record.Judge(false).Server, tt.name)
	}
}
