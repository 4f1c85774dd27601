// Package document is the DoclingDocument model: what every converter of this
// family produces and every export reads. The wire form is that of
// docling-core's schema at version 1.10.0; see Encode and Decode.
package document

import (
	"crypto/sha256"
	"encoding/binary"
	"path"
	"strings"
)

// SchemaName is the schema_name of every document.
const SchemaName = "DoclingDocument"

// Version is the version of the schema that documents are written in.
const Version = "1.10.0"

// A Document is a tree of groups and items over lists by kind: the tree is made
// of references, so that every item stands in exactly one list.
type Document struct {
	SchemaName    string     `json:"schema_name"`
	Version       string     `json:"version"`
	Name          string     `json:"name"`
	Origin        *Origin    `json:"origin,omitempty"`
	Furniture     *Group     `json:"furniture"`
	Body          *Group     `json:"body"`
	Groups        []*Group   `json:"groups"`
	Texts         []*Text    `json:"texts"`
	Pictures      []*Picture `json:"pictures"`
	Tables        []*Table   `json:"tables"`
	KeyValueItems []*Region  `json:"key_value_items"`
	FormItems     []*Region  `json:"form_items"`
	FieldRegions  []*Region  `json:"field_regions,omitempty"`
	FieldItems    []*Region  `json:"field_items,omitempty"`
	Pages         Pages      `json:"pages"`
	// Dropped lists, as sentences, the kinds of content that the conversion left out,
	// with their numbers. Readers of the schema ignore it.
	Dropped []string `json:"dropped,omitempty"`
}

// An Origin says which file a document was made from.
type Origin struct {
	MIMEType   string `json:"mimetype"`
	BinaryHash uint64 `json:"binary_hash"`
	Filename   string `json:"filename"`
	URI        string `json:"uri,omitempty"`
}

// NewOrigin describes data. The hash is the first 64 bits of its SHA-256: the
// same bytes make the same document (S2-CONV-07).
func NewOrigin(mimeType, filename string, data []byte) *Origin {
	sum := sha256.Sum256(data)
	return &Origin{MIMEType: mimeType, BinaryHash: binary.BigEndian.Uint64(sum[:8]), Filename: filename}
}

// Stem is the name of a document made from a file: its base name without the
// extension. Both kinds of slash separate.
func Stem(filename string) string {
	base := path.Base(strings.ReplaceAll(filename, `\`, "/"))
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != "" {
		return stem
	}
	return base
}

// Pages are the pages of a document by their number, from 1.
type Pages map[int]*Page

// A Page is one page, slide or sheet.
type Page struct {
	Size  Size   `json:"size"`
	Image *Image `json:"image,omitempty"`
	No    int    `json:"page_no"`
}

// A Size is a width and a height, in the units of the format (PDF points, EMU
// of a slide, cells of a sheet).
type Size struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// An Image is the picture's data as a data URI, or where it is.
type Image struct {
	MIMEType string `json:"mimetype"`
	DPI      int    `json:"dpi"`
	Size     Size   `json:"size"`
	URI      string `json:"uri"`
}
