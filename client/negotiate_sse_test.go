package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// oldSite is an HTTP+SSE server: its URL takes GET only, what is posted to
// /post is answered on the stream.
func oldSite(t *testing.T) (*transport.HTTP, *[]string) {
	var events chan string // of the stream that is open
	var got []string
	srv := memhttp.New(onWire(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			own := make(chan string, 8)
			events = own
			fmt.Fprint(w, "event: endpoint\ndata: /post\n\n")
			for {
				http.NewResponseController(w).Flush() //nolint:errcheck // the client may be gone
				select {
				case e, open := <-own:
					if !open {
						return
					}
					fmt.Fprintf(w, "event: message\ndata: %s\n\n", e)
				case <-r.Context().Done():
					return
				}
			}
		case r.URL.Path != "/post":
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			body, _ := io.ReadAll(r.Body)
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &m)
			result := map[string]string{"initialize": initResult, "tools/list": oneTool}[m.Method]
			if m.ID != nil && result != "" {
				events <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
			}
			if m.Method == "x/hang-up" {
				close(events)
			}
			w.WriteHeader(http.StatusAccepted)
		}
	})))
	t.Cleanup(srv.Close)
	return &transport.HTTP{URL: memhttp.URL + "/sse", RoundTripper: srv.Transport()}, &got
}

// An HTTP+SSE server is found at its URL, in the default mode and with a pinned
// session, and the second time at once.
func TestHTTPSSEIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, got := oldSite(t)
		store := client.WithEraStore(client.MemoryEraStore())
		chosen := found(t, tr, store)
		require.True(t, chosen.Fallback)
		require.Equal(t, mcp.LatestSession, chosen.Version)
		require.Equal(t, []string{"POST /sse", "POST /sse", "GET /sse", "POST /post"}, (*got)[:4])
		*got = nil
		require.True(t, found(t, tr, store).Remembered)
		require.Equal(t, []string{"GET /sse", "POST /post"}, (*got)[:2])
		*got = nil
		require.True(t, found(t, tr, client.WithProtocolVersion("2025-11-25")).Fallback)
		require.Equal(t, []string{"POST /sse", "GET /sse", "POST /post"}, (*got)[:3])
	})
}

// Where there is no stream either, the error lists all three attempts.
func TestNoTransportFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			http.Error(w, "nothing here", http.StatusNotFound)
		}))
		t.Cleanup(srv.Close)
		_, err := find(t, &transport.HTTP{URL: memhttp.URL, RoundTripper: srv.Transport()})
		require.ErrorContains(t, err, "tried server/discover 2026-07-28 → status 404, initialize 2025-11-25 → status 404, GET → ")
		require.ErrorContains(t, err, "405")
	})
}
