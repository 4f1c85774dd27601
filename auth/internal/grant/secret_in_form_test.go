package grant

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// Many servers accept a secret only in the form and list no methods, although that means that they
// accept it in the header (RFC 8414 §2).
func TestSecretInTheForm(t *testing.T) {
	refused := answer{status: 401, body: `{"error":"invalid_client"}`}
	granted := answer{status: 200, body: bearer}
	spent := answer{status: 400, body: `{"error":"invalid_grant"}`}
	for _, test := range []struct {
		name     string
		answers  []answer
		client   Client
		listed   []string
		requests int
		method   string // that is kept
		code     string // of the refusal
	}{
		{"once more after invalid_client", []answer{refused, granted}, Client{ID: "id", Secret: "s"}, nil, 2, MethodPost, ""},
		{"invalid_client with status 200", []answer{{status: 200, body: refused.body}, granted}, Client{ID: "id", Secret: "s"}, nil, 2, MethodPost, ""},
		{"and not a third time", []answer{refused}, Client{ID: "id", Secret: "s"}, nil, 2, "", "invalid_client"},
		{"a refusal of the grant is a method that worked", []answer{refused, spent}, Client{ID: "id", Secret: "s"}, nil, 2, MethodPost, "invalid_grant"},
		{"not after another refusal", []answer{spent, granted}, Client{ID: "id", Secret: "s"}, nil, 1, "", "invalid_grant"},
		{"not without a code", []answer{{status: 401}, granted}, Client{ID: "id", Secret: "s"}, nil, 1, "", ""},
		{"not where methods are listed", []answer{refused, granted}, Client{ID: "id", Secret: "s"}, []string{MethodBasic}, 1, "", "invalid_client"},
		{"not of a client that was registered for the header", []answer{refused, granted}, Client{ID: "id", Secret: "s", Method: MethodBasic}, nil, 1, MethodBasic, "invalid_client"},
		{"not of a public client", []answer{refused, granted}, Client{ID: "id"}, nil, 1, "", "invalid_client"},
		{"not of a client with a key", []answer{refused, granted}, Client{ID: "id", Key: newKey(t, "P-256")}, nil, 1, "", "invalid_client"},
		{"at once when it is known", []answer{granted}, Client{ID: "id", Secret: "s", Method: MethodPost}, nil, 1, MethodPost, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, test.answers...)
			e := s.endpoint()
			e.Methods = test.listed
			c := test.client
			_, err := e.Exchange(t.Context(), &c, "authorization_code", url.Values{"code": {"C"}})
			require.Len(t, s.requests, test.requests)
			require.Equal(t, test.method, c.Method)
			last := s.requests[test.requests-1]
			require.Equal(t, "C", last.form.Get("code"))
			_, _, basic := (&http.Request{Header: last.header}).BasicAuth()
			require.False(t, basic && last.form.Has("client_secret"), "one method a request (RFC 6749 §2.3)")
			require.Equal(t, test.method == MethodPost || test.requests == 2, last.form.Has("client_secret"))
			if test.answers[min(test.requests, len(test.answers))-1].body == bearer {
				require.NoError(t, err)
				return
			}
			var refused *Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, test.code, refused.Code)
		})
	}
}
