package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Bearer sends tokens that the application already has. For tokens of a login, use [Login] or
// another flow; for credentials in other headers, use HeaderFunc of [transport.HTTP].
//
// token returns the token; "" sends none. It is called once when a call starts, with the
// context of the call, and once more for each retry and each round of input. It runs on the
// goroutine of the call, many at a time, and must return when its context ends: with the
// call, with the maximum time of the call, or with the client. When the server refuses a
// token, token is called once more, on a goroutine of its own, and the request is sent again
// if it returns another one. Requests that belong to no call, such as the opening of a
// stream, call it once each.
//
// By default, cached results are not shared between different tokens. If tokens change
// while the caller stays the same, set a partition in the CacheConfig of package
// client.
func Bearer(token func(ctx context.Context) (string, error)) *BearerAuthorizer {
	a := &BearerAuthorizer{token: token}
	if token == nil {
		a.bad = errors.New("the function that returns the token is missing")
	}
	return a
}

// BearerWithKey is [Bearer] for tokens that are bound to a key of the application (DPoP,
// RFC 9449): each request carries a proof that is signed with the key. So token is called
// for each request, for example twice for a call that fetches the list of tools first. key is
// a private key for ES256 or EdDSA, in PEM or as a JWK. An Ed25519 key signs as EdDSA, unless
// it is a JWK whose alg is Ed25519.
//
// # Experimental
//
// The supported keys may still change.
func BearerWithKey(token func(ctx context.Context) (string, error), key []byte) *BearerAuthorizer {
	a := Bearer(token)
	prover, err := grant.ReadProver(key)
	if err != nil && a.bad == nil {
		a.bad = err
	}
	a.prover = prover
	return a
}

// BearerAuthorizer is what [Bearer] returns. It is used like an [Authorizer].
type BearerAuthorizer struct {
	token  func(context.Context) (string, error)
	prover *grant.Prover // nil without a key
	bad    error         // what is wrong with the arguments
	last   atomic.Pointer[given]
}

// String shows no secrets.
func (b *BearerAuthorizer) String() string { return "an Authorizer" }

// Format writes String for every verb.
func (b *BearerAuthorizer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(b.String())) }

// given are the credentials for a token, cached for the next request.
type given struct {
	token string
	sent  *transport.Credentials
}

// Authorize implements [transport.Authorizer].
func (b *BearerAuthorizer) Authorize(ctx context.Context, r transport.AuthorizedRequest) (*transport.Credentials, error) {
	now, err := b.current(ctx)
	if err != nil || now == nil {
		return nil, err
	}
	if r.Endpoint.Scheme != "https" && !loopback.IsLoopback(r.Endpoint.Hostname()) {
		return nil, withoutTLS(r.Endpoint)
	}
	return b.credentials(r, now)
}

func (b *BearerAuthorizer) credentials(r transport.AuthorizedRequest, now *given) (*transport.Credentials, error) {
	if b.prover == nil {
		return now.sent, nil
	}
	return dpopCredentials(b.prover, r, now.token, now.sent.Scope)
}

// KeepNonce implements [transport.NonceKeeper].
func (b *BearerAuthorizer) KeepNonce(_ context.Context, r transport.AuthorizedRequest, nonce string) {
	if b.prover != nil {
		b.prover.SetNonce(r.URL.String(), nonce)
	}
}

// current returns the current token of the application, nil for none.
func (b *BearerAuthorizer) current(ctx context.Context) (*given, error) {
	if b.bad != nil {
		return nil, b.bad
	}
	token, err := b.token(ctx)
	if err != nil || token == "" {
		return nil, err
	}
	if last := b.last.Load(); last != nil && last.token == token {
		return last, nil
	}
	now := &given{token, &transport.Credentials{Header: http.Header{"Authorization": {"Bearer " + token}}, Scope: digest(token)}}
	b.last.Store(now)
	return now, nil
}

// Challenged implements [transport.Authorizer].
func (b *BearerAuthorizer) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	nonce := b.prover != nil && noteNonce(b.prover, c)
	switch {
	case nonce && c.Tries >= maxNonces:
		return nil, nil
	case !nonce && (c.Status != http.StatusUnauthorized || c.Tries > 0 && b.prover == nil || c.Tries > maxNonces):
		return nil, nil
	}
	now, err := b.current(ctx)
	if err != nil || now == nil || !nonce && c.Sent != nil && now.sent.Scope == c.Sent.Scope {
		return nil, err
	}
	return b.credentials(c.AuthorizedRequest, now)
}
