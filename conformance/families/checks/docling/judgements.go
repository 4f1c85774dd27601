package docling

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
)

// phrases are expectations of tables, by their first word.
var phrases = map[string]func(text string) ([]table.Expectation, error){
	"refused": func(text string) ([]table.Expectation, error) {
		var codes []int
		for word := range strings.FieldsSeq(text) {
			code, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			codes = append(codes, code)
		}
		return table.Wants(RefusedAs(codes...)), nil
	},
	// -32002 with its stage and one of some reasons.
	"unconverted": func(reasons string) ([]table.Expectation, error) {
		return table.Wants(RefusedAs(CodeConversion), table.Like("error.data.stage", "."), table.OneOf("error.data.reason", strings.Fields(reasons)...)), nil
	},
	"ordered": func(text string) ([]table.Expectation, error) {
		var items []docItem
		err := json.Unmarshal([]byte(text), &items)
		return table.Wants(inReadingOrder(items...)), err
	},
	"cell": func(text string) ([]table.Expectation, error) {
		var words string
		var rows, columns float64
		err := json.Unmarshal([]byte(text), &[]any{&words, &rows, &columns})
		return table.Wants(hasCell(words, rows, columns)), err
	},
}

// judgements are what tables ask of whole answers, by their words.
var judgements = map[string]func(doc any, kept map[string]any) bool{
	"page_no 1 and a box": func(doc any, _ map[string]any) bool {
		texts := table.ArrayAt(doc, "payload.texts")
		for _, text := range texts {
			prov := Within(text, "prov.0")
			if table.NumberAt(prov, "page_no") != 1 || table.NumberAt(prov, "bbox.l") >= table.NumberAt(prov, "bbox.r") || table.NumberAt(prov, "bbox.t") == table.NumberAt(prov, "bbox.b") {
				return false
			}
		}
		return len(texts) > 0
	},
	"in cash below another list than Pay the dues": func(doc any, _ map[string]any) bool {
		parents := map[string]string{}
		for _, text := range table.ArrayAt(doc, "payload.texts") {
			parents[table.TextAt(text, "text")] = table.TextAt(text, "parent.$ref")
		}
		return parents["in cash"] != "" && parents["in cash"] == parents["by card"] && parents["in cash"] != parents["Pay the dues"]
	},
	"references that resolve, both ways, and tables that fit": func(doc any, _ map[string]any) bool {
		payload, there := table.Lookup(doc, "payload")
		return there && unsound(payload) == ""
	},
	"a document, -32002 or -32001": func(doc any, kept map[string]any) bool {
		if code := table.NumberAt(doc, "error.code"); code != 0 {
			return isCode(code, CodeConversion, kept) || code == codeConvertTimeout
		}
		return table.TextAt(doc, "payload.schema_name") == "DoclingDocument"
	},
	"neither script nor style": func(doc any, _ map[string]any) bool {
		text := table.TextAt(doc, "text")
		return strings.Contains(text, "The site of the suite") && !strings.Contains(text, "planted") && !strings.Contains(text, "color: red")
	},
	"no connection": func(doc any, kept map[string]any) bool {
		hits, _ := kept["hits"].(*atomic.Int64)
		return table.NumberAt(doc, "error.code") != 0 && hits != nil && hits.Load() == 0
	},
	"Markdown as text, and in structuredContent with its format and size": exportedAs("markdown"),
	"HTML as text, and in structuredContent with its format and size":     exportedAs("html"),
	"five headings of their ranks": func(doc any, _ map[string]any) bool {
		return slices.Equal(regexp.MustCompile(`(?m)^#+ .*$`).FindAllString(table.TextAt(doc, "text"), -1),
			[]string{"# The harbour handbook", "## Arriving", "### Papers", "#### Where to hand them in", "## Leaving"})
	},
	"elements that nest": func(doc any, _ map[string]any) bool { return balanced(table.TextAt(doc, "text")) },
	"the same document": func(doc any, kept map[string]any) bool {
		return kept["doc"] != nil && reflect.DeepEqual(Within(doc, "payload"), kept["doc"])
	},
}

// exportedAs judges the answer of an export.
func exportedAs(format string) func(doc any, _ map[string]any) bool {
	return func(doc any, _ map[string]any) bool {
		text := table.TextAt(doc, "text")
		if _, there := table.Lookup(doc, "structured"); !there {
			return strings.Contains(text, "First part")
		}
		return table.TextAt(doc, "structured.format") == format && table.TextAt(doc, "structured.content") == text && table.NumberAt(doc, "structured.size_bytes") == float64(len(text))
	}
}
