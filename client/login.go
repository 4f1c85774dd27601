package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// watchLogin reports changes of the transport's login until stop is called. stop is nil if
// the transport has no login.
func watchLogin(c *Client, t transport.Transport) (stop func()) {
	w, ok := t.(link.LoginWatcher)
	if !ok {
		return nil
	}
	server := c.core.Server
	return w.WatchLogin(transport.LoginWatch{
		Changed: func(l transport.LoginChange) {
			if l.State == transport.LoginLost {
				c.core.Log.Warn("[MCP] the login is lost", "server", server, "error", l.Err)
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
