package office_test

import (
	"archive/zip"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// judge holds any outcome against the promise: a sound document, or an *Error.
func judge(t *testing.T, name string, data []byte) {
	t.Helper()
	d, err := readers[filepath.Ext(name)](t.Context(), data, name, office.Options{EmbedImages: true})
	if err == nil {
		require.NoError(t, document.Check(d))
		return
	}
	var failed *office.Error
	if !errors.As(err, &failed) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Changed bytes in the archive are mostly caught by its checksums, so the XML in
// it is changed too. MAINSTAY_SOAK makes 3,000 of each format, and
// 10,000 if it is "all".
func TestMutations_S2_CONV_09(t *testing.T) {
	t.Parallel()
	rounds := 10
	switch os.Getenv("MAINSTAY_SOAK") {
	case "":
	case "all":
		rounds = 1250
	default:
		rounds = 375
	}
	if testmain.Race {
		rounds = 2
	}
	for _, name := range corpusNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			data := corpusFile(t, name)
			parts := unpack(t, data)
			names := slices.Sorted(maps.Keys(parts))
			for range rounds {
				judge(t, name, mutate(random, data))
				changed := maps.Clone(parts)
				part := names[random.IntN(len(names))]
				if strings.HasSuffix(part, ".xml") || strings.HasSuffix(part, ".rels") {
					changed[part] = mutateXML(random, parts[part])
				} else {
					delete(changed, part)
				}
				judge(t, name, archive(t, zip.Store, changed))
			}
		})
	}
}

func mutate(random *rand.Rand, data []byte) []byte {
	data = slices.Clone(data)
	for range 1 + random.IntN(8) {
		switch at := random.IntN(len(data)); random.IntN(3) {
		case 0:
			data[at] = byte(random.IntN(256))
		case 1:
			data = slices.Delete(data, at, min(at+random.IntN(64), len(data)-1))
		case 2:
			data = slices.Insert(data, at, data[at:min(at+32, len(data))]...)
		}
		if len(data) == 0 {
			break
		}
	}
	return data
}

// mutateXML keeps the markup whole more often than not: elements are repeated,
// dropped and renamed, numbers become other numbers.
func mutateXML(random *rand.Rand, text string) string {
	for range 1 + random.IntN(4) {
		tags := strings.Split(text, "<")
		at := random.IntN(len(tags))
		other := tags[random.IntN(len(tags))]
		switch random.IntN(4) {
		case 0:
			tags[at] = other
		case 1:
			tags = slices.Insert(tags, at, other)
		case 2:
			tags = slices.Delete(tags, at, at+1)
		case 3:
			values := []string{"-1", "0", "1", "2147483648", "99999999", "x", ""}
			if i := strings.IndexByte(tags[at], '"'); i >= 0 {
				if j := strings.IndexByte(tags[at][i+1:], '"'); j >= 0 {
					tags[at] = tags[at][:i+1] + values[random.IntN(len(values))] + tags[at][i+1+j:]
				}
			}
		}
		text = strings.Join(tags, "<")
	}
	return text
}

func fuzz(f *testing.F, ext string) {
	f.Helper()
	for _, name := range corpusNames(f) {
		if filepath.Ext(name) == ext {
			f.Add(corpusFile(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { judge(t, "x"+ext, data) })
}

func FuzzDOCX(f *testing.F) { fuzz(f, ".docx") }
func FuzzPPTX(f *testing.F) { fuzz(f, ".pptx") }
func FuzzXLSX(f *testing.F) { fuzz(f, ".xlsx") }

// FuzzBody goes past the archive: the bytes are the body of a document.
func FuzzBody(f *testing.F) {
	for _, name := range corpusNames(f) {
		if text := unpack(f, corpusFile(f, name))["word/document.xml"]; text != "" {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		judge(t, "x.docx", archive(t, zip.Store, with(wordParts(""), "word/document.xml", text)))
	})
}

// FuzzSheet does so with the cells of a worksheet.
func FuzzSheet(f *testing.F) {
	for _, name := range corpusNames(f) {
		if text := unpack(f, corpusFile(f, name))["xl/worksheets/sheet1.xml"]; text != "" {
			f.Add(text)
		}
	}
	f.Add(`<s><row r="3"><c r="$B$3" t="inlineStr"><is><t>_x0041_</t></is></c><c t="d" s="1"><v>2026-11-23</v></c></row><mergeCell ref="A1:B2"/></s>`)
	f.Fuzz(func(t *testing.T, text string) {
		parts := with(bookParts(""), "xl/worksheets/sheet1.xml", text)
		parts["xl/styles.xml"] = `<s><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="13"/><xf numFmtId="46"/><xf numFmtId="11"/></cellXfs></s>`
		judge(t, "x.xlsx", archive(t, zip.Store, parts))
	})
}
