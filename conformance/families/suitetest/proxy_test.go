package suitetest

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// TestReferenceServer_Proxy: through a proxy the suite finds what it finds without one, also
// where the proxy has to translate between the eras. Of the eight pairs the long form plays all
// (MAINSTAY_SOAK), and the short one a translation in each direction.
func TestReferenceServer_Proxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host mcp.Version
		to   string // the revision between proxy and server, "" for the host's
		// cannot are checks of what docs/proxy.md says that it cannot cross: a session server
		// asks one question at a time, is answered once, and refuses a call for a missing
		// capability as it likes.
		cannot []string
	}{
		{name: "session", host: mcp.LatestSession},
		{name: "stateless", host: mcp.Latest},
		{name: "session to stateless", host: mcp.LatestSession, to: string(mcp.Latest)},
		{name: "stateless to session", host: mcp.Latest, to: string(mcp.LatestSession), cannot: []string{"DISC-08/*", "DISC-11/*", "MRTR-03/three*", "MRTR-13/*"}},
	} {
		for _, front := range []string{"a pipe", "HTTP"} {
			if os.Getenv("MAINSTAY_SOAK") == "" && (tt.to == "" || (front == "HTTP") == (tt.host == mcp.Latest)) {
				continue
			}
			t.Run(tt.name+" over "+front, func(t *testing.T) {
				t.Parallel()
				srv, err := families.New(families.Options{Options: server.Options{Families: []string{"fixtures"}}})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, srv.Close()) })
				to := func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
					stream, end := transport.InMemory()
					go func() { _ = srv.ServeStdio(context.WithoutCancel(ctx), end, end) }() // until the client closes the stream
					if tt.to != "" {
						opts = append(opts, client.WithProtocolVersion(tt.to))
					}
					return client.Connect(ctx, stream, opts...)
				}
				var behind conformance.Subject
				if front == "HTTP" {
					h := proxy.NewHandler(proxy.Target(to))
					web := httptest.NewServer(h)
					t.Cleanup(func() {
						require.NoError(t, h.Close(context.WithoutCancel(t.Context())))
						web.Close()
					})
					behind = conformance.URL(web.URL+"/mcp", nil)
				} else {
					behind = conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error {
						return proxy.Stdio(ctx, io.NopCloser(in), nopWriteCloser{out}, proxy.Target(to), proxy.WithLogger(slog.New(slog.DiscardHandler)))
					})
				}
				report, err := checks.Run(t.Context(), behind, conformance.Options{SideEffects: conformance.SideEffectsAll, Skip: tt.cannot, Revisions: []mcp.Version{tt.host}})
				require.NoError(t, err)
				requirePassed(t, report, 100, conformance.SkipExcluded, conformance.SkipTransport, conformance.SkipControl, conformance.SkipNotDeclared, conformance.SkipNoFixture, conformance.SkipNotInRevision)
			})
		}
	}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
