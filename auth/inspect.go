package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Inspect returns what a login at a server would do, and logs nobody in. It fetches and
// checks the documents for a login, and reports each step to the function of [WithTrace].
// The error reports why the documents for a login are missing or cannot be used.
//
// By default Inspect looks for the documents in the well-known places. To use those that the
// server names when it refuses a request, pass its answer with [WithChallenge]. Inspect uses
// no store.
func Inspect(ctx context.Context, server string, opts ...Option) (*Inspection, error) {
	var found *Inspection
	a := newAuthorizer(func(*config) source { return inspector{&found} }, append(slices.Clone(opts), WithStore(store.NewMemory())))
	a.events.off = true
	defer a.Close() //nolint:errcheck // nothing is in progress
	s, err := a.serverNamed(ctx, server)
	if err != nil {
		return nil, err
	}
	if c := a.cfg.challenge; c != nil {
		c.Endpoint, c.URL = s.endpoint, s.endpoint
		_, err = s.challenged(ctx, *c)
	} else {
		_, err = inSeries(ctx, s, func(ctx context.Context) (bool, error) {
			return s.login(ctx, nil, challenge.Challenge{}, nil, wanted{})
		})
	}
	switch {
	case errors.Is(err, errInspected):
		return found, nil
	case err == nil:
		err = newError(ReasonOption, "pass the status 401 or 403 and the header of the answer", errors.New("the answer in WithChallenge does not ask for a login"))
	}
	return nil, s.explain(err)
}

// WithChallenge is for [Inspect]: the status and the header of the answer with which the
// server refused a request.
func WithChallenge(status int, header http.Header) Option {
	return func(c *config) { c.challenge = &transport.Challenge{Status: status, Header: header} }
}

// errInspected ends an inspection where a login would begin.
var errInspected = errors.New("the server demands a login")

// Inspection describes a login at a server.
type Inspection struct {
	Resource, Issuer string
	// Scopes are those that the login would ask for.
	Scopes []string
	// AuthorizationURL, TokenURL, RegistrationURL, PushURL (of pushed authorization requests) and
	// DeviceURL (of logins on another device) are endpoints of the authorization server, ""
	// for those that it does not have.
	AuthorizationURL, TokenURL, RegistrationURL, PushURL, DeviceURL string
	// PushRequired is set if the authorization server accepts only pushed requests.
	PushRequired bool
	// ClientMetadata is set if the authorization server accepts the URL of a document as
	// client id, and DPoP if it binds tokens to keys.
	ClientMetadata, DPoP bool
	// Fallback is set for a server without resource metadata: the rules of revision
	// 2025-03-26 apply. Assumed is set for a server without any metadata: its endpoints
	// are the default ones of that revision.
	Fallback, Assumed bool
	// Problem is why a login would fail, nil if no reason was found.
	Problem error
}

// Demand describes the credentials that a server requires for a refused request.
type Demand struct {
	// Scheme is Bearer or DPoP; Code is the error of RFC 6750, such as
	// insufficient_scope, "" for none.
	Scheme, Code string
	Scopes       []string
	// Metadata is the URL of the resource metadata, unchecked, "" for none.
	Metadata string
}

// DemandOf reads the header of an answer with status 401 or 403. It reports whether the
// answer requires a token. The texts are printable and limited in length.
func DemandOf(h http.Header) (Demand, bool) {
	c, ok := challenge.Of(h)
	if !ok {
		return Demand{}, false
	}
	return Demand{
		Scheme: fetch.Printable(c.Scheme), Code: fetch.Printable(c.Get("error")),
		Scopes: strings.Fields(fetch.Printable(c.Get("scope"))), Metadata: fetch.Printable(c.Get("resource_metadata")),
	}, true
}

// Step is a document that was fetched or a rule that was checked before a login.
type Step struct {
	What   string // the document, or what the rule is about
	URL    string // of the document, without query
	Status int    // of the answer, 0 for a rule
	Rule   string // the rule that was checked, with its section, "" for a document
	Found  string // the value that was checked; "" if Err has it
	Err    error
	// Minor is set if a login does not fail for Err.
	Minor bool
	Help  string // what to do about Err
}

// traced passes on the steps of discovery.
func (c *config) traced() func(discover.Step) {
	if c.onStep == nil {
		return nil
	}
	return func(s discover.Step) { c.onStep(Step(s)) }
}

// rules checks rules about one document, and records the first that is broken.
type rules struct {
	cfg       *config
	what, url string
	problem   error
}

// check reports a rule. err is why it is broken, and help is what to do then.
func (r *rules) check(rule, found string, err error, help string) {
	r.step(Step{Rule: rule, Found: found, Err: err, Help: help})
	if r.problem == nil {
		r.problem = err
	}
}

// advise reports a rule that is not required for a login.
func (r *rules) advise(rule, found string, err error, help string) {
	r.step(Step{Rule: rule, Found: found, Err: err, Help: help, Minor: true})
}

func (r *rules) step(s Step) {
	if r.cfg.onStep == nil {
		return
	}
	s.What, s.URL = r.what, r.url
	if s.Err == nil {
		s.Minor, s.Help = false, ""
	} else {
		s.Found = ""
	}
	r.cfg.onStep(s)
}

