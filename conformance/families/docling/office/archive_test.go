package office_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// archive packs parts; method is zip.Store or zip.Deflate.
func archive(t testing.TB, method uint16, parts map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		require.NoError(t, err)
		_, err = f.Write([]byte(parts[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

const (
	wordNames = ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"` +
		` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"` +
		` xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"`
	relNames = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`
	relKind  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
)

// wordParts are the parts of a document with that body.
func wordParts(body string) map[string]string {
	return map[string]string{
		"[Content_Types].xml": `<Types><Override PartName="/word/document.xml" ContentType="` + office.TypeDOCX + `.main+xml"/></Types>`,
		"_rels/.rels":         `<Relationships ` + relNames + `><Relationship Id="1" Type="` + relKind + `officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml":   `<w:document` + wordNames + `><w:body>` + body + `</w:body></w:document>`,
	}
}

func word(t testing.TB, body string) []byte {
	t.Helper()
	return archive(t, zip.Deflate, wordParts(body))
}

func with(parts map[string]string, name, text string) map[string]string {
	parts[name] = text
	return parts
}

// state makes a zip say that each of its parts is that long unpacked.
func state(data []byte, length uint32) []byte {
	data = bytes.Clone(data)
	for _, header := range []struct {
		mark string
		at   int
	}{{"PK\x01\x02", 24}, {"PK\x03\x04", 22}, {"PK\x07\x08", 12}} {
		for i := 0; ; {
			j := bytes.Index(data[i:], []byte(header.mark))
			if j < 0 {
				break
			}
			i += j
			binary.LittleEndian.PutUint32(data[i+header.at:], length)
			i += 4
		}
	}
	return data
}

func TestRefused_S2_CONV_08_09_10(t *testing.T) {
	t.Parallel()
	const text = `<w:p><w:r><w:t>x</w:t></w:r></w:p>`
	compound := func(stream string) []byte {
		name := make([]byte, 0, 64)
		for _, c := range stream {
			name = append(name, byte(c), 0)
		}
		return slices.Concat([]byte{0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1}, make([]byte, 600), name, make([]byte, 600))
	}
	lol := `<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>`
	many := map[string]string{}
	for i := range 10_001 {
		many[fmt.Sprint(i)] = ""
	}
	good := word(t, text)
	encryptedZip := bytes.Clone(good)
	encryptedZip[bytes.Index(encryptedZip, []byte("PK\x01\x02"))+8] |= 1
	for name, tt := range map[string]struct {
		data   []byte
		reason office.Reason
	}{
		"no bytes":           {nil, office.Empty},
		"no archive":         {[]byte("hello, world"), office.Corrupt},
		"password":           {compound("EncryptedPackage"), office.Encrypted},
		"zip password":       {encryptedZip, office.Encrypted},
		"old format":         {compound("WordDocument"), office.Unsupported},
		"truncated":          {good[:len(good)-30], office.Corrupt},
		"half":               {good[:len(good)/2], office.Corrupt},
		"no main part":       {archive(t, zip.Store, map[string]string{"a.txt": "x"}), office.Corrupt},
		"not a document":     {corpusFile(t, "talk.pptx"), office.Unsupported},
		"a workbook":         {corpusFile(t, "cities.xlsx"), office.Unsupported},
		"no text":            {word(t, `<w:p/>`), office.Empty},
		"no body":            {archive(t, zip.Store, with(wordParts(""), "word/document.xml", `<w:document/>`)), office.Corrupt},
		"no XML":             {archive(t, zip.Store, with(wordParts(""), "word/document.xml", `text`)), office.Corrupt},
		"broken XML":         {archive(t, zip.Store, with(wordParts(""), "word/document.xml", `<a><b></a>`)), office.Corrupt},
		"DTD":                {archive(t, zip.Store, with(wordParts(""), "word/document.xml", lol+`<d>&b;</d>`)), office.Corrupt},
		"DTD in styles":      {archive(t, zip.Store, with(with(wordParts(text), "word/styles.xml", lol+`<d/>`), "word/_rels/document.xml.rels", `<Relationships><Relationship Id="s" Type="`+relKind+`styles" Target="styles.xml"/></Relationships>`)), office.Corrupt},
		"unknown entity":     {word(t, `<w:p><w:r><w:t>&b;</w:t></w:r></w:p>`), office.Corrupt},
		"nested XML":         {archive(t, zip.Store, with(wordParts(""), "word/document.xml", strings.Repeat("<a>", 300)+strings.Repeat("</a>", 300))), office.TooLarge},
		"many elements":      {archive(t, zip.Store, with(wordParts(""), "word/document.xml", "<a>"+strings.Repeat("<b/>", 1_000_001)+"</a>")), office.TooLarge},
		"zip bomb":           {archive(t, zip.Deflate, with(wordParts(text), "word/media/x.bin", strings.Repeat("\x00", 4<<20))), office.TooLarge},
		"huge part":          {state(good, 65<<20), office.TooLarge},
		"zip bomb that lies": {state(archive(t, zip.Deflate, wordParts(strings.Repeat(text, 1000))), 10), office.Corrupt},
		"many files":         {archive(t, zip.Store, many), office.TooLarge},
		"wide table":         {word(t, `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="900000000"/></w:tcPr></w:tc><w:tc/></w:tr></w:tbl>`), office.TooLarge},
		"far cell":           {word(t, `<w:tbl><w:tr><w:trPr><w:gridBefore w:val="900000000"/></w:trPr><w:tc/><w:tc/></w:tr></w:tbl>`), office.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testmain.Race && name == "many elements" {
				t.Skip("one goroutine works through a large input, there is nothing to race with")
			}
			_, err := office.DOCX(t.Context(), tt.data, "x.docx", office.Options{})
			var failed *office.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, tt.reason, failed.Reason, err)
			require.NotEmpty(t, failed.Stage)
		})
	}
}

func TestRefusedWorkbook_S2_CONV_10(t *testing.T) {
	t.Parallel()
	parts := unpack(t, corpusFile(t, "budget.xlsx"))
	for name, tt := range map[string]struct {
		part, from, to string
		reason         office.Reason
	}{
		"DTD":            {"xl/sharedStrings.xml", "<sst", `<!DOCTYPE a [<!ENTITY b "b">]><sst`, office.Corrupt},
		"no sheet":       {"xl/worksheets/sheet1.xml", "<worksheet", "<worksheet><", office.Corrupt},
		"far merge":      {"xl/worksheets/sheet1.xml", `ref="A1:C1"`, `ref="A1:XFD1048576"`, ""},
		"backward merge": {"xl/worksheets/sheet1.xml", `ref="A1:C1"`, `ref="C9:A1"`, ""},
		"no merge":       {"xl/worksheets/sheet1.xml", `ref="A1:C1"`, `ref="::"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := maps.Clone(parts)
			changed[tt.part] = strings.Replace(changed[tt.part], tt.from, tt.to, 1)
			require.NotEqual(t, parts[tt.part], changed[tt.part])
			_, err := office.XLSX(t.Context(), archive(t, zip.Deflate, changed), "x.xlsx", office.Options{})
			if tt.reason == "" {
				require.NoError(t, err)
				return
			}
			var failed *office.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, tt.reason, failed.Reason, err)
		})
	}
	_, err := office.XLSX(t.Context(), state(archive(t, zip.Deflate, parts), 10), "x.xlsx", office.Options{})
	var failed *office.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, office.Corrupt, failed.Reason)
}

func unpack(t testing.TB, data []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	parts := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		var text bytes.Buffer
		_, err = text.ReadFrom(in)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		parts[f.Name] = text.String()
	}
	return parts
}

func TestCancelled_S2_CONV_14(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"handbook.docx", "talk.pptx", "budget.xlsx"} {
		_, err := readers[name[len(name)-5:]](ctx, corpusFile(t, name), name, office.Options{})
		require.ErrorIs(t, err, context.Canceled)
	}
}
