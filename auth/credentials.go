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

// credentials are credentials that requests carry. They do not change once they are in use.
type credentials struct {
	key    store.Key
	record store.Record
	prover *grant.Prover          // of DPoP, nil without it
	bearer *transport.Credentials // without DPoP, what every request carries
	scope  string                 // for caches, see [transport.Credentials]

	loggedIn time.Time // when this process obtained the token that it goes back to
	renewed  bool      // by a refresh of this process
	// unwritten is set if the store could not be written. It still has the refresh token
	// spent then, "" for none.
	unwritten bool
	spent     string
}

// String says whose credentials they are, and none of their secrets.
func (h *credentials) String() string { return "credentials for " + h.key.Resource }

// Format writes String for every verb: fmt would show what is in the fields.
func (h *credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(h.String())) }

// newCredentials begins with credentials that a grant obtains: with DPoP, it makes the key that
// they are bound to.
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
		return nil, newError(ReasonDiscovery, "leave out WithDPoP if tokens without it will do", fmt.Errorf("the authorization server %s does not support DPoP with %s", s.server.Issuer, p.Algorithm()))
	}
	h.prover = p
	if h.record.Proof, err = p.Export(); err != nil {
		return nil, newError(ReasonToken, "", err)
	}
	return h, nil
}

// exchange asks the authorization server of a site for the token.
func (h *credentials) exchange(ctx context.Context, s *site, grantType string, params url.Values) error {
	who := s.cfg.client(h.record)
	token, err := s.pace.ask(ctx, func() (*grant.Token, error) { return s.tokens(h.prover).Exchange(ctx, who, grantType, params) })
	if err != nil {
		return newError(ReasonToken, "", err)
	}
	h.obtained(token, who)
	return nil
}

// obtained keeps a token, and how the client authenticated for it.
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

// early is how long before its end a token is renewed, at most: a request that is on
// its way when it ends would be refused.
const renewMargin = 10 * time.Second

// usable reports whether requests may carry the credentials.
func (h *credentials) usable(now time.Time) bool {
	if h == nil || h.record.Token.Access.Empty() {
		return false
	}
	end := h.record.Token.Expiry
	return end.IsZero() || now.Before(end.Add(-h.margin()))
}

// margin is how long before its end the token is renewed: less for a token that lives
// shortly.
func (h *credentials) margin() time.Duration {
	r := &h.record
	if r.Obtained.IsZero() {
		return renewMargin
	}
	return min(renewMargin, r.Token.Expiry.Sub(r.Obtained)/10)
}

// fresh reports whether the token was issued a moment ago.
func (h *credentials) fresh() bool { return time.Since(h.record.Obtained) < freshFor }

// credentials are the headers of a request.
func (h *credentials) credentials(r transport.AuthorizedRequest) (*transport.Credentials, error) {
	if h.prover == nil {
		return h.bearer, nil
	}
	return bound(h.prover, r, h.record.Token.Access.Text(), h.scope)
}

// sentAs reports whether a request carried these credentials.
func (h *credentials) sentAs(sent *transport.Credentials) bool {
	if sent == nil {
		return false
	}
	_, token, _ := strings.Cut(sent.Header.Get("Authorization"), " ")
	return token == h.record.Token.Access.Text()
}

// lacks reports whether the token was asked for without one of the scopes of a challenge.
func (h *credentials) lacks(asked challenge.Challenge) bool {
	return len(missing(strings.Fields(asked.Get("scope")), h.record.Scopes)) > 0
}

// ready makes what requests need of a record.
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

// digest is a name for texts that does not reveal them.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = sum.Write([]byte(part)) // never fails
		_, _ = sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// complete fills in what later refreshes need.
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

// granted adds the scopes that came with the token to those that were asked for.
func (h *credentials) granted() {
	h.record.Scopes = union(h.record.Scopes, strings.Fields(h.record.Token.Scope))
}

// keeping bounds the wait for other processes that have the store.
const keeping = 30 * time.Second

// keep stores new credentials and makes them ready.
func (s *server) keep(ctx context.Context, h *credentials) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping) // what was issued is kept
	defer cancel()
	err := s.a.cfg.store.Update(ctx, h.key, func(stored store.Record) (store.Record, error) {
		h.spent = stored.Token.Refresh.Text()
		return h.record, nil
	})
	if err != nil && s.a.cfg.newLogin {
		return err // who logs in for others must know
	}
	h.unwritten = err != nil // the token is good as long as the program runs
	_, err = h.ready()
	return err
}

// load returns the stored credentials for the server, nil if there are none. A record
// without a token still has a registration, see [person.known].
func (s *server) load(ctx context.Context) (*credentials, error) {
	cfg := &s.a.cfg
	if cfg.newLogin {
		return nil, nil
	}
	keys, err := s.keys(ctx)
	if err != nil {
		return nil, err
	}
	var best *credentials
	for _, key := range keys {
		if !cfg.mayUse(key) || !s.isFor(key.Resource) {
			continue
		}
		record, err := cfg.store.Load(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case record.Token.Access.Empty() && record.Ended != "":
			s.ended = record.Ended
			continue
		case record.Token.Access.Empty(), cfg.dpop && record.Proof.Empty(), !s.claimed(key.Resource, record.Server.Metadata):
			continue
		}
		if best == nil || record.Obtained.After(best.record.Obtained) {
			best = &credentials{key: key, record: record}
		}
	}
	if best == nil {
		return nil, nil
	}
	s.ended = ""
	return best.ready()
}

