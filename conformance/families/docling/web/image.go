package web

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif" // the formats whose size is known
	_ "image/jpeg"
	_ "image/png"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// figure adds the picture of a figure with its caption; a figure of something
// else is read as it is.
func (w *walker) figure(n *html.Node, s style) {
	w.flush()
	img := find(n, func(d *html.Node) bool { return d.DataAtom == atom.Img })
	caption := find(n, func(d *html.Node) bool { return d.DataAtom == atom.Figcaption })
	if img == nil {
		w.children(n, s)
		w.flush()
		return
	}
	w.picture(img, caption)
}

// picture adds an image. Its caption is that of the figure, else its
// alternative text; an image that says it is decoration is left out.
func (w *walker) picture(n, caption *html.Node) {
	text := strings.Join(strings.Fields(attr(n, "alt")), " ")
	if caption != nil {
		text = plain(caption)
	} else if has(n, "alt") && text == "" {
		return
	}
	w.flush()
	w.item = nil
	p := w.b.Picture(w.parent, w.embedded(attr(n, "src")))
	if text != "" {
		w.b.PictureCaption(p, text)
	}
}

// embedded is the image of a data URI when it is wanted. Nothing is fetched.
func (w *walker) embedded(src string) *document.Image {
	head, data, ok := strings.Cut(src, ";base64,")
	mediaType, isData := strings.CutPrefix(head, "data:")
	if !w.opts.EmbedImages || !ok || !isData {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
	if err != nil {
		return nil
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || mediaType != "image/"+format {
		return nil
	}
	return &document.Image{
		MIMEType: mediaType, DPI: 72, Size: document.Size{Width: float64(config.Width), Height: float64(config.Height)},
		URI: "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(raw),
	}
}
