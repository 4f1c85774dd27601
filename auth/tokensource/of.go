package tokensource

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// renewal bounds one call of a TokenSource that [Of] returns.
const renewal = time.Minute

// Of returns a TokenSource with the token of a login at an MCP server, for other libraries
// that call the same server. The token is renewed when it has expired. It never logs in:
// without a login the error is an [*auth.Error] with an [*auth.NotLoggedInError].
//
// A call of Token takes at most a minute, and fails when ctx has ended. A valid token comes
// from memory, so oauth2.ReuseTokenSource is not needed. A token that is bound to a key
// ([auth.WithDPoP]) is an error: only the Authorizer can use it.
//
// An oauth2.Token shows its secrets when it is printed. Send the token to that server only.
func Of(ctx context.Context, a *auth.Authorizer, server string) oauth2.TokenSource {
	return source(func() (*oauth2.Token, error) {
		if a == nil {
			return nil, &auth.Error{Reason: auth.ReasonOption, Server: fetch.Show(server), Err: errors.New("the Authorizer is missing")}
		}
		ctx, cancel := context.WithTimeout(ctx, renewal)
		defer cancel()
		issued, err := a.Issued(ctx, server)
		switch {
		case err != nil:
			return nil, err
		case issued.Type != "Bearer":
			return nil, &auth.Error{
				Reason: auth.ReasonOption, Server: fetch.Show(server), Err: errors.New("the token is bound to a key that only the Authorizer has"),
				Help: "send requests with the Authorizer, or log in without WithDPoP",
			}
		}
		return &oauth2.Token{AccessToken: issued.Token.Text(), TokenType: issued.Type, Expiry: issued.Expiry}, nil
	})
}

// source is a function as a TokenSource.
type source func() (*oauth2.Token, error)

// Token implements oauth2.TokenSource.
func (s source) Token() (*oauth2.Token, error) { return s() }
