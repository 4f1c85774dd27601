// Package login is an authorization server for trying out logins. It runs beside the
// reference server, and its page has a button for each user in place of a password. The
// module go-oauth2 issues and exchanges the codes and tokens. This package adds what MCP
// clients need in addition: metadata (RFC 8414), registration (RFC 7591), the page, signed
// access tokens for one resource (RFC 9068, RFC 8707), and revocation (RFC 7009).
//
// Everything is in memory. When the program ends, all logins end.
package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/server"

	autherrors "github.com/go-oauth2/oauth2/v4/errors"
)

// Path is the path of the issuer, below the address of the reference server.
const Path = "/login"

const (
	codeLife    = time.Minute    // how long a code can be redeemed
	refreshLife = 24 * time.Hour // since the last refresh
	maxForm     = 64 << 10       // bytes
)

// Options configures a [Server].
type Options struct {
	// Issuer is the URL of the authorization server. It ends in [Path].
	Issuer string
	// Resource is the only audience of tokens.
	Resource string
	// Users are the names of which each has a button on the page.
	Users []string
	// Scopes are those that a client may ask for.
	Scopes []string
	// Lifetime is that of access tokens.
	Lifetime time.Duration
}

// A Server is an authorization server. It is safe for concurrent use.
type Server struct {
	opts   Options
	core   *server.Server
	grants *grants
	signer *signer
}

// New returns a server with a new key.
func New(opts Options) (*Server, error) {
	if len(opts.Users) == 0 {
		return nil, errors.New("nobody could log in: name a user")
	}
	issuer, err := url.Parse(opts.Issuer)
	if err != nil || issuer.Host == "" || issuer.Path != Path {
		return nil, fmt.Errorf("the issuer must be a URL that ends in %s, not %q", Path, opts.Issuer)
	}
	s := &Server{opts: opts}
	if s.signer, err = newSigner(opts.Issuer, opts.Resource); err != nil {
		return nil, err
	}
	s.grants = newGrants(opts.Lifetime, s.signer)
	s.core = server.NewServer(&server.Config{
		TokenType:                   "Bearer",
		AllowedResponseTypes:        []oauth2.ResponseType{oauth2.Code},
		AllowedGrantTypes:           []oauth2.GrantType{oauth2.AuthorizationCode, oauth2.Refreshing},
		AllowedCodeChallengeMethods: []oauth2.CodeChallengeMethod{oauth2.CodeChallengeS256},
		ForcePKCE:                   true,
	}, s.grants)
	s.core.ClientInfoHandler = server.ClientFormHandler
	s.core.RefreshingScopeHandler = narrows
	s.core.InternalErrorHandler = known
	s.core.ResponseErrorHandler = status
	return s, nil
}

// known gives the errors of the library that have no code of OAuth one.
func known(err error) *autherrors.Response {
	for _, bad := range [...]error{autherrors.ErrInvalidRedirectURI, autherrors.ErrMissingCodeVerifier} {
		if errors.Is(err, bad) {
			return autherrors.NewResponse(autherrors.ErrInvalidGrant, http.StatusBadRequest)
		}
	}
	return nil
}

// status is that of RFC 6749 section 5.2: the library has 401 and 403 for more errors.
func status(r *autherrors.Response) {
	if r.StatusCode < http.StatusInternalServerError && !errors.Is(r.Error, autherrors.ErrInvalidClient) {
		r.StatusCode = http.StatusBadRequest
	}
}

// Handlers returns what the server serves, by the pattern of an [http.ServeMux]. The
// requests need no token.
func (s *Server) Handlers() map[string]http.Handler {
	page := http.NewCrossOriginProtection().Handler(http.HandlerFunc(s.authorize))
	return map[string]http.Handler{
		"GET /.well-known/oauth-authorization-server" + Path: document(s.metadata()),
		"GET " + Path + "/keys":                              document(s.signer.public()),
		"GET " + Path + "/authorize":                         page,
		"POST " + Path + "/authorize":                        page,
		"POST " + Path + "/register":                         bounded(register),
		"POST " + Path + "/token":                            bounded(s.token),
		"POST " + Path + "/revoke":                           bounded(s.revoke),
	}
}

// metadata is the document of RFC 8414.
func (s *Server) metadata() map[string]any {
	m := map[string]any{
		"issuer":                                         s.opts.Issuer,
		"authorization_endpoint":                         s.opts.Issuer + "/authorize",
		"token_endpoint":                                 s.opts.Issuer + "/token",
		"registration_endpoint":                          s.opts.Issuer + "/register",
		"revocation_endpoint":                            s.opts.Issuer + "/revoke",
		"jwks_uri":                                       s.opts.Issuer + "/keys",
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
	if len(s.opts.Scopes) > 0 {
		m["scopes_supported"] = s.opts.Scopes
	}
	return m
}

// meant reports whether a request is about the resource of this server (RFC 8707). A
// request that names none is.
func (s *Server) meant(r *http.Request) bool {
	return !slices.ContainsFunc(r.Form["resource"], func(resource string) bool { return resource != s.opts.Resource })
}

// Errors of RFC 7591, RFC 8707 and RFC 7009, which the library does not have.
const (
	invalidTarget   = "invalid_target"
	invalidRedirect = "invalid_redirect_uri"
	invalidMetadata = "invalid_client_metadata"
	unsupportedType = "unsupported_token_type"
)

// refuse answers a program.
func refuse(w http.ResponseWriter, code, text string) {
	answer(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": text})
}

// answer writes a document that nobody may keep.
func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // the reader has gone
}

// document serves a document that does not change.
func document(doc any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, doc) })
}

// bounded limits the body of a request.
func bounded(f http.HandlerFunc) http.Handler { return http.MaxBytesHandler(f, maxForm) }
