package discover

import (
	"context"
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const resourceMetadata = "protected resource metadata"

// Resource is the protected resource metadata of an MCP server (RFC 9728 §2),
// checked against its endpoint.
type Resource struct {
	URL                  string // where the document came from
	Place                string // the URL that decides which resource it may be for, see [MayClaim]
	Resource             string // the resource identifier, unchanged
	Name                 string // resource_name, printable and bounded
	AuthorizationServers []string
	ScopesSupported      []string
	BearerMethods        []string // how requests may carry a Bearer token
	BearerMethodsKnown   bool     // the document has bearer_methods_supported
	DPoPRequired         bool
	DPoPAlgs             []string
}

// Resource returns the protected resource metadata of an endpoint. named is the
// resource_metadata of the challenge, if any. It is tried first, and may be relative
// to the endpoint. Then come the places of [ResourcePlaces], because proxies break
// the URLs that servers name.
//
// A document for another resource ends the search with a [*ResourceError]. The
// error is ErrNoMetadata if no place has a document, else the error of the first
// document that cannot be used.
func (f *Finder) Resource(ctx context.Context, endpoint *url.URL, named string) (*Resource, error) {
	var places []place
	if named != "" {
		if u, err := endpoint.Parse(named); err == nil {
			named = u.String()
		}
		places = append(places, place{url: named, other: true})
	}
	for _, u := range ResourcePlaces(endpoint) {
		if u != named {
			places = append(places, place{url: u})
		}
	}
	var r *Resource
	err := f.search(ctx, resourceMetadata, places, nil, func(asked, from string, d *document) (err error) {
		r, err = f.readResource(asked, from, d, endpoint)
		return err
	})
	f.missing(resourceMetadata, ResourcePlaces(endpoint)[0], "the server has it (RFC 9728 §3; every server since revision "+string(mcp.Version2025_06_18)+")",
		"its operator must serve it there; without it, the rules of revision "+string(mcp.Version2025_03_26)+" are tried", !f.NoFallback, err)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (f *Finder) readResource(asked, from string, d *document, endpoint *url.URL) (*Resource, error) {
	r := &Resource{
		URL:             from,
		Resource:        d.text("resource"),
		Name:            fetch.Printable(d.text("resource_name")),
		ScopesSupported: d.scopes("scopes_supported"),
		DPoPRequired:    d.flag("dpop_bound_access_tokens_required"),
	}
	r.AuthorizationServers, _ = d.list("authorization_servers")
	r.BearerMethods, r.BearerMethodsKnown = d.list("bearer_methods_supported")
	r.DPoPAlgs, _ = d.list("dpop_signing_alg_values_supported")
	const fix = "its operator must correct the document"
	check := f.checks(resourceMetadata, from)
	if err := check("its members have the right types (RFC 9728 §2)", "", d.err, fix); err != nil {
		return nil, err
	}
	if err := check("it has a resource (RFC 9728 §2)", r.Resource, need("resource", r.Resource != ""), fix); err != nil {
		return nil, err
	}
	if err := check("its resource is the endpoint or a parent of it (RFC 9728 §3.3)", "", Covers(r.Resource, endpoint, f.StrictResource),
		"check the URL that you gave; else its operator must write there the URL that clients use"); err != nil {
		return nil, err
	}
	// The server of the place decides about a redirect.
	r.Place = asked
	why, err := MayClaim(asked, r.Resource, endpoint)
	if err != nil {
		r.Place = from
		why, err = MayClaim(from, r.Resource, endpoint)
	}
	if err := check("a document at its URL may be for this resource (RFC 9728 §3.1 and §3.3)", why, err,
		"its operator must serve it at the well-known place of the resource, or write there the URL that clients use"); err != nil {
		return nil, err
	}
	if err := check("it names an authorization server (RFC 9728 §2, required by MCP)", strings.Join(r.AuthorizationServers, " "),
		need("authorization_servers", len(r.AuthorizationServers) > 0), fix); err != nil {
		return nil, err
	}
	return r, nil
}
