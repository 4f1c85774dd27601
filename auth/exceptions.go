package auth

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// exception are the rules that the application relaxes for one authorization server.
type exception struct {
	noResource  bool
	assumedPKCE bool
	params      url.Values
}

// WithoutResource omits the resource parameter (RFC 8707) in every request to the
// authorization server with this issuer identifier: logins, code exchanges and renewals.
// Entra ID refuses requests with it. By default each request names the MCP server. Without the
// parameter, other servers of the same provider may accept the token: make sure that the
// scopes name the MCP server.
//
// # Experimental
//
// Exceptions for providers may still change.
func WithoutResource(issuer string) Option {
	return except("WithoutResource", issuer, func(_ *config, e *exception) { e.noResource = true })
}

// WithAssumedPKCE assumes that the authorization server with this issuer identifier supports
// PKCE with S256, although its metadata has no code_challenge_methods_supported. The login
// still uses PKCE. Cognito and Entra ID support it without listing it. By default such a server
// is refused: a server that ignores PKCE does not protect the code of the login. Metadata that
// lists only other methods is refused even with this option.
//
// # Experimental
//
// Exceptions for providers may still change.
func WithAssumedPKCE(issuer string) Option {
	return except("WithAssumedPKCE", issuer, func(_ *config, e *exception) { e.assumedPKCE = true })
}

// WithAuthorizeParams adds parameters to the authorization request that the browser sends to
// the authorization server with this issuer identifier: for example audience, or access_type
// for a refresh token of Google. A parameter with the value "" is removed: use that for prompt,
// which is "consent" by default if the scope offline_access is requested. Parameters of the
// protocol, such as redirect_uri, state and scope, are an error. Several calls add up. Flows
// for programs send no such request.
//
// # Experimental
//
// Exceptions for providers may still change.
func WithAuthorizeParams(issuer string, params url.Values) Option {
	own := make(url.Values, len(params))
	for name, values := range params {
		own[name] = slices.Clone(values)
	}
	return except("WithAuthorizeParams", issuer, func(c *config, e *exception) {
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if name == "" || isProtocols(name) {
				c.wrong(fmt.Sprintf("WithAuthorizeParams cannot set %q: the login decides it", name))
				return
			}
		}
		if e.params == nil {
			e.params = url.Values{}
		}
		maps.Copy(e.params, own)
	})
}

// except is an option for one authorization server.
func except(name, issuer string, set func(*config, *exception)) Option {
	return func(c *config) {
		if _, err := discover.ServerPlaces(issuer); err != nil {
			c.wrong(name + " needs the issuer identifier of an authorization server, as https://login.example.com")
			return
		}
		e := c.exceptions[issuer]
		set(c, &e)
		if c.exceptions == nil {
			c.exceptions = map[string]exception{}
		}
		c.exceptions[issuer] = e
	}
}

// protocols are the parameters of an authorization request that an application must not set:
// they protect its answer and name its purpose. request and request_uri replace all others
// (RFC 9101).
var protocols = []string{
	"response_type", "response_mode", "client_id", "client_secret", "redirect_uri", "state", "scope", "resource",
	"code_challenge", "code_challenge_method", "code_verifier", "dpop_jkt", "request", "request_uri",
}

// isProtocols reports whether a parameter belongs to the protocol. Some servers ignore the
// case of names and white space around them.
func isProtocols(name string) bool {
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(protocols, func(own string) bool { return strings.EqualFold(own, name) })
}

// exception returns the exception for the authorization server of the site.
func (s *site) exception() exception { return s.cfg.exceptions[s.server.Issuer] }

// exceptionFor returns the option that may help when an authorization server refuses a request,
// "" if none is known.
func (c *config) exceptionFor(issuer string, err error) string {
	var refused *grant.Error
	if !errors.As(err, &refused) {
		return ""
	}
	allowed := c.exceptions[issuer]
	about := func(name string) bool { return strings.Contains(strings.ToLower(refused.Description), name) }
	switch {
	case !allowed.noResource && (refused.Code == "invalid_target" || refused.Code == "invalid_request" && about("resource")):
		return "if this provider takes no resource parameter, leave it out with " + optionFor("WithoutResource", issuer)
	case !allowed.params.Has("audience") && about("audience"):
		return "name the audience with " + audienceFor(issuer)
	case refused.Code == "invalid_scope" && !c.onlyScopes:
		return "ask only for scopes that the provider knows, with WithOnlyScopes"
	}
	return ""
}

// optionFor returns the code of an option with the issuer. mcpctl replaces this form with its
// flags.
func optionFor(name, issuer string, params ...string) string {
	return name + `("` + strings.Join(append([]string{issuer}, params...), `", "`) + `")`
}
