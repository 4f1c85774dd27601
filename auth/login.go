package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// Login logs a person in. When the server asks for it, a browser opens at its authorization
// server, and the call continues after the login. It uses the authorization code flow with
// PKCE.
//
//	c, err := client.Dial(ctx, "https://example.com/mcp", client.WithAuthorizer(auth.Login()))
//
// The client id is that of [WithClient], else the URL of [WithClientMetadata], else the
// program registers itself at the authorization server.
func Login(opts ...Option) *Authorizer {
	return newAuthorizer(func(c *config) source {
		c.refuseWeb()
		return &person{cfg: c}
	}, opts)
}

// person is the grant of [Login].
type person struct{ cfg *config }

func (*person) person() bool { return true }

// client returns the client of a record for the token endpoint: the configured or the stored
// one.
func (c *config) client(r store.Record) *grant.Client {
	if r.Client.ClientID == c.clientID {
		return &grant.Client{ID: c.clientID, Secret: c.clientSecret, Key: c.key, Method: c.learned(r)}
	}
	return &grant.Client{ID: r.Client.ClientID, Secret: r.Client.ClientSecret.Text(), Method: r.Client.Method}
}

// obtain implements source.
func (p *person) obtain(ctx context.Context, s *site, scopes []string) (*credentials, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.patience, errNobody)
	defer cancel()
	b, err := p.begin(ctx, s, scopes)
	if err != nil {
		return nil, err
	}
	defer b.close()
	s.begun()
	s.announce()
	code, err := p.ask(ctx, s, b)
	if errors.Is(err, errNobody) && b.known {
		// The page may have shown that it does not know this client. A refresh token proves
		// that it does.
		p.cfg.forget(ctx, b.h, func(r store.Record) bool { return r.Token.Refresh.Empty() })
	}
	if err != nil {
		return nil, err
	}
	if err := p.exchange(ctx, s, b, code); err != nil {
		return nil, newError(ReasonToken, cmp.Or(p.cfg.forgetIfUnknown(ctx, b.h, err), p.cfg.exceptionFor(s.server.Issuer, err)), err)
	}
	b.h.record.Login = loopback.NewState() // each login is unique
	return b.h, nil
}

// begun is a prepared login.
type begun struct {
	h        *credentials
	redirect string             // the redirect URL
	listener *loopback.Listener // at the redirect URL, nil for a web application
	state    string
	pkce     grant.PKCE
	page     string    // of the authorization server, to open in a browser
	expires  time.Time // of the page, zero if that is unknown
	known    bool      // it uses an earlier registration
}

