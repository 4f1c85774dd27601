package clientsuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// place is who guards the server.
type place struct {
	resource string
	scopes   []string
	server   *server
}

// server is the metadata of an authorization server (RFC 8414 section 2).
type server struct {
	Issuer        string
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Iss           bool     `json:"authorization_response_iss_parameter_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	Proofs        []string `json:"dpop_signing_alg_values_supported"`
}

// allowed refuses URLs that no stranger may make this client fetch.
func (c *toyLogin) allowed(at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return errors.New("not a URL")
	}
	if c.is("login-any-address") {
		return nil
	}
	local := c.Local(u.Hostname())
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !local && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
		return errors.New("a private address")
	}
	if u.Scheme != "https" && !local {
		return errors.New("not https")
	}
	return nil
}

// find finds out who guards the server.
func (c *toyLogin) find(ctx context.Context, asked map[string]string) (*place, error) {
	base, err := url.Parse(c.Server)
	if err != nil {
		return nil, err
	}
	origin := base.Scheme + "://" + base.Host
	var candidates []string
	if named := asked["resource_metadata"]; named != "" {
		candidates = []string{named}
	} else {
		const known = "/.well-known/oauth-protected-resource"
		candidates = []string{origin + known + base.Path, origin + known}
		switch {
		case c.is("login-root-first"):
			slices.Reverse(candidates)
		case c.is("login-path-only"):
			candidates = candidates[:1]
		}
	}
	for _, at := range candidates {
		a, err := c.get(ctx, at)
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			continue
		}
		var doc struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		if json.Unmarshal(a.body, &doc) != nil || len(doc.Servers) == 0 {
			return nil, errors.New("the metadata name no authorization server")
		}
		parent := doc.Resource == origin && strings.HasSuffix(at, "/oauth-protected-resource")
		if doc.Resource != c.Server && !parent && !c.is("login-any-resource") {
			return nil, errors.New("the metadata are of another resource")
		}
		s, err := c.server(ctx, doc.Servers[0])
		return &place{doc.Resource, doc.Scopes, s}, err
	}
	if c.Revision > "2025-04" || c.is("login-no-fallback") {
		return nil, errors.New("there are no metadata")
	}
	s, err := c.fallback(ctx, origin)
	return &place{c.Server, nil, s}, err
}

// fallback follows revision 2025-03-26: the server is its own authorization server.
func (c *toyLogin) fallback(ctx context.Context, origin string) (*server, error) {
	a, err := c.get(ctx, origin+"/.well-known/oauth-authorization-server")
	if err != nil {
		return nil, err
	}
	s := &server{Issuer: origin, Authorization: origin + "/authorize", Token: origin + "/token", Registration: origin + "/register"}
	if a.status == http.StatusOK {
		err = json.Unmarshal(a.body, s)
	}
	return s, err
}

// server fetches the metadata of an issuer (RFC 8414 section 3.1, and section 5).
func (c *toyLogin) server(ctx context.Context, issuer string) (*server, error) {
	if c.known != nil && c.is("login-keeps-server") {
		return c.known, nil
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.Path, "/")
	candidates := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + "/.well-known/openid-configuration" + path}
	if path != "" {
		candidates = append(candidates, origin+path+"/.well-known/openid-configuration")
	}
	switch {
	case c.is("login-openid-first"):
		candidates[0], candidates[1] = candidates[1], candidates[0]
	case c.is("login-one-document"):
		candidates = candidates[:1]
	}
	for _, at := range candidates {
		a, err := c.get(ctx, at)
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			continue
		}
		s := &server{}
		if err := json.Unmarshal(a.body, s); err != nil {
			return nil, err
		}
		slash := c.is("login-any-slash") && strings.TrimSuffix(s.Issuer, "/") == strings.TrimSuffix(issuer, "/")
		if s.Issuer != issuer && !slash && !c.is("login-any-issuer") {
			return nil, errors.New("the metadata are of another issuer")
		}
		if !slices.Contains(s.Challenges, "S256") && !c.is("login-any-pkce") {
			return nil, errors.New("there is no PKCE with S256")
		}
		c.known = s
		return s, nil
	}
	return nil, errors.New("the authorization server has no metadata")
}

// challengeOf is the Bearer or DPoP challenge in an answer (RFC 9110 section 11.6.1).
func challengeOf(c *toyLogin, h http.Header) map[string]string {
	lines := h.Values("WWW-Authenticate")
	if c.is("login-first-challenge") {
		rest, ok := "", false
		if len(lines) > 0 {
			rest, ok = strings.CutPrefix(lines[0], "Bearer ")
		}
		if !ok {
			return map[string]string{}
		}
		lines = []string{"Bearer " + rest}
	}
	if c.is("login-splits-commas") {
		out := map[string]string{}
		for _, part := range strings.Split(strings.Join(lines, ","), ",") {
			if _, after, ok := strings.Cut(part, "resource_metadata="); ok {
				out["resource_metadata"] = strings.Trim(after, `"\ `)
				break
			}
		}
		return out
	}
	for _, line := range lines {
		var found map[string]string
		for _, word := range words(line) {
			name, value, isParameter := strings.Cut(word, "=")
			first, second, two := strings.Cut(strings.TrimSpace(name), " ")
			if two || !isParameter {
				if found != nil {
					break
				}
				if scheme := strings.ToLower(first); scheme == "bearer" || scheme == "dpop" {
					found = map[string]string{}
				}
				name = second
			}
			if found != nil && isParameter {
				found[strings.ToLower(strings.TrimSpace(name))] = unquote(strings.TrimSpace(value))
			}
		}
		if found != nil {
			return found
		}
	}
	return map[string]string{}
}

// words splits at the commas outside of quotes.
func words(line string) []string {
	var out []string
	quoted, from := false, 0
	for i := 0; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case line[i] == ',' && !quoted:
			out = append(out, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(line[from:]))
}

func unquote(s string) string {
	inner, ok := strings.CutPrefix(s, `"`)
	if !ok {
		return s
	}
	return strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `\`, "")
}
