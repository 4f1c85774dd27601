package pdf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A file that says the same in another way is read as the plain one is.
func TestConvert_OddFiles_S2_CONV_09(t *testing.T) {
	plain := file("", at("F1", 12, 50, 500, "One sentence of text.")+"q 1 0 0 1 0 0 cm /X Do Q")
	want := outline(t, plain)
	require.Contains(t, want, "One sentence of text.")
	exchange := func(old, to string) func([]byte) []byte {
		return func(data []byte) []byte {
			require.Contains(t, string(data), old)
			return bytes.ReplaceAll(data, []byte(old), []byte(to))
		}
	}
	before := func(junk string) func([]byte) []byte {
		return func(data []byte) []byte { return append([]byte(junk), data...) }
	}
	pattern := func(re, to string) func([]byte) []byte {
		return func(data []byte) []byte {
			require.Regexp(t, re, string(data))
			return regexp.MustCompile(re).ReplaceAll(data, []byte(to))
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"version 2.0":               exchange("%PDF-1.4", "%PDF-2.0"),
		"version 1.9":               exchange("%PDF-1.4", "%PDF-1.9"),
		"version that is none":      exchange("%PDF-1.4", "%PDF-a.b"),
		"no version":                exchange("%PDF-1.4", "%PDF-"),
		"no header":                 exchange("%PDF-1.4", ""),
		"blank after the version":   exchange("%PDF-1.4\n", "%PDF-1.4 \n"),
		"byte order mark":           before("\ufeff"),
		"newline first":             before("\n"),
		"mail before":               before(strings.Repeat("X-Header: value\r\n", 60)),
		"text after the end":        func(data []byte) []byte { return append(data, strings.Repeat("\x00after\n", 300)...) },
		"offset of the table wrong": pattern(`startxref\n\d+`, "startxref\n7"),
		"no startxref":              pattern(`startxref\n\d+\n%%EOF\n`, ""),
		"no table":                  pattern(`(?s)xref\n0 .*`, ""),
		"offsets wrong":             exchange("%PDF-1.4\n", "%PDF-1.4\n%%%%%%%%%%%%%%%%\n"),
		"cut in the table":          func(data []byte) []byte { return data[:bytes.LastIndex(data, []byte("trailer"))-30] },
		"length too small":          pattern(`(/Resources.*\nendobj\n\d+ 0 obj\n<<)/Length \d+`, "$1/Length 7"),
		"length too large":          pattern(`(/Resources.*\nendobj\n\d+ 0 obj\n<<)/Length \d+`, "$1/Length 70000000"),
		"no length":                 pattern(`(/Resources.*\nendobj\n\d+ 0 obj\n<<)/Length \d+`, "$1"),
		"pages without types":       exchange("/Type/Page", ""),
		"no count":                  pattern(`/Count 1`, ""),
		"wrong count":               exchange("/Count 1", "/Count 9"),
		"no MediaBox of numbers":    exchange("/MediaBox[0 0 600 800]", "/MediaBox[0 0 (600) 800]/CropBox[0 0 600 800]"),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want, outline(t, change(bytes.Clone(plain))))
		})
	}
}

// A page that is its own parent does not cost the others.
func TestConvert_CircularPages_S2_CONV_09(t *testing.T) {
	data := file("", at("F1", 12, 50, 700, "The page that there is."))
	data = bytes.Replace(data, []byte("/Kids["), []byte("/Kids[2 0 R "), 1)
	require.Contains(t, outline(t, data), "The page that there is.")
}

// FuzzContent: whatever a page draws makes a sound document, or is refused.
func FuzzContent(f *testing.F) {
	f.Add("BT /F1 10 Tf 50 700 Td (One) Tj 0 1 -1 0 50 60 Tm (Two) Tj ET /P <</ActualText (x) /MCID 0>> BDC BT /F3 9 Tf <00020003> Tj ET EMC")
	f.Add("50 700 3 3 re f BT /F1 10 Tf 60 700 Td (item) Tj ET 0 0 m 100 0 l S q /X Do Q EMC BMC")
	f.Fuzz(func(t *testing.T, content string) {
		if d, err := Convert(file("", content), Options{}); err == nil {
			require.NoError(t, document.Check(d))
		}
	})
}

