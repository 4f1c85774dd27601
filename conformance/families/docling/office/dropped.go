package office

import (
	"path"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// lostKinds are the kinds of relations to what is not converted.
var lostKinds = map[string]document.Loss{
	"oleObject": document.LostObjects, "package": document.LostObjects,
	"video": document.LostMedia, "audio": document.LostMedia, "media": document.LostMedia,
	"aFChunk": document.LostDocuments,
}

// drop notes what a part refers to that is not converted, each file once.
func drop(b *document.Builder, rels map[string]relation) {
	seen := map[string]bool{}
	counts := map[document.Loss]int{}
	for _, r := range rels {
		if what, ok := lostKinds[path.Base(r.kind)]; ok && !seen[r.target] {
			seen[r.target] = true
			counts[what]++
		}
	}
	for _, what := range []document.Loss{document.LostObjects, document.LostMedia, document.LostDocuments} {
		b.Drop(what, counts[what])
	}
}
