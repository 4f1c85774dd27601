package transport

import (
	"net/url"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// LoginState is what happened to a login.
type LoginState string

const (
	// LoginBegun: a person is asked to log in, or a program asks for its first token.
	LoginBegun LoginState = "begun"
	// LoginFinished: somebody is logged in, perhaps by another program.
	LoginFinished LoginState = "finished"
	// LoginFailed: a login failed, before or after LoginBegun. A later call may begin
	// another one.
	LoginFailed LoginState = "failed"
	// LoginRenewed: the token was replaced without a person.
	LoginRenewed LoginState = "renewed"
	// LoginLost: the token cannot be renewed. Calls fail until somebody logs in, or until
	// the cause in Err is corrected. It is reported once, until the login works again.
	LoginLost LoginState = "lost"
	// LoginEnded: the program logged out.
	LoginEnded LoginState = "logged-out"
)

// LoginChange reports a change of the login at one server. It has no secrets.
type LoginChange struct {
	State LoginState
	// Server is the URL of the MCP server, without query. Issuer is the authorization
	// server, "" if it is not known.
	Server, Issuer string
	// Principal is whose login it is, as the application named the person or account.
	Principal string
	// Err is why the login failed or was lost, nil for other states.
	Err error
}

// LoginReporter is an [Authorizer] that reports changes of its logins. Clients pass them
// on as events.
type LoginReporter interface {
	// WatchLogin calls the functions of w for changes of the login at the server with
	// this endpoint, in their order, until stop is called. It does not wait for a server.
	WatchLogin(endpoint *url.URL, w LoginWatch) (stop func())
}

// LoginWatch receives what a [LoginReporter] reports. Its functions run on the goroutine
// of the login, must return at once, and must not call the Authorizer.
type LoginWatch struct {
	Changed func(LoginChange)
	// CallbackFailed is called if a function of the application that gets the same
	// changes panics or ends its goroutine; see OnCallbackFailed of [Handler].
	CallbackFailed func(name string, value any, stack []byte)
}

// WatchLogin reports changes of the login that the requests use, until stop is called.
// stop is nil if the Authorizer reports none.
func (h *HTTP) WatchLogin(w LoginWatch) (stop func()) { return watchLogin(h.Authorizer, h.URL, w) }

// WatchLogin is that of [HTTP].
func (s *SSE) WatchLogin(w LoginWatch) (stop func()) { return watchLogin(s.Authorizer, s.URL, w) }

func watchLogin(by Authorizer, endpoint string, w LoginWatch) (stop func()) {
	reporter, reports := by.(LoginReporter)
	u, err := url.Parse(endpoint)
	if !reports || err != nil {
		return nil
	}
	u.User = nil
	failed := func(e *callback.Error) { w.CallbackFailed(e.Name, e.Value, e.Stack) }
	var end func()
	callback.Aside(nameOfAuthorizer, failed, func() { end = reporter.WatchLogin(u, w) })
	if end == nil {
		return nil
	}
	return func() { callback.Aside(nameOfAuthorizer, failed, end) }
}
