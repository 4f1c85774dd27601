package discover_test

import (
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func TestResourcePlaces(t *testing.T) {
	const root = "https://h.example/.well-known/oauth-protected-resource"
	for endpoint, want := range map[string][]string{
		"https://h.example":                {root},
		"https://h.example/":               {root},
		"https://h.example/mcp":            {root + "/mcp", root},
		"https://h.example/a/b":            {root + "/a/b", root},
		"https://h.example/mcp/":           {root + "/mcp/", root + "/mcp", root},
		"https://h.example/mcp?tenant=a":   {root + "/mcp?tenant=a", root + "/mcp", root},
		"https://h.example/mcp/?tenant=a":  {root + "/mcp/?tenant=a", root + "/mcp/", root + "/mcp", root},
		"https://h.example?tenant=a":       {root + "?tenant=a", root},
		"https://h.example/a%2Fb":          {root + "/a%2Fb", root},
		"HTTPS://H.Example:443/mcp#x":      {root + "/mcp", root},
		"https://user:pw@h.example/mcp":    {root + "/mcp", root},
		"https://h.example:8443/mcp":       {"https://h.example:8443/.well-known/oauth-protected-resource/mcp", "https://h.example:8443/.well-known/oauth-protected-resource"},
		"http://[::1]:80/mcp":              {"http://[::1]/.well-known/oauth-protected-resource/mcp", "http://[::1]/.well-known/oauth-protected-resource"},
		"http://localhost:3000/public/mcp": {"http://localhost:3000/.well-known/oauth-protected-resource/public/mcp", "http://localhost:3000/.well-known/oauth-protected-resource"},
	} {
		t.Run(endpoint, func(t *testing.T) {
			require.Equal(t, want, discover.ResourcePlaces(parse(t, endpoint)))
		})
	}
}

func TestServerPlaces(t *testing.T) {
	for _, tt := range []struct {
		issuer string
		want   []string
	}{
		{"https://as.example", []string{
			"https://as.example/.well-known/oauth-authorization-server",
			"https://as.example/.well-known/openid-configuration",
		}},
		{"https://as.example/", []string{
			"https://as.example/.well-known/oauth-authorization-server",
			"https://as.example/.well-known/openid-configuration",
		}},
		{"https://as.example/tenant1", []string{
			"https://as.example/.well-known/oauth-authorization-server/tenant1",
			"https://as.example/.well-known/openid-configuration/tenant1",
			"https://as.example/tenant1/.well-known/openid-configuration",
		}},
		{"https://as.example:8443/a/b%20c/", []string{
			"https://as.example:8443/.well-known/oauth-authorization-server/a/b%20c",
			"https://as.example:8443/.well-known/openid-configuration/a/b%20c",
			"https://as.example:8443/a/b%20c/.well-known/openid-configuration",
		}},
	} {
		t.Run(tt.issuer, func(t *testing.T) {
			places, err := discover.ServerPlaces(tt.issuer)
			require.NoError(t, err)
			require.Equal(t, tt.want, places)
		})
	}
	for _, issuer := range []string{"", "as.example", "/path", "https://", "mailto:a@b", "https://a\x00", "https://as.example?q=secret", "https://as.example#f", "https://as.example?"} {
		t.Run("refused "+issuer, func(t *testing.T) {
			_, err := discover.ServerPlaces(issuer)
			var wrong *fetch.URLError
			require.ErrorAs(t, err, &wrong)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestCovers(t *testing.T) {
	const endpoint = "https://h.example/a/mcp"
	for _, tt := range []struct {
		resource, endpoint string
		loose, strict      bool
	}{
		{"https://h.example/a/mcp", endpoint, true, true},
		{"HTTPS://H.EXAMPLE:443/a/mcp", endpoint, true, true},
		{"https://h.example/a/mcp/", endpoint, true, false},
		{"https://h.example/a", endpoint, true, false},
		{"https://h.example/a/", endpoint, true, false},
		{"https://h.example/", endpoint, true, false},
		{"https://h.example", endpoint, true, false},
		{"https://h.example", "https://h.example/", true, true},
		{"https://h.example/", "https://h.example", true, true},
		{"https://h.example/%61/mcp", endpoint, true, false},
		{"http://localhost:3000", "http://localhost:3000/mcp", true, false},
		{"https://h.example/mcp?t=1", "https://h.example/mcp?t=1", true, true},
		{"https://h.example/mcp", "https://h.example/mcp?t=1", true, false},

		{"", endpoint, false, false},
		{"h.example/a/mcp", endpoint, false, false},
		{"/a/mcp", endpoint, false, false},
		{"//h.example/a/mcp", endpoint, false, false},
		{"http://h.example/a/mcp", endpoint, false, false},
		{"https://h.example:8443/a/mcp", endpoint, false, false},
		{"https://evil.example/a/mcp", endpoint, false, false},
		{"https://h.example.evil.example/a/mcp", endpoint, false, false},
		{"https://h.example./a/mcp", endpoint, false, false},
		{"https://h.example@evil.example/a/mcp", endpoint, false, false},
		{"https://evil.example@h.example/a/mcp", endpoint, false, false},
		{"https://h.example/a/mc", endpoint, false, false},
		{"https://h.example/a/mcp/b", endpoint, false, false},
		{"https://h.example/A/mcp", endpoint, false, false},
		{"https://h.example/b", endpoint, false, false},
		{"https://h.example//a/mcp", endpoint, false, false},
		{"https://h.example/a%2Fmcp", endpoint, false, false},
		{"https://h.example/a/../a/mcp", endpoint, false, false},
		{"https://h.example/a/%2e%2e/a", endpoint, false, false},
		{"https://h.example/.", endpoint, false, false},
		{"https://h.example/a", "https://h.example/a/../b", false, false},
		{"https://h.example/a/mcp#x", endpoint, false, false},
		{"https://h.example/a/mcp?t=1", endpoint, false, false},
		{"https://h.example/a?t=1", "https://h.example/a/mcp?t=2", false, false},
		{"https://h.example/\x00", endpoint, false, false},
		{"urn:example:mcp", endpoint, false, false},
		{"http://127.0.0.1:3000/mcp", "http://localhost:3000/mcp", false, false},
	} {
		t.Run(tt.resource+" "+tt.endpoint, func(t *testing.T) {
			for strict, want := range map[bool]bool{false: tt.loose, true: tt.strict} {
				err := discover.Covers(tt.resource, parse(t, tt.endpoint), strict)
				if want {
					require.NoError(t, err)
					continue
				}
				var foreign *discover.ResourceError
				require.ErrorAs(t, err, &foreign)
				require.NotEmpty(t, foreign.Reason)
			}
		})
	}
	err := discover.Covers("https://evil.example/?key=secret", parse(t, "https://u:secret@h.example/mcp?key=secret"), false)
	require.EqualError(t, err, `the metadata is for the resource "https://evil.example/", not for https://h.example/mcp: it is of another origin`)
}

func FuzzCovers(f *testing.F) {
	f.Add("https://h.example/a", "https://h.example/a/mcp")
	f.Add("HTTPS://h.example:443/%61?b", "https://h.example/a/?b")
	f.Add("https://h.example/a/..", "https://h.example/")
	f.Fuzz(func(t *testing.T, resource, endpoint string) {
		e, err := url.Parse(endpoint)
		if err != nil || e.Host == "" || e.Scheme == "" {
			return
		}
		loose, strict := discover.Covers(resource, e, false), discover.Covers(resource, e, true)
		if strict == nil {
			require.NoError(t, loose)
		}
		if loose != nil {
			require.False(t, strings.ContainsFunc(loose.Error(), unicode.IsControl))
			return
		}
		r, err := url.Parse(resource)
		require.NoError(t, err)
		require.True(t, strings.EqualFold(r.Hostname(), e.Hostname()))
		require.True(t, strings.EqualFold(r.Scheme, e.Scheme))
		// For a server that resolves dots and doubled slashes it is a parent, too.
		parent, child := path.Clean("/"+r.Path), path.Clean("/"+e.Path)
		require.True(t, parent == "/" || strings.HasPrefix(child+"/", parent+"/"), "%s %s", parent, child)
	})
}

func FuzzServerPlaces(f *testing.F) {
	f.Add("https://as.example/t/")
	f.Add("https://as.example:8443/a%2Fb")
	f.Fuzz(func(t *testing.T, issuer string) {
		places, err := discover.ServerPlaces(issuer)
		if err != nil {
			require.Empty(t, places)
			return
		}
		u, err := url.Parse(issuer)
		require.NoError(t, err)
		for _, place := range places {
			p, err := url.Parse(place)
			require.NoError(t, err)
			require.Equal(t, u.Host, p.Host)
			require.Equal(t, u.Scheme, p.Scheme)
			require.Contains(t, p.Path, "/.well-known/")
		}
	})
}
