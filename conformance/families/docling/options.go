package docling

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// options are what calls may choose. Unknown ones are passed over (tools.md
// §4.7), and so are those another tool has.
type options struct {
	PageRange        []integer        `json:"page_range,omitempty"`
	RowRange         []integer        `json:"row_range,omitempty"`
	MaxPages         *integer         `json:"max_pages,omitempty"`
	ImageMode        export.ImageMode `json:"image_mode,omitempty"`
	MainContentOnly  bool             `json:"main_content_only,omitempty"`
	InferFurniture   *bool            `json:"infer_furniture,omitempty"`
	IncludeFurniture bool             `json:"include_furniture,omitempty"`
	PageBreak        string           `json:"page_break_placeholder,omitempty"`
	Indent           *integer         `json:"indent,omitempty"`

	// Version is the server's choice, not the call's.
	Version string `json:"version,omitempty"`
}

// An integer is one of JSON Schema, for which 1.0 is one too.
type integer int

// UnmarshalJSON implements [json.Unmarshaler].
func (n *integer) UnmarshalJSON(data []byte) error {
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*n = integer(max(min(f, math.MaxInt32), math.MinInt32))
	if f != math.Trunc(f) {
		return errors.New("not an integer")
	}
	return nil
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
		{"row_range", &o.RowRange, "a list of two row numbers"},
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
	for _, r := range []struct {
		name   string
		bounds []integer
		most   integer
	}{{"page_range", o.PageRange, document.MaxPages}, {"row_range", o.RowRange, office.MaxRow}} {
		if _, ok := given[r.name]; ok && (len(r.bounds) != 2 || r.bounds[0] < 1 || r.bounds[1] < r.bounds[0] || r.bounds[1] > r.most) {
			return family.Invalid("options."+r.name, "range", "options.%s must be [from, to] with 1 ≤ from ≤ to ≤ %d", r.name, r.most)
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
	from, to = bounds(o.PageRange)
	if o.MaxPages != nil {
		most = int(*o.MaxPages)
	}
	return from, to, most
}

func bounds(list []integer) (from, to int) {
	if len(list) != 2 {
		return 0, 0
	}
	return int(list[0]), int(list[1])
}
