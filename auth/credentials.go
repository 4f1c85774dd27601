package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// credentials are a token with its record. They do not change once requests use them.
type credentials struct {
	key    store.Key
	record store.Record
	prover *grant.Prover          // of DPoP, nil without it
	bearer *transport.Credentials // of every request, nil with DPoP
	scope  string                 // for caches, see [transport.Credentials]

	loggedIn time.Time // when this process logged in, zero if it did not
	renewed  bool      // by a refresh of this process
	// unwritten is set if the store could not be written. The store then still has the
	// refresh token spent, "" for none.
	unwritten bool
	spent     string
}

// String shows no secrets.
func (h *credentials) String() string { return "credentials for " + h.key.Resource }

// Format writes String for every verb: fmt would show the fields.
func (h *credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(h.String())) }

// newCredentials returns credentials for a grant to complete. With DPoP, they have a new key.
func newCredentials(s *site) (*credentials, error) {
	h := &credentials{}
	if !s.cfg.dpop {
		return h, nil
	}
	p, err := grant.NewProver()
	if err != nil {
		return nil, newError(ReasonToken, "", err)
	}
	if !slices.Contains(s.server.DPoPAlgs, p.Algorithm()) {
		return nil, newError(ReasonDiscovery, "leave out WithDPoP if tokens that are not bound to a key are enough", fmt.Errorf("the authorization server %s does not support DPoP with %s", s.server.Issuer, p.Algorithm()))
	}
	h.prover = p
	if h.record.Proof, err = p.Export(); err != nil {
		return nil, newError(ReasonToken, "", err)
	}
	return h, nil
}

// exchange requests the token from the authorization server.
func (h *credentials) exchange(ctx context.Context, s *site, grantType string, params url.Values) error {
	who := s.cfg.client(h.record)
	token, err := s.pace.ask(ctx, func() (*grant.Token, error) { return s.tokens(h.prover).Exchange(ctx, who, grantType, params) })
	if err != nil {
		return newError(ReasonToken, "", err)
	}
	h.obtained(token, who)
	return nil
}

// obtained sets the token, and the method of authentication that worked.
func (h *credentials) obtained(token *grant.Token, who *grant.Client) {
	h.record.Token, h.record.Obtained = *token, time.Now().Round(0)
	h.record.Client.Method = who.Method
}

// tokens is the token endpoint of a site.
func (s *site) tokens(proof *grant.Prover) *grant.Endpoint {
	return &grant.Endpoint{
		HTTP: s.http, TokenURL: s.server.TokenEndpoint, Issuer: s.server.Issuer,
		Methods: s.server.TokenEndpointAuthMethods, Algs: s.server.TokenEndpointAuthAlgs, Proof: proof,
	}
}

// renewMargin is the longest time between the renewal of a token and its expiry. Requests in
// flight need it: a server refuses tokens that expire on the way.
const renewMargin = 10 * time.Second

// usable reports whether the token is not about to expire.
func (h *credentials) usable(now time.Time) bool {
	if h == nil || h.record.Token.Access.Empty() {
		return false
	}
	end := h.record.Token.Expiry
	return end.IsZero() || now.Before(end.Add(-h.margin()))
}

// margin is how long before its expiry the token is renewed: at most a tenth of its life.
func (h *credentials) margin() time.Duration {
	r := &h.record
	if r.Obtained.IsZero() {
		return renewMargin
	}
	return min(renewMargin, r.Token.Expiry.Sub(r.Obtained)/10)
}

// fresh reports whether the token is new.
func (h *credentials) fresh() bool { return time.Since(h.record.Obtained) < freshFor }

// forRequest returns the headers of a request.
func (h *credentials) forRequest(r transport.AuthorizedRequest) (*transport.Credentials, error) {
	if h.prover == nil {
		return h.bearer, nil
	}
	return dpopCredentials(h.prover, r, h.record.Token.Access.Text(), h.scope)
}

// sentAs reports whether a request carried these credentials.
func (h *credentials) sentAs(sent *transport.Credentials) bool {
	if sent == nil {
		return false
	}
	_, token, _ := strings.Cut(sent.Header.Get("Authorization"), " ")
	return token == h.record.Token.Access.Text()
}

// lacks reports whether the token was requested without one of the scopes of a challenge.
func (h *credentials) lacks(asked challenge.Challenge) bool {
	return len(missing(strings.Fields(asked.Get("scope")), h.record.Scopes)) > 0
}

// ready prepares a record for requests.
func (h *credentials) ready() (*credentials, error) {
	switch {
	case h.prover != nil:
	case !h.record.Proof.Empty():
		prover, err := grant.ParseProver(h.record.Proof)
		if err != nil {
			return nil, err
		}
		h.prover = prover
	default:
		h.bearer = &transport.Credentials{Header: http.Header{"Authorization": {"Bearer " + h.record.Token.Access.Text()}}}
	}
	scopes := slices.Sorted(slices.Values(h.record.Scopes))
	h.scope = digest(h.key.Issuer, h.key.Resource, h.key.ClientID, h.key.Principal, h.record.Login, strings.Join(scopes, " "))
	if h.bearer != nil {
		h.bearer.Scope = h.scope
	}
	return h, nil
}

