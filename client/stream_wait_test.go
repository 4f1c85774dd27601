package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// No request overtakes the session's own stream: a question that the server asks
// because of the request would be lost. The client waits only briefly for the stream of
// a silent server.
func TestConnectWaitsForTheStream(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ answers, want time.Duration }{
		"answered late": {200 * time.Millisecond, 200 * time.Millisecond},
		"not answered":  {time.Hour, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &sessionSite{version: "2025-11-25", capabilities: `{"tools":{}}`}
				srv := memhttp.New(onWire(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet {
						select {
						case <-time.After(tc.answers):
						case <-r.Context().Done():
							return
						}
					}
					s.ServeHTTP(w, r)
				})))
				defer srv.Close()
				began := time.Now()
				c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL, RoundTripper: srv.Transport()}, sessionEra,
					client.OnListChanged(func(context.Context, string) {}))
				require.NoError(t, err)
				require.Equal(t, tc.want, time.Since(began))
				require.NoError(t, c.Close())
			})
		})
	}
}

// A server may refuse a revision and list that very one: the client asks once
// more, and no more than that.
func TestPinnedIsAskedOnceMore(t *testing.T) {
	t.Parallel()
	for refusals, asked := range map[int]int{1: 2, 5: 2} {
		tr, s := newFake(t)
		seen := 0
		s.on("server/discover", func(jsonrpc.Request) any {
			if seen++; seen <= refusals {
				return rpcError(-32022, "no", `{"supported":["2026-07-28"],"requested":"2026-07-28"}`)
			}
			return json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
		})
		c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2026-07-28"), client.WithRequiredCapabilities())
		require.Equal(t, asked, s.count("server/discover"))
		if refusals == 1 {
			require.NoError(t, err)
			require.NoError(t, ignoreClosed(c.Close()))
			continue
		}
		require.Equal(t, mcperrors.KindVersion, mcperrors.KindOf(err), "%v", err)
	}
}
