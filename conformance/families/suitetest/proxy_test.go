package suitetest

import (
	"context"
	"io"
	"log/slog"
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
// where the proxy has to translate between the eras.
func TestReferenceServer_Proxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host mcp.Version
		to   string // the revision between proxy and server, "" for the host's
		// cannot are checks of what docs/proxy.md says that it cannot cross: a session server
		// asks one question at a time, is answered once, and refuses a call for a missing
		// capability as it likes. Tasks of the stateless era are followed by the proxy.
		cannot []string
	}{
		{name: "session", host: mcp.LatestSession},
		{name: "stateless", host: mcp.Latest, cannot: []string{"tasks"}},
		{name: "session to stateless", host: mcp.LatestSession, to: string(mcp.Latest)},
		{name: "stateless to session", host: mcp.Latest, to: string(mcp.LatestSession), cannot: []string{"DISC-08/*", "DISC-11/*", "MRTR-03/three*", "MRTR-13/*"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
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
			behind := conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error {
				return proxy.Stdio(ctx, io.NopCloser(in), nopWriteCloser{out}, to, proxy.WithLogger(slog.New(slog.DiscardHandler)))
			})
			report, err := checks.Run(t.Context(), behind, conformance.Options{SideEffects: conformance.SideEffectsAll, Skip: tt.cannot, Revisions: []mcp.Version{tt.host}})
			require.NoError(t, err)
			requirePassed(t, report, 100, conformance.SkipExcluded, conformance.SkipTransport, conformance.SkipControl, conformance.SkipNotDeclared, conformance.SkipNoFixture, conformance.SkipNotInRevision)
		})
	}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
