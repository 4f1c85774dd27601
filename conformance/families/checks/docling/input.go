package docling

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// RefusedAs expects an error with one of some codes.
func RefusedAs(codes ...int) []table.Expectation {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = fmt.Sprint(code)
	}
	return []table.Expectation{{Path: "error.code", Want: "one of " + strings.Join(words, ", ") + besideConversion(codes), Holds: func(v any, _ bool, kept map[string]any) bool {
		n, _ := v.(float64)
		return slices.ContainsFunc(codes, func(code int) bool { return isCode(n, code, kept) })
	}}}
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

// conversionFailed expects -32002 with its stage and one of some reasons.
func conversionFailed(reasons ...string) []table.Expectation {
	return table.Wants(RefusedAs(CodeConversion), table.Like("error.data.stage", "."), table.OneOf("error.data.reason", reasons...))
}

// doclingInputTables are about what calls may give.
func doclingInputTables() []table.Table {
	bare := func(word, title string, args table.Members, want []table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Tool: ToolPDF, Args: args, Want: want}
	}
	inside := table.Members{"file_path": "$inside"}
	inline := table.Step{Tool: ToolPDF, Args: carried("report.pdf"), Keep: map[string]string{"carried": "text"}}
	files := doclingTable("S2-CONV-11", "files outside the folders of the server", doclingNeeds(), inline,
		table.Step{Requirement: "S2-CONV-13", Word: "file", Title: "file_path gives what content_base64 gives", Tool: ToolPDF, Args: inside, Want: table.Succeeds(table.Is("text", "$carried"))},
		bare("outside", "a file beside them is refused with -32602", table.Members{"file_path": "$outside"}, table.RPCCode(wire.CodeInvalidParams)),
		bare("link", "so is a link to it", table.Members{"file_path": "$link"}, table.RPCCode(wire.CodeInvalidParams)),
	)
	files.Suits = sharedInputs
	return []table.Table{
		files,
		doclingFailureTable(),
		doclingTable("S2-CONV-13", "which form a call has", doclingNeeds(),
			bare("both", "file_path and content_base64 together are -32602", carried("report.pdf").With(table.Members{"file_path": "report.pdf"}), table.RPCCode(wire.CodeInvalidParams)),
			bare("neither", "neither of them is -32602", table.Members{"options": table.Members{}}, table.RPCCode(wire.CodeInvalidParams)),
			bare("nameless", "content without a filename is -32602", carried("report.pdf").Without("filename"), table.RPCCode(wire.CodeInvalidParams)),
			bare("encoding", "what is not base64 is -32602", table.Members{"content_base64": "%%%", "filename": "e.pdf"}, table.RPCCode(wire.CodeInvalidParams)),
		),
	}
}

// doclingFailureTable is about files that will not do.
func doclingFailureTable() table.Table {
	bare := func(word, title, tool string, args table.Members, want []table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Tool: tool, Args: args, Want: want}
	}
	text := base64.StdEncoding.EncodeToString([]byte("just text\n"))
	return doclingTable("S2-CONV-08", "files that will not do", doclingNeeds(toolDOCX),
		bare("missing", "a file that is not there is refused", ToolPDF, table.Members{"file_path": "no-such-$nonce.pdf"}, RefusedAs(wire.CodeInvalidParams, CodeConversion)),
		bare("traversal", "a path that leads upwards is refused", ToolPDF, table.Members{"file_path": "../../../../../../no-such-$nonce.pdf"}, RefusedAs(wire.CodeInvalidParams)),
		bare("nul", "a path with NUL is refused", ToolPDF, table.Members{"file_path": "report\x00.pdf"}, RefusedAs(wire.CodeInvalidParams)),
		bare("empty", "an empty file is -32002 with reason empty", ToolPDF, table.Members{"content_base64": "", "filename": "a.pdf"}, conversionFailed("empty")),
		bare("magic", "a file that is not what its name says is -32002", ToolPDF, table.Members{"content_base64": text, "filename": "b.pdf"}, conversionFailed("unsupported", "corrupt")),
		bare("other", "a PDF is no DOCX, whatever its name: -32002", toolDOCX, table.Members{"content_base64": "$report.pdf", "filename": "c.docx"}, conversionFailed("unsupported", "corrupt")),
		bare("extension", "a name of another format is -32602", ToolPDF, table.Members{"content_base64": "$report.pdf", "filename": "d.txt"}, RefusedAs(wire.CodeInvalidParams, CodeConversion)),
	)
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

