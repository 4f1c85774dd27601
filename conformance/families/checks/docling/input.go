package docling

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// RefusedAs expects an error with one of some codes.
func RefusedAs(codes ...int) table.Expectation {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = fmt.Sprint(code)
	}
	return table.Expectation{Path: "error.code", Want: "one of " + strings.Join(words, ", ") + besideConversion(codes), Holds: func(v any, _ bool, kept map[string]any) bool {
		n, _ := v.(float64)
		return slices.ContainsFunc(codes, func(code int) bool { return isCode(n, code, kept) })
	}}
}

func besideConversion(codes []int) string {
	if slices.Contains(codes, CodeConversion) {
		return " (stateless era: a code of its own for -32002)"
	}
	return ""
}

// isCode reports whether an error's code is the one a table expects. For -32002,
// which servers must not send in the stateless era (basic#error-codes), they have
// a code of their own there.
func isCode(got float64, want int, kept map[string]any) bool {
	if want != CodeConversion || kept[table.KeptStateless] != true {
		return got == float64(want)
	}
	return ownCode(got)
}

// ownCode reports the codes to which neither JSON-RPC nor MCP gives a meaning,
// now or before: those outside the reserved range, and the legacy part of it but
// for what the docling profile means by it.
func ownCode(code float64) bool {
	switch {
	case code == 0, code == CodeConversion, code == codeConvertTimeout, code == codeExport, code == codeUnavailable:
		return false
	case code < -32768, code > -32000:
		return true
	}
	return code >= -32019
}

// hostileFiles make the documents no converter should trust.
var hostileFiles = map[string]func() ([]byte, error){
	"cut.docx":      func() ([]byte, error) { return cut("handbook.docx") },
	"cut.xlsx":      func() ([]byte, error) { return cut("budget.xlsx") },
	"bomb.docx":     func() ([]byte, error) { return repacked(io.LimitReader(spaces{}, 80<<20)) },
	"entities.docx": func() ([]byte, error) { return repacked(strings.NewReader(manyLaughs())) },
	"mutant1.docx":  func() ([]byte, error) { return mutant("handbook.docx", 7919) },
	"mutant2.pdf":   func() ([]byte, error) { return mutant("report.pdf", 104729) },
	"mutant3.xlsx":  func() ([]byte, error) { return mutant("budget.xlsx", 1299709) },
}

// cut returns the first half of a sample.
func cut(name string) ([]byte, error) {
	data, err := sample(name)
	return data[:len(data)/2], err
}

// mutant returns a sample with some bytes changed, the same ones each time. Its
// beginning stays, so that it is read at all.
func mutant(name string, seed int) ([]byte, error) {
	data, err := sample(name)
	if err != nil {
		return nil, err
	}
	data = bytes.Clone(data)
	for i := range 12 {
		at := 64 + (i+1)*seed%(len(data)-64)
		data[at] ^= byte(1 + i*37)
	}
	return data, nil
}

// repacked returns a sample whose text is another.
func repacked(text io.Reader) ([]byte, error) {
	data, err := sample("handbook.docx")
	if err != nil {
		return nil, err
	}
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, engine.SuiteError(err)
	}
	var buf bytes.Buffer
	out := zip.NewWriter(&buf)
	out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for _, f := range in.File {
		if f.Name != "word/document.xml" {
			if err := out.Copy(f); err != nil {
				return nil, engine.SuiteError(err)
			}
			continue
		}
		w, err := out.Create(f.Name)
		if err == nil {
			_, err = io.Copy(w, text)
		}
		if err != nil {
			return nil, engine.SuiteError(err)
		}
	}
	err = out.Close()
	return buf.Bytes(), engine.SuiteError(err)
}

// spaces is text without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// manyLaughs is a text of a few lines that is one of ten gigabytes once its
// entities are put in.
func manyLaughs() string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<!DOCTYPE w:document [<!ENTITY e0 \"laughing..\">\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "<!ENTITY e%d \"%s\">\n", i, strings.Repeat(fmt.Sprintf("&e%d;", i-1), 10))
	}
	b.WriteString(`]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body></w:document>`)
	return b.String()
}
