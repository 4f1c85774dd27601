package discover

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	serverMetadata = "authorization server metadata"
	issuerRule     = "the issuer may be asked: https, and no private address (RFC 8414 §2, RFC 9728 §7.7)"
)

// Server is the metadata of an authorization server (RFC 8414 §2). It was checked
// against the expected issuer, and every endpoint in it with [fetch.Client.Check].
type Server struct {
	URL string // where the document came from, "" if Assumed
	// Issuer is the issuer in the document. Compare it with the iss of authorization
	// responses.
	Issuer string

	AuthorizationEndpoint string // may be "": machines do not need it
	TokenEndpoint         string
	RegistrationEndpoint  string
	RevocationEndpoint    string
	PushEndpoint          string // for pushed authorization requests (RFC 9126)
	DeviceEndpoint        string // for logins on another device (RFC 8628)
	JWKSURI               string // not checked, never fetched here

	ScopesSupported          []string
	GrantTypesSupported      []string
	ResponseTypesSupported   []string
	TokenEndpointAuthMethods []string
	TokenEndpointAuthAlgs    []string
	CodeChallengeMethods     []string
	DPoPAlgs                 []string

	CodeChallengeKnown bool // the document has code_challenge_methods_supported
	IssParameter       bool // authorization responses carry iss (RFC 9207)
	ClientIDMetadata   bool // client ids may be URLs of metadata documents
	PushRequired       bool // the server accepts only authorization requests that were pushed
	// Assumed is set if there is no document. The endpoints are the default ones of
	// revision 2025-03-26, which also requires PKCE with S256.
	Assumed bool
}

// Server returns the metadata of an authorization server. issuer is the exact
// string of the resource metadata, and the document must have the same.
//
// The error is ErrNoMetadata if no place has a document, else that of the first
// document that cannot be used: a [*IssuerError], [*DocumentError],
// [*fetch.BlockedError], [*fetch.URLError] or [*fetch.Error].
func (f *Finder) Server(ctx context.Context, issuer string) (*Server, error) {
	urls, err := ServerPlaces(issuer)
	if err == nil {
		err = f.HTTP.Check(issuer)
	}
	f.step(Step{What: serverMetadata, URL: fetch.Show(issuer), Rule: issuerRule, Found: onThisMachine(issuer), Err: err, Help: helpFor(err)})
	if err != nil {
		return nil, err
	}
	places := make([]place, len(urls))
	for i, u := range urls {
		places[i].url = u
	}
	same := func(got string) bool { return got == issuer || f.SlashConcession && sameRoot(got, issuer) }
	s, err := f.server(ctx, places, nil, issuer, same)
	f.missing(serverMetadata, urls[0], "the authorization server has it (RFC 8414 §3)", "the operator of the MCP server must name an authorization server that has it", false, err)
	return s, err
}

// helpFor returns what to do about an issuer that may not be fetched.
func helpFor(err error) string {
	if err == nil {
		return ""
	}
	return unreachable(err)
}

// Fallback returns the authorization server of an MCP server without resource
// metadata, by the rules of revision 2025-03-26: metadata at the root of the
// endpoint's origin, else default endpoints. The errors are those of
// [Finder.Server]; with NoFallback it is ErrNoMetadata.
func (f *Finder) Fallback(ctx context.Context, endpoint *url.URL) (*Server, error) {
	if f.NoFallback {
		return nil, ErrNoMetadata
	}
	base := originOf(endpoint)
	err := f.HTTP.Check(base)
	f.step(Step{What: serverMetadata, URL: base, Rule: issuerRule, Found: onThisMachine(base), Err: err, Help: helpFor(err)})
	if err != nil {
		return nil, err
	}
	// No revision is negotiated yet, because the first request was refused.
	header := http.Header{"Mcp-Protocol-Version": {string(mcp.Latest)}}
	// No document names the issuer, so a trailing slash makes no difference.
	same := func(got string) bool { return got == base || got == base+"/" }
	s, err := f.server(ctx, []place{{url: base + oauthSuffix}}, header, base, same)
	if !errors.Is(err, ErrNoMetadata) {
		return s, err
	}
	f.step(Step{What: serverMetadata, URL: base, Rule: "without metadata the endpoints are /authorize, /token and /register (MCP " + string(mcp.Version2025_03_26) + ")"})
	return &Server{
		Issuer:                base,
		AuthorizationEndpoint: base + "/authorize",
		TokenEndpoint:         base + "/token",
		RegistrationEndpoint:  base + "/register",
		CodeChallengeMethods:  []string{"S256"},
		CodeChallengeKnown:    true,
		Assumed:               true,
	}, nil
}

