package transport

import (
	"net/url"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// LoginState is the kind of a change of a login.
type LoginState string

const (
	// LoginBegun: a person is asked to log in, or a program requests its first token.
	LoginBegun LoginState = "begun"
	// LoginFinished: the login is complete, possibly by another program.
	LoginFinished LoginState = "finished"
	// LoginFailed: a login failed, before or after LoginBegun. A later call may start another
	// one.
	LoginFailed LoginState = "failed"
	// LoginRenewed: the token was replaced without a person.
	LoginRenewed LoginState = "renewed"
	// LoginLost: the token cannot be renewed. Calls fail until a login succeeds, or until the
	// cause in Err is corrected. It is reported once, until the login works again.
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
	// Principal is the person or account of the login, as the application named it.
	Principal string
	// Err is why the login failed or was lost. It is nil for other states.
	Err error
}

// LoginReporter is an [Authorizer] that reports changes of its logins. Clients pass them on as
// events.
type LoginReporter interface {
	// WatchLogin calls the functions of w for changes of the login at the server with this
	// endpoint, in order, until stop is called. It does not block.
	WatchLogin(endpoint *url.URL, w LoginWatch) (stop func())
}

// LoginWatch receives the reports of a [LoginReporter]. Its functions run on the goroutine of the
// login, must return at once, and must not call the Authorizer.
type LoginWatch struct {
	Changed func(LoginChange)
	// CallbackFailed is called if another callback for the same changes panics or calls
	// runtime.Goexit; see OnCallbackFailed of [Handler].
	CallbackFailed func(name string, value any, stack []byte)
}

// WatchLogin reports changes of the login of the requests until stop is called. stop is nil if
// the Authorizer reports none.
func (h *HTTP) WatchLogin(w LoginWatch) (stop func()) { return watchLogin(h.Authorizer, h.URL, w) }

// WatchLogin is the same as [HTTP.WatchLogin].
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
