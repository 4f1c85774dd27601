package discover_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
)

// The URL of a document decides which resource it may be for.
func TestMayClaim(t *testing.T) {
	const place, endpoint = "https://h.example/.well-known/oauth-protected-resource", "https://h.example/a/mcp"
	const atPlace, itself = "well-known place", "endpoint itself"
	for _, tt := range []struct {
		document, resource, endpoint, why string
	}{
		{place, "https://h.example/", endpoint, atPlace},
		{place, "https://h.example", endpoint, atPlace},
		{place + "/", "https://h.example", endpoint, atPlace},
		{"HTTPS://H.EXAMPLE:443/.well-known/oauth-protected-resource", "https://h.example", endpoint, atPlace},
		{place + "/a", "https://h.example/a", endpoint, atPlace},
		{place + "/a", "https://h.example/a/", endpoint, atPlace},
		{place + "/%61", "https://h.example/a", endpoint, atPlace},
		{place + "/a/mcp", endpoint, endpoint, atPlace},
		{place + "/a/mcp?t=1", endpoint + "?t=1", endpoint + "?t=1", atPlace},
		{place + "/a/mcp", endpoint, endpoint + "?t=1", atPlace},
		{place, endpoint, endpoint, itself},
		{place + "/other", endpoint, endpoint, itself},
		{"https://h.example/evil", endpoint, endpoint, itself},
		{"https://h.example/evil", endpoint + "/", endpoint, itself},
		{"https://cdn.example/doc?x=y", endpoint, endpoint, itself},
		{"", endpoint, endpoint, itself},

		{"https://h.example/evil", "https://h.example/", endpoint, ""},
		{"https://h.example/evil", "https://h.example/a", endpoint, ""},
		{"", "https://h.example/a", endpoint, ""},
		{place, "https://h.example/a", endpoint, ""},
		{place + "/a", "https://h.example/", endpoint, ""},
		{place + "/a/mcp", "https://h.example/a", endpoint, ""},
		{place + "?t=1", "https://h.example", endpoint, ""},
		{place + "x", "https://h.example", endpoint, ""},
		{place + "/a/..", "https://h.example", endpoint, ""},
		{place + "/%2e%2e", "https://h.example", endpoint, ""},
		{"https://h.example/evil/.well-known/oauth-protected-resource", "https://h.example", endpoint, ""},
		{"https://h.example/evil?/.well-known/oauth-protected-resource", "https://h.example", endpoint, ""},
		{"https://h.example/.well-known/oauth%2dprotected-resource/../evil", "https://h.example", endpoint, ""},
		{"http://h.example/.well-known/oauth-protected-resource", "https://h.example", endpoint, ""},
		{"https://cdn.example/.well-known/oauth-protected-resource", "https://h.example", endpoint, ""},
		{"https://h.example/evil", endpoint, endpoint + "?t=1", ""},
		{"https://h.example/evil", "https://h.example/\x00", endpoint, ""},
	} {
		t.Run(tt.document+" "+tt.resource, func(t *testing.T) {
			why, err := discover.MayClaim(tt.document, tt.resource, parse(t, tt.endpoint))
			if tt.why != "" {
				require.NoError(t, err)
				require.Contains(t, why, tt.why)
				return
			}
			var foreign *discover.ResourceError
			require.ErrorAs(t, err, &foreign)
			require.NotEmpty(t, foreign.Reason)
			require.Empty(t, why)
		})
	}
	_, err := discover.MayClaim("https://h.example/evil?key=secret", "https://h.example/", parse(t, endpoint+"?key=secret"))
	require.EqualError(t, err, `the metadata is for the resource "https://h.example/", not for https://h.example/a/mcp: `+
		"a document at https://h.example/evil may not be for it, only one at "+place)
}

// A server may redirect its own places, and the target of a redirect has its own rules.
func TestClaimBehindARedirect(t *testing.T) {
	const whole = `{"resource":"ORIGIN","authorization_servers":["https://as.example"]}`
	for _, tt := range []struct {
		name, named string
		documents   map[string]string
		place       string // "" if the claim is refused
	}{
		{"from the place to a document", "", map[string]string{resourceAt: "→/moved", "/moved": whole}, resourceAt},
		{"from anywhere to the place", "/custom", map[string]string{"/custom": "→" + resourceAt, resourceAt: whole}, resourceAt},
		{"from anywhere to anywhere", "/custom", map[string]string{"/custom": "→/moved", "/moved": whole}, ""},
		{"from the place of another", "", map[string]string{resourceAt + "/mcp": "→/moved", "/moved": whole}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.documents)
			f, _ := s.finder(t)
			r, err := f.Resource(t.Context(), parse(t, s.URL+"/mcp"), tt.named)
			if tt.place == "" {
				var foreign *discover.ResourceError
				require.ErrorAs(t, err, &foreign)
				require.True(t, strings.HasSuffix(foreign.Reason, "only one at "+s.URL+resourceAt), foreign.Reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, s.URL+tt.place, r.Place)
		})
	}
}
