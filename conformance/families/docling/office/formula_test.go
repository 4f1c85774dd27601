package office_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

// math is a paragraph with a formula. Its parts are written without the prefix
// of Office Math: r(x) is a run, and e, num, sup … are what Word names so.
func math(parts string) string {
	return `<w:p><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">` + parts + `</m:oMath></w:p>`
}

func mr(text string) string { return `<m:r><m:t>` + text + `</m:t></m:r>` }

func me(name string, inside ...string) string {
	return `<m:` + name + `>` + strings.Join(inside, "") + `</m:` + name + `>`
}

func mval(name, value string) string { return `<m:` + name + ` m:val="` + value + `"/>` }

func TestFormulas(t *testing.T) {
	t.Parallel()
	e := func(inside ...string) string { return me("e", inside...) }
	sup := func(text string) string { return me("sup", mr(text)) }
	sub := func(text string) string { return me("sub", mr(text)) }
	for name, tt := range map[string]struct{ parts, want string }{
		"an exponent":     {mr("E=m") + me("sSup", e(mr("c")), sup("2")), "E=mc^{2}"},
		"an index":        {me("sSub", e(mr("x")), sub("i")) + mr("+1"), "x_{i}+1"},
		"both":            {me("sSubSup", e(mr("N")), sub("s"), sup("H")), "N_{s}^{H}"},
		"before":          {me("sPre", sub("2"), sup("4"), e(mr("He"))), "{}_{2}^{4}He"},
		"a power of more": {me("sSup", e(me("f", me("num", mr("a")), me("den", mr("b")))), sup("2")), `{\frac{a}{b}}^{2}`},
		"a sum":           {me("nary", me("naryPr", mval("chr", "∑")), sub("k=0"), sup("n"), e(mr("k"))), "∑_{k=0}^{n} k"},
		"an integral":     {me("nary", sub(""), sup(""), e(mr("f(x)dx"))), "∫ f(x)dx"},
		"a root":          {me("rad", me("radPr"), me("deg"), e(mr("2"))) + me("rad", me("deg", mr("3")), e(mr("x"))), `\sqrt{2}\sqrt[3]{x}`},
		"brackets":        {me("d", e(mr("a")), e(mr("b"))) + me("d", me("dPr", mval("begChr", "{"), mval("endChr", "")), e(mr("c"))), `(a|b)\{c`},
		"a binomial":      {me("f", me("fPr", mval("type", "noBar")), me("num", mr("n")), me("den", mr("k"))), `\genfrac{}{}{0pt}{}{n}{k}`},
		"on one line":     {me("f", me("fPr", mval("type", "lin")), me("num", mr("1")), me("den", mr("2"))), "1/2"},
		"a function":      {me("func", me("fName", mr("sin")), e(mr("θ"))) + mr("+") + me("func", me("fName", mr("sgn")), e(me("d", e(mr("x"))))), `\sin θ+sgn(x)`},
		"a limit":         {me("func", me("fName", me("limLow", e(mr("lim")), me("lim", mr("n→∞")))), e(mr("1"))), `\lim_{n→∞} 1`},
		"accents":         {me("acc", e(mr("x"))) + me("acc", me("accPr", mval("chr", "⃗")), e(mr("v"))) + me("bar", me("barPr", mval("pos", "top")), e(mr("z"))), `\hat{x}\vec{v}\overline{z}`},
		"a matrix":        {me("m", me("mr", e(mr("1")), e(mr("0"))), me("mr", e(mr("0")), e(mr("1")))), `\begin{matrix} 1 & 0 \\ 0 & 1 \end{matrix}`},
		"lines":           {me("eqArr", e(mr("a=1")), e(mr("b=2"))), `\begin{aligned} a=1 \\ b=2 \end{aligned}`},
		"words":           {`<m:r><m:rPr><m:nor/></m:rPr><m:t> for all </m:t></m:r>` + mr("x"), `\text{ for all }x`},
		"typed scripts":   {mr("x^2 + y_1 {%}"), `x^2 + y_1 \{\%\}`},
		"deleted":         {mr("a") + `<w:del>` + mr("b") + `</w:del>`, "a"},
		"boxed":           {me("borderBox", me("borderBoxPr", mval("hideTop", "1")), e(mr("a"))), "a"},
		"nothing":         {me("sSup", e(), sup("2")), "{}^{2}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := office.DOCX(t.Context(), word(t, math(tt.parts)), "x.docx", office.Options{})
			require.NoError(t, err)
			require.Equal(t, []string{"formula: " + tt.want}, outline(d))
		})
	}
}
