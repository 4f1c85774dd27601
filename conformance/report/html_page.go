package report

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// page is an HTML page being written. Package html/template is not used: because it
// calls methods by name, the linker would keep every exported method of a program.
type page struct {
	bytes.Buffer
	wired int // bytes of traffic
}

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
	p.put("<p class=\"lead\">%v <a href=\"#overview\">To the overview</a></p>\n<dl>", v.Sentence)
	for _, f := range v.Facts {
		p.put("\n<dt>%v</dt><dd>%v</dd>", f.Name, f.Value)
	}
	p.put("\n</dl>\n</header>\n<main>\n<h2 id=\"checks\">Findings</h2>\n")
	p.filter(append(slices.Clone(v.Groups), v.Quiet...))
	for i := range v.Groups {
		g := &v.Groups[i]
		p.section(g, len(g.findings), func() {
			for at := range g.findings {
				// What to fix first is unfolded, and nothing else: a page of open findings is
				// too long to find anything in.
				p.finding(g, &g.findings[at], g.urgent && i == 0 && at == 0)
			}
		})
	}
	if len(v.Groups) == 0 {
		p.put("\n<p>Nothing was found.</p>")
	}
	if v.Matrix != nil {
		p.matrix(v.Matrix)
	} else {
		p.overview(v.Only)
	}
	for i := range v.Quiet {
		g := &v.Quiet[i]
		p.section(g, len(g.results), func() {
			if g.results[0].Status == conformance.Skip {
				p.inapplicable(g)
			} else {
				p.passed(g)
			}
		})
	}
	p.put("\n</main>\n<footer><p>%v</p></footer>\n", v.Footer)
	p.WriteString(scriptOpen + v.Data + "</script>\n<script>" + script + "</script>\n</body>\n</html>\n")
}

// section writes a group with its heading.
func (p *page) section(g *group, n int, inner func()) {
	p.put("\n<section class=\"group\" aria-labelledby=\"%v\">\n<h3 id=\"%[1]v\">%v <span class=\"none\">%v</span></h3>", g.ID, g.Title, n)
	inner()
	p.put("\n</section>")
}

// filter writes the form that the script shows.
func (p *page) filter(groups []group) {
	counts := map[string]int{}
	for _, g := range groups {
		for _, f := range g.findings {
			counts[checkLook(f.lead()).Class]++
		}
		for _, res := range g.results {
			counts[checkLook(res).Class]++
		}
	}
	p.put(`<form class="filter" id="filter" role="search" aria-label="Filter" hidden>`)
	for _, status := range statusOrder {
		if n := counts[string(status)]; n > 0 {
			l := lookOf(status)
			p.put("\n<button type=\"button\" data-status=\"%v\" aria-pressed=\"false\"><span class=\"%[1]v\">%v %v</span> %v</button>", l.Class, l.Sign, l.Word, n)
		}
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

// overview writes a bar of the outcomes, and a table of areas and outcomes: areas in which
// something ran, and outcomes that came.
func (p *page) overview(r *conformance.Report) {
	p.put("\n<h2 id=\"overview\">Overview</h2>\n")
	all := map[conformance.Status]int{}
	for i := range r.Results {
		if shown(&r.Results[i]) {
			all[r.Results[i].Status]++
		}
	}
	p.bar(all)
	var columns []conformance.Status
	for _, status := range statusOrder {
		if all[status] > 0 {
			columns = append(columns, status)
		}
	}
	var rows page
	var idle []string
	for _, part := range parts(r) {
		counts := map[conformance.Status]int{}
		for _, res := range part.results {
			counts[res.Status]++
		}
		name := part.area
		if len(r.Revisions) > 1 {
			name = string(part.revision) + " " + name
		}
		if counts[conformance.Skip] == len(part.results) {
			idle = append(idle, name)
			continue
		}
		rows.put("\n<tr><th scope=\"row\">%v</th>", name)
		for _, status := range columns {
			if counts[status] == 0 {
				rows.put("<td></td>")
			} else {
				rows.put(`<td><span class="%v">%v</span></td>`, lookOf(status).Class, counts[status])
			}
		}
		rows.put("</tr>")
	}
	if rows.Len() > 0 {
		p.put(scroll + "<table>\n<caption>Checks by area and outcome</caption>\n<thead><tr><th scope=\"col\">area</th>")
		for _, status := range columns {
			l := lookOf(status)
			p.put(`<th scope="col"><span class="%v mark">%v <span class="word">%v</span></span></th>`, l.Class, l.Sign, l.Word)
		}
		p.put("</tr></thead>\n<tbody>")
		p.WriteString(rows.String())
		p.put("\n</tbody>\n</table>\n</div>")
	}
	p.some("\n<p>Nothing ran in: %v.</p>", strings.Join(idle, ", "))
}

// bar writes the outcomes as a picture.
func (p *page) bar(counts map[conformance.Status]int) {
	const width = 1000
	total, seen, x := 0, 0, 0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return
	}
	var words []string
	var parts page
	for _, status := range statusOrder {
		if counts[status] == 0 {
			continue
		}
		seen += counts[status]
		end := seen * width / total
		parts.put(`<rect class="%v" x="%v" width="%v" height="12"/>`, status, x, end-x)
		words = append(words, fmt.Sprintf("%d %s", counts[status], lookOf(status).Word))
		x = end
	}
	p.put(`<svg class="bar" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label="%v">`, strings.Join(words, ", "))
	p.WriteString(parts.String())
	p.put("</svg>")
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
