package connect

import (
	"context"
	"errors"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// lazyStore is a store that its function opens. Where most servers want no login, a store
// that cannot be opened must not keep anybody from a server.
type lazyStore func() (auth.Store, error)

// Load implements [auth.Store].
func (l lazyStore) Load(ctx context.Context, key auth.Key) (auth.Record, error) {
	s, err := l()
	if err != nil {
		return auth.Record{}, err
	}
	return s.Load(ctx, key)
}

// Update implements [auth.Store].
func (l lazyStore) Update(ctx context.Context, key auth.Key, change func(auth.Record) (auth.Record, error)) error {
	s, err := l()
	if err != nil {
		return err
	}
	return s.Update(ctx, key, change)
}

// Delete implements [auth.Store].
func (l lazyStore) Delete(ctx context.Context, key auth.Key) error {
	s, err := l()
	if err != nil {
		return err
	}
	return s.Delete(ctx, key)
}

// List implements [auth.Store].
func (l lazyStore) List(ctx context.Context) ([]auth.Key, error) {
	s, err := l()
	if err != nil {
		return nil, err
	}
	return s.List(ctx)
}

// ifAsked sends stored tokens. Without a usable store it sends none, and says why only to
// a server that wants one: most servers want none.
type ifAsked struct {
	*auth.Authorizer
	advise func(error) error // changes the errors, nil for no change
}

// Authorize implements [transport.Authorizer].
func (a ifAsked) Authorize(ctx context.Context, r transport.AuthorizedRequest) (*transport.Credentials, error) {
	c, err := a.Authorizer.Authorize(ctx, r)
	var own *failure.Failure
	if errors.As(err, &own) {
		return nil, nil
	}
	return c, a.advised(err)
}

func (a ifAsked) advised(err error) error {
	if a.advise == nil || err == nil {
		return err
	}
	return a.advise(err)
}

// Challenged implements [transport.Authorizer].
func (a ifAsked) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	own, err := a.Authorizer.Challenged(ctx, c)
	var unusable *failure.Failure
	if errors.As(err, &unusable) {
		asked := *unusable
		asked.Kind, asked.Message = failure.KindAuth, "the server wants a login, but "+unusable.Message
		return nil, &asked
	}
	return own, a.advised(err)
}
