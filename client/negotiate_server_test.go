package client_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// discoverAnswer is the answer to server/discover of a well-behaved server.
const discoverAnswer = `{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private",` +
	`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}`

// rpcError is an answer that is an error, with raw data or none.
func rpcError(code int64, text, data string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: code, Message: text}
	if data != "" {
		e.Data = json.RawMessage(data)
	}
	return e
}

// says answers with v, which is a result or an error.
func says(v any) clienttest.Handler {
	return func(*clienttest.Call) (any, error) {
		if err, ok := v.(error); ok {
			return nil, err
		}
		return v, nil
	}
}

// result is a result as it is.
func result(text string) clienttest.Handler { return says(json.RawMessage(text)) }

// sessionServer is a server that knows nothing of the stateless era.
func sessionServer(t *testing.T) *clienttest.Server {
	t.Helper()
	s := clienttest.NewServer(t)
	s.On("server/discover", says(rpcError(-32601, "Method not found", "")))
	s.On("initialize", result(initResult))
	return s
}

// identified is a transport with an identity, by which its era is remembered.
type identified struct {
	transport.Transport
	id string
}

func (i identified) Identity() string { return i.id }

// wireOf is what each connection received, by method. Over HTTP there is one.
func wireOf(s *clienttest.Server) [][]string {
	synctest.Wait()
	var out [][]string
	for _, r := range s.Requests() {
		for len(out) < max(r.Connection, 1) {
			out = append(out, nil)
		}
		last := max(r.Connection, 1) - 1
		out[last] = append(out[last], r.Method)
	}
	return out
}

// find connects without naming an era, and remembers nothing unless an option makes it.
func find(t *testing.T, tr transport.Transport, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	base := []client.Option{
		client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil),
		client.WithCache(client.CacheConfig{NoPreload: true}), client.WithRequiredCapabilities(), wired(t),
	}
	return client.Connect(t.Context(), tr, append(base, opts...)...)
}

// found is find that must succeed, and closes the client.
func found(t *testing.T, tr transport.Transport, opts ...client.Option) client.Negotiated {
	t.Helper()
	c, err := find(t, tr, opts...)
	require.NoError(t, err)
	require.NoError(t, ignoreClosed(c.Close()))
	return c.Negotiated()
}