// doclingHostileTables are about documents that are broken, or made to break.
func doclingHostileTables() []table.Table {
	refused := func(word, title, tool, name string, want []table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Tool: tool, Args: carried(name), Want: want}
	}
	survived := []table.Expectation{table.That("a document, -32002 or -32001", func(doc any, kept map[string]any) bool {
		if code := table.NumberAt(doc, "error.code"); code != 0 {
			return isCode(code, CodeConversion, kept) || code == codeConvertTimeout
		}
		return table.TextAt(doc, "payload.schema_name") == "DoclingDocument"
	})}
	return []table.Table{
		doclingTable("S2-CONV-09", "broken documents", doclingNeeds(toolDOCX, toolXLSX),
			refused("encrypted", "an encrypted PDF is -32002 with reason encrypted", ToolPDF, "encrypted.pdf", conversionFailed("encrypted")),
			refused("cut-docx", "half a DOCX is -32002 with reason corrupt", toolDOCX, "cut.docx", conversionFailed("corrupt")),
			refused("cut-xlsx", "half an XLSX is -32002 with reason corrupt", toolXLSX, "cut.xlsx", conversionFailed("corrupt")),
			refused("mutant-docx", "a DOCX with wrong bytes is converted, -32002 or -32001", toolDOCX, "mutant1.docx", survived),
			refused("mutant-pdf", "so is a PDF", ToolPDF, "mutant2.pdf", survived),
			refused("mutant-xlsx", "so is an XLSX", toolXLSX, "mutant3.xlsx", survived),
			refused("alive", "the server goes on converting", toolDOCX, "timetable.docx", table.Succeeds(table.Is("payload.schema_name", "DoclingDocument"))),
		),
		doclingTable("S2-CONV-10", "documents that grow", doclingNeeds(toolDOCX),
			refused("bomb", "an archive that unpacks to 80 MiB is refused", toolDOCX, "bomb.docx", RefusedAs(CodeConversion, codeConvertTimeout)),
			refused("entities", "entities that grow without end are refused", toolDOCX, "entities.docx", RefusedAs(CodeConversion, codeConvertTimeout)),
		),
	}
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

// doclingURLTables are about what is fetched.
func doclingURLTables() []table.Table {
	private := func(word, title, url string) table.Step {
		return table.Step{Word: word, Title: title, Tool: toolURL, Args: table.Members{"url": url}, Want: RefusedAs(wire.CodeInvalidParams, CodeConversion)}
	}
	const paragraph = "text|paragraph"
	page := doclingTable("S2-CONV-05", "a page", doclingNeeds(toolURL),
		table.Step{Word: "items", Title: "headings, texts, lists and tables are found", Tool: toolURL, Args: table.Members{"url": "$site"}, Want: table.Succeeds(table.Is("payload.schema_name", "DoclingDocument"), inReadingOrder(
			docItem{labels: "title|section_header", text: "The site of the suite"}, docItem{labels: "title|section_header", text: "Parts"}, docItem{labels: "list_item", text: "one"}, docItem{labels: "list_item", text: "two"}, docItem{labels: "table"},
		), hasCell("Key", 1, 1))},
		table.Step{Word: "links", Title: "links are kept", Want: table.Wants(inReadingOrder(docItem{paragraph, "more", map[string]any{"hyperlink": "https://example.com/more"}}))},
		table.Step{Word: "scripts", Title: "scripts and styles are dropped", Want: table.Wants(table.That("neither script nor style", func(doc any, _ map[string]any) bool {
			text := table.TextAt(doc, "text")
			return strings.Contains(text, "The site of the suite") && !strings.Contains(text, "planted") && !strings.Contains(text, "color: red")
		}))},
	)
	page.Suits = func(r *table.Run) (string, error) {
		site, err := r.Value("site")
		if err != nil {
			return "", err
		}
		doc, err := r.Prepare(toolURL, table.Members{"url": site, "options": table.Members{}})
		if err == nil && doc["error"] != nil {
			return "needs a server that may reach this machine", nil
		}
		return "", err
	}
	return []table.Table{
		page,
		doclingTable("S2-CONV-12", "addresses that are not public", doclingNeeds(toolURL),
			table.Step{
				Word: "loopback", Title: "a site on this machine is refused, and no connection is made", Tool: toolURL, Args: table.Members{"url": "$site"},
				Want: append(RefusedAs(wire.CodeInvalidParams, CodeConversion), table.That("no connection", func(doc any, kept map[string]any) bool {
					hits, _ := kept["hits"].(*atomic.Int64)
					return table.NumberAt(doc, "error.code") != 0 && hits != nil && hits.Load() == 0
				})),
			},
			private("private", "an address of RFC 1918 is refused", "http://10.0.0.1/"), private("link-local", "an address that is link-local is refused", "http://169.254.169.254/latest/meta-data"), private("unique-local", "an address that is unique-local is refused", "http://[fd00::1]/"),
			private("loopback6", "an address of IPv6 loopback is refused", "http://[::1]/"), private("number", "an address written as a number is refused", "http://2130706433/"),
			table.Step{Word: "scheme", Title: "another scheme than http and https is -32602", Tool: toolURL, Args: table.Members{"url": "file:///etc/hosts"}, Want: table.RPCCode(wire.CodeInvalidParams)},
			table.Step{Word: "length", Title: "a URL of more than 2048 characters is -32602", Tool: toolURL, Args: table.Members{"url": "http://10.0.0.1/" + strings.Repeat("x", 2048)}, Want: table.RPCCode(wire.CodeInvalidParams)},
		),
	}
}
