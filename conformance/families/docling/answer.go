package docling

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// onlyStructured is the text of an answer whose document is too large to be there
// twice.
const onlyStructured = "The document is in structuredContent only: with a second copy as text, this answer would be too large."

// firstStructured is the first revision with structured content.
const firstStructured = "2025-06-18"

// answered is the answer that carries a document: as structured content and as
// text, or where that is over the limit in one of the two ways.
func (s *service) answered(doc json.RawMessage, version string) (any, error) {
	structured, text := sizes(doc)
	textOnly := version != "" && version < firstStructured
	switch {
	case s.answer <= 0, structured+text <= s.answer, textOnly && text <= s.answer:
		return doc, nil
	case !textOnly && structured <= s.answer:
		return &family.Result{Payload: doc, Text: onlyStructured}, nil
	}
	return nil, worker.Fail(worker.TooLarge, "the answer of %d bytes is over the limit of %d", min(structured, text), s.answer)
}

// sizes are how large a document is in an answer as structured content, and as
// text: what is quoted there is counted at its longest.
func sizes(doc []byte) (structured, text int64) {
	structured, text = int64(len(doc)), int64(len(doc))
	for _, c := range doc {
		switch c {
		case '"', '\\':
			text++
		case '<', '>', '&': // \u003c, in both
			structured += 5
			text += 5
		}
	}
	return structured, text
}
