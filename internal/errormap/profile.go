package errormap

import (
	"slices"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// profile is the one that the application has chosen, else the default for the
// tool.
func (o Options) profile() mcperrors.Profile {
	switch {
	case o.Profile.Known():
		return o.Profile
	case slices.Contains(doclingTools[:], o.Tool):
		return mcperrors.Docling
	}
	return mcperrors.Plain
}

// Counts reports whether a circuit counts an error that a server answered with as a
// failure. Only the profile of S2 does, for the three codes that its circuit is about, and
// only if the application has chosen it: the name of a tool opens no circuit.
func Counts(rpc *jsonrpc.Error, o Options) bool {
	if o.Profile != mcperrors.Docling {
		return false
	}
	switch rpc.Code {
	case jsonrpc.CodeInternalError, -32000, -32001:
		return true
	}
	return false
}

// doclingTools are the tools of the document server.
var doclingTools = [...]string{
	"convert_pdf", "convert_docx", "convert_xlsx", "convert_pptx", "convert_url",
	"export_markdown", "export_html", "export_json",
}
