package docling

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// answered is the answer that carries a document: as structured content and as
// text, or where that is over the limit as text alone, which every revision has
// and every client shows.
func (s *service) answered(doc json.RawMessage) (any, error) {
	structured, text := sizes(doc)
	switch {
	case s.answer <= 0, structured+text <= s.answer:
		return doc, nil
	case text <= s.answer:
		return &family.Result{Text: string(doc)}, nil
	}
	return nil, worker.Fail(worker.TooLarge, "the answer of %d bytes is over the limit of %d", text, s.answer)
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
