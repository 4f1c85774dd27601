package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// LoginChanged reports a change of the login that the requests of the client use: it
// began, finished, failed, was renewed, was lost, or was ended. The client also logs a
// warning for a lost login. Several clients may use one login; each reports its changes.
// The Authorizers of package auth report them; see [transport.LoginReporter].
type LoginChanged struct {
	source

	State transport.LoginState
	// Issuer is the authorization server, "" if it is not known.
	Issuer string
	// Principal is whose login it is, as the application named the person or account.
	Principal string
	// Err is why the login failed or was lost, nil for other states.
	Err error
}

func (e LoginChanged) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Issuer, e.Err = now.Hide(e.Issuer), now.HideError(e.Err)
	return e
}

// watchLogin passes on the changes of the transport's login until stop is called. stop is
// nil if there are none to report.
func watchLogin(c *Client, t transport.Transport) (stop func()) {
	w, ok := t.(link.LoginWatcher)
	if !ok {
		return nil
	}
	server := c.calls.Errors.Server
	return w.WatchLogin(transport.LoginWatch{
		Changed: func(l transport.LoginChange) {
			if l.State == transport.LoginLost {
				c.calls.Log.Warn("[MCP] the login is lost", "server", server, "error", l.Err)
			}
			if c.cfg.meter != nil {
				c.cfg.meter.Observe(Signal{Kind: LoginSignal, Server: server, Login: l.State, Count: 1})
			}
			c.emit(LoginChanged{State: l.State, Issuer: l.Issuer, Principal: l.Principal, Err: l.Err})
		},
		CallbackFailed: func(name string, value any, stack []byte) {
			c.callbackFailed(&callback.Error{Name: name, Value: value, Stack: stack})
		},
	})
}