// FuzzRepair: a repair ends, and what it writes can be looked at.
func FuzzRepair(f *testing.F) {
	f.Add(file("", at("F1", 12, 50, 700, "text")))
	f.Add([]byte("1 0 obj<</Type/Catalog/Pages 2 0 R>>2 0 obj<</Kids[]>>endobj"))
	f.Add([]byte("1 0 obj<</Type /Catalog/Encrypt 1 0 R/CF 1 0 R>>stream\nendstream /Root 1 0 R /Encrypt 1 0 R"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, ok := repair(data); ok {
			require.True(t, bytes.HasPrefix(out, []byte("%PDF-1.7\n")))
			require.True(t, bytes.HasSuffix(out, []byte("%%EOF\n")))
		}
		require.True(t, bytes.HasPrefix(fromHeader(data), []byte("%PDF-1.7")))
	})
}

// FuzzOperators: a content stream is read to its end, and no operand comes from
// outside of it.
func FuzzOperators(f *testing.F) {
	for _, seed := range []string{
		"BT /F1 12 Tf (a\\(b\\051) Tj [(a) -1.5 <4142>] TJ ET", "BI /W 1 ID \x00\xffEI x EI Q", "[[[[<</A[1]>>", "1.2.3 --4 +5 . - 1-2 % c\nm",
		"<< /A (b) >> BDC /N#41me gs true false null x", "(\\1\\12\\1234\\\r\n\\x", "<4 1 4>>] } { )",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &scanner{data: data}
		n := 0
		s.each(func(op []byte, args []operand) {
			n++
			require.NotEmpty(t, op)
			require.LessOrEqual(t, len(args), maxOperands)
			for _, a := range args {
				require.LessOrEqual(t, len(a.text), len(data))
				require.LessOrEqual(t, len(a.list), len(data))
			}
		})
		require.LessOrEqual(t, n, len(data))
		require.GreaterOrEqual(t, s.at, len(data))
	})
}

// The operands of an operator are those of the specification's syntax.
func TestOperators_S2_CONV_01(t *testing.T) {
	type op struct {
		name  string
		nums  []float64
		texts []string
	}
	for in, want := range map[string][]op{
		"1 -2.5 +.5 4. m":                  {{"m", []float64{1, -2.5, .5, 4}, nil}},
		"--7 1.5.9 3-4 Td":                 {{"Td", []float64{-7, 1.5, 3}, nil}},
		`(a\)\(\\\n\101\7x(y)z) Tj`:        {{"Tj", nil, []string{"a)(\\\nA\ax(y)z"}}},
		"(a\\\nb\r\nc) Tj":                 {{"Tj", nil, []string{"ab\nc"}}},
		"<48 6 56C 7> Tj":                  {{"Tj", nil, []string{"Help"}}},
		"/N#61me gs % no\nQ":               {{"gs", nil, []string{"Name"}}, {"Q", nil, nil}},
		"[(a)-3(b)] TJ":                    {{"TJ", []float64{-3}, []string{"a", "b"}}},
		"/P <</A [1 2] /B <</C(>>)>>>>BDC": {{"BDC", nil, []string{"P"}}},
		"BI /W 9 /H 9 ID \x01EI\x02 EI\nQ": {{"Q", nil, nil}},
		"1 0 0 RG[]0 d":                    {{"RG", []float64{1, 0, 0}, nil}, {"d", []float64{0}, nil}},
	} {
		t.Run(in, func(t *testing.T) {
			var got []op
			(&scanner{data: []byte(in)}).each(func(name []byte, args []operand) {
				o := op{name: string(name)}
				for i := 0; i < len(args); i++ {
					switch a := args[i]; a.kind {
					case numberKind:
						o.nums = append(o.nums, a.num)
					case stringKind, nameKind:
						o.texts = append(o.texts, string(a.text))
					case arrayKind:
						args = append(args[:i+1:i+1], append(a.list[:len(a.list):len(a.list)], args[i+1:]...)...)
					}
				}
				got = append(got, o)
			})
			require.Equal(t, want, got)
		})
	}
}

