package report

import (
	"bytes"
	"fmt"
	"html"
)

// page is an HTML page being written. Package html/template is not used: because it
// calls methods by name, the linker would keep every exported method of a program.
type page struct{ bytes.Buffer }

// put writes markup in which each value, a %v, is escaped for text and quoted attributes.
func (p *page) put(markup string, values ...any) {
	for i, v := range values {
		values[i] = html.EscapeString(fmt.Sprint(v))
	}
	fmt.Fprintf(p, markup, values...)
}

func (p *page) write(v *view) {
	p.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%v">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%v</title>
<style>`, v.Policy, v.Title)
	p.WriteString(style)
	p.put(`</style>
</head>
<body>
<header>
<h1>MCP conformance: <span class="%v">%v %v</span></h1>
`, v.Verdict.Class, v.Verdict.Sign, v.Verdict.Word)
	first, heading := "To the checks", "Checks"
	if v.Matrix != nil {
		first, heading = "To the findings", "Findings"
	}
	p.put("<p class=\"lead\">%v <a href=\"#checks\">%v</a></p>\n<dl>", v.Sentence, first)
	for _, f := range v.Facts {
		p.put("\n<dt>%v</dt><dd>%v</dd>", f.Name, f.Value)
	}
	p.put("\n</dl>\n</header>\n<main>")
	if v.Matrix != nil {
		p.matrix(v.Matrix)
	} else {
		p.overview(v)
	}
	p.put("\n<h2 id=\"checks\">%v</h2>\n", heading)
	p.filter(v.Chips)
	for _, g := range v.Groups {
		p.put("\n<section class=\"group\" aria-labelledby=\"%v\">\n<h3 id=\"%[1]v\">%v <span class=\"none\">%v</span></h3>", g.ID, g.Title, len(g.Checks))
		for i := range g.Checks {
			p.check(&g.Checks[i])
		}
		p.put("\n</section>")
	}
	if len(v.Groups) == 0 {
		p.put("\n<p>Nothing was found.</p>")
	}
	p.put("\n</main>\n<footer><p>%v</p></footer>\n", v.Footer)
	p.WriteString(scriptOpen + v.Data + "</script>\n<script>" + script + "</script>\n</body>\n</html>\n")
}

// filter writes the form that the script brings to life.
func (p *page) filter(chips []chip) {
	p.put(`<form class="filter" id="filter" role="search" aria-label="Filter" hidden>`)
	for _, c := range chips {
		p.put("\n<button type=\"button\" data-status=\"%v\" aria-pressed=\"false\"><span class=\"%[1]v\">%v %v</span> %v</button>", c.Class, c.Sign, c.Word, c.Count)
	}
	p.put(`
<label class="sr" for="search">Search</label>
<input id="search" type="search" placeholder="id, words, bytes" autocomplete="off" spellcheck="false">
<button type="button" id="copy">copy JSON</button>
<span id="shown" role="status"></span>
</form>`)
}

// scroll begins a table that may be wider than the page.
const scroll = "\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"overview\">\n"

// overview writes the bar, and the table of areas and outcomes.
func (p *page) overview(v *view) {
	p.put("\n<h2 id=\"overview\">Overview</h2>\n")
	if len(v.Bar) > 0 {
		p.put(`<svg class="bar" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label="%v">`, v.BarText)
		for _, part := range v.Bar {
			p.put(`<rect class="%v" x="%v" width="%v" height="12"/>`, part.Class, part.X, part.Width)
		}
		p.put("</svg>")
	}
	p.put(scroll + "<table>\n<caption>Checks by area and outcome</caption>\n<thead><tr><th scope=\"col\">area</th>")
	for _, c := range v.Columns {
		p.put(`<th scope="col"><span class="%v mark">%v <span class="word">%v</span></span></th>`, c.Class, c.Sign, c.Word)
	}
	p.put("</tr></thead>\n<tbody>")
	for _, row := range v.Rows {
		p.put("\n<tr><th scope=\"row\">%v</th>", row.Name)
		for _, c := range row.Counts {
			class := c.Class
			if c.Count == 0 {
				class = "none"
			}
			p.put(`<td><span class="%v">%v</span></td>`, class, c.Count)
		}
		p.put("</tr>")
	}
	p.put("\n</tbody>\n</table>\n</div>")
}

// matrix writes the table of checks and subjects.
func (p *page) matrix(m *matrix) {
	p.put("\n<h2 id=\"overview\">Check by subject</h2>" + scroll + `<table class="matrix">
<caption>Every check that ran somewhere, beside what each subject made of it</caption>
<thead><tr><th scope="col">check</th>`)
	for _, c := range m.Columns {
		p.put(`<th scope="col">%v<small>%v</small><span class="mark %v">%v %v</span></th>`, c.Name, c.Detail, c.Verdict.Class, c.Verdict.Sign, c.Verdict.Word)
	}
	p.put("</tr></thead>")
	for _, a := range m.Areas {
		p.put("\n<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"%v\"><strong>%v</strong></th></tr>", a.Span, a.Name)
		for i := range a.Rows {
			row := &a.Rows[i]
			p.put("\n<tr><th scope=\"row\"><code>%v</code><small>%v · %v</small></th>", row.ID, row.Level, row.Title)
			for _, c := range row.Cells {
				p.cell(c)
			}
			p.put("</tr>")
		}
		p.put("\n</tbody>")
	}
	p.put("\n</table>\n</div>")
}

func (p *page) cell(c matrixCell) {
	p.put("<td>")
	switch {
	case c.Link != "":
		p.put(`<a class="mark %v" href="%v">%v %v</a>`, c.Class, c.Link, c.Sign, c.Word)
	case c.Word != "":
		p.put(`<span class="mark %v">%v %v</span>`, c.Class, c.Sign, c.Word)
	default:
		p.put(`<span class="none">none</span>`)
	}
	p.some("<small>%v</small>", c.Note)
	p.put("</td>")
}

// some is put for a text that may be empty: then it writes nothing.
func (p *page) some(markup, text string) {
	if text != "" {
		p.put(markup, text)
	}
}

// check writes a check: a line that unfolds.
func (p *page) check(c *checkView) {
	p.put("\n<details class=\"check\" id=\"%v\" data-status=\"%v\"", c.Anchor, c.Class)
	if c.Open {
		p.put(" open")
	}
	p.put(`><summary><span class="mark %v">%v %v</span> <code>%v</code> %v <small>%v</small></summary>`, c.Class, c.Sign, c.Word, c.ID, c.Title, c.Meta)
	if s := c.Source; s != nil && s.URL != "" {
		p.put(`<p><a href="%v" rel="noreferrer">%v</a></p>`, s.URL, s.Text)
	} else if s != nil {
		p.put("<p>%v</p>", s.Text)
	}
	p.some("<blockquote><p>%v</p></blockquote>", c.Quote)
	for _, r := range c.Remarks {
		p.put("<p>%v</p>", r)
	}
	if c.Expected != "" {
		p.put("<dl><dt>expected</dt><dd>%v</dd><dt>got</dt><dd>%v</dd></dl>", c.Expected, c.Actual)
	}
	if len(c.Wire) > 0 {
		p.put("\n<ol class=\"wire\" aria-label=\"wire trace\">")
		for _, f := range c.Wire {
			p.put("\n<li><details><summary><code>%v</code></summary>", f.Line)
			p.some("<pre>%v</pre>", f.Headers)
			p.some("<pre>%v</pre>", f.Body)
			p.some("<p>%v</p>", f.Note)
			p.put("</details></li>")
		}
		p.put("\n</ol>")
	}
	p.some("<pre class=\"again\"><code>%v</code></pre>", c.Again)
	p.put("\n</details>")
}
