package docling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/pdf"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/web"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
)

// The formats of a [worker.Request].
const (
	formatPDF  = "pdf"
	formatDOCX = "docx"
	formatXLSX = "xlsx"
	formatPPTX = "pptx"
	formatHTML = "html"
)

// convert is the work of a converter process.
func convert(req *worker.Request) (json.RawMessage, error) {
	o := &options{}
	if len(req.Options) > 0 {
		if err := json.Unmarshal(req.Options, o); err != nil {
			return nil, err
		}
	}
	doc, err := read(req, o)
	if err != nil {
		return nil, reason(err)
	}
	doc.Version = cmp.Or(o.Version, doc.Version)
	return document.Encode(doc, 0)
}

func read(req *worker.Request, o *options) (*document.Document, error) {
	from, to, most := o.pages()
	embed := o.ImageMode == export.Embedded
	// The process is killed when its time is over; there is no other end.
	ctx := context.Background() //nolint:forbidigo // nobody's context reaches another process
	wanted := office.Options{EmbedImages: embed, FirstPage: from, LastPage: to, MaxPages: most, MaxBytes: req.Output}
	wanted.FirstRow, wanted.LastRow = bounds(o.RowRange)
	switch req.Format {
	case formatPDF:
		return pdf.Convert(req.Document, pdf.Options{Filename: req.Filename, From: from, To: to, MaxPages: most, MaxBytes: req.Output})
	case formatDOCX:
		return office.DOCX(ctx, req.Document, req.Filename, wanted)
	case formatXLSX:
		return office.XLSX(ctx, req.Document, req.Filename, wanted)
	case formatPPTX:
		return office.PPTX(ctx, req.Document, req.Filename, wanted)
	case formatHTML:
		return web.Convert(req.Document, web.Options{
			Filename: req.Filename, URL: req.URI, ContentType: req.ContentType,
			MainContentOnly: o.MainContentOnly, KeepFront: o.InferFurniture != nil && !*o.InferFurniture, EmbedImages: embed,
		})
	}
	return nil, worker.Fail(worker.Unsupported, "there is no converter for %q", req.Format)
}

// reason says of a converter's error what it means (tools.md §4.7).
func reason(err error) error {
	var known *office.Error
	switch {
	case errors.As(err, &known):
		return &worker.Failure{Stage: string(known.Stage), Reason: string(known.Reason), Message: known.Err.Error()}
	case errors.Is(err, pdf.ErrEncrypted):
		return worker.Fail(worker.Encrypted, "%v", err)
	case errors.Is(err, pdf.ErrNoPages), errors.Is(err, web.ErrEmpty):
		return worker.Fail(worker.Empty, "%v", err)
	case errors.Is(err, document.ErrTooLarge), errors.Is(err, pdf.ErrTooMuch):
		return worker.Fail(worker.TooLarge, "%v", err)
	}
	return err
}
