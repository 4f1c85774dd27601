package client

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
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
		opts run.Options
		want breaker.Verdict
	}{
		{"the client's times", run.Options{}, breaker.Failure},
		{"longer times", run.Options{Wait: jsonrpc.Wait{Idle: time.Hour, Max: 2 * time.Hour}}, breaker.Failure},
		{"a shorter idle time", run.Options{Wait: jsonrpc.Wait{Idle: time.Second}}, breaker.Neutral},
		{"a shorter maximum", run.Options{Wait: jsonrpc.Wait{Max: time.Second}}, breaker.Neutral},
	} {
		cl := &run.Call{Request: run.Request{Options: tt.opts}, Attempt: run.Attempt{Link: &link.Link{Agreed: link.Nothing}}}
		out := c.outcomeOf(cl, transport.Answer{}, &transport.Failure{Reason: transport.ReasonTimeout, Err: errors.New("x")})
		require.Equal(t, tt.want, out.Record.Judge(false).Server, tt.name)
	}
}
