package main

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/conformancetest"
	mainstay "github.com/mainstay-mcp/mainstay/mcp"
)

// few are checks that the server of go-sdk passes; a whole run is not for a test of interop.
func few() conformance.Options {
	return conformance.Options{Only: []string{"LC-01", "TOOL-01", "UTIL-01"}, Revisions: []mainstay.Version{mainstay.LatestSession}}
}

// TestConform_HTTP is what the author of a server on go-sdk writes.
func TestConform_HTTP(t *testing.T) {
	t.Parallel()
	server := newServer()
	conformancetest.RunHandler(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), few())
}

func TestConform_Stdio(t *testing.T) {
	t.Parallel()
	server := newServer()
	conformancetest.RunStdio(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	}, few())
}
