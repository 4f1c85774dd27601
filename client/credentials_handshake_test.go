package client_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// Each request of the handshake asks the application once for headers and credentials,
// and the first fetch of the list of tools, which is a call of the client, once more. A
// challenge asks for headers only.
func TestCredentialsOfTheHandshake(t *testing.T) {
	t.Parallel()
	type counts struct{ headers, authorize, challenged int }
	for name, tt := range map[string]struct {
		version string // of the server
		opts    []client.Option
		before  func(p *keyedPeer)
		want    counts
		posts   map[string]int
	}{
		"session era": {
			version: "2025-11-25", want: counts{4, 4, 0},
			posts: map[string]int{"server/discover": 1, "initialize": 1, "notifications/initialized": 1, "tools/list": 1},
		},
		"session era, pinned": {
			version: "2025-11-25", opts: []client.Option{sessionEra}, want: counts{3, 3, 0},
			posts: map[string]int{"initialize": 1, "notifications/initialized": 1, "tools/list": 1},
		},
		"session era, no list": {
			version: "2025-11-25", opts: []client.Option{client.WithCache(client.CacheConfig{NoPreload: true})}, want: counts{3, 3, 0},
			posts: map[string]int{"server/discover": 1, "initialize": 1, "notifications/initialized": 1},
		},
		"session era, a handler": {
			version: "2025-11-25", opts: []client.Option{answersForms}, want: counts{5, 5, 0},
			posts: map[string]int{"server/discover": 1, "initialize": 1, "notifications/initialized": 1, "GET": 1, "tools/list": 1},
		},
		"session era, a challenge": {
			version: "2025-11-25", before: func(p *keyedPeer) { p.script("server/discover", statusStep(http.StatusUnauthorized)) }, want: counts{5, 4, 1},
			posts: map[string]int{"server/discover": 2, "initialize": 1, "notifications/initialized": 1, "tools/list": 1},
		},
		"session era, no answer to the probe": {
			version: "2025-11-25", want: counts{4, 4, 0},
			before: func(p *keyedPeer) {
				p.script("server/discover", func(_ http.ResponseWriter, r *http.Request) bool {
					<-r.Context().Done()
					return true
				})
			},
			posts: map[string]int{"server/discover": 1, "initialize": 1, "notifications/initialized": 1, "tools/list": 1},
		},
		"stateless era": {
			version: "2026-07-28", want: counts{2, 2, 0},
			posts: map[string]int{"server/discover": 1, "tools/list": 1},
		},
		"stateless era, a challenge": {
			version: "2026-07-28", before: func(p *keyedPeer) { p.script("server/discover", statusStep(http.StatusUnauthorized)) }, want: counts{3, 2, 1},
			posts: map[string]int{"server/discover": 2, "tools/list": 1},
		},
		"stateless era, a challenge of the list": {
			version: "2026-07-28", before: func(p *keyedPeer) { p.script("tools/list", statusStep(http.StatusUnauthorized)) }, want: counts{3, 2, 1},
			posts: map[string]int{"server/discover": 1, "tools/list": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, by := newKeyedPeer(t, tt.version), &counted{token: "first"}
				if tt.version < "2026" {
					p.answer("server/discover", func(json.RawMessage) string { return `"error":{"code":-32601,"message":"Method not found"}` })
				}
				if tt.before != nil {
					tt.before(p)
				}
				c, err := client.Connect(t.Context(), &transport.HTTP{
					URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
				}, append([]client.Option{client.WithEraStore(nil)}, tt.opts...)...)
				require.NoError(t, err)
				synctest.Wait()
				var got counts
				got.headers, got.authorize, got.challenged = by.take()
				require.Equal(t, tt.posts, p.counts())
				require.Equal(t, tt.want, got)
				require.NoError(t, c.Close())
				p.mem.Close()
			})
		})
	}
}
