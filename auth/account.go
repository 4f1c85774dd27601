package auth

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// Token returns the access token for a server, renewed if it has expired. It asks no
// person: without a login the error is a [*NotLoggedIn].
func (a *Authorizer) Token(ctx context.Context, server string) (string, error) {
	s, err := a.serverNamed(ctx, server)
	if err != nil {
		return "", err
	}
	began := time.Now()
	h, err := inTurn(ctx, s, func(ctx context.Context) (*held, error) {
		h, err := s.renewedAt(ctx, began)
		if err == nil && h == nil {
			err = because(ReasonLogin, notRenewed(s.now.Load()), s.notLoggedIn(ctx))
		}
		return h, err
	})
	if err != nil {
		return "", s.explain(because(ReasonLogin, "", err))
	}
	return h.record.Token.Access.Text(), nil
}

// ErrNotLoggedIn means that there is no token for a server.
var ErrNotLoggedIn = errors.New("nobody is logged in")

// Logout takes the tokens for a server back, at the authorization server if it allows
// that, and deletes them. It reports whether there were any. A login that [HandOff] began
// is deleted, too, and can no longer be finished. If only taking them back
// failed, they are deleted all the same, and the error says that they may be valid
// until they expire. If there were none, but damaged files that may have them, the error
// is a [*NotLoggedIn] that names the files.
func (a *Authorizer) Logout(ctx context.Context, server string) (found bool, err error) {
	s, err := a.serverNamed(ctx, server)
	if err != nil {
		return false, err
	}
	found, err = inTurn(ctx, s, func(ctx context.Context) (bool, error) { return s.logout(ctx) })
	return found, s.explain(err)
}

// logout is [Authorizer.Logout] in turn.
func (s *server) logout(ctx context.Context) (found bool, err error) {
	a := s.a
	keys, err := s.keys(ctx)
	if err != nil {
		return false, because(ReasonStore, "", err)
	}
	failed := Error{Reason: ReasonToken}
	for _, key := range keys {
		record, err := a.cfg.store.Load(ctx, key)
		if err == nil && !record.Token.Access.Empty() {
			found = true
			if err := s.revoke(ctx, key, record); err != nil {
				failed.Help, failed.Err = "the tokens may be valid until they expire", errors.Join(failed.Err, err)
			}
		}
		if err := a.cfg.store.Delete(ctx, key); err != nil {
			failed.Reason, failed.Err = ReasonStore, errors.Join(failed.Err, err)
		}
	}
	s.now.Store(nil)
	s.ended = ""
	if failed.Err != nil {
		return found, &failed
	}
	if missing := s.notLoggedIn(ctx); !found && len(missing.Damaged) > 0 {
		return false, because(ReasonStore, "tokens in these files may be valid", missing)
	}
	return found, nil
}

// revoke takes back the tokens of a record (RFC 7009), the refresh token first: it is
// good for new ones.
func (s *server) revoke(ctx context.Context, key Key, r Record) error {
	if r.Server.RevocationURL == "" {
		return nil
	}
	e, err := s.endpointOf(&held{key: key}, r)
	if err != nil {
		return err
	}
	who := s.a.cfg.client(r)
	if !r.Token.Refresh.Empty() {
		if err := grant.Revoke(ctx, e, who, r.Server.RevocationURL, r.Token.Refresh.Text(), "refresh_token"); err != nil {
			return err
		}
	}
	return grant.Revoke(ctx, e, who, r.Server.RevocationURL, r.Token.Access.Text(), "access_token")
}

// serverNamed returns what is known of the server at a URL, for the principal of ctx.
func (a *Authorizer) serverNamed(ctx context.Context, at string) (*server, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, &Error{Reason: ReasonOption, Server: "the server", Err: errors.New("its URL cannot be read")}
	}
	u.User = nil
	s, err := a.serverAt(ctx, u, false)
	if err == nil && s == nil {
		err = withoutTLS(u)
	}
	return s, err
}
