package docling

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/docling/export"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// options are what calls may choose. Unknown ones are passed over (tools.md
// §4.7), and so are those another tool has.
type options struct {
	PageRange        []int            `json:"page_range,omitempty"`
	MaxPages         *int             `json:"max_pages,omitempty"`
	ImageMode        export.ImageMode `json:"image_mode,omitempty"`
	MainContentOnly  bool             `json:"main_content_only,omitempty"`
	InferFurniture   *bool            `json:"infer_furniture,omitempty"`
	IncludeFurniture bool             `json:"include_furniture,omitempty"`
	PageBreak        string           `json:"page_break_placeholder,omitempty"`
	Indent           *int             `json:"indent,omitempty"`
}

// The limits of options.
const (
	maxIndent    = 16
	maxPageBreak = 256
)

// parseOptions reads the argument options; a value of the wrong type or out of
// its range is an invalid argument.
func parseOptions(args family.Args) (*options, error) {
	o := &options{}
	raw, ok := args["options"]
	if !ok {
		return o, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, family.Invalid("options", "type", "options must be an object")
	}
	for _, m := range []struct {
		name string
		into any
		kind string
	}{
		{"page_range", &o.PageRange, "a list of two page numbers"},
		{"max_pages", &o.MaxPages, "an integer"},
		{"image_mode", &o.ImageMode, "a string"},
		{"main_content_only", &o.MainContentOnly, "a boolean"},
		{"infer_furniture", &o.InferFurniture, "a boolean"},
		{"include_furniture", &o.IncludeFurniture, "a boolean"},
		{"page_break_placeholder", &o.PageBreak, "a string"},
		{"indent", &o.Indent, "an integer"},
	} {
		value, ok := members[m.name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, m.into); err != nil || bytes.Equal(value, []byte("null")) {
			return nil, family.Invalid("options."+m.name, "type", "options.%s must be %s", m.name, m.kind)
		}
	}
	return o, o.check(members)
}

func (o *options) check(given map[string]json.RawMessage) error {
	if _, ok := given["page_range"]; ok {
		if len(o.PageRange) != 2 || o.PageRange[0] < 1 || o.PageRange[1] < o.PageRange[0] || o.PageRange[1] > document.MaxPages {
			return family.Invalid("options.page_range", "range", "options.page_range must be [from, to] with 1 ≤ from ≤ to ≤ %d", document.MaxPages)
		}
	}
	if o.MaxPages != nil && (*o.MaxPages < 1 || *o.MaxPages > document.MaxPages) {
		return family.Invalid("options.max_pages", "range", "options.max_pages must be from 1 to %d", document.MaxPages)
	}
	if o.Indent != nil && (*o.Indent < 0 || *o.Indent > maxIndent) {
		return family.Invalid("options.indent", "range", "options.indent must be from 0 to %d", maxIndent)
	}
	if _, ok := given["image_mode"]; ok && o.ImageMode != export.Placeholder && o.ImageMode != export.Embedded {
		return family.Invalid("options.image_mode", "enum", "options.image_mode must be placeholder or embedded")
	}
	if utf8.RuneCountInString(o.PageBreak) > maxPageBreak {
		return family.Invalid("options.page_break_placeholder", "length", "options.page_break_placeholder must be at most %d characters", maxPageBreak)
	}
	return nil
}

// pages is the range of pages wanted; zero is no bound.
func (o *options) pages() (from, to, most int) {
	if len(o.PageRange) == 2 {
		from, to = o.PageRange[0], o.PageRange[1]
	}
	if o.MaxPages != nil {
		most = *o.MaxPages
	}
	return from, to, most
}
