package office

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // sizes of GIF images
	_ "image/jpeg" // sizes of JPEG images
	_ "image/png"  // sizes of PNG images
	"path"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// Limits of embedded images: one, and all of a file.
const (
	maxImage  = 8 << 20
	maxImages = 32 << 20
)

var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".bmp": "image/bmp",
	".tif": "image/tiff", ".tiff": "image/tiff", ".svg": "image/svg+xml", ".emf": "image/x-emf", ".wmf": "image/x-wmf",
}

// image reads an image's data when they are asked for. One that is missing, too
// large or of no known type is left out: the picture stays.
func (p *parts) image(name string, o Options) *document.Image {
	mediaType := imageTypes[strings.ToLower(path.Ext(name))]
	f := p.files[name]
	if !o.EmbedImages || mediaType == "" || f == nil || f.UncompressedSize64 > maxImage {
		return nil
	}
	data, err := p.part(name)
	if p.images += len(data); err != nil || p.images > maxImages {
		return nil
	}
	i := &document.Image{
		MIMEType: mediaType, DPI: 72, URI: "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data),
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		i.Size = document.Size{Width: float64(c.Width), Height: float64(c.Height)}
	}
	return i
}
