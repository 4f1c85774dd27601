package office

import (
	"cmp"
	"strings"
)

// formulaText is a formula of Office Math as LaTeX. Symbols and letters of other
// alphabets stay the characters they are.
func formulaText(e *element) string { return strings.TrimSpace(mathOf(e)) }

// mathOf joins the parts of a formula in order.
func mathOf(e *element) string {
	var text strings.Builder
	for _, kid := range e.children() {
		part := mathPart(kid)
		if endsCommand(text.String()) && startsLetter(part) {
			text.WriteByte(' ')
		}
		text.WriteString(part)
	}
	return text.String()
}

// mathPart is one part of a formula. Of properties, which end in Pr, there is no text.
func mathPart(e *element) string {
	switch e.name {
	case "r":
		return mathRun(e)
	case "sSup":
		return mathBase(e) + mathScript("^", e.child("sup"))
	case "sSub":
		return mathBase(e) + mathScript("_", e.child("sub"))
	case "sSubSup":
		return mathBase(e) + mathScript("_", e.child("sub")) + mathScript("^", e.child("sup"))
	case "sPre":
		return "{}" + mathScript("_", e.child("sub")) + mathScript("^", e.child("sup")) + mathBase(e)
	case "limLow":
		return mathBase(e) + mathScript("_", e.child("lim"))
	case "limUpp":
		return mathBase(e) + mathScript("^", e.child("lim"))
	case "f":
		return fraction(e)
	case "rad":
		degree := mathOf(e.child("deg"))
		if degree != "" {
			degree = "[" + degree + "]"
		}
		return `\sqrt` + degree + mathGroup(e.child("e"))
	case "nary":
		sign := property(e, "naryPr", "chr", "∫")
		return sign + mathScript("_", e.child("sub")) + mathScript("^", e.child("sup")) + apart(mathOf(e.child("e")))
	case "d":
		return delimited(e)
	case "func":
		return function(e.child("fName")) + apart(mathOf(e.child("e")))
	case "acc":
		return accent(property(e, "accPr", "chr", "\u0302"), e)
	case "bar":
		if property(e, "barPr", "pos", "bot") == "top" {
			return `\overline` + mathGroup(e.child("e"))
		}
		return `\underline` + mathGroup(e.child("e"))
	case "groupChr":
		if property(e, "groupChrPr", "pos", "bot") == "top" {
			return `\overset{` + property(e, "groupChrPr", "chr", "⏟") + "}" + mathGroup(e.child("e"))
		}
		return `\underset{` + property(e, "groupChrPr", "chr", "⏟") + "}" + mathGroup(e.child("e"))
	case "m":
		if rows := e.all("mr"); len(rows) > 0 {
			return matrix("matrix", rows)
		}
	case "eqArr":
		return mathArray("aligned", e.all("e"), mathOf)
	case "sdt":
		return mathOf(e.child("sdtContent"))
	case "del", "moveFrom":
		return ""
	}
	if strings.HasSuffix(e.name, "Pr") {
		return ""
	}
	return mathOf(e)
}

// mathRun is the text of a run. Text that is no formula, such as words between
// formulas, keeps its spaces.
func mathRun(e *element) string {
	var text strings.Builder
	for _, kid := range e.children() {
		switch kid.name {
		case "t":
			text.WriteString(kid.text)
		case "sym":
			text.WriteString(symbol(kid.attr("font"), kid.attr("char")))
		case "tab", "br":
			text.WriteByte(' ')
		}
	}
	if plain := text.String(); e.child("rPr", "nor").on() && strings.TrimSpace(plain) != "" {
		return `\text{` + textEscape.Replace(plain) + "}"
	}
	return mathEscape.Replace(text.String())
}

