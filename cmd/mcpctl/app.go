package main

import (
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
)

// app is one run of the program: what its commands share.
type app struct {
	flags   flags.Global
	console *console.Console
	dial    *connect.Dialer
	explain *explain.Explainer
}
