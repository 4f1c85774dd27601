package office_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

const (
	officeNames = "http://schemas.openxmlformats.org/"
	strictNames = "http://purl.oclc.org/ooxml/"
)

// replaced changes a text in every part, and renames the parts.
func replaced(parts map[string]string, rename func(string) string, pairs ...string) map[string]string {
	out := map[string]string{}
	for name, text := range parts {
		out[rename(name)] = strings.NewReplacer(pairs...).Replace(text)
	}
	return out
}

func same(name string) string { return name }

func inUTF16(text string, order binary.AppendByteOrder, mark bool) string {
	var out []byte
	if mark {
		text = "\ufeff" + text
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// What other programs write and open, although it is not what Word writes.
func TestOpened_S2_CONV_09(t *testing.T) {
	t.Parallel()
	const (
		typed   = `<Override PartName="/word/document.xml" ContentType="` + office.TypeDOCX + `.main+xml"/>`
		main    = "word/document.xml"
		letter  = `<w:p><w:r><w:t>größer</w:t></w:r></w:p>`
		heading = `<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>größer</w:t></w:r></w:p>`
	)
	declared := func(mediaType string) string {
		return `<Override PartName="/word/document.xml" ContentType="` + mediaType + `"/>`
	}
	parts := func() map[string]string { return wordParts(letter) }
	styled := func(target, style string) map[string]string {
		styles := `<Relationships><Relationship Id="s" Type="` + relKind + `styles" Target="` + target + `"/></Relationships>`
		return with(with(wordParts(heading), "word/_rels/document.xml.rels", styles), "word/Formate 1.xml", style)
	}
	const style = `<w:styles` + wordNames + `><w:style w:styleId="H"><w:name w:val="heading 1"/></w:style></w:styles>`
	text := parts()[main]
	without := func(name string) map[string]string {
		p := parts()
		delete(p, name)
		return p
	}
	for name, tt := range map[string]struct {
		parts map[string]string
		want  string
	}{
		"type of the extension": {parts: replaced(parts(), same, typed, `<Default Extension="XML" ContentType="`+office.TypeDOCX+`.main+xml"/>`)},
		"type of any XML":       {parts: replaced(parts(), same, typed, `<Default Extension="xml" ContentType="application/xml"/>`)},
		"no type":               {parts: replaced(parts(), same, typed, "")},
		"no types":              {parts: without("[Content_Types].xml")},
		"empty types":           {parts: with(parts(), "[Content_Types].xml", "")},
		"no relations":          {parts: without("_rels/.rels")},
		"macros":                {parts: replaced(parts(), same, typed, declared("application/vnd.ms-word.document.macroEnabled.main+xml"))},
		"a template":            {parts: replaced(parts(), same, typed, declared("application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"))},
		"names in capitals":     {parts: replaced(parts(), strings.ToUpper)},
		"type in other case":    {parts: replaced(parts(), same, "/word/document.xml", "/Word/Document.xml")},
		"backslashes":           {parts: replaced(parts(), func(name string) string { return strings.ReplaceAll(name, "/", `\`) })},
		"leading slashes":       {parts: replaced(parts(), func(name string) string { return "/" + name })},
		"absolute target":       {parts: replaced(parts(), same, `Target="word/`, `Target="/word/`)},
		"dots in a target":      {parts: replaced(parts(), same, `Target="word/`, `Target="./x/../word/`)},
		"target of backslashes": {parts: replaced(parts(), same, `Target="word/`, `Target="word\`)},
		"escaped target":        {parts: styled("Formate%201.xml", style), want: "section_header 1: größer"},
		"absolute styles":       {parts: styled("/word/formate 1.xml", style), want: "section_header 1: größer"},
		"empty styles":          {parts: styled("Formate%201.xml", "")},
		"missing styles":        {parts: styled("Stile.xml", style)},
		"strict namespaces":     {parts: replaced(styled("Formate%201.xml", style), same, officeNames, strictNames), want: "section_header 1: größer"},
		"UTF-16":                {parts: with(parts(), main, inUTF16(`<?xml version="1.0" encoding="UTF-16"?>`+text, binary.LittleEndian, true))},
		"UTF-16, big":           {parts: with(parts(), main, inUTF16(`<?xml version="1.0" encoding="utf-16"?>`+text, binary.BigEndian, true))},
		"UTF-16, no mark":       {parts: with(parts(), main, inUTF16(text, binary.BigEndian, false))},
		"UTF-8 mark":            {parts: with(parts(), main, "\ufeff"+`<?xml version="1.0" encoding="utf-8"?>`+text)},
		"Latin 1":               {parts: with(parts(), main, `<?xml version="1.0" encoding="ISO-8859-1"?>`+strings.NewReplacer("ö", "\xf6", "ß", "\xdf").Replace(text))},
		"a folder in the zip":   {parts: with(parts(), "word/", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := office.DOCX(t.Context(), archive(t, zip.Deflate, tt.parts), "x.docx", office.Options{})
			require.NoError(t, err)
			if tt.want == "" {
				tt.want = "text: größer"
			}
			require.Equal(t, []string{tt.want}, outline(d))
		})
	}
}

// The main part is of another kind, by its type or by its root.
func TestOtherKinds_S2_CONV_08(t *testing.T) {
	t.Parallel()
	for name, mediaType := range map[string]string{
		"a workbook with macros": "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
		"a drawing":              "application/vnd.ms-visio.drawing.main+xml",
		"any XML":                "application/xml",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := replaced(wordParts(`<w:p/>`), same, office.TypeDOCX+".main+xml", mediaType, "w:document", "x:workbook")
			_, err := office.DOCX(t.Context(), archive(t, zip.Deflate, parts), "x.docx", office.Options{})
			var failed *office.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, office.Unsupported, failed.Reason)
		})
	}
	binaryBook := replaced(unpack(t, corpusFile(t, "budget.xlsx")), same, office.TypeXLSX+".main+xml", "application/vnd.ms-excel.sheet.binary.macroEnabled.main")
	_, err := office.XLSX(t.Context(), archive(t, zip.Deflate, binaryBook), "x.xlsx", office.Options{})
	var failed *office.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, office.Unsupported, failed.Reason)
}

// Workbooks and presentations in the forms that are not Microsoft's.
func TestOpenedOtherwise_S2_CONV_09(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string]string) map[string]string{
		"backslashes": func(parts map[string]string) map[string]string {
			return replaced(parts, func(name string) string { return strings.ReplaceAll(name, "/", `\`) })
		},
		"capitals": func(parts map[string]string) map[string]string { return replaced(parts, strings.ToUpper) },
		"strict": func(parts map[string]string) map[string]string {
			return replaced(parts, same, officeNames, strictNames)
		},
		"UTF-16": func(parts map[string]string) map[string]string {
			parts = maps.Clone(parts)
			for part, text := range parts {
				if strings.HasSuffix(part, ".xml") {
					parts[part] = inUTF16(strings.Replace(text, `"UTF-8"`, `"UTF-16"`, 1), binary.LittleEndian, true)
				}
			}
			return parts
		},
		"macros": func(parts map[string]string) map[string]string {
			return replaced(parts, same, office.TypeXLSX+".main+xml", "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
				office.TypePPTX+".main+xml", "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml")
		},
		"templates": func(parts map[string]string) map[string]string {
			return replaced(parts, same, office.TypeXLSX, strings.Replace(office.TypeXLSX, ".sheet", ".template", 1), office.TypePPTX, strings.Replace(office.TypePPTX, "ml.presentation", "ml.template", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, file := range []string{"budget.xlsx", "formats.xlsx", "talk.pptx"} {
				data := corpusFile(t, file)
				read := readers[file[strings.IndexByte(file, '.'):]]
				want, err := read(t.Context(), data, file, office.Options{})
				require.NoError(t, err)
				changed := change(unpack(t, data))
				got, err := read(t.Context(), archive(t, zip.Deflate, changed), file, office.Options{})
				require.NoError(t, err, file)
				require.Equal(t, outline(want), outline(got), file)
			}
		})
	}
}

// Of two parts of one name the last in the archive's list counts.
func TestTwoPartsOfOneName(t *testing.T) {
	t.Parallel()
	parts := wordParts(`<w:p><w:r><w:t>first</w:t></w:r></w:p>`)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name, text string) {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		add(name, parts[name])
	}
	add("word/Document.xml", strings.Replace(parts["word/document.xml"], "first", "last", 1))
	require.NoError(t, w.Close())
	d, err := office.DOCX(t.Context(), out.Bytes(), "x.docx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"text: last"}, outline(d))
}
