package grant

import (
	"crypto/ed25519"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// An Ed25519 key signs under the name that the server lists (RFC 8037, RFC 9864).
func TestEd25519HasTwoNames(t *testing.T) {
	text := pkcs8(t, private(t, "Ed25519"))
	for _, test := range []struct {
		chosen string
		listed []string
		want   string // "": the server lists nothing
	}{
		{"", nil, "EdDSA"},
		{"EdDSA", nil, "EdDSA"},
		{"Ed25519", nil, "Ed25519"},
		{"", []string{"ES256", "Ed25519"}, "Ed25519"},
		{"EdDSA", []string{"Ed25519"}, "Ed25519"},
		{"Ed25519", []string{"RS256", "EdDSA"}, "EdDSA"},
		{"EdDSA", []string{"Ed25519", "EdDSA"}, "EdDSA"},
		{"EdDSA", []string{"ES256"}, ""},
	} {
		signer, err := NewSigner(text, test.chosen)
		require.NoError(t, err)
		s := play(t, answer{status: 200, body: bearer})
		e := s.endpoint()
		e.Algs = test.listed
		_, err = e.Exchange(t.Context(), &Client{ID: "id", Key: signer}, "client_credentials", url.Values{})
		if test.want == "" {
			require.ErrorIs(t, err, ErrNoMethod)
			continue
		}
		require.NoError(t, err)
		claims, header := verify(t, s.requests[0].form.Get("client_assertion"), edVerifier{signer.Public()})
		require.Equal(t, test.want, header.Algorithm, test)
		require.Equal(t, "id", claims["sub"])
	}
	ec := newKey(t, "P-256")
	require.Nil(t, ec.Listed([]string{"EdDSA"}))
}

// edVerifier verifies under both names, of which package jose has one.
type edVerifier struct{ public any }

func (v edVerifier) VerifyPayload(payload, signature []byte, _ jose.SignatureAlgorithm) error {
	if public, ok := v.public.(ed25519.PublicKey); !ok || !ed25519.Verify(public, payload, signature) {
		return jose.ErrCryptoFailure
	}
	return nil
}

func TestProverOfAnEd25519Key(t *testing.T) {
	private, ok := private(t, "Ed25519").(ed25519.PrivateKey)
	require.True(t, ok)
	named := func(alg string) []byte {
		text, err := json.Marshal(jose.JSONWebKey{Key: private, Algorithm: alg})
		require.NoError(t, err)
		return text
	}
	for _, test := range []struct {
		text []byte
		want string
	}{{pkcs8(t, private), "EdDSA"}, {named(""), "EdDSA"}, {named("EdDSA"), "EdDSA"}, {named("Ed25519"), "Ed25519"}} {
		p, err := ReadProver(test.text)
		require.NoError(t, err)
		require.Equal(t, test.want, p.Algorithm())
		proof, err := p.Proof("POST", "https://a.example/mcp", "AT", "")
		require.NoError(t, err)
		_, header := verify(t, proof, edVerifier{private.Public()})
		require.Equal(t, test.want, header.Algorithm)
		require.Equal(t, private.Public(), header.JSONWebKey.Key)
		require.True(t, header.JSONWebKey.IsPublic())
		thumbprint, err := p.Thumbprint()
		require.NoError(t, err)
		require.Len(t, thumbprint, 43)
		exported, err := p.Export()
		require.NoError(t, err)
		again, err := ParseProver(exported)
		require.NoError(t, err)
		other, err := again.Thumbprint()
		require.NoError(t, err)
		require.Equal(t, thumbprint, other)
	}
	_, err := ReadProver(named("ES256"))
	require.ErrorContains(t, err, "cannot sign")
}
