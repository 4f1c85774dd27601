package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// TokenExchange obtains tokens in exchange for others (RFC 8693). It is for a gateway that has the
// token of a user and calls an MCP server for that user. id and secret are those of the gateway at
// the authorization server of the MCP server; "" is no secret. subject returns the token to exchange
// and its type, such as [AccessToken]. It is called once for each access token, on a goroutine of its
// own, with the values of the context of the call, and not for each call.
//
// An Authorizer has one token for each server, so each user needs an Authorizer. They may share a
// store with [WithPrincipal]. Set [WithIssuer]: the authorization server gets the secret and the
// token of the user.
//
// # Experimental
//
// The way to separate users may still change.
func TokenExchange(id, secret string, subject func(ctx context.Context) (token, tokenType string, err error), opts ...Option) *Authorizer {
	return machine(id, opts, func(c *config) {
		if c.clientSecret = secret; subject == nil {
			c.wrong("TokenExchange needs the function that returns the token to exchange")
		}
	}, identity(subject).exchange)
}

const grantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

// identity returns the token of a user, and its type.
type identity func(ctx context.Context) (token, tokenType string, err error)

// params returns the parameters of an exchange of the token.
func (f identity) params(ctx context.Context) (url.Values, error) {
	token, kind, err := f(ctx)
	if err == nil && token == "" {
		err = errors.New("the token is empty")
	}
	if err != nil {
		return nil, newError(ReasonToken, "", fmt.Errorf("the token of the user is not available: %w", err))
	}
	return url.Values{"subject_token": {token}, "subject_token_type": {kind}}, nil
}

// exchange exchanges the token of the user for one of the authorization server.
func (f identity) exchange(ctx context.Context, s *site, h *credentials, params url.Values) error {
	subject, err := f.params(ctx)
	if err != nil {
		return err
	}
	for name, values := range subject {
		params[name] = values
	}
	params.Set("requested_token_type", AccessToken)
	if err := h.exchange(ctx, s, grantTokenExchange, params); err != nil {
		return err
	}
	if issued := h.record.Token.IssuedType; issued != AccessToken { // required, RFC 8693 section 2.2.1
		return newError(ReasonToken, "ask the operator of the authorization server", fmt.Errorf("the authorization server issued %q in place of an access token", fetch.Printable(issued)))
	}
	return nil
}
