package discover

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// Why a document may be for its resource, see [MayClaim].
const (
	claimOfPlace    = "it is at the well-known place of its resource"
	claimOfEndpoint = "it is for the endpoint itself"
)

// MayClaim returns why a document at a URL may be for a resource, or a
// [*ResourceError]. A document at the well-known place of a resource (RFC 9728 §3.1)
// may be for that resource. A document at another URL may be for the endpoint only: a
// server at one path of a host must not get tokens for the other paths.
func MayClaim(document, resource string, endpoint *url.URL) (why string, err error) {
	r, err := url.Parse(resource)
	if err != nil {
		return "", &ResourceError{Resource: fetch.Show(resource), Endpoint: fetch.Show(endpoint.String()), Reason: "it is not a URL"}
	}
	if at := placeOf(document); at != nil && same(at, r) {
		return claimOfPlace, nil
	}
	if same(endpoint, r) {
		return claimOfEndpoint, nil
	}
	return "", &ResourceError{
		Resource: fetch.Show(resource), Endpoint: fetch.Show(endpoint.String()),
		Reason: "a document at " + fetch.Show(document) + " may not be for it, only one at " + fetch.Show(ResourcePlaces(r)[0]),
	}
}

// placeOf returns the resource whose well-known place a URL is, nil for other URLs.
func placeOf(document string) *url.URL {
	u, err := url.Parse(document)
	if err != nil || u.Host == "" {
		return nil
	}
	path, found := strings.CutPrefix(u.EscapedPath(), resourceSuffix)
	if !found || path != "" && path[0] != '/' {
		return nil
	}
	resource, err := url.Parse(originOf(u) + path)
	if err != nil {
		return nil
	}
	resource.RawQuery = u.RawQuery
	return resource
}

// same reports whether two URLs name the same resource. A slash at the end of the path
// makes no difference.
func same(a, b *url.URL) bool {
	one, ok1 := segments(a)
	other, ok2 := segments(b)
	return ok1 && ok2 && slices.Equal(one, other) && originOf(a) == originOf(b) && a.RawQuery == b.RawQuery
}
