package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// WithPrincipals makes one Authorizer serve many people or accounts, for example the users
// of a web application. f returns the name of the principal of a context. Tokens, pending
// logins, failures, DPoP keys and cached lists of one principal are never used for another.
// The program registers itself once for all of them.
//
// A call fails with [ErrNoPrincipal] if f returns "", and with the error of f if it fails.
// Background requests, such as the stream of a session, carry no token then. f runs on the
// goroutine of the call, many at a time, and more than once for a challenged request. It must
// return quickly, and the same name for the same context. [Authorizer.Token],
// [Authorizer.Finish] and [Authorizer.Logout] call it, too.
//
// The default is one principal, see [WithPrincipal].
func WithPrincipals(f func(ctx context.Context) (string, error)) Option {
	return func(c *config) {
		if f == nil {
			c.wrong("WithPrincipals needs the function that returns the principal")
			return
		}
		c.principals = f
	}
}

// ErrNoPrincipal means that a context names no principal, see [WithPrincipals].
var ErrNoPrincipal = errors.New("the context names no principal")

// principalOf returns the principal of a context.
func (c *config) principalOf(ctx context.Context) (string, error) {
	if c.principals == nil {
		return c.principal, nil
	}
	switch name, err := c.principals(ctx); {
	case err != nil:
		return "", fmt.Errorf("the principal is not known: %w", err)
	case name == "":
		return "", ErrNoPrincipal
	default:
		return name, nil
	}
}

// nobody are the credentials of a principal without a token. Requests carry no header, but
// principals must not share their results: the error of a pending login has the page of one
// person.
func (c *config) nobody(principal string) *transport.Credentials {
	if c.principals == nil {
		return nil
	}
	return &transport.Credentials{Scope: digest("principal", principal)}
}
