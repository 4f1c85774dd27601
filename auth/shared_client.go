package auth

import (
	"context"
	"errors"
	"slices"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// A program that serves many principals registers itself once. The record of the registration
// has no principal and no token.

// clientKey is the key of the registration for all principals.
func clientKey(of store.Key) store.Key {
	return store.Key{Server: of.Server, Issuer: of.Issuer, Resource: of.Resource}
}

// sharedClient returns the registration for all principals, zero for none.
func (p *person) sharedClient(ctx context.Context, s *site) (grant.Registered, error) {
	r, err := p.cfg.store.Load(ctx, clientKey(s.key("")))
	if errors.Is(err, store.ErrNotFound) || err == nil && !p.mayShare(r.Client) {
		return grant.Registered{}, nil
	}
	return r.Client, err
}

// mayShare reports whether this program can use a registration with its options.
func (p *person) mayShare(r grant.Registered) bool {
	return r.ClientID != "" && alive(r) && r.DPoPBound == p.cfg.dpop
}

// registerShared registers the program for all principals. Concurrent logins, also of other
// processes, wait for it and use it.
func (p *person) registerShared(ctx context.Context, s *site, redirect string) (grant.Registered, error) {
	var shared grant.Registered
	err := p.cfg.store.Update(ctx, clientKey(s.key("")), func(r store.Record) (_ store.Record, err error) {
		if !p.mayShare(r.Client) || !slices.Contains(r.Client.RedirectURIs, redirect) {
			if r.Client, err = s.register(ctx, p.cfg.registration(redirect)); err != nil {
				return r, err
			}
		}
		shared = r.Client
		return r, nil
	})
	return shared, newError(ReasonStore, "", err)
}

// forgetShared deletes the registration for all principals if it is the client of key, which
// the authorization server no longer knows.
func (c *config) forgetShared(ctx context.Context, key store.Key) {
	if c.principals == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping)
	defer cancel()
	_ = c.store.Update(ctx, clientKey(key), func(r store.Record) (store.Record, error) {
		if r.Client.ClientID == key.ClientID {
			r.Client = grant.Registered{}
		}
		return r, nil
	})
}
