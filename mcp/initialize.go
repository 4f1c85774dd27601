package mcp

import "encoding/json"

// InitializeParams opens a session (schema InitializeRequestParams, up to
// 2025-11-25).
type InitializeParams struct {
	// ProtocolVersion is the revision that the client offers.
	ProtocolVersion Version
	Capabilities    ClientCapabilities
	ClientInfo      Implementation
	Meta            json.RawMessage
	Extra           Members
	zero            presence
}

func (v *InitializeParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "protocolVersion", required, &v.ProtocolVersion)
	val(c, "capabilities", written, &v.Capabilities)
	val(c, "clientInfo", written, &v.ClientInfo)
	c.raw("_meta", &v.Meta)
}

// InitializeResult is a server's answer to initialize (schema InitializeResult).
type InitializeResult struct {
	// ProtocolVersion is the revision the server chose; any text is possible.
	ProtocolVersion Version
	Capabilities    ServerCapabilities
	ServerInfo      Implementation
	// Instructions tell a model how to use the server.
	Instructions string
	Meta         json.RawMessage
	Extra        Members
	zero         presence
}

// InitializeResponse is another name for [InitializeResult].
type InitializeResponse = InitializeResult

// MCPServerCapabilities is another name for [ServerCapabilities].
type MCPServerCapabilities = ServerCapabilities

func (v *InitializeResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "protocolVersion", required, &v.ProtocolVersion)
	val(c, "capabilities", written, &v.Capabilities)
	val(c, "serverInfo", written, &v.ServerInfo)
	str(c, "instructions", optional, &v.Instructions)
	c.raw("_meta", &v.Meta)
}
