package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// A token of a type that was not requested is not used (RFC 6749 §7.1, RFC 9449 §5).
func TestTokenType(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		kind any // nil: none
		dpop bool
		err  string
	}{
		"Bearer in another case":       {kind: "bEARER"},
		"DPoP in another case":         {kind: "dpop", dpop: true},
		"none is Bearer":               {},
		"none is not DPoP":             {dpop: true, err: "its token_type is not DPoP, and a token that is bound to a key was asked for"},
		"Bearer is not DPoP":           {kind: "Bearer", dpop: true, err: "its token_type is not DPoP, and a token that is bound to a key was asked for"},
		"DPoP is not Bearer":           {kind: "DPoP", err: "its token_type is DPoP, and a token that is bound to no key was asked for"},
		"N_A is no access token":       {kind: "N_A", err: "what it issued is no access token"},
		"N_A is no access token, DPoP": {kind: "N_A", dpop: true, err: "what it issued is no access token"},
		"mac":                          {kind: "mac", err: "one that no client of MCP can use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
			inner := w.AS.Config.Handler
			w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/token" {
					inner.ServeHTTP(rw, r)
					return
				}
				rec := httptest.NewRecorder()
				inner.ServeHTTP(rec, r)
				var m map[string]any
				_ = json.Unmarshal(rec.Body.Bytes(), &m)
				if m["token_type"] = row.kind; row.kind == nil {
					delete(m, "token_type")
				}
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(rec.Code)
				_ = json.NewEncoder(rw).Encode(m)
			})
			opts := []auth.Option{browser(t)}
			if row.dpop {
				opts = append(opts, auth.WithDPoP())
			}
			_, err := dial(t, w, auth.Login(opts...))
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, auth.ReasonToken, e.Reason)
			require.ErrorContains(t, err, row.err)
			require.NotContains(t, err.Error(), "planted-secret")
		})
	}
}
