package auth

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// provider is a large provider of authorization servers. It changes only the help in errors
// and inspections, never what a login does.
type provider int

const (
	unknownProvider provider = iota
	entraID
	cognito
	google
	auth0
	atlassian
)

// providerOf returns the provider by the host of the issuer identifier. Servers with other
// names, such as those of a company, are unknown.
func providerOf(issuer string) provider {
	u, err := url.Parse(issuer)
	if err != nil {
		return unknownProvider
	}
	host := u.Hostname()
	switch {
	case host == "login.microsoftonline.com", host == "login.microsoftonline.us", host == "login.partner.microsoftonline.cn",
		strings.HasSuffix(host, ".ciamlogin.com"):
		return entraID
	case strings.HasPrefix(host, "cognito-idp.") && strings.HasSuffix(host, ".amazonaws.com"):
		return cognito
	case host == "accounts.google.com":
		return google
	case strings.HasSuffix(host, ".auth0.com"):
		return auth0
	case host == "auth.atlassian.com":
		return atlassian
	}
	return unknownProvider
}

// assumePKCE appends the exception for a server that does not list S256 to a help. There is
// none for a server that lists other methods.
func (s *site) assumePKCE(text string) string {
	switch {
	case s.server.CodeChallengeKnown:
		return text
	case providerOf(s.server.Issuer) == entraID, providerOf(s.server.Issuer) == cognito:
		text += "; this provider documents S256 without listing it: assume it with "
	default:
		text += "; if its documentation says that it supports S256, assume it with "
	}
	return text + optionFor("WithAssumedPKCE", s.server.Issuer)
}

// audienceFor returns the option for the audience, for providers without resource parameter.
func audienceFor(issuer string) string {
	if providerOf(issuer) == atlassian {
		return optionFor("WithAuthorizeParams", issuer, "audience=api.atlassian.com", "prompt=consent")
	}
	return optionFor("WithAuthorizeParams", issuer, "audience=API")
}

// notRenewed returns the help for a login that ended because it had no refresh token, "" for
// others.
func notRenewed(h *credentials) string {
	if h == nil || h.record.Token.Access.Empty() || !h.record.Token.Refresh.Empty() || h.usable(time.Now()) {
		return ""
	}
	const text = "the last login ended with its token, because the authorization server gave no refresh token; "
	if providerOf(h.key.Issuer) == google {
		return text + "ask for one with " + offlineAt(h.key.Issuer)
	}
	return text + "some give one for the scope offline_access (WithScopes), others for a parameter (WithAuthorizeParams)"
}

// offlineAt returns the option for a refresh token of Google.
func offlineAt(issuer string) string {
	return optionFor("WithAuthorizeParams", issuer, "access_type=offline", "prompt=consent")
}

// inspectExceptions reports the exceptions of the application for the authorization server with
// their risks, and proposes those that its provider needs.
func (s *site) inspectExceptions(r *rules, scopes []string) {
	allowed, issuer := s.exception(), s.server.Issuer
	s.inspectResource(r, scopes)
	if len(allowed.params) > 0 {
		r.advise("the login has parameters that you added", strings.Join(slices.Sorted(maps.Keys(allowed.params)), ", "), nil, "")
	}
	if s.cfg.onlyScopes {
		r.advise("it asks only for the scopes that you named", strings.Join(scopes, " "), nil, "")
	}
	switch providerOf(issuer) {
	case google:
		r.advise("Google gives a refresh token", "", unless(allowed.params.Get("access_type") == "offline", "it gives one only for access_type=offline"),
			"expect to log in again every hour, or ask for it with "+offlineAt(issuer))
	case auth0:
		r.advise("Auth0 issues tokens for this server", "", unless(allowed.params.Has("audience"), "it ignores the resource parameter, unless its operator enables the resource parameter compatibility profile"),
			"if the server refuses the token, name the API with "+audienceFor(issuer))
	case atlassian:
		r.advise("Atlassian issues tokens for its products", "", unless(allowed.params.Has("audience"), "it needs the parameter audience"),
			"name it with "+audienceFor(issuer))
	case entraID:
		again := slices.Contains(scopes, "offline_access") && !allowed.params.Has("prompt")
		r.advise("Entra ID asks for consent once", "", unless(!again, "with prompt=consent it asks in each login, and in many companies only administrators may consent"),
			"if the page wants the approval of an administrator, choose another prompt with "+optionFor("WithAuthorizeParams", issuer, "prompt=select_account"))
	case cognito, unknownProvider:
	}
	for _, other := range slices.Sorted(maps.Keys(s.cfg.exceptions)) {
		if other != issuer {
			r.advise("your exceptions are for this authorization server", "", fmt.Errorf("there are some for %s, which is another one", other),
				"they have no effect here: set the issuer identifier exactly as this server has it")
		}
	}
}

// inspectResource checks whether requests may name the MCP server.
func (s *site) inspectResource(r *rules, scopes []string) {
	const rule = "requests for tokens name the MCP server (RFC 8707 §2, required by MCP)"
	issuer := s.server.Issuer
	switch {
	case s.resource == nil:
	case s.exception().noResource:
		r.advise(rule, "", errors.New("you allow that they do not"), "know what you give up: unless the scopes name this server, a token may be good at other servers, too")
	case providerOf(issuer) == entraID:
		of := strings.TrimSuffix(s.resource.Resource, "/") + "/"
		named := slices.ContainsFunc(scopes, func(scope string) bool { return strings.HasPrefix(scope, of) })
		r.check(rule, s.resource.Resource, unless(named, "Entra ID refuses a resource parameter that the scopes do not begin with"),
			"leave it out with "+optionFor("WithoutResource", issuer))
	default:
		r.advise(rule, s.resource.Resource, nil, "")
	}
}