// digest identifies texts without revealing them.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = sum.Write([]byte(part)) // never fails
		_, _ = sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// complete sets what later refreshes need.
func (h *credentials) complete(from *site, scopes []string) {
	h.record.Scopes = scopes
	h.granted()
	h.record.Server = store.Server{
		TokenURL: from.server.TokenEndpoint, RevocationURL: from.server.RevocationEndpoint,
		TokenAuthMethods: from.server.TokenEndpointAuthMethods, TokenAuthAlgs: from.server.TokenEndpointAuthAlgs,
		Resource: from.params(nil).Get("resource"), PrivateNetwork: from.cfg.private,
	}
	if from.resource != nil {
		h.record.Server.Metadata = from.resource.Place
	}
}

// granted adds the granted scopes to the requested ones.
func (h *credentials) granted() {
	h.record.Scopes = union(h.record.Scopes, strings.Fields(h.record.Token.Scope))
}

// keeping bounds the wait for other processes that use the store.
const keeping = 30 * time.Second

// keep stores new credentials and prepares them for requests.
func (s *server) keep(ctx context.Context, h *credentials) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping) // an issued token is stored even if the caller has left
	defer cancel()
	err := s.a.cfg.store.Update(ctx, h.key, func(stored store.Record) (store.Record, error) {
		h.spent = stored.Token.Refresh.Text()
		return h.record, nil
	})
	if err != nil && s.a.cfg.newLogin {
		return err // the login is for other programs, which read the store
	}
	h.unwritten = err != nil // this process can still use the token
	_, err = h.ready()
	return err
}

// load returns the stored credentials for the server, nil if there are none. A record
// without a token may still have a registration, see [person.known].
func (s *server) load(ctx context.Context) (*credentials, error) {
	if s.a.cfg.newLogin {
		return nil, nil
	}
	h, ended, err := s.stored(ctx)
	if h != nil || ended != "" {
		s.ended = ended
	}
	return h, err
}

