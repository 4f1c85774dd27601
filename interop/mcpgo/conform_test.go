package main

import (
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/conformancetest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// few are checks that the server of mcp-go passes; a whole run is not for a test of interop.
func few() conformance.Options {
	return conformance.Options{Only: []string{"LC-01", "TOOL-01", "UTIL-01"}, Revisions: []mcp.Version{mcp.LatestSession}}
}

// TestConform_HTTP is what the author of a server on mcp-go writes. Its StdioServer keeps one
// session for the whole process, and sessions of the suite overlap: over stdio it is judged as a
// program, with conformance.Command.
func TestConform_HTTP(t *testing.T) {
	t.Parallel()
	conformancetest.RunHandler(t, server.NewStreamableHTTPServer(newServer()), few())
}