// unless returns an error with a text, nil if a rule holds.
func unless(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// checkIssuer checks that the authorization server is the one of [WithIssuer].
func (s *server) checkIssuer(found *site) error {
	want := s.a.cfg.clientIssuer
	if want == "" {
		return nil
	}
	r := rules{cfg: &s.a.cfg, what: "authorization server metadata", url: found.server.URL}
	r.check("it is the authorization server that you want", want,
		unless(want == found.server.Issuer, "the client belongs to %s, and the server names %s", want, found.server.Issuer),
		"register the client there, or ask the operator of the MCP server")
	return r.problem
}

// traceChallenge reports the challenge of a server.
func (s *server) traceChallenge(c challenge.Challenge) {
	r := rules{cfg: &s.a.cfg, what: "refusal of the server", url: shown(s.endpoint)}
	r.advise("it has a Bearer or DPoP challenge (RFC 6750 §3, RFC 9728 §5.1)", c.Scheme, unless(c.Scheme != "", "its WWW-Authenticate has none"),
		"its operator should send one: without it, clients can only look in the well-known places")
	if c.Scheme == "" {
		return
	}
	named := c.Get("resource_metadata")
	if u, err := s.endpoint.Parse(named); err == nil && named != "" {
		named = shown(u)
	}
	r.advise("its challenge names the resource metadata (RFC 9728 §5.1)", named, unless(named != "", "it has no resource_metadata"),
		"its operator should name it: without it, clients can only look in the well-known places")
	if scope := c.Get("scope"); scope != "" {
		r.advise("its challenge names the scopes that it wants (RFC 6750 §3)", fetch.Printable(scope), nil, "")
	}
}

// inspector is the grant of [Inspect].
type inspector struct{ found **Inspection }

func (inspector) person() bool { return true }

// obtain implements source.
func (i inspector) obtain(_ context.Context, s *site, scopes []string) (*credentials, error) {
	*i.found = &Inspection{
		Resource: s.id(), Issuer: s.server.Issuer, Scopes: scopes,
		AuthorizationURL: s.server.AuthorizationEndpoint, TokenURL: s.server.TokenEndpoint, RegistrationURL: s.server.RegistrationEndpoint,
		PushURL: s.server.PushEndpoint, DeviceURL: s.server.DeviceEndpoint, PushRequired: s.server.PushRequired,
		ClientMetadata: s.server.ClientIDMetadata, DPoP: len(s.server.DPoPAlgs) > 0,
		Fallback: s.resource == nil, Assumed: s.server.Assumed, Problem: s.inspect(scopes),
	}
	return nil, newError(ReasonLogin, "", errInspected)
}

// inspect checks what a login needs. It returns the first reason why one would fail.
func (s *site) inspect(scopes []string) error {
	r := rules{cfg: s.cfg, what: "login", url: s.server.Issuer}
	m := s.server
	if m.Assumed {
		return nil // without metadata there is nothing to check
	}
	r.check("the authorization server has a page to log in (RFC 8414 §2)", m.AuthorizationEndpoint,
		unless(m.AuthorizationEndpoint != "", "its metadata has no authorization_endpoint"), s.orDevice("its operator must add it; a program can log in without a person (client credentials)"))
	s.inspectPKCE(&r)
	s.inspectGrants(&r)
	how, err := s.becomesKnown()
	r.check("this program can become known there (RFC 7591, or a client id)", how, err, "register a client there, by hand, and set it with WithClient")
	if wanted := missing(scopes, m.ScopesSupported); len(m.ScopesSupported) > 0 && len(scopes) > 0 {
		r.advise("it knows the scopes that are wanted (RFC 8414 §2)", strings.Join(scopes, " "),
			unless(len(wanted) == 0, "it does not list %s", strings.Join(wanted, " ")), "a login may end with invalid_scope: the operators of both servers must agree")
	}
	s.inspectExceptions(&r, scopes)
	s.inspectBearer(&r)
	s.inspectDPoP(&r)
	r.advise("its answers say that they come from it (RFC 9207)", "", unless(m.IssParameter, "its metadata does not promise it"), "its operator should add it: it protects clients that use several authorization servers")
	return r.problem
}

// inspectPKCE checks whether the code of a login is protected.
func (s *site) inspectPKCE(r *rules) {
	const rule = "it supports PKCE with S256 (RFC 7636 §4.2; RFC 8414 §2, required by MCP)"
	if s.assumesPKCE() {
		r.advise(rule, "", errors.New("its metadata does not list it, and you vouch for it"),
			"know what you give up: if it ignores PKCE, a stolen code is good for a token")
		return
	}
	r.check(rule, strings.Join(s.server.CodeChallengeMethods, " "), usesPKCE(s),
		s.assumePKCE("its operator must add code_challenge_methods_supported with S256: a login without PKCE is not safe"))
}

// becomesKnown returns how this program gets its client id.
func (s *site) becomesKnown() (how string, err error) {
	switch {
	case s.cfg.clientID != "":
		return "the client " + s.cfg.clientID, nil
	case s.metadataClient():
		return "the document " + s.cfg.metadataURL, nil
	case s.server.RegistrationEndpoint != "":
		return "it registers itself at " + s.server.RegistrationEndpoint, nil
	case s.server.ClientIDMetadata:
		return "", errors.New("programs do not register themselves there, only documents that describe them are accepted")
	}
	return "", errors.New("programs do not register themselves there")
}

// missing returns the members of a list that another one does not have.
func missing(list, from []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(from, one) })
}
