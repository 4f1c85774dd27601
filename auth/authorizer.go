package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Authorizer obtains tokens for MCP servers and renews them. Pass it to
// client.WithAuthorizer. One Authorizer may serve many clients and servers at the same
// time: requests to the same server share one token and wait for one login. With
// [WithPrincipals], each principal has a token of its own.
type Authorizer struct {
	cfg   config
	grant source

	events events
	closed atomic.Bool // no login begins, and no token is renewed ahead

	mu      sync.Mutex
	servers map[serverKey]*server
	last    atomic.Pointer[server] // of the last request
}

// source obtains a new token.
type source interface {
	// obtain gets a token for the scopes.
	obtain(ctx context.Context, s *site, scopes []string) (*credentials, error)
	// person reports whether a person has to log in for it.
	person() bool
}

// String shows no secrets.
func (a *Authorizer) String() string { return "an Authorizer" }

// Format writes String for every verb.
func (a *Authorizer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(a.String())) }

func newAuthorizer(grant func(*config) source, opts []Option) *Authorizer {
	a := &Authorizer{cfg: newConfig(opts), servers: map[serverKey]*server{}}
	a.grant = grant(&a.cfg)
	a.events.handlers = a.cfg.onEvent
	return a
}

// Close cancels the logins in progress and waits up to a second until they end. No login
// begins after Close; existing tokens are still used and renewed.
//
// It is for programs that continue without the Authorizer: a login continues after its
// call timed out, for up to [WithLoginTime]. Closing a client does not close its
// Authorizer, because other clients may use it.
func (a *Authorizer) Close() error {
	a.mu.Lock()
	servers := slices.Collect(maps.Values(a.servers))
	a.mu.Unlock()
	timeout, stop := context.WithTimeout(context.Background(), time.Second) //nolint:forbidigo // Close has no context
	defer stop()
	a.closed.Store(true)
	for _, s := range servers {
		s.serial.cancel(timeout.Done())
		s.ahead.stop()
	}
	a.events.close(timeout.Done())
	return nil
}

// Authorize implements [transport.Authorizer].
func (a *Authorizer) Authorize(ctx context.Context, r transport.AuthorizedRequest) (*transport.Credentials, error) {
	s, err := a.serverAt(ctx, r.Endpoint, r.Background)
	if err != nil || s == nil {
		return nil, err
	}
	h, err := s.usable(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return s.nobody, nil
	}
	return h.forRequest(r)
}

// Challenged implements [transport.Authorizer].
func (a *Authorizer) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	s, err := a.serverAt(ctx, c.Endpoint, c.Background)
	if err == nil && s == nil && c.Status == http.StatusUnauthorized && !travel(c.Endpoint) {
		err = withoutTLS(c.Endpoint)
	}
	if err != nil || s == nil {
		return nil, err
	}
	if s.occupied(ctx) {
		return nil, s.explain(newError(ReasonLogin, "wait for that", fmt.Errorf("%w, %w", ErrNotLoggedIn, errAsking)))
	}
	if again, err := s.challenged(ctx, c); err != nil || !again {
		return nil, s.explain(err)
	}
	h, err := s.usable(ctx)
	if err != nil || h == nil {
		return nil, err
	}
	return h.forRequest(c.AuthorizedRequest)
}

// KeepNonce implements [transport.NonceKeeper].
func (a *Authorizer) KeepNonce(ctx context.Context, r transport.AuthorizedRequest, nonce string) {
	s, err := a.serverAt(ctx, r.Endpoint, r.Background)
	if err != nil || s == nil {
		return
	}
	if h := s.now.Load(); h != nil && h.prover != nil {
		h.prover.SetNonce(r.URL.String(), nonce)
	}
}

