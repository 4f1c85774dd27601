package auth

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Bearer sends tokens that the application has. token is called for each request, from
// many goroutines, with the context of the call; "" sends none. When the server refuses
// a token, token is called once more, and the request is sent again if it returns
// another one.
//
// By default, cached results are not shared between different tokens. If tokens change
// while the caller stays the same, set a partition in the CacheConfig of package
// client.
func Bearer(token func(ctx context.Context) (string, error)) *BearerAuthorizer {
	a := &BearerAuthorizer{token: token}
	a.Option = client.WithAuthorizer(a)
	return a
}

// BearerAuthorizer is what [Bearer] returns. It is used like an [Authorizer].
type BearerAuthorizer struct {
	client.Option
	token func(context.Context) (string, error)
	last  atomic.Pointer[given]
}

// given are the credentials for a token, kept so that the next request need not make
// them again.
type given struct {
	token string
	sent  *transport.Credentials
}

// Authorize implements [transport.Authorizer].
func (b *BearerAuthorizer) Authorize(ctx context.Context, _ transport.AuthorizedRequest) (*transport.Credentials, error) {
	if b.token == nil {
		return nil, errors.New("Bearer needs the function that returns the token")
	}
	token, err := b.token(ctx)
	if err != nil || token == "" {
		return nil, err
	}
	if last := b.last.Load(); last != nil && last.token == token {
		return last.sent, nil
	}
	sent := &transport.Credentials{Header: http.Header{"Authorization": {"Bearer " + token}}, Scope: digest(token)}
	b.last.Store(&given{token, sent})
	return sent, nil
}

// Challenged implements [transport.Authorizer].
func (b *BearerAuthorizer) Challenged(ctx context.Context, c transport.Challenge) (again bool, err error) {
	if c.Status != http.StatusUnauthorized || c.Tries > 0 {
		return false, nil
	}
	now, err := b.Authorize(ctx, c.AuthorizedRequest)
	return err == nil && now != nil && (c.Sent == nil || now.Scope != c.Sent.Scope), err
}
