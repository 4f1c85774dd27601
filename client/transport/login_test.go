package transport_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// reporter is an Authorizer that reports changes of a login.
type reporter struct {
	transport.Authorizer
	at    *url.URL
	watch *transport.LoginWatch
	fails bool
}

func (r *reporter) WatchLogin(endpoint *url.URL, w transport.LoginWatch) (stop func()) {
	if r.fails {
		panic("a bug")
	}
	r.at, r.watch = endpoint, &w
	return func() { r.watch = nil }
}

// watcher is a transport whose requests use a login.
type watcher interface {
	WatchLogin(w transport.LoginWatch) (stop func())
}

// silent is an Authorizer that reports nothing.
type silent struct{}

func (silent) Authorize(context.Context, transport.AuthorizedRequest) (*transport.Credentials, error) {
	return nil, nil
}

func (silent) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	return nil, nil
}

// The transports for HTTP pass on what their Authorizer reports, until stop.
func TestWatchLogin(t *testing.T) {
	t.Parallel()
	const at = "https://user:password@mcp.test/mcp?a=b"
	for name, transportOf := range map[string]func(transport.Authorizer) watcher{
		"HTTP": func(a transport.Authorizer) watcher {
			return &transport.HTTP{URL: at, Authorizer: a}
		},
		"SSE": func(a transport.Authorizer) watcher {
			return (&transport.HTTP{URL: at, Authorizer: a}).Fallback().(*transport.SSE)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Nil(t, transportOf(nil).WatchLogin(transport.LoginWatch{}))
			require.Nil(t, transportOf(silent{}).WatchLogin(transport.LoginWatch{}))

			var got []transport.LoginState
			r := &reporter{}
			stop := transportOf(r).WatchLogin(transport.LoginWatch{Changed: func(c transport.LoginChange) { got = append(got, c.State) }})
			require.Equal(t, "https://mcp.test/mcp?a=b", r.at.String())
			r.watch.Changed(transport.LoginChange{State: transport.LoginLost})
			stop()
			require.Nil(t, r.watch)
			require.Equal(t, []transport.LoginState{transport.LoginLost}, got)

			var failed string
			require.Nil(t, transportOf(&reporter{fails: true}).WatchLogin(transport.LoginWatch{
				CallbackFailed: func(name string, value any, _ []byte) { failed = name + ": " + value.(string) },
			}))
			require.Equal(t, "HTTP.Authorizer: a bug", failed)
		})
	}
}
