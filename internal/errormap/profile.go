package errormap

import (
	"slices"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
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

// doclingTools are the tools of the document server.
var doclingTools = [...]string{
	"convert_pdf", "convert_docx", "convert_xlsx", "convert_pptx", "convert_url",
	"export_markdown", "export_html", "export_json",
}
