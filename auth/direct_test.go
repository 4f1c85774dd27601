package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// direct hands requests to the handlers of a world, so that time can be virtual.
type direct struct {
	w *authtest.World
	// refuse returns the status and body of an answer in place of the world's, 0 for none.
	refuse func(*http.Request) (status int, body string)
}

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	served := r.Clone(r.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	status, body := 0, ""
	if d.refuse != nil {
		status, body = d.refuse(r)
	}
	switch {
	case status != 0:
		rec.Header().Set("Content-Type", "application/json")
		rec.WriteHeader(status)
		_, _ = rec.WriteString(body)
	case "http://"+r.URL.Host == d.w.AS.URL:
		d.w.AS.Config.Handler.ServeHTTP(rec, served)
	default:
		d.w.MCP.Config.Handler.ServeHTTP(rec, served)
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// connect opens a client of the world.
func (d *direct) connect(t *testing.T, a transport.Authorizer, more ...client.Option) *client.Client {
	t.Helper()
	c, err := d.try(t, a, more...)
	require.NoError(t, err)
	return c
}

func (d *direct) try(t *testing.T, a transport.Authorizer, more ...client.Option) (*client.Client, error) {
	t.Helper()
	at := &transport.HTTP{URL: d.w.MCP.URL + "/mcp", RoundTripper: d, Authorizer: a}
	c, err := client.Connect(t.Context(), at, append(append(watched(), more...), client.WithProtocolVersion("2025-11-25"))...)
	tell(a, c, err)
	return c, err
}

// logIn logs in a person at another machine, and returns an Authorizer with the login.
func (d *direct) logIn(t *testing.T, store auth.Store, opts ...auth.Option) *auth.Authorizer {
	t.Helper()
	a := auth.HandOff(append(opts, auth.WithStore(store), auth.WithTransport(d))...)
	_, err := d.try(t, a)
	require.NoError(t, a.Finish(t.Context(), d.w.MCP.URL+"/mcp", d.visit(t, err)))
	return a
}

// visit is the person's browser: it returns the address where it ends.
func (d *direct) visit(t *testing.T, err error) (address string) {
	t.Helper()
	var begun *auth.LoginPendingError
	require.ErrorAs(t, err, &begun)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, begun.URL, nil)
	require.NoError(t, err)
	resp, err := d.RoundTrip(req)
	require.NoError(t, err)
	return resp.Header.Get("Location")
}

// diary has the events that were reported.
type diary struct {
	mu     sync.Mutex
	events []auth.Event
}

func (d *diary) note(e auth.Event) {
	tell(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// states are those of the events since the last call.
func (d *diary) states() []transport.LoginState {
	d.mu.Lock()
	defer d.mu.Unlock()
	var states []transport.LoginState
	for _, e := range d.events {
		states = append(states, e.State)
	}
	d.events = nil
	return states
}

// last is the last event.
func (d *diary) last() auth.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.events) == 0 {
		return auth.Event{Err: errors.New("there is no event")}
	}
	return d.events[len(d.events)-1]
}
