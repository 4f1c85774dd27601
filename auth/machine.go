package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// ClientCredentials obtains tokens for a program with its client id and secret, without a
// person (RFC 6749 section 4.4). The MCP server names the authorization server that gets the
// secret; set [WithIssuer] unless you trust the MCP server.
func ClientCredentials(id, secret string, opts ...Option) *Authorizer {
	return machine(id, opts, func(c *config) {
		if c.clientSecret = secret; secret == "" {
			c.wrong("ClientCredentials needs the client secret")
		}
	}, clientCredentials)
}

// PrivateKeyJWT is [ClientCredentials] with a private key in place of the secret: the
// program signs an assertion for each token (RFC 7523). key is PEM, and algorithm the
// name that the client was registered with, such as ES256, RS256 or EdDSA. An Ed25519 key
// signs as EdDSA or as Ed25519, whichever the server lists.
func PrivateKeyJWT(id string, key []byte, algorithm string, opts ...Option) *Authorizer {
	return machine(id, opts, func(c *config) {
		signer, err := grant.NewSigner(key, algorithm)
		if err != nil {
			c.wrong(err.Error())
		}
		c.key = signer
	}, clientCredentials)
}

// Workload obtains tokens with the identity that a platform gives to a program, such as the
// service account token of a cluster (RFC 7523 section 2.1). assertion returns the JWT of the
// platform. It is called once for each access token, on a goroutine of its own, and not for
// each call. A JWT that the authorization server refuses is not sent again.
func Workload(id string, assertion func(context.Context) (string, error), opts ...Option) *Authorizer {
	return machine(id, opts, func(c *config) {
		if assertion == nil {
			c.wrong("Workload needs the function that returns the JWT")
		}
	}, (&workload{assertion: assertion}).get)
}

// workload is the grant of [Workload].
type workload struct {
	assertion func(context.Context) (string, error)
	refused   atomic.Pointer[refusedJWT] // the last JWT that was refused
}

type refusedJWT struct {
	digest string
	err    error
}

func (w *workload) get(ctx context.Context, s *site, h *credentials, params url.Values) error {
	jwt, err := w.assertion(ctx)
	if err != nil {
		return newError(ReasonToken, "", fmt.Errorf("the platform gives no token: %w", err))
	}
	name := digest(s.server.Issuer, jwt)
	if last := w.refused.Load(); last != nil && last.digest == name {
		return last.err
	}
	err = h.bearerJWT(ctx, s, jwt, params)
	var refused *grant.Error
	if errors.As(err, &refused) && refused.Code == "invalid_grant" {
		w.refused.Store(&refusedJWT{name, err})
	}
	return err
}

const grantJWTBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// bearerJWT exchanges a JWT for a token (RFC 7523 section 2.1).
func (h *credentials) bearerJWT(ctx context.Context, s *site, jwt string, params url.Values) error {
	params.Set("assertion", jwt)
	return h.exchange(ctx, s, grantJWTBearer, params)
}

func clientCredentials(ctx context.Context, s *site, h *credentials, params url.Values) error {
	return h.exchange(ctx, s, "client_credentials", params)
}

// IdentityProvider is the identity provider of a company, with this program's client there.
type IdentityProvider struct {
	// TokenURL is the token endpoint. It is used unchanged.
	TokenURL string
	// ClientID and ClientSecret are the program's at the identity provider.
	ClientID, ClientSecret string
	// Subject returns the identity of the user and its type, for example the ID token of a
	// login and [IDToken]. It is called once for each access token, on a goroutine of its own,
	// and not for each call.
	Subject func(ctx context.Context) (token, tokenType string, err error)
}

// String hides the secret.
func (p *IdentityProvider) String() string { return "the identity provider " + p.TokenURL }

// Format writes String for every verb.
func (p IdentityProvider) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// Types of tokens (RFC 8693 section 3).
const (
	IDToken       = "urn:ietf:params:oauth:token-type:id_token"
	SAML2         = "urn:ietf:params:oauth:token-type:saml2"
	AccessToken   = "urn:ietf:params:oauth:token-type:access_token"
	identityGrant = "urn:ietf:params:oauth:token-type:id-jag"
)

