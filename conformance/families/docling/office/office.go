// Package office reads DOCX, PPTX and XLSX files into DoclingDocuments. Its
// input is not trusted: archives and XML are read within limits, and what is
// wrong with a file is an *Error, never a panic.
package office

import (
	"context"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// The media types of the three formats.
const (
	TypeDOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	TypePPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	TypeXLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// Options change what is read. The zero value reads everything and leaves the
// data of images out.
type Options struct {
	EmbedImages bool // keep images as data URIs
	FirstPage   int  // slide or sheet to begin with, from 1; 0 is the first
	LastPage    int  // and the last one to read; 0 is the last
	MaxPages    int  // at most so many slides or sheets; 0 is no limit
	FirstRow    int  // row of every sheet to begin with, from 1; 0 is the first
	LastRow     int  // and the last one to read; 0 is the last

	MaxBytes int64 // of JSON that the document may take; 0 is no limit
}

func (o Options) includes(page, read int) bool {
	return page >= o.FirstPage && (o.LastPage == 0 || page <= o.LastPage) && (o.MaxPages == 0 || read < o.MaxPages)
}

// Reason says why a file was not converted.
type Reason string

// The reasons, as they stand in the data of a conversion error.
const (
	Encrypted   Reason = "encrypted"
	Corrupt     Reason = "corrupt"
	TooLarge    Reason = "too_large"
	Unsupported Reason = "unsupported"
	Empty       Reason = "empty"
)

// Stage says how far a conversion came.
type Stage string

// The stages.
const (
	StageOpen  Stage = "open"  // the archive
	StageParse Stage = "parse" // its parts
	StageBuild Stage = "build" // the document
)

// An Error is a file that cannot be converted.
type Error struct {
	Stage  Stage
	Reason Reason
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Stage, e.Reason, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

func failf(stage Stage, reason Reason, format string, args ...any) error {
	return &Error{stage, reason, fmt.Errorf(format, args...)}
}

// fits says with an error that a document is larger than wanted, before all of
// it is built; more is how many cells of tables are still to come to it.
func (o Options) fits(b *document.Builder, more int) error {
	if o.MaxBytes > 0 && b.Size(more) > o.MaxBytes {
		return failf(StageBuild, TooLarge, "the result is over the limit of %d bytes", o.MaxBytes)
	}
	return nil
}

// DOCX reads a word processor's document.
func DOCX(ctx context.Context, data []byte, name string, o Options) (*document.Document, error) {
	return convert(ctx, data, name, TypeDOCX, wordDocument, func(b *document.Builder, p *parts) error {
		return readDOCX(b, p, o)
	})
}

// PPTX reads a presentation.
func PPTX(ctx context.Context, data []byte, name string, o Options) (*document.Document, error) {
	return convert(ctx, data, name, TypePPTX, presentation, func(b *document.Builder, p *parts) error {
		return readPPTX(b, p, o)
	})
}

// XLSX reads a workbook.
func XLSX(ctx context.Context, data []byte, name string, o Options) (*document.Document, error) {
	return convert(ctx, data, name, TypeXLSX, workbook, func(b *document.Builder, p *parts) error {
		return readXLSX(b, p, o)
	})
}

// convert opens the archive, lets read build the document and checks it. kind is
// what the main part must be.
func convert(
	ctx context.Context, data []byte, name, mediaType string, kind kind, read func(*document.Builder, *parts) error,
) (*document.Document, error) {
	p, err := open(ctx, data)
	if err != nil {
		return nil, err
	}
	if err := p.findMain(kind); err != nil {
		return nil, err
	}
	b := document.NewBuilder(document.Stem(name), document.NewOrigin(mediaType, name, data))
	if err := read(b, p); err != nil {
		return nil, classify(ctx, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // what was read is not all of it
	}
	if b.Empty() {
		return nil, failf(StageBuild, Empty, "the file has no text, table or picture")
	}
	b.DropPictures()
	d, err := b.Document()
	if err != nil {
		return nil, classify(ctx, err)
	}
	return d, nil
}

// classify makes an *Error of err. The end of the context is no fault of the
// file and stays what it is.
func classify(ctx context.Context, err error) error {
	var known *Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case errors.Is(err, document.ErrTooLarge):
		return &Error{StageBuild, TooLarge, err}
	}
	return &Error{StageBuild, Corrupt, err}
}
