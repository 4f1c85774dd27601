package auth

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// ClientMetadata returns the JSON document that describes a program with these options.
// Publish it as application/json at the URL of [WithClientMetadata]: the URL is the client
// id, and authorization servers fetch it.
//
// A login uses any free port, which authorization servers allow for programs on the person's
// machine (RFC 8252 section 7.3). The document has the URL of [WithRedirect], if it is set.
// With an https URL it describes a web application.
func ClientMetadata(at string, opts ...Option) ([]byte, error) {
	c := newConfig(append(slices.Clone(opts), WithClientMetadata(at)))
	if c.bad != nil {
		return nil, c.bad
	}
	return json.MarshalIndent(struct {
		ClientID string `json:"client_id"`
		grant.Registration
	}{at, c.registration(cmp.Or(c.redirect, "http://127.0.0.1/callback"))}, "", "  ")
}

// registration describes the program to authorization servers, as a public client.
func (c *config) registration(redirect string) grant.Registration {
	return grant.Registration{
		RedirectURIs: []string{redirect}, ClientName: c.clientName, ApplicationType: applicationType(redirect),
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		DPoPBoundAccessTokens: c.dpop, TokenEndpointAuthMethod: grant.MethodNone,
	}
}

// applicationType is that of OpenID Connect Registration, section 2.
func applicationType(redirect string) string {
	if isWeb(redirect) {
		return "web"
	}
	return "native"
}