// stored is [server.load] without the serial of the server. ended is the error code that ended
// a login, "" if there are credentials.
func (s *server) stored(ctx context.Context) (best *credentials, ended string, err error) {
	cfg := &s.a.cfg
	keys, err := s.keys(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, key := range keys {
		if !cfg.mayUse(key) || !s.isFor(key.Resource) {
			continue
		}
		record, err := cfg.store.Load(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, "", err
		case record.Token.Access.Empty() && record.Ended != "":
			ended = record.Ended
			continue
		case record.Token.Access.Empty(), cfg.dpop && record.Proof.Empty(), !s.claimed(key.Resource, record.Server.Metadata):
			continue
		}
		if best == nil || record.Obtained.After(best.record.Obtained) {
			best = &credentials{key: key, record: record}
		}
	}
	if best == nil {
		return nil, ended, nil
	}
	best, err = best.ready()
	return best, "", err
}

// name is the URL of the server in keys: tokens for one URL are not sent to another, even if
// their resource covers both.
func (s *server) name() string { return canonical(s.endpoint) }

// keys returns the keys of the principal's records for the server.
func (s *server) keys(ctx context.Context) ([]Key, error) {
	return s.a.cfg.keys(ctx, s.id.principal, s.name())
}

// keys returns the keys of a principal's records for the server with a name, "" for all.
// Damaged records are skipped.
func (c *config) keys(ctx context.Context, principal, name string) ([]Key, error) {
	keys, err := c.store.List(ctx)
	if err != nil && len(keys) == 0 && !store.OnlyDamaged(err) {
		return nil, err
	}
	return slices.DeleteFunc(keys, func(k Key) bool { return k.Principal != principal || name != "" && k.Server != name }), nil
}

// mayUse reports whether the configured client may use the tokens of a key.
func (c *config) mayUse(key store.Key) bool {
	if c.clientID == "" {
		return true
	}
	return key.ClientID == c.clientID && (c.clientIssuer == "" || key.Issuer == c.clientIssuer)
}

// isFor reports whether tokens for a resource are for this server. The resource was checked
// when the token was obtained; this program may have stricter rules.
func (s *server) isFor(resource string) bool {
	return discover.Covers(resource, s.endpoint, s.a.cfg.strict) == nil
}

// claimed reports whether the document at a URL, "" for none, may name a resource for this
// server. Tokens for a parent path without a known document are not used.
func (s *server) claimed(resource, document string) bool {
	_, err := discover.MayClaim(document, resource, s.endpoint)
	return err == nil
}

// refreshed renews a token. It returns nil without an error if the authorization server no
// longer renews it: only a new login helps then. Other processes with the same store wait
// until the new token is stored.
func (s *server) refreshed(ctx context.Context, h *credentials) (*credentials, error) {
	next := &credentials{key: h.key, loggedIn: h.loggedIn}
	outcome, asked := renewed, false
	var ended *grant.Error
	// The caller may leave, and an issued token must still be stored.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping)
	defer cancel()
	err := s.a.cfg.store.Update(waiting, h.key, func(stored store.Record) (store.Record, error) {
		next.spent = stored.Token.Refresh.Text()
		if h.unwritten && stored.Token.Refresh.Text() == h.spent {
			stored = h.record
		}
		if next.record = stored; stored.Proof.Text() == h.record.Proof.Text() {
			next.prover = h.prover // it has the nonces of the server
		}
		if stored.Token.Access.Text() != h.record.Token.Access.Text() && (&credentials{record: stored}).usable(time.Now()) {
			return stored, nil // another process has renewed it
		}
		if stored.Token.Refresh.Empty() {
			outcome, s.ended = over, stored.Ended // another process logged out, or could not renew
			return stored, nil
		}
		asked = true
		token, who, err := s.renew(ctx, h, stored)
		if err != nil {
			outcome = s.outcomeOf(err, &next.record)
			if outcome == later {
				return stored, err
			}
			_ = errors.As(err, &ended)
			return next.record, nil
		}
		if token.Refresh.Empty() {
			token.Refresh = stored.Token.Refresh
		}
		next.obtained(token, who)
		return next.record, nil
	})
	next.renewed = asked // a token of another process may be old
	switch {
	case outcome == over:
		if s.now.Store(nil); ended != nil {
			s.ended = ended.Code
			if next.record.Client.ClientID == "" {
				s.a.cfg.forgetShared(ctx, h.key)
			}
		}
		s.tell(LoginLost, h.key.Issuer, newError(ReasonLogin, "log in again", &NotLoggedInError{Ended: s.ended}))
		return nil, nil
	case err != nil && asked && outcome == renewed:
		next.unwritten = true // this process can still use the token
	case err != nil && asked:
		if refusedForGood(err) {
			s.tell(LoginLost, h.key.Issuer, newError(ReasonToken, "", err))
		}
		return nil, newError(ReasonToken, "try again later: the authorization server does not renew the token now", err)
	case err != nil:
		return nil, newError(ReasonStore, "another process may have stopped while it renewed the token", err)
	}
	if next, err = next.ready(); err != nil {
		return nil, newError(ReasonStore, "", err)
	}
	s.now.Store(next)
	s.failed = failure{}
	if asked || s.lost {
		s.tell(LoginRenewed, h.key.Issuer, nil)
	}
	return next, nil
}

// outcome is the result of a refresh.
type outcome int

const (
	renewed outcome = iota
	later           // a temporary failure: the refresh token may be valid
	over            // only a new login helps
)

// outcomeOf classifies the error of a refresh, and removes what is invalid from the record.
// Only certain codes end a login (RFC 6749 section 5.2). Others come from overloaded
// servers, firewalls and wrong clocks.
func (s *server) outcomeOf(err error, r *store.Record) outcome {
	var refused *grant.Error
	if !errors.As(err, &refused) || refused.Status >= 500 || refused.Status == http.StatusTooManyRequests {
		return later
	}
	switch refused.Code {
	case "invalid_grant", "unsupported_grant_type":
		r.Token, r.Ended = grant.Token{}, refused.Code
		return over
	case "invalid_client", "unauthorized_client":
		if s.a.cfg.clientID != "" {
			return later // the configuration has to be corrected
		}
		r.Client, r.Token, r.Ended = grant.Registered{}, grant.Token{}, refused.Code
		return over
	case "invalid_request", "invalid_scope", "invalid_target", "access_denied":
		return over // some servers return these for an expired token; the record keeps it
	}
	return later
}

// renew requests a new token. The end of ctx does not cancel a request that was sent. The
// returned client has the method of authentication that worked.
func (s *server) renew(ctx context.Context, h *credentials, r store.Record) (*grant.Token, *grant.Client, error) {
	if r.Proof.Text() != h.record.Proof.Text() {
		h = &credentials{key: h.key, record: r} // another login replaced it
	}
	e, err := s.endpointOf(h, r)
	if err != nil {
		return nil, nil, err
	}
	params := url.Values{"refresh_token": {r.Token.Refresh.Text()}}
	if r.Server.Resource != "" && !s.a.cfg.exceptions[h.key.Issuer].noResource {
		params.Set("resource", r.Server.Resource)
	}
	who := s.a.cfg.client(r)
	token, err := s.pace.ask(ctx, func() (*grant.Token, error) {
		return e.Exchange(context.WithoutCancel(ctx), who, "refresh_token", params)
	})
	return token, who, err
}

// endpointOf returns the token endpoint of stored tokens.
func (s *server) endpointOf(h *credentials, r store.Record) (*grant.Endpoint, error) {
	cfg := s.a.cfg // a copy
	cfg.private = cfg.private || r.Server.PrivateNetwork
	e := &grant.Endpoint{
		HTTP: cfg.fetcher(s.endpoint), TokenURL: r.Server.TokenURL, Issuer: h.key.Issuer,
		Methods: r.Server.TokenAuthMethods, Algs: r.Server.TokenAuthAlgs, Proof: h.prover,
	}
	if r.Proof.Empty() || e.Proof != nil {
		return e, nil
	}
	var err error
	e.Proof, err = grant.ParseProver(r.Proof)
	return e, err
}