// Glyphs are named by Adobe's list and by rules.
func TestGlyphText_S2_CONV_01(t *testing.T) {
	for name, want := range map[string]string{
		"A": "A", "fi": "ﬁ", "afii57664": "א", "uni0041": "A", "uni00410042": "AB", "u1F600": "😀",
		"A.alt": "A", "f_f_i": "ffi", ".notdef": "", "Lcommaaccent": "Ļ",
	} {
		got, ok := glyphText(name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"g12", "uniXYZW", "nothing"} {
		_, ok := glyphText(name)
		require.False(t, ok, name)
	}
	require.Equal(t, "A", byNumber("a65", 3))
	require.Equal(t, "C", byNumber("glyph", 'C'))
	for name, rows := range map[string]string{"standard": standardRows, "symbol": symbolRows, "dingbats": dingbatRows} {
		require.Equal(t, 0x100-0x20, strings.Count(rows, "\t")*0x1f+len([]rune(rows)), name)
	}
}

// Encrypted files that open without a password, of each kind of encryption, are
// read; one that wants a password is refused by name.
func TestConvert_Encrypted_S2_CONV_09(t *testing.T) {
	files, err := filepath.Glob("testdata/encrypted/*.pdf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		d, err := Convert(data, Options{Filename: "x.pdf"})
		if strings.Contains(name, "password") {
			require.ErrorIs(t, err, ErrEncrypted, name)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, document.Check(d), name)
		require.Contains(t, outline(t, data), "One sentence of text.", name)
	}
}

// The filters of an encrypted file may be objects of their own.
func TestConvert_EncryptionByReference_S2_CONV_09(t *testing.T) {
	data, err := os.ReadFile("testdata/encrypted/aes-256.pdf")
	require.NoError(t, err)
	filters := regexp.MustCompile(`/CF << /StdCF (<<[^>]*>>) >>`)
	found := filters.FindSubmatch(data)
	require.NotNil(t, found)
	data = append(filters.ReplaceAll(data, []byte("/CF 90 0 R")), fmt.Sprintf("\n90 0 obj <</StdCF 91 0 R>> endobj\n91 0 obj %s endobj\n", found[1])...)
	require.Contains(t, outline(t, data), "One sentence of text.")
}

// What is typed into a form and onto a page is on the page; what is hidden is
// not.
func TestConvert_Annotations_S2_CONV_01(t *testing.T) {
	annotation := func(flags int, look string) string {
		return fmt.Sprintf("<</Subtype/Widget/F %d/Rect[100 400 300 440]%s>>", flags, look)
	}
	data := file("/Annots["+annotation(4, "/AP<</N 8 0 R>>")+annotation(2, "/AP<</N 8 0 R>>/AS/On")+annotation(4, "/AP<</N<</On 8 0 R>>>>/AS/Off")+"]", at("F1", 12, 50, 700, "One sentence of text."))
	data = bytes.Replace(data, []byte("/BBox[0 0 600 800]"), []byte("/BBox[0 700 600 1000]"), 1)
	got := outline(t, data)
	require.Equal(t, 1, strings.Count(got, "In a form"), got)
	require.Less(t, strings.Index(got, "One sentence"), strings.Index(got, "In a form"), got)
}

// Fonts without widths have those of the standard fonts.
func TestStandardWidth_S2_CONV_01(t *testing.T) {
	for _, test := range []struct {
		font string
		code string
		text string
		want float64
	}{
		{"arial", "i", "i", 222},
		{"arial,bold", "i", "i", 278},
		{"timesnewromanps", "W", "W", 944},
		{"symbol", "a", "α", 631},
		{"helvetica", "\xe9", "é", 556},
		{"helvetica", "\x01", "ж", otherWidth},
	} {
		f := &font{core: coreFont(test.font, strings.Contains(test.font, "bold"), false)}
		require.InDelta(t, test.want, f.standardWidth(test.code, test.text), 0, test.font+test.text)
	}
}