// What stands for itself in a formula and in text within one. Scripts that were
// typed as x^2 are left as such.
var (
	mathEscape = strings.NewReplacer(`\`, `\backslash `, "{", `\{`, "}", `\}`, "#", `\#`, "%", `\%`, "&", `\&`, "$", `\$`)
	textEscape = strings.NewReplacer(`\`, `\backslash `, "{", `\{`, "}", `\}`, "#", `\#`, "%", `\%`, "&", `\&`, "$", `\$`, "_", `\_`, "^", `\^{}`)
)

// property is the value of an element's property. One that is there without a
// value is empty.
func property(e *element, properties, name, fallback string) string {
	p := e.child(properties, name)
	if p == nil {
		return fallback
	}
	return p.attr("val")
}

func mathGroup(e *element) string { return "{" + mathOf(e) + "}" }

// mathBase is what a script belongs to, in braces when it is more than a letter or a
// number.
func mathBase(e *element) string {
	kids := e.child("e").children()
	text := mathOf(e.child("e"))
	simple := len(kids) == 1 && (kids[0].name == "r" || kids[0].name == "d") && !strings.HasPrefix(text, `\text`)
	if text == "" || !simple {
		return "{" + text + "}"
	}
	return text
}

func mathScript(sign string, e *element) string {
	if text := mathOf(e); text != "" {
		return sign + "{" + text + "}"
	}
	return ""
}

func fraction(e *element) string {
	above, below := e.child("num"), e.child("den")
	switch property(e, "fPr", "type", "bar") {
	case "lin":
		return mathOf(above) + "/" + mathOf(below)
	case "noBar":
		return `\genfrac{}{}{0pt}{}` + mathGroup(above) + mathGroup(below)
	}
	return `\frac` + mathGroup(above) + mathGroup(below)
}

// delimited returns the LaTeX of an expression in brackets. The brackets may be of any
// kind, or missing.
func delimited(e *element) string {
	parts := e.all("e")
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = mathOf(part)
	}
	open, end := property(e, "dPr", "begChr", "("), property(e, "dPr", "endChr", ")")
	return mathEscape.Replace(open) + strings.Join(texts, property(e, "dPr", "sepChr", "|")) + mathEscape.Replace(end)
}

// functions are those that LaTeX knows by name.
var functions = map[string]bool{
	"sin": true, "cos": true, "tan": true, "cot": true, "sec": true, "csc": true, "sinh": true, "cosh": true, "tanh": true, "coth": true,
	"arcsin": true, "arccos": true, "arctan": true, "log": true, "ln": true, "lg": true, "exp": true, "lim": true, "max": true, "min": true,
	"sup": true, "inf": true, "det": true, "dim": true, "gcd": true, "deg": true, "arg": true, "ker": true, "hom": true, "Pr": true,
}

// function is the name of a function, which may carry scripts and limits.
func function(name *element) string {
	text := strings.TrimSpace(mathOf(name))
	word, rest := text, ""
	if i := strings.IndexAny(text, "_^"); i > 0 {
		word, rest = text[:i], text[i:]
	}
	if functions[strings.Trim(word, "{}")] {
		return `\` + strings.Trim(word, "{}") + rest
	}
	return text
}

// accents are the marks over a letter.
var accents = map[string]string{
	"\u0302": "hat", "^": "hat", "\u0303": "tilde", "~": "tilde", "\u0304": "bar", "\u0305": "bar", "¯": "bar", "\u0307": "dot", "˙": "dot",
	"\u0308": "ddot", "¨": "ddot", "\u030C": "check", "\u0306": "breve", "\u0301": "acute", "\u0300": "grave", "\u20D7": "vec", "→": "vec",
}

func accent(mark string, e *element) string {
	if name := accents[mark]; name != "" {
		return `\` + name + mathGroup(e.child("e"))
	}
	return `\overset{` + cmp.Or(mathEscape.Replace(mark), " ") + "}" + mathGroup(e.child("e"))
}

func matrix(name string, rows []*element) string {
	return mathArray(name, rows, func(row *element) string {
		var cells []string
		for _, cell := range row.all("e") {
			cells = append(cells, mathOf(cell))
		}
		return strings.Join(cells, " & ")
	})
}

func mathArray(name string, rows []*element, text func(*element) string) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = text(row)
	}
	return `\begin{` + name + "} " + strings.Join(lines, ` \\ `) + ` \end{` + name + "}"
}

// apart sets off what a sign or a function applies to.
func apart(text string) string {
	if text == "" || text[0] == '(' || text[0] == '{' {
		return text
	}
	return " " + text
}

// endsCommand reports whether a text ends in a command, which a letter after it
// would make longer.
func endsCommand(text string) bool {
	i := strings.LastIndexByte(text, '\\')
	return i >= 0 && i+1 < len(text) && strings.TrimFunc(text[i+1:], asciiLetter) == ""
}

func startsLetter(text string) bool { return text != "" && asciiLetter(rune(text[0])) }

func asciiLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
