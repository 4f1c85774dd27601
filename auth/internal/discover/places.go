package discover

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

const (
	resourceSuffix = "/.well-known/oauth-protected-resource"
	oauthSuffix    = "/.well-known/oauth-authorization-server"
	openidSuffix   = "/.well-known/openid-configuration"
)

// ResourcePlaces returns the possible URLs of the resource metadata of an endpoint, in
// the order to try: for its path (RFC 9728 §3.1), then for the whole origin. A path
// with a query or a trailing slash is also tried without it.
func ResourcePlaces(endpoint *url.URL) []string {
	base := originOf(endpoint) + resourceSuffix
	path := endpoint.EscapedPath()
	if path == "/" {
		path = ""
	}
	var places []string
	if endpoint.RawQuery != "" {
		places = append(places, base+path+"?"+endpoint.RawQuery)
	}
	places = append(places, base+path, base+strings.TrimRight(path, "/"), base)
	return slices.Compact(places)
}

// ServerPlaces returns the possible URLs of the metadata of an issuer, in the order to
// try: RFC 8414 §3.1, then OpenID Connect Discovery with the path after and before the
// well-known part. The error is a [*fetch.URLError].
func ServerPlaces(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Scheme == "" || u.Host == "":
		return nil, &fetch.URLError{URL: fetch.Show(issuer), Reason: "an issuer is a URL with a host"}
	case strings.ContainsFunc(issuer, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, &fetch.URLError{URL: fetch.Show(issuer), Reason: "an issuer is a URL of ASCII characters"}
	case strings.ContainsAny(issuer, "?#"):
		return nil, &fetch.URLError{URL: fetch.Show(issuer), Reason: "an issuer has no query and no fragment"}
	}
	base := u.Scheme + "://" + u.Host
	path := strings.TrimRight(u.EscapedPath(), "/")
	places := []string{base + oauthSuffix + path, base + openidSuffix + path}
	if path != "" {
		places = append(places, base+path+openidSuffix)
	}
	return places, nil
}

// Covers checks that a resource identifier covers an endpoint: it must have the same
// scheme, host and port, and the endpoint's path or a parent of it, by whole segments.
// A query of the identifier must be that of the endpoint. With strict, path and query
// must be the same. The error is a [*ResourceError].
func Covers(resource string, endpoint *url.URL, strict bool) error {
	refuse := func(reason string) error {
		return &ResourceError{Resource: fetch.Show(resource), Endpoint: fetch.Show(endpoint.String()), Reason: reason}
	}
	u, err := url.Parse(resource)
	switch {
	case err != nil || u.Scheme == "" || u.Host == "":
		return refuse("it is not a URL")
	case u.User != nil || strings.Contains(resource, "#"):
		return refuse("it has a user name or a fragment")
	case originOf(u) != originOf(endpoint):
		return refuse("it is of another origin")
	}
	parent, ok1 := segments(u)
	child, ok2 := segments(endpoint)
	switch {
	case !ok1 || !ok2:
		return refuse("a path has . or .. in it")
	case len(parent) > len(child) || !slices.Equal(parent, child[:len(parent)]):
		return refuse("its path is not the endpoint's or a parent of it")
	case u.RawQuery != "" && u.RawQuery != endpoint.RawQuery:
		return refuse("its query is not the endpoint's")
	case strict && (pathOf(u) != pathOf(endpoint) || u.RawQuery != endpoint.RawQuery):
		return refuse("it is not the endpoint itself")
	}
	return nil
}

func pathOf(u *url.URL) string {
	if u.Path == "" {
		return "/"
	}
	return u.EscapedPath()
}

// segments returns the parts of a path without a trailing slash. ok is false for a path
// with dot segments, which servers and proxies resolve differently.
func segments(u *url.URL) (parts []string, ok bool) {
	path := strings.TrimSuffix(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	if path == "" {
		return nil, true
	}
	parts = strings.Split(path, "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil || plain == "." || plain == ".." {
			return nil, false
		}
		parts[i] = plain
	}
	return parts, true
}

// originOf returns scheme, host and port of a URL in a form for comparisons: in lower
// case, without the default port.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}
