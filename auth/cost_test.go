package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// prepared answers every request of a session at once, without a network.
type prepared struct{}

func (prepared) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	result := `{"content":[]}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
	}
	resp := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: -1}
	if m.ID == nil {
		resp.StatusCode, resp.Body = http.StatusAccepted, http.NoBody
		return resp, nil
	}
	resp.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":` + string(bytes.TrimSpace(m.ID)) + `,"result":` + result + `}`))
	return resp, nil
}

func warmCall(t testing.TB, by transport.Authorizer) (call func(), end func()) {
	c, err := client.Connect(t.Context(), &transport.HTTP{URL: "https://prepared.test/mcp", RoundTripper: prepared{}, Authorizer: by}, client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	args := json.RawMessage(`{}`)
	return func() {
		if _, err := c.CallTool(t.Context(), "echo", args); err != nil {
			t.Fatal(err)
		}
	}, func() { _ = c.Close() }
}

// A call with a token allocates at most two times more than one without.
func TestCostOfAToken(t *testing.T) { //nolint:paralleltest // counts allocations of the whole process
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	plain, end := warmCall(t, nil)
	defer end()
	without := testing.AllocsPerRun(500, plain)
	for name, by := range tokens(t) {
		token, end := warmCall(t, by)
		with := testing.AllocsPerRun(500, token)
		end()
		t.Logf("%.1f allocations with a token of %s, %.1f without", with, name, without)
		require.LessOrEqual(t, with, without+2, name)
	}
}

// tokens are Authorizers that have a token already.
func tokens(t testing.TB) map[string]transport.Authorizer {
	store := auth.NewMemory()
	for _, principal := range []string{"", "ada"} {
		require.NoError(t, store.Update(t.Context(), auth.Key{Server: "https://prepared.test/mcp", Issuer: "https://as.test", Resource: "https://prepared.test/mcp", ClientID: "c", Principal: principal}, func(r auth.Record) (auth.Record, error) {
			r.Token.Access.Set("token")
			return r, nil
		}))
	}
	stored := auth.Login(auth.WithStore(store), auth.WithoutLogin())
	u, err := url.Parse("https://prepared.test/mcp")
	require.NoError(t, err)
	own, err := stored.Authorize(t.Context(), transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u})
	require.NoError(t, err)
	require.Equal(t, "Bearer token", own.Header.Get("Authorization"))
	return map[string]transport.Authorizer{
		"Bearer": auth.Bearer(func(context.Context) (string, error) { return "token", nil }), "Login": stored,
		"WithPrincipals": auth.Login(auth.WithStore(store), auth.WithoutLogin(), auth.WithPrincipals(func(context.Context) (string, error) { return "ada", nil })),
	}
}

func BenchmarkWarmCall(b *testing.B) {
	all := tokens(b)
	all["nothing"] = nil
	for name, by := range all {
		b.Run(name, func(b *testing.B) {
			call, end := warmCall(b, by)
			defer end()
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
