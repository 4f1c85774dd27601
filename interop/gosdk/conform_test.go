package main

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/conformancetest"
)

// short are few checks, so that the tests of this module stay fast.
func short() conformance.Options {
	return conformance.Options{Only: []string{"LC-01*", "TOOL-01*", "UTIL-01*"}, Revisions: []conformance.Version{"2025-11-25"}}
}

// TestConform_HTTP is what the author of a server on go-sdk writes.
func TestConform_HTTP(t *testing.T) {
	server := newServer()
	conformancetest.RunHandler(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), short())
}
