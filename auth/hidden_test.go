package auth_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
)

// fmt calls no methods of values in unexported fields. A record in such a field of an
// application shows no secret either.
func TestRecordInAnUnexportedField(t *testing.T) {
	t.Parallel()
	proof := []byte("key-planted-secret")
	text := `{"version": 1, "key": {"server": "https://mcp.example/mcp"}, "generation": 1,
		"token": {"access_token": "access-planted-secret", "token_type": "Bearer", "refresh_token": "refresh-planted-secret", "id_token": "id-planted-secret"},
		"client": {"client_id": "me", "client_secret": "client-planted-secret", "registration_access_token": "management-planted-secret"},
		"server": {"token_url": "https://as.example/token"}, "dpop_key": "` + base64.StdEncoding.EncodeToString(proof) + `",
		"pending": {"page": "https://as.example/?state=state-planted-secret", "state": "state-planted-secret", "code_verifier": "verifier-planted-secret",
			"redirect_uri": "http://127.0.0.1:1/callback", "expires": "2030-01-01T00:00:00Z", "server": {"token_url": ""},
			"client": {"client_secret": "pending-planted-secret"}, "dpop_key": "` + base64.StdEncoding.EncodeToString(proof) + `"}}`
	_, r, err := auth.DecodeRecord([]byte(text))
	require.NoError(t, err)
	type holder struct {
		record  auth.Record
		pointer *auth.Record
		list    []auth.Record
		byName  map[string]auth.Record
		any     any
		more    struct{ token any }
	}
	h := holder{record: r, pointer: &r, list: []auth.Record{r}, byName: map[string]auth.Record{"a": r}, any: r}
	h.more.token = r.Token
	for _, v := range []any{h, &h, []holder{h}, struct{ client any }{r.Client}, r} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o"} {
			shown := fmt.Sprintf(verb, v)
			for _, secret := range []string{"planted", "706c616e746564", "70 6c 61 6e", "112 108 97 110", "160 154 141 156", base64.StdEncoding.EncodeToString(proof)} {
				require.NotContains(t, strings.ToLower(shown), strings.ToLower(secret), verb)
			}
		}
		tell(v)
	}
	require.Equal(t, "706c616e746564", hex.EncodeToString([]byte("planted")))

	again, err := r.Encode(auth.Key{Server: "https://mcp.example/mcp"})
	require.NoError(t, err)
	_, read, err := auth.DecodeRecord(again)
	require.NoError(t, err)
	require.Equal(t, r, read, "what it hides it keeps")
	for _, secret := range []string{"access", "refresh", "id", "client", "management", "state", "verifier", "pending"} {
		require.Contains(t, string(again), `"`+secret+`-planted-secret"`, "a store gets it")
	}
	require.Equal(t, 2, strings.Count(string(again), base64.StdEncoding.EncodeToString(proof)))
	require.True(t, read.Token.Expiry.Equal(time.Time{}))
}