// serverAt returns the server at an endpoint for the principal of ctx. It is nil for an
// endpoint that gets no tokens, and for a background request without a principal.
func (a *Authorizer) serverAt(ctx context.Context, endpoint *url.URL, background bool) (*server, error) {
	if a.cfg.bad != nil {
		return nil, &Error{Reason: ReasonOption, Server: shown(endpoint), Err: a.cfg.bad}
	}
	if !travel(endpoint) {
		return nil, nil
	}
	principal, err := a.cfg.principalOf(ctx)
	switch {
	case err != nil && background:
		return nil, nil
	case err != nil:
		return nil, &Error{Reason: ReasonOption, Server: shown(endpoint), Help: "pass on the context that names the principal", Err: err}
	}
	return a.lookUp(endpoint, principal), nil
}

// serverKey is a principal at an endpoint.
type serverKey struct{ endpoint, principal string }

func (a *Authorizer) lookUp(endpoint *url.URL, principal string) *server {
	key := serverKey{principal: principal}
	if last := a.last.Load(); last == nil || !sameEndpoint(last.endpoint, endpoint) {
		key.endpoint = endpoint.Scheme + "://" + endpoint.Host + endpoint.EscapedPath() + "?" + endpoint.RawQuery
	} else if key.endpoint = last.id.endpoint; last.id == key {
		return last // the usual case; a key costs an allocation
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.servers[key]
	if s == nil {
		a.makeRoom()
		s = &server{a: a, id: key, endpoint: endpoint, nobody: a.cfg.nobody(principal), serial: newSerial(a.cfg.patience)}
		if a.cfg.ahead {
			s.serial.after = s.renewAhead
		}
		a.servers[key] = s
	}
	a.last.Store(s)
	return s
}

// maxServers bounds the servers and principals in memory: each URL may have a query of its
// own.
const maxServers = 4096

// makeRoom removes an idle server if there are too many. The store keeps its tokens.
func (a *Authorizer) makeRoom() {
	if len(a.servers) < maxServers {
		return
	}
	for key, s := range a.servers {
		if s.serial.idle() {
			s.ahead.stop()
			delete(a.servers, key)
			return
		}
	}
}

// travel reports whether tokens may be sent to an endpoint: with TLS, or on this machine.
func travel(endpoint *url.URL) bool {
	return endpoint.Scheme == "https" || loopback.IsLoopback(endpoint.Hostname())
}

// withoutTLS is the error for a server that gets no tokens.
func withoutTLS(endpoint *url.URL) error {
	return &Error{Reason: ReasonOption, Server: shown(endpoint), Err: errors.New("tokens are not sent without TLS"), Help: "use https"}
}

func sameEndpoint(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Host == b.Host && a.Path == b.Path && a.RawPath == b.RawPath && a.RawQuery == b.RawQuery
}

// shown is a URL without the parts that may be secret.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// site is an MCP server and the authorization server that was discovered for it.
type site struct {
	cfg       *config
	principal string // whose token it is
	endpoint  *url.URL
	http      *fetch.Client
	resource  *discover.Resource // nil for a server of revision 2025-03-26
	server    *discover.Server
	pace      *pace
	begun     func() // counts a login, called when a person is asked or a program has a token
	announce  func() // reports a login, called when a person is asked or a program asks
}

// id is the resource identifier of the server (RFC 8707).
func (s *site) id() string {
	if s.resource != nil {
		return s.resource.Resource
	}
	return canonical(s.endpoint)
}

// key is the key of a client's tokens for the site in the store.
func (s *site) key(client string) store.Key {
	return store.Key{Server: canonical(s.endpoint), Issuer: s.server.Issuer, Resource: s.id(), ClientID: client, Principal: s.principal}
}

// canonical is the resource identifier of a server that does not state one (RFC 8707):
// no fragment, scheme and host in lower case, and no path if it is only a slash.
func canonical(u *url.URL) string {
	c := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	if c.Path == "/" {
		c.Path = ""
	}
	return c.String()
}

// params are the parameters of every token request of the site.
func (s *site) params(scopes []string) url.Values {
	p := url.Values{}
	if s.resource != nil && !s.exception().noResource {
		p.Set("resource", s.resource.Resource)
	}
	if len(scopes) > 0 {
		p.Set("scope", strings.Join(scopes, " "))
	}
	return p
}

// fetcher makes the HTTP client of discovery. Only the client of a server on this
// machine reaches this machine.
func (c *config) fetcher(endpoint *url.URL) *fetch.Client {
	base := c.base
	if base == nil {
		// Like requests to MCP servers, these use the proxy of the environment.
		base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	return fetch.New(fetch.Options{
		Transport: base, AllowLoopback: loopback.IsLoopback(endpoint.Hostname()), AllowPrivate: c.private,
	})
}

// find discovers the authorization server. c may name the resource metadata.
func (s *server) find(ctx context.Context, c challenge.Challenge) (*site, error) {
	cfg := &s.a.cfg
	found := &site{cfg: cfg, principal: s.id.principal, endpoint: s.endpoint, http: cfg.fetcher(s.endpoint), pace: &s.pace}
	finder := discover.Finder{
		HTTP: found.http, NoFallback: cfg.noFallback, SlashConcession: cfg.anySlash, StrictResource: cfg.strict, OnStep: cfg.traced(),
	}
	resource, err := finder.Resource(ctx, s.endpoint, c.Get("resource_metadata"))
	switch {
	case errors.Is(err, discover.ErrNoMetadata):
		found.server, err = finder.Fallback(ctx, s.endpoint)
	case err == nil:
		found.resource = resource
		found.server, err = cfg.serverOf(ctx, &finder, resource.AuthorizationServers)
	}
	if err == nil {
		if err := s.checkIssuer(found); err != nil {
			found.http.CloseIdle()
			return nil, newError(ReasonRegistration, "register the client there, or ask the operator of the MCP server", err)
		}
	}
	if err != nil {
		found.http.CloseIdle()
		help := "`mcpctl auth inspect " + shown(s.endpoint) + "` shows each document and each rule"
		if wrong := (*discover.IssuerError)(nil); errors.As(err, &wrong) && wrong.OnlySlash() {
			help = "if you trust both, allow the slash with WithIssuerSlash; " + help
		}
		return nil, newError(ReasonDiscovery, cmp.Or(localName(err), help), err)
	}
	return found, nil
}

// serverOf returns the first authorization server with usable metadata: the resource
// accepts tokens of each of them (RFC 9728 section 2). A client that was registered in
// advance is only used at its own authorization server.
func (c *config) serverOf(ctx context.Context, f *discover.Finder, issuers []string) (*discover.Server, error) {
	if c.clientIssuer != "" && slices.Contains(issuers, c.clientIssuer) {
		return f.Server(ctx, c.clientIssuer)
	}
	var first error
	for _, issuer := range issuers[:min(len(issuers), maxIssuers)] {
		s, err := f.Server(ctx, issuer)
		if err == nil {
			return s, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || !discover.Missing(err) {
			break // it breaks a rule: an attacker may want another one to be used
		}
	}
	return nil, first
}

// maxIssuers bounds how many authorization servers are tried.
const maxIssuers = 4

// scopesFor returns the scopes of a login: those of the challenge, else all that the server
// supports, else none; and those of the application. With [WithOnlyScopes], the scopes of a
// challenge are added only if it asks for more than the login before.
func (s *site) scopesFor(c challenge.Challenge, before []string, more, offline bool) []string {
	if s.cfg.onlyScopes && !more {
		return slices.Clone(s.cfg.scopes)
	}
	scopes := strings.Fields(c.Get("scope"))
	if len(scopes) == 0 && len(before) == 0 && s.resource != nil {
		scopes = slices.Clone(s.resource.ScopesSupported)
	}
	scopes = union(scopes, before, s.cfg.scopes)
	if offline && !s.cfg.onlyScopes && slices.Contains(s.server.ScopesSupported, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// union returns every scope once, in order.
func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, scope := range list {
			if !slices.Contains(all, scope) {
				all = append(all, scope)
			}
		}
	}
	return all
}

// wantsScope reports whether a challenge asks for more scopes. Servers with the official Go
// SDK name the scopes without an error code.
func wantsScope(status int, c challenge.Challenge) bool {
	code := c.Get("error")
	return status == http.StatusForbidden && (code == "insufficient_scope" || code == "" && c.Get("scope") != "")
}