// IDJAG obtains tokens for the user of a company whose identity provider decides which servers
// the user may use. It exchanges the user's identity for a grant (an identity assertion JWT),
// and the grant for a token of the MCP server's authorization server. id and secret are those
// of this program at that authorization server.
func IDJAG(id, secret string, provider IdentityProvider, opts ...Option) *Authorizer {
	return machine(id, opts, func(c *config) {
		if c.clientSecret = secret; provider.TokenURL == "" || provider.ClientID == "" || provider.Subject == nil {
			c.wrong("IDJAG needs the TokenURL, the ClientID and the Subject of the identity provider")
		}
	}, (&company{IdentityProvider: provider}).grant)
}

// company is the grant of [IDJAG].
type company struct {
	IdentityProvider
	inForm atomic.Bool // the token endpoint accepts the secret only in the form
}

// grant gets the grant from the identity provider, and the token for it.
func (p *company) grant(ctx context.Context, s *site, h *credentials, params url.Values) error {
	wanted, err := identity(p.Subject).params(ctx)
	if err != nil {
		return err
	}
	wanted.Set("requested_token_type", identityGrant)
	wanted.Set("audience", s.server.Issuer)
	wanted.Set("resource", s.id())
	if scope := params.Get("scope"); scope != "" {
		wanted.Set("scope", scope)
	}
	at, err := url.Parse(p.TokenURL)
	if err != nil {
		return newError(ReasonOption, "", errors.New("the TokenURL of the identity provider cannot be read"))
	}
	e := grant.Endpoint{HTTP: s.cfg.fetcher(at), TokenURL: p.TokenURL}
	who := &grant.Client{ID: p.ClientID, Secret: p.ClientSecret}
	switch {
	case who.Secret == "":
		who.Method = grant.MethodNone
	case p.inForm.Load():
		who.Method = grant.MethodPost
	}
	jag, err := s.pace.ask(ctx, func() (*grant.Token, error) { return e.Exchange(ctx, who, grantTokenExchange, wanted) })
	p.inForm.Store(who.Method == grant.MethodPost)
	if err != nil {
		return newError(ReasonToken, "", fmt.Errorf("the identity provider gives no grant: %w", err))
	}
	if jag.IssuedType != identityGrant {
		return newError(ReasonToken, "", fmt.Errorf("the identity provider issued %q in place of a grant", jag.IssuedType))
	}
	return h.bearerJWT(ctx, s, jag.Access.Text(), params)
}

// machine makes an Authorizer whose grant needs no person.
func machine(id string, opts []Option, set func(*config), get func(context.Context, *site, *credentials, url.Values) error) *Authorizer {
	return newAuthorizer(func(c *config) source {
		if id == "" {
			c.wrong("the client id is missing")
		}
		c.clientID = id
		set(c)
		return &program{cfg: c, get: get}
	}, opts)
}

// program is a grant without a person.
type program struct {
	cfg *config
	get func(context.Context, *site, *credentials, url.Values) error
}

func (*program) person() bool { return false }

// obtain implements source.
func (p *program) obtain(ctx context.Context, s *site, scopes []string) (*credentials, error) {
	if err := p.pinned(ctx, s); err != nil {
		return nil, err
	}
	h, err := newCredentials(s)
	if err != nil {
		return nil, err
	}
	s.announce()
	h.record.Client.ClientID, h.key = p.cfg.clientID, s.key(p.cfg.clientID)
	h.record.Client.Method = p.cfg.method(ctx, s)
	if err := p.get(ctx, s, h, s.params(scopes)); err != nil {
		return nil, err
	}
	s.begun()
	return h, nil
}

// pinned refuses an authorization server that differs from the one in the store: an MCP server
// must not redirect the secret later.
func (p *program) pinned(ctx context.Context, s *site) error {
	if p.cfg.clientIssuer != "" {
		return nil
	}
	keys, err := p.cfg.keys(ctx, s.principal, canonical(s.endpoint))
	if err != nil {
		return newError(ReasonStore, "", err)
	}
	for _, key := range keys {
		if key.ClientID == p.cfg.clientID && key.Issuer != s.server.Issuer {
			return newError(ReasonRegistration, "if that is right, set it with WithIssuer", fmt.Errorf("the server named the authorization server %s before, and names %s now", key.Issuer, s.server.Issuer))
		}
	}
	return nil
}
