// Package export writes a DoclingDocument as Markdown, HTML or JSON. The same
// document and options give the same bytes.
package export

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// MaxBytes bounds an export. Indentation and padding can make much of little.
const MaxBytes = 16 << 20

// ImageMode says what stands for a picture.
type ImageMode string

// The image modes; the empty one is Placeholder.
const (
	Placeholder ImageMode = "placeholder"
	Embedded    ImageMode = "embedded"
)

// Options change an export. The zero value gives the defaults of docling-core.
type Options struct {
	ImageMode        ImageMode
	IncludeFurniture bool   // page headers and footers too (S2-EXP-06)
	PageBreak        string // Markdown: written between pages
	Indent           *int   // spaces a level: lists in Markdown (4), JSON (2)
}

func (o Options) indent(fallback int) int {
	if o.Indent == nil {
		return fallback
	}
	return min(max(*o.Indent, 0), 8)
}

func (o Options) shows(layer document.Layer) bool {
	return layer == document.LayerBody || o.IncludeFurniture && layer == document.LayerFurniture
}

// roots are the trees to walk.
func (o Options) roots(d *document.Document) []*document.Group {
	if o.IncludeFurniture {
		return []*document.Group{d.Furniture, d.Body}
	}
	return []*document.Group{d.Body}
}

// JSON exports the document itself.
func JSON(d *document.Document, o Options) (string, error) {
	if err := document.CheckStructure(d); err != nil {
		return "", err
	}
	data, err := document.Encode(d, o.indent(2))
	return string(data), err
}

// dataURI is an image that can be written into a page without looking further.
var dataURI = regexp.MustCompile(`^data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+$`)

// embedded is the data URI of an image, if there is one and it is asked for.
func (o Options) embedded(image *document.Image) string {
	if o.ImageMode == Embedded && image != nil && dataURI.MatchString(image.URI) {
		return image.URI
	}
	return ""
}

// harmless says whether following a link does no more than go there.
func harmless(link string) bool {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil || link == "" {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "", "http", "https", "mailto", "ftp", "tel":
		return true
	}
	return false
}

// inlineOf is the inline group that stands for the text of t: an item of
// several looks has no text of its own.
func inlineOf(t *document.Text, find func(document.Ref) document.Parent) *document.Group {
	if t.Text != "" || len(t.Children) == 0 {
		return nil
	}
	if g, ok := find(t.Children[0]).(*document.Group); ok && g.Label == document.Inline {
		return g
	}
	return nil
}

// ownText are the children of t that are written as part of it: its inline
// group and its captions.
func ownText(t *document.Text, find func(document.Ref) document.Parent) map[document.Ref]bool {
	own := make(map[document.Ref]bool)
	for _, ref := range t.Floating.Captions {
		own[ref] = true
	}
	if g := inlineOf(t, find); g != nil {
		own[g.Ref()] = true
	}
	return own
}

func tooLong() error {
	return fmt.Errorf("%w: over %d bytes of text", document.ErrTooLarge, MaxBytes)
}
