package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/cmd/refserver/internal/login"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/guard"
)

// tokenLifetime is that of the access tokens of --login, unless the flag says otherwise.
const tokenLifetime = 5 * time.Minute

// logins reads --login. A server where a button is all that logs in must not be reached
// from other machines.
func (f *flags) logins(cfg *config) error {
	users := list(f.login)
	host, _, _ := net.SplitHostPort(cfg.http) // address has made it
	switch {
	case !f.given["login"] && f.given["login-lifetime"]:
		return errors.New("--login-lifetime needs --login")
	case !f.given["login"]:
		return nil
	case len(users) == 0:
		return errors.New("--login needs the name of a user, such as demo")
	case f.http == "":
		return errors.New("--login needs --http: over stdio there are no logins")
	case !guard.Loopback(host):
		return fmt.Errorf("--login needs --http on this machine, such as 127.0.0.1:3000, not %s: anybody who reaches the page can log in", f.http)
	case f.issuer != "" || f.resource != "":
		return errors.New("--login and --oauth-issuer exclude each other, and so does --oauth-resource: give one of them")
	case cfg.opts.Token != "":
		return errors.New("--login and --token exclude each other: give one of them")
	case f.lifetime < time.Second:
		return fmt.Errorf("--login-lifetime must be a second or more, not %s", f.lifetime)
	}
	cfg.users, cfg.lifetime = users, f.lifetime
	return nil
}

// protect has the server at base want the tokens of an authorization server beside it.
func (c *config) protect(base string) error {
	o := &c.opts.OAuth
	o.Issuer, o.Resource = base+login.Path, base+server.Path
	scopes := append([]string{}, o.Scopes...)
	for _, more := range o.ToolScopes {
		scopes = append(scopes, more...)
	}
	beside, err := login.New(login.Options{Issuer: o.Issuer, Resource: o.Resource, Users: c.users, Scopes: scopes, Lifetime: c.lifetime})
	if err != nil {
		return err
	}
	c.opts.Public = beside.Handlers()
	return nil
}

// invitation is what to paste to log in.
func (c *config) invitation() string {
	var b strings.Builder
	fmt.Fprintf(&b, "On this machine only: logins as %s, each with one press of a button. Log in, and call a tool:\n\n", strings.Join(c.users, " or "))
	fmt.Fprintf(&b, "  mcpctl auth login %s\n  mcpctl call %s getNextTask\n\n", c.opts.OAuth.Resource, c.opts.OAuth.Resource)
	return b.String()
}
