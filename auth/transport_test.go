package auth_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// counting is a transport of an application.
type counting struct{ n atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// Any RoundTripper sends the requests of a login; nil means the default.
func TestWithTransport(t *testing.T) {
	t.Parallel()
	own := &counting{}
	for name, by := range map[string]http.RoundTripper{"nil": nil, "nil pointer": (*http.Transport)(nil), "own": own, "standard": &http.Transport{}} {
		w := authtest.New(t)
		_, err := dial(t, w, auth.Login(browser(t), auth.WithTransport(by)))
		require.NoError(t, err, name)
		require.Equal(t, 1, w.Asked("authorize"), name)
	}
	require.EqualValues(t, 4, own.n.Load(), "two documents, the registration, the token")
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("planted-secret") }

func TestWithTransportThatPanics(t *testing.T) {
	t.Parallel()
	_, err := dial(t, authtest.New(t), auth.Login(browser(t), auth.WithTransport(panicking{})))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonDiscovery, e.Reason)
	require.ErrorContains(t, err, "the RoundTripper of the application panicked")
	require.NotContains(t, err.Error(), "planted-secret")
}
