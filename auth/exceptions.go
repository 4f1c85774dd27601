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

// exception is what the application allows one authorization server. The zero value is
// the strict rules.
type exception struct {
	noResource  bool
	assumedPKCE bool
	params      url.Values
}

// WithoutResource leaves out the resource parameter (RFC 8707) of every request to the
// authorization server with this issuer identifier: logins, code exchanges and renewals.
// Entra ID refuses requests with it. The default names the MCP server in each request.
// Without it, a token may be good at other servers of the same provider: make sure that
// the scopes name the MCP server.
func WithoutResource(issuer string) Option {
	return except("WithoutResource", issuer, func(_ *config, e *exception) { e.noResource = true })
}

// WithAssumedPKCE assumes that the authorization server with this issuer identifier
// supports PKCE with S256, although its metadata does not have the member
// code_challenge_methods_supported. The login still uses PKCE. Cognito and Entra ID
// support it without listing it. By default such a server is refused, because one that
// ignores PKCE does not protect the code of the login. Metadata that lists other methods
// only are refused all the same.
func WithAssumedPKCE(issuer string) Option {
	return except("WithAssumedPKCE", issuer, func(_ *config, e *exception) { e.assumedPKCE = true })
}

// WithAuthorizeParams adds parameters to the authorization request, which the browser
// sends, at the authorization server with this issuer identifier: for example audience,
// or access_type for a refresh token of Google. A parameter with the value "" is left
// out, which is of use for prompt: the default asks for consent where the scope
// offline_access is asked for. Parameters of the protocol, such as redirect_uri, state
// and scope, are refused as a wrong option. Several calls add up. Programs without a
// person make no such request.
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

// protocols are the parameters of an authorization request that decide where the answer
// goes, who may use it and what it is for. request and request_uri replace all others
// (RFC 9101).
var protocols = []string{
	"response_type", "response_mode", "client_id", "client_secret", "redirect_uri", "state", "scope", "resource",
	"code_challenge", "code_challenge_method", "code_verifier", "dpop_jkt", "request", "request_uri",
}

// isProtocols reports whether a parameter is the protocol's own. Some servers ignore the
// case of names, and white space around them.
func isProtocols(name string) bool {
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(protocols, func(own string) bool { return strings.EqualFold(own, name) })
}

// exception is what the application allows the authorization server of the site.
func (s *site) exception() exception { return s.cfg.exceptions[s.server.Issuer] }

// exceptionFor names the option that may help when an authorization server refuses a
// request, "" if none is known to.
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

// optionFor writes an option with the issuer in it. mcpctl reads this form, and writes
// its flags in place of it.
func optionFor(name, issuer string, params ...string) string {
	return name + `("` + strings.Join(append([]string{issuer}, params...), `", "`) + `")`
}
