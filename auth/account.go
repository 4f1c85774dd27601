package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// Issued is an access token that an authorization server issued. It hides the token
// wherever it is printed.
type Issued struct {
	// Token is secret: its method Text returns it.
	Token grant.Secret
	// Type is Bearer, or DPoP for a token that only the Authorizer can use: it has the key.
	Type string
	// Expiry is when the token expires, zero if that is unknown.
	Expiry time.Time
}

// String hides the token.
func (i Issued) String() string { return "a token of type " + i.Type }

// Format writes String for every verb.
func (i Issued) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(i.String())) }

// LogValue implements [slog.LogValuer] with String.
func (i Issued) LogValue() slog.Value { return slog.StringValue(i.String()) }

// MarshalText writes String.
func (i Issued) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// Token returns the access token for a server, renewed if it has expired. It never asks a
// person: without a login the error is a [*NotLoggedInError]. Programs that rarely make calls
// can use it to check their login in advance.
func (a *Authorizer) Token(ctx context.Context, server string) (string, error) {
	issued, err := a.Issued(ctx, server)
	return issued.Token.Text(), err
}

// Issued is [Authorizer.Token] with the type and the expiry of the token.
func (a *Authorizer) Issued(ctx context.Context, server string) (Issued, error) {
	s, err := a.serverNamed(ctx, server)
	if err != nil {
		return Issued{}, err
	}
	h := s.now.Load()
	if !h.usable(time.Now()) {
		began := time.Now()
		h, err = inSeries(ctx, s, func(ctx context.Context) (*credentials, error) { return s.issued(ctx, began) })
	}
	if err != nil {
		return Issued{}, s.explain(newError(ReasonLogin, "", err))
	}
	kind := "Bearer"
	if h.prover != nil {
		kind = "DPoP"
	}
	return Issued{Token: h.record.Token.Access, Type: kind, Expiry: h.record.Token.Expiry}, nil
}

// issued is [Authorizer.Issued] during the caller's turn; see [inSeries].
func (s *server) issued(ctx context.Context, began time.Time) (*credentials, error) {
	if h := s.now.Load(); h == nil || h.record.Token.Refresh.Empty() && !h.unwritten {
		s.loaded = false // another program may have logged in
	}
	h, err := s.renewedAt(ctx, began)
	if err != nil || h != nil {
		return h, err
	}
	err = newError(ReasonLogin, notRenewed(s.now.Load()), s.notLoggedIn(ctx))
	if s.a.grant.person() {
		s.tell(LoginLost, "", err)
	}
	return nil, err
}

// ErrNotLoggedIn means that there is no token for a server.
var ErrNotLoggedIn = errors.New("nobody is logged in")

// Logout deletes the stored tokens for a server, and revokes them if the authorization server
// supports that. It reports whether there were any. A login that [HandOff] began is deleted,
// too, and can no longer be finished. If only the revocation failed, the tokens are deleted,
// and the error says that they may be valid
// until they expire. If there were none, but damaged files that may have them, the error
// is a [*NotLoggedInError] that names the files.
func (a *Authorizer) Logout(ctx context.Context, server string) (found bool, err error) {
	s, err := a.serverNamed(ctx, server)
	if err != nil {
		return false, err
	}
	found, err = inSeries(ctx, s, func(ctx context.Context) (bool, error) { return s.logout(ctx) })
	return found, s.explain(err)
}

// logout is [Authorizer.Logout] during the caller's turn; see [inSeries].
func (s *server) logout(ctx context.Context) (found bool, err error) {
	a := s.a
	keys, err := s.keys(ctx)
	if err != nil {
		return false, newError(ReasonStore, "", err)
	}
	failed := Error{Reason: ReasonToken}
	revoke := func(key Key, record Record) {
		found = true
		if err := s.revoke(ctx, key, record); err != nil {
			failed.Help, failed.Err = "the tokens may not be revoked, and then stay valid until they expire", errors.Join(failed.Err, err)
		}
	}
	if h := s.now.Load(); h != nil && h.unwritten { // the store has older tokens, or none
		revoke(h.key, h.record)
	}
	for _, key := range keys {
		record, err := a.cfg.store.Load(ctx, key)
		if err == nil && !record.Token.Access.Empty() {
			revoke(key, record)
		}
		if err := a.cfg.store.Delete(ctx, key); err != nil {
			failed.Reason, failed.Err = ReasonStore, errors.Join(failed.Err, err)
		}
	}
	s.now.Store(nil)
	s.ended = ""
	if found {
		s.tell(LoginEnded, "", nil)
	}
	if failed.Err != nil {
		return found, &failed
	}
	if missing := s.notLoggedIn(ctx); !found && len(missing.Damaged) > 0 {
		return false, newError(ReasonStore, "tokens in these files may still be valid", missing)
	}
	return found, nil
}

// revoke revokes the tokens of a record (RFC 7009), the refresh token first: it can obtain new
// tokens.
func (s *server) revoke(ctx context.Context, key Key, r Record) error {
	if r.Server.RevocationURL == "" {
		return nil
	}
	e, err := s.endpointOf(&credentials{key: key}, r)
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

// serverNamed returns the server at a URL for the principal of ctx.
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
