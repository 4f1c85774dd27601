package auth_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

const wellKnown = "/.well-known/oauth-protected-resource"

// sharedHost makes the challenges of the MCP server at /mcp name the URL of a document, which
// exists and is for a resource.
func sharedHost(t *testing.T, document, resource string) *authtest.World {
	w := authtest.New(t)
	w.AnyResource = true
	w.Resource["resource"] = w.MCP.URL + resource
	body, err := json.Marshal(w.Resource)
	require.NoError(t, err)
	inner := w.MCP.Config.Handler
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == document:
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write(body)
		case r.URL.Path == "/mcp" && r.Header.Get("Authorization") == "":
			_, _ = io.Copy(io.Discard, r.Body)
			rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+w.MCP.URL+document+`"`)
			rw.WriteHeader(http.StatusUnauthorized)
		default:
			inner.ServeHTTP(rw, r)
		}
	})
	return w
}

// Servers of different owners share a host. One that names its own document does not get a
// token for the others.
func TestNeighborDoesNotTakeTheHost(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		document, resource string
		good               bool
	}{
		"the host, by a document of its own":        {"/evil", "/", false},
		"the host, by the place of its own path":    {wellKnown + "/mcp", "", false},
		"itself, by a document of its own":          {"/custom", "/mcp", true},
		"itself, by the place of the host":          {wellKnown, "/mcp", true},
		"the host, by the place of the host":        {wellKnown, "/", true},
		"the host, by a place that only looks so":   {"/evil" + wellKnown, "", false},
		"the host, by the place of a path below it": {wellKnown + "/mcp/below", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sharedHost(t, row.document, row.resource)
			_, err := dial(t, w, auth.Login(browser(t)))
			if row.good {
				require.NoError(t, err)
				return
			}
			var foreign *discover.ResourceError
			require.ErrorAs(t, err, &foreign)
			require.Zero(t, w.Asked("authorize"), "a person was asked to give the token away")
		})
	}
}

// Tokens for a whole host that are in the store are used only if the document that they
// were obtained by was at its place.
func TestStoredClaimIsHeldAgainstItsDocument(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		document string // of the record
		used     bool
	}{
		"of the place of the host": {wellKnown, true},
		"of a neighbor":            {"/evil", false},
		"unknown":                  {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sharedHost(t, wellKnown, "")
			s := auth.NewMemory()
			_, err := dial(t, w, auth.Login(browser(t), auth.WithStore(s)))
			require.NoError(t, err)
			keys, err := s.List(t.Context())
			require.NoError(t, err)
			require.Len(t, keys, 1)
			require.NoError(t, s.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
				require.Equal(t, w.MCP.URL+wellKnown, r.Server.Metadata)
				if r.Server.Metadata = row.document; row.document != "" {
					r.Server.Metadata = w.MCP.URL + row.document
				}
				return r, nil
			}))
			_, err = auth.Login(auth.WithStore(s), auth.WithoutLogin()).Token(t.Context(), w.MCP.URL+"/mcp")
			if row.used {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, auth.ErrNotLoggedIn)
		})
	}
}
