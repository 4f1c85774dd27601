package auth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
)

// WithRedirect sets the redirect URL, which the browser opens after the login. The default is
// http://127.0.0.1/callback with a free port. Set it if the client was registered with
// another URL.
//
// An http URL is on this machine. An https URL is the callback of a web application and only
// for [HandOff]: the application passes the whole address of the callback to
// [Authorizer.Finish]. A program that registers itself then registers as a web application.
func WithRedirect(to string) Option {
	return func(c *config) {
		if err := checkRedirect(to); err != nil {
			c.wrong(err.Error())
			return
		}
		c.redirect = to
	}
}

// checkRedirect refuses redirect URLs that are neither on this machine nor protected by
// TLS. They have no fragment (RFC 6749 section 3.1.2).
func checkRedirect(to string) error {
	u, err := url.Parse(to)
	switch {
	case err == nil && u.Scheme == "http" && loopback.IsLoopback(u.Hostname()):
		return nil // the listener checks the rest
	case err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && !strings.Contains(to, "#"):
		return nil
	}
	return errors.New("the redirect URL must be on this machine, as http://127.0.0.1:PORT/callback, or https, as https://app.example/callback")
}

// isWeb reports whether a redirect URL is that of a web application.
func isWeb(redirect string) bool {
	u, err := url.Parse(redirect)
	return err == nil && u.Scheme == "https"
}

// refuseWeb refuses the redirect URL of a web application: Login cannot listen there.
func (c *config) refuseWeb() {
	if isWeb(c.redirect) {
		c.wrong("Login listens for the browser on this machine; use HandOff and Finish with an https redirect URL")
	}
}

// receive sets the redirect URL, and listens there if it is on this machine. It prefers a
// registered redirect URL whose port is free.
func (b *begun) receive(ctx context.Context, c *config, known grant.Registered) (err error) {
	if isWeb(c.redirect) {
		b.redirect = c.redirect
		return nil
	}
	if b.listener, err = listen(ctx, c.redirect, known.RedirectURIs, b.state); err == nil {
		b.redirect = b.listener.Redirect()
	}
	return err
}

func listen(ctx context.Context, redirect string, registered []string, state string) (*loopback.Listener, error) {
	if redirect != "" {
		return loopback.Listen(ctx, redirect, state)
	}
	for _, redirect := range registered {
		if l, err := loopback.Listen(ctx, redirect, state); err == nil {
			return l, nil
		}
	}
	return loopback.Listen(ctx, "", state)
}

// close ends the listener, if there is one.
func (b *begun) close() {
	if b.listener != nil {
		b.listener.Close()
	}
}
