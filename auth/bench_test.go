package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// BenchmarkOverhead measures warm calls with and without credentials beside each other: an
// iteration is a batch of calls of each kind in turn, and the overhead is the median over all
// batches of a batch's time over that of the plain one next to it. So it holds on a busy machine,
// too: go test -run '^$' -bench Overhead -benchtime 300x ./auth
func BenchmarkOverhead(b *testing.B) {
	for _, over := range []struct {
		name string
		at   func(b *testing.B) (url string, rt http.RoundTripper)
	}{
		{"memory", func(*testing.B) (string, http.RoundTripper) { return "https://prepared.test/mcp", prepared{} }},
		{"socket", func(b *testing.B) (string, http.RoundTripper) {
			s := httptest.NewServer(http.HandlerFunc(servePrepared))
			b.Cleanup(s.Close)
			return s.URL + "/mcp", nil
		}},
	} {
		b.Run(over.name, func(b *testing.B) {
			at, rt := over.at(b)
			kinds := []struct {
				name string
				by   transport.Authorizer
			}{
				{"plain", nil},
				{"Bearer", auth.Bearer(func(context.Context) (string, error) { return "token", nil })},
				{"Login", holder(b, at, nil)},
				{"DPoP", holder(b, at, dpopKey(b))},
			}
			var calls []func()
			for _, k := range kinds {
				c, err := client.Connect(b.Context(), &transport.HTTP{URL: at, RoundTripper: rt, Authorizer: k.by}, client.WithProtocolVersion("2025-11-25"))
				require.NoError(b, err)
				b.Cleanup(func() { _ = c.Close() })
				calls = append(calls, func() {
					if _, err := c.CallTool(b.Context(), "echo", json.RawMessage(`{}`)); err != nil {
						b.Fatal(err)
					}
				})
			}
			compare(b, func(i int) string { return kinds[i].name }, calls)
		})
	}
}

// compare reports the median time of a call of each kind, and its median overhead in percent over
// the first kind.
func compare(b *testing.B, name func(int) string, calls []func()) {
	const batch = 40
	for _, call := range calls {
		call()
	}
	took := make([][]float64, len(calls))
	for round := 0; b.Loop(); round++ {
		for i := range calls {
			i = (i + round) % len(calls) // nobody is always first
			began := time.Now()
			for range batch {
				calls[i]()
			}
			took[i] = append(took[i], float64(time.Since(began).Nanoseconds())/batch)
		}
	}
	for i := range calls {
		b.ReportMetric(median(took[i]), "ns/"+name(i))
		if i > 0 {
			more := make([]float64, len(took[i]))
			for round := range more {
				more[round] = 100 * (took[i][round]/took[0][round] - 1)
			}
			b.ReportMetric(median(more), "%-more-"+name(i))
		}
	}
	b.ReportMetric(0, "ns/op") // of all kinds together, which is meaningless
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// servePrepared answers as prepared does, over a socket.
func servePrepared(w http.ResponseWriter, r *http.Request) {
	resp, err := prepared{}.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // the client is gone, or not
}

// holder is an Authorizer that has a token for a URL, bound to a key if there is one.
func holder(b *testing.B, at string, key []byte) transport.Authorizer {
	store := auth.NewMemory()
	require.NoError(b, store.Update(b.Context(), auth.Key{Server: at, Issuer: "https://as.test", Resource: at, ClientID: "c"}, func(r auth.Record) (auth.Record, error) {
		r.Token.Access.Set("token")
		r.Proof.Set(string(key))
		return r, nil
	}))
	a := auth.Login(auth.WithStore(store), auth.WithoutLogin())
	u, err := url.Parse(at)
	require.NoError(b, err)
	c, err := a.Authorize(b.Context(), transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u})
	require.NoError(b, err)
	require.NotNil(b, c)
	return a
}

func dpopKey(b *testing.B) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(b, err)
	return der
}
