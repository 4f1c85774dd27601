package office

import (
	"path"
	"strings"
)

// A kind is what the main part of a file is, with or without macros, as a
// document or as a template for documents.
type kind struct {
	types []string // parts of its media types
	root  string   // its root element
	usual string   // the name of the part when nothing else says it
}

var (
	wordDocument = kind{[]string{"wordprocessingml", "ms-word"}, "document", "word/document.xml"}
	presentation = kind{[]string{"presentationml", "ms-powerpoint"}, "presentation", "ppt/presentation.xml"}
	workbook     = kind{[]string{"spreadsheetml", "ms-excel"}, "workbook", "xl/workbook.xml"}
)

// is reports whether a media type belongs to the kind. The main part of the
// binary form of a workbook is no XML.
func (k kind) is(mediaType string) bool {
	for _, name := range k.types {
		if strings.Contains(mediaType, name) {
			return !strings.Contains(mediaType, ".binary.")
		}
	}
	return false
}

// generic are the media types that a program may give to any part.
var generic = map[string]bool{"": true, "application/xml": true, "text/xml": true, "application/octet-stream": true}

// findMain finds the main part through the archive's relations, and holds its
// media type against what the caller expects to read. A part of a generic type,
// or of none, is judged by its root element.
func (p *parts) findMain(expected kind) error {
	rels, err := p.relations("")
	if err != nil {
		return err
	}
	if p.main = related(rels, "officeDocument"); p.files[p.main] == nil {
		p.main = expected.usual
	}
	if p.files[p.main] == nil {
		return failf(StageOpen, Corrupt, "the archive has no main document")
	}
	mediaType, err := p.mediaType(p.main)
	if err != nil || expected.is(mediaType) {
		return err
	}
	if !generic[mediaType] {
		return failf(StageOpen, Unsupported, "the main document is of type %.100s", mediaType)
	}
	root, err := p.tree(p.main)
	switch {
	case err != nil:
		return err
	case root == nil:
		return failf(StageOpen, Corrupt, "the main document is empty")
	case root.name != expected.root:
		return failf(StageOpen, Unsupported, "the main document is a %.100s", root.name)
	}
	return nil
}

// mediaType is the type of a part: its own, else that of its file extension.
func (p *parts) mediaType(part string) (string, error) {
	types, err := p.tree("[content_types].xml")
	if err != nil {
		return "", err
	}
	for _, e := range types.all("Override") {
		if partName(e.attr("PartName")) == part {
			return strings.ToLower(e.attr("ContentType")), nil
		}
	}
	for _, e := range types.all("Default") {
		if strings.EqualFold("."+e.attr("Extension"), path.Ext(part)) {
			return strings.ToLower(e.attr("ContentType")), nil
		}
	}
	return "", nil
}