func (f *Finder) server(ctx context.Context, places []place, header http.Header, issuer string, same func(string) bool) (*Server, error) {
	var s *Server
	err := f.search(ctx, serverMetadata, places, header, func(_, from string, d *document) (err error) {
		s, err = f.readServer(from, d, issuer, same)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (f *Finder) readServer(from string, d *document, issuer string, same func(string) bool) (*Server, error) {
	s := &Server{
		URL:                   from,
		Issuer:                d.text("issuer"),
		AuthorizationEndpoint: d.text("authorization_endpoint"),
		TokenEndpoint:         d.text("token_endpoint"),
		RegistrationEndpoint:  d.text("registration_endpoint"),
		RevocationEndpoint:    d.text("revocation_endpoint"),
		PushEndpoint:          d.text("pushed_authorization_request_endpoint"),
		DeviceEndpoint:        d.text("device_authorization_endpoint"),
		JWKSURI:               d.text("jwks_uri"),
		ScopesSupported:       d.scopes("scopes_supported"),
		IssParameter:          d.flag("authorization_response_iss_parameter_supported"),
		ClientIDMetadata:      d.flag("client_id_metadata_document_supported"),
		PushRequired:          d.flag("require_pushed_authorization_requests"),
	}
	s.GrantTypesSupported, _ = d.list("grant_types_supported")
	s.ResponseTypesSupported, _ = d.list("response_types_supported")
	s.TokenEndpointAuthMethods, _ = d.list("token_endpoint_auth_methods_supported")
	s.TokenEndpointAuthAlgs, _ = d.list("token_endpoint_auth_signing_alg_values_supported")
	s.CodeChallengeMethods, s.CodeChallengeKnown = d.list("code_challenge_methods_supported")
	s.DPoPAlgs, _ = d.list("dpop_signing_alg_values_supported")

	const fix = "the operator of the authorization server must correct the document"
	check := f.checks(serverMetadata, from)
	if err := check("its members have the right types (RFC 8414 §2)", "", d.err, fix); err != nil {
		return nil, err
	}
	var wrong error
	if !same(s.Issuer) {
		wrong = &IssuerError{URL: fetch.Show(from), Want: fetch.Printable(issuer), Got: fetch.Printable(s.Issuer)}
	}
	help := "the operator of the MCP server must name the issuer as the authorization server spells it"
	if strings.Contains(s.Issuer, "{") { // Entra ID: common and organizations
		help = "that document is for many tenants: the operator of the MCP server must name the issuer with the id of one tenant"
	}
	if sameRoot(s.Issuer, issuer) {
		help += "; if you trust both, allow the slash with WithIssuerSlash"
	}
	if err := check("its issuer is the expected one (RFC 8414 §3.3)", s.Issuer, wrong, help); err != nil {
		return nil, err
	}
	if err := check("it has a token endpoint (RFC 8414 §2)", s.TokenEndpoint, need("token_endpoint", s.TokenEndpoint != ""), fix); err != nil {
		return nil, err
	}
	for _, endpoint := range [...]string{
		s.AuthorizationEndpoint, s.TokenEndpoint, s.RegistrationEndpoint, s.RevocationEndpoint, s.PushEndpoint, s.DeviceEndpoint,
	} {
		if endpoint != "" && wrong == nil {
			wrong = f.HTTP.Check(endpoint)
		}
	}
	if err := check("its endpoints may be used: https, and no private address (RFC 6749 §3.1, §3.2)", onThisMachine(s.TokenEndpoint), wrong, helpFor(wrong)); err != nil {
		return nil, err
	}
	return s, nil
}

// onThisMachine returns why a URL may be used although it is not https: the MCP
// server is on this machine, too. It returns "" for other URLs.
func onThisMachine(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "https" {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && !ip.IsLoopback() {
		return ""
	}
	return "on this machine, like the MCP server"
}

// sameRoot reports whether two issuers without path differ by a trailing slash only.
func sameRoot(a, b string) bool {
	a, b = strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/")
	u, err := url.Parse(a)
	return a == b && err == nil && u.Path == ""
}