// name is the URL of the server as keys have it: tokens that were obtained for one
// URL are not offered to another, even if their resource covers both.
func (s *server) name() string { return canonical(s.endpoint) }

// keys are those of the principal's records for the server.
func (s *server) keys(ctx context.Context) ([]Key, error) {
	return s.a.cfg.keys(ctx, s.id.principal, s.name())
}

// keys are those of a principal's records for the server with a name, "" for all.
// Records that are damaged, of whichever server, do not count.
func (c *config) keys(ctx context.Context, principal, name string) ([]Key, error) {
	keys, err := c.store.List(ctx)
	if err != nil && len(keys) == 0 && !store.OnlyDamaged(err) {
		return nil, err
	}
	return slices.DeleteFunc(keys, func(k Key) bool { return k.Principal != principal || name != "" && k.Server != name }), nil
}

// mayUse reports whether tokens under a key are those of the configured client.
func (c *config) mayUse(key store.Key) bool {
	if c.clientID == "" {
		return true
	}
	return key.ClientID == c.clientID && (c.clientIssuer == "" || key.Issuer == c.clientIssuer)
}

// isFor reports whether tokens for a resource are for this server. The resource was
// held against the server's URL when the token was obtained; this program may be
// stricter.
func (s *server) isFor(resource string) bool {
	return discover.Covers(resource, s.endpoint, s.a.cfg.strict) == nil
}

// claimed reports whether the document at a URL, "" for none, may have claimed a resource
// for this server. Tokens for a parent path whose document is unknown are not used.
func (s *server) claimed(resource, document string) bool {
	_, err := discover.MayClaim(document, resource, s.endpoint)
	return err == nil
}

// refreshed renews a token. It returns nil without an error if the authorization server
// does not renew it any more: only a new login helps then. Other processes with the
// same store wait meanwhile, and find the new token there.
func (s *server) refreshed(ctx context.Context, h *credentials) (*credentials, error) {
	next := &credentials{key: h.key, loggedIn: h.loggedIn}
	outcome, asked := renewed, false
	var ended *grant.Error
	// The caller may leave; a token that the server has issued by then must be kept.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping)
	defer cancel()
	err := s.a.cfg.store.Update(waiting, h.key, func(stored store.Record) (store.Record, error) {
		next.spent = stored.Token.Refresh.Text()
		if h.unwritten && stored.Token.Refresh.Text() == h.spent {
			stored = h.record
		}
		if next.record = stored; stored.Proof.Text() == h.record.Proof.Text() {
			next.prover = h.prover // it knows the server's nonces
		}
		if stored.Token.Access.Text() != h.record.Token.Access.Text() && (&credentials{record: stored}).usable(time.Now()) {
			return stored, nil // another process was faster
		}
		if stored.Token.Refresh.Empty() {
			outcome, s.ended = over, stored.Ended // logged out, or refused there
			return stored, nil
		}
		asked = true
		token, who, err := s.renew(ctx, h, stored)
		if err != nil {
			outcome = s.outcomeOf(err, &next.record)
			if outcome == later {
				return stored, err
			}
			_ = errors.As(err, &ended) // else it is not over
			return next.record, nil
		}
		if token.Refresh.Empty() {
			token.Refresh = stored.Token.Refresh
		}
		next.obtained(token, who)
		return next.record, nil
	})
	next.renewed = asked // a token of another process may be old already
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
		next.unwritten = true // the token is good as long as the program runs
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

// outcome is what a refresh has led to.
type outcome int

const (
	renewed outcome = iota
	later           // something is in trouble, and the refresh token may be good
	over            // only a new login helps
)

// outcomeOf judges the error of a refresh, and takes out of the record what is of no use
// any more. Only the codes that say so end a login (RFC 6749 section 5.2): others come
// from servers in trouble, firewalls and wrong clocks.
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
			return later // who configured it has to correct it
		}
		r.Client, r.Token, r.Ended = grant.Registered{}, grant.Token{}, refused.Code
		return over
	case "invalid_request", "invalid_scope", "invalid_target", "access_denied":
		return over // some say that of a token that has expired; it is not deleted
	}
	return later
}

// renew asks for a new token. The end of ctx does not stop a request that was sent. It
// returns the client, too, which may have learned how to authenticate.
func (s *server) renew(ctx context.Context, h *credentials, r store.Record) (*grant.Token, *grant.Client, error) {
	if r.Proof.Text() != h.record.Proof.Text() {
		h = &credentials{key: h.key, record: r} // of another login
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

// endpointOf is the token endpoint of stored tokens.
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
