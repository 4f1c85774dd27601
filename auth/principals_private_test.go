package auth

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

type principalKey struct{}

func asPrincipal(t *testing.T, name string) context.Context {
	return context.WithValue(t.Context(), principalKey{}, name)
}

// stored is an Authorizer for many principals, of which some have a token in its store.
func stored(t *testing.T, at string, record Record, names ...string) *Authorizer {
	t.Helper()
	s := NewMemory()
	for _, name := range names {
		key := Key{Server: at, Issuer: "https://as.test", Resource: at, ClientID: "c", Principal: name}
		record.Token.Access = grant.Hide("planted-secret-of-" + name)
		if !record.Proof.Empty() {
			prover, err := grant.NewProver()
			require.NoError(t, err)
			record.Proof, err = prover.Export()
			require.NoError(t, err)
		}
		require.NoError(t, s.Update(t.Context(), key, func(Record) (Record, error) { return record, nil }))
	}
	return Login(WithStore(s), WithoutLogin(), WithPrincipals(func(ctx context.Context) (string, error) {
		name, _ := ctx.Value(principalKey{}).(string)
		return name, nil
	}))
}

// The state of principals in memory is limited. The store has the tokens of those that were
// removed.
func TestManyPrincipals(t *testing.T) {
	t.Parallel()
	const at = "https://example.com/mcp"
	a := stored(t, at, Record{}, "ada")
	token := func() string {
		token, err := a.Token(asPrincipal(t, "ada"), at)
		require.NoError(t, err)
		return token
	}
	require.Equal(t, "planted-secret-of-ada", token())
	for i := range maxServers + 100 {
		_, err := a.Token(asPrincipal(t, strconv.Itoa(i)), at)
		require.ErrorIs(t, err, ErrNotLoggedIn)
	}
	require.Len(t, a.servers, maxServers)
	require.Equal(t, "planted-secret-of-ada", token())
	require.Len(t, a.servers, maxServers)
}

// Each principal has its own nonces, like its own key for proofs.
func TestNoncesOfPrincipals(t *testing.T) {
	t.Parallel()
	const at = "https://example.com/mcp"
	u, err := url.Parse(at)
	require.NoError(t, err)
	a := stored(t, at, Record{Proof: grant.Hide("made for each")}, "ada", "bob")
	r := transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u}
	proofs := map[string]string{}
	for _, name := range []string{"ada", "bob"} {
		own, err := a.Authorize(asPrincipal(t, name), r)
		require.NoError(t, err)
		require.Equal(t, "DPoP planted-secret-of-"+name, own.Header.Get("Authorization"))
		proofs[name] = a.lookUp(u, name).now.Load().record.Proof.Text()
	}
	require.NotEqual(t, proofs["ada"], proofs["bob"])
	a.KeepNonce(asPrincipal(t, "ada"), r, "for-ada")
	a.KeepNonce(t.Context(), r, "for-nobody")
	nonce := func(name string) string { return a.lookUp(u, name).now.Load().prover.Nonce(at) }
	require.Equal(t, "for-ada", nonce("ada"))
	require.Empty(t, nonce("bob"))
}