// begin prepares a login. The caller closes it.
func (p *person) begin(ctx context.Context, s *site, scopes []string) (_ *begun, err error) {
	if err := usesPKCE(s); err != nil {
		return nil, newError(ReasonDiscovery, s.assumePKCE("only an authorization server with PKCE (S256) is safe to use"), err)
	}
	if err := s.authenticates(); err != nil {
		return nil, newError(ReasonRegistration, helpNoMethod, err)
	}
	b := &begun{state: loopback.NewState(), pkce: grant.NewPKCE()}
	if b.h, err = newCredentials(s); err != nil {
		return nil, err
	}
	known, err := p.known(ctx, s)
	if err != nil {
		return nil, newError(ReasonStore, "", err)
	}
	if err := b.receive(ctx, p.cfg, known); err != nil {
		return nil, newError(ReasonLogin, "", err)
	}
	if b.h.record.Client, err = p.registration(ctx, s, known, b.redirect); err == nil {
		b.h.key = s.key(b.h.record.Client.ClientID)
		b.known = b.h.key.ClientID == known.ClientID
		err = p.open(ctx, s, b, scopes)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

var errNobody = errors.New("nobody logged in in time")

// usesPKCE refuses servers whose metadata does not list S256. Servers of revision 2025-03-26
// without any metadata are allowed.
func usesPKCE(s *site) error {
	switch {
	case s.server.Assumed, slices.Contains(s.server.CodeChallengeMethods, "S256"):
		return nil
	case s.assumesPKCE():
		return nil
	}
	return fmt.Errorf("the authorization server %s does not support PKCE with S256", s.server.Issuer)
}

// assumesPKCE reports whether the application assumes S256 and the metadata lists no methods.
func (s *site) assumesPKCE() bool { return s.exception().assumedPKCE && !s.server.CodeChallengeKnown }

// known returns an earlier registration for logins with a browser, zero for none.
func (p *person) known(ctx context.Context, s *site) (grant.Registered, error) {
	if p.cfg.clientID != "" || s.metadataClient() {
		return grant.Registered{}, nil
	}
	if p.cfg.principals != nil {
		return p.sharedClient(ctx, s)
	}
	return p.cfg.knownWhere(ctx, s, func(r grant.Registered) bool { return len(r.RedirectURIs) > 0 })
}

// knownWhere returns a valid earlier registration at the same authorization server for which
// good is true, zero for none.
func (c *config) knownWhere(ctx context.Context, s *site, good func(grant.Registered) bool) (grant.Registered, error) {
	keys, err := c.keys(ctx, s.principal, "")
	if err != nil {
		return grant.Registered{}, err
	}
	for _, key := range keys {
		// Credentials of one issuer are never used at another (MCP authorization, security).
		if key.Issuer != s.server.Issuer || key.Resource != s.id() {
			continue
		}
		record, err := c.store.Load(ctx, key)
		if err != nil || (!record.Proof.Empty() && !c.dpop) {
			continue // a client registered for DPoP gets no token without it (RFC 9449 section 5.2)
		}
		if record.Client.ClientID != "" && alive(record.Client) && good(record.Client) {
			return record.Client, nil
		}
	}
	return grant.Registered{}, nil
}

// forgetIfUnknown returns the help for an error which says that the authorization server does not know
// the client. It deletes a registration that the server no longer knows.
func (c *config) forgetIfUnknown(ctx context.Context, h *credentials, err error) (help string) {
	var refused *grant.Error
	if errors.Is(err, ErrNoClientMethod) {
		return helpNoMethod
	}
	if !errors.As(err, &refused) || (refused.Code != "invalid_client" && refused.Code != "unauthorized_client") {
		return ""
	}
	if c.configured(h) {
		return "check the client id and the secret that were registered there"
	}
	c.forget(ctx, h, func(store.Record) bool { return true })
	return "log in again: the authorization server has forgotten this program, which registers again"
}

// configured reports whether the client was configured, and did not register itself.
func (c *config) configured(h *credentials) bool {
	return h.key.ClientID == c.clientID || h.key.ClientID == c.metadataURL
}

// forget deletes a registration from the records for which gone is true. Failures are retried
// by the next login.
func (c *config) forget(ctx context.Context, h *credentials, gone func(store.Record) bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping)
	defer cancel()
	c.forgetShared(ctx, h.key)
	keys, _ := c.keys(ctx, h.key.Principal, "")
	for _, key := range keys {
		if key.Issuer == h.key.Issuer && key.ClientID == h.key.ClientID {
			_ = c.store.Update(ctx, key, func(r store.Record) (store.Record, error) {
				if gone(r) {
					r.Client = grant.Registered{}
				}
				return r, nil
			})
		}
	}
}

// alive reports whether a registration has not expired.
func alive(r grant.Registered) bool {
	return r.ExpiresAt.IsZero() || time.Now().Before(r.ExpiresAt)
}

// metadataClient reports whether the client id is the URL of a metadata document.
func (s *site) metadataClient() bool {
	return s.cfg.clientID == "" && s.cfg.metadataURL != "" && s.server.ClientIDMetadata
}

// registration returns the client of this program at the authorization server.
func (p *person) registration(ctx context.Context, s *site, known grant.Registered, redirect string) (grant.Registered, error) {
	cfg := p.cfg
	switch {
	case cfg.clientID != "":
		return grant.Registered{ClientID: cfg.clientID, ClientSecret: grant.Hide(cfg.clientSecret), RedirectURIs: []string{redirect}, Method: cfg.method(ctx, s)}, nil
	case s.metadataClient():
		return grant.Registered{ClientID: cfg.metadataURL, Method: grant.MethodNone, RedirectURIs: []string{redirect}}, nil
	case slices.Contains(known.RedirectURIs, redirect):
		return known, nil
	}
	if cfg.principals != nil {
		return p.registerShared(ctx, s, redirect)
	}
	return s.register(ctx, cfg.registration(redirect))
}

// register registers this program at the authorization server.
func (s *site) register(ctx context.Context, request grant.Registration) (grant.Registered, error) {
	if s.server.RegistrationEndpoint == "" {
		return grant.Registered{}, newError(ReasonRegistration, "register a client there and set it with WithClient", fmt.Errorf("the authorization server %s registers no programs automatically", s.server.Issuer))
	}
	request.TokenEndpointAuthMethod = registeredMethod(s.server.TokenEndpointAuthMethods)
	made, err := grant.Register(ctx, s.http, s.server.RegistrationEndpoint, request, "")
	if err != nil {
		return grant.Registered{}, newError(ReasonRegistration, "register a client there and set it with WithClient", err)
	}
	if len(made.RedirectURIs) == 0 {
		made.RedirectURIs = request.RedirectURIs
	}
	if len(made.GrantTypes) == 0 {
		made.GrantTypes = request.GrantTypes
	}
	if made.Method == "" {
		made.Method = request.TokenEndpointAuthMethod
	}
	return *made, nil
}

// registeredMethod returns the authentication method for a registration. Public clients have
// no secret, but some servers require one.
func registeredMethod(supported []string) string {
	for _, method := range [...]string{grant.MethodNone, grant.MethodBasic, grant.MethodPost} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	if len(supported) == 0 {
		return grant.MethodNone
	}
	return supported[0]
}

// asked returns the parameters of an authorization request that are the same in every login
// for the same scopes.
func (s *site) asked(scopes []string) url.Values {
	asked := s.params(scopes)
	asked.Set("response_type", "code")
	asked.Set("code_challenge_method", "S256")
	if slices.Contains(scopes, "offline_access") {
		asked.Set("prompt", "consent") // OpenID Connect Core, section 11
	}
	maps.Copy(asked, s.exception().params)
	maps.DeleteFunc(asked, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	return asked
}

// request returns the authorization request (RFC 6749 section 4.1.1).
func (b *begun) request(s *site, scopes []string) (url.Values, error) {
	query := s.asked(scopes)
	query.Set("client_id", b.h.key.ClientID)
	query.Set("redirect_uri", b.redirect)
	query.Set("state", b.state)
	query.Set("code_challenge", b.pkce.Challenge)
	if b.h.prover != nil {
		thumbprint, err := b.h.prover.Thumbprint()
		if err != nil {
			return nil, newError(ReasonToken, "", err)
		}
		query.Set("dpop_jkt", thumbprint)
	}
	return query, nil
}

// ask sends the person to the authorization server and returns the code.
func (p *person) ask(ctx context.Context, s *site, b *begun) (code string, err error) {
	answer, err := p.wait(ctx, b.listener, b.state, Prompt{Server: shown(s.endpoint), Issuer: s.server.Issuer, URL: b.page, Redirect: b.redirect, Expires: b.expires})
	if err != nil {
		return "", loginError(b.page, err)
	}
	code, err = codeOf(answer, s.server.Issuer, s.server.IssParameter)
	return code, newError(ReasonLogin, p.cfg.exceptionFor(s.server.Issuer, err), err)
}

// codeOf returns the code in the answer of a login.
func codeOf(answer loopback.Answer, issuer string, named bool) (string, error) {
	if err := checkIssuer(answer, issuer, named); err != nil {
		return "", newError(ReasonLogin, "do not log in there again before the operator of the server has explained it", err)
	}
	if answer.Error != "" {
		help := ""
		if answer.Error == "access_denied" { // RFC 6749 section 4.1.2.1
			help = helpDenied
		}
		return "", newError(ReasonLogin, help, grant.NewError(issuer, answer.Error, answer.Description, answer.ErrorURI, answer.State))
	}
	return answer.Code, nil
}

const helpDenied = "log in as somebody who has access, or ask the operator of the server"

func loginError(at string, err error) error {
	e := &Error{Reason: ReasonLogin, LoginURL: at, Err: err}
	if at != "" {
		e.Help = "log in at the page of LoginURL while the program waits"
	}
	return e
}

// wait prompts the person and waits for the callback, or for the pasted address.
func (p *person) wait(ctx context.Context, l *loopback.Listener, state string, prompt Prompt) (loopback.Answer, error) {
	pasted := make(chan loopback.Answer, 1)
	prompt.Paste = func(address string) error {
		answer, err := loopback.Read(address)
		if err != nil {
			return err
		}
		if answer.State != state {
			return errors.New("this address belongs to another login; use the page that was opened last")
		}
		select {
		case pasted <- answer:
		default:
		}
		return nil
	}
	failed := make(chan error, 1)
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	go prompting(asked, p.cfg.prompt, prompt, failed)
	came := make(chan loopback.Answer, 1)
	go func() {
		if answer, err := l.Wait(asked); err == nil {
			came <- answer
		}
	}()
	select {
	case answer := <-came:
		return answer, nil
	case answer := <-pasted:
		return answer, nil
	case err := <-failed:
		return loopback.Answer{}, err
	case <-ctx.Done():
		return loopback.Answer{}, context.Cause(ctx)
	}
}

// prompting calls the application, which may panic. Its success only means that the person
// was asked.
func prompting(ctx context.Context, f func(context.Context, Prompt) error, p Prompt, failed chan<- error) {
	returned := false
	defer func() {
		if !returned {
			failed <- fmt.Errorf("the function of WithPrompt did not return: %v", recover())
		}
	}()
	err := f(ctx, p)
	returned = true
	if err != nil {
		failed <- err
	}
}

// checkIssuer checks that the answer comes from the authorization server of the login, before
// anything in it is used (RFC 9207 section 2.4). named is set if the metadata of that server
// promises that its answers name it.
func checkIssuer(a loopback.Answer, issuer string, named bool) error {
	switch {
	case a.HasIssuer && a.Issuer != issuer:
		return fmt.Errorf("the answer of the login comes from another authorization server than %s", issuer)
	case !a.HasIssuer && named:
		return fmt.Errorf("the answer of the login does not say that it comes from %s, as it must", issuer)
	}
	return nil
}

// exchange exchanges the code for a token.
func (p *person) exchange(ctx context.Context, s *site, b *begun, code string) error {
	params := s.params(nil) // the code has the scopes
	params.Set("code", code)
	params.Set("redirect_uri", b.redirect)
	params.Set("code_verifier", b.pkce.Verifier)
	return b.h.exchange(ctx, s, "authorization_code", params)
}
