package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// group has the findings of one kind of outcome, or the checks that are none.
type group struct {
	ID, Title string
	report    *conformance.Report
	prefix    string // of the anchors of its checks
	findings  []finding
	results   []*conformance.Result
	urgent    bool
}

// The groups of a page.
const (
	groupFailing = iota
	groupOpen
	groupShould
	groupAdvice
	groupKnown
	groupUnscored
)

// groupsOf sorts the findings of a report into groups, and the other checks into those that
// passed and those that do not apply; empty groups are left out.
func groupsOf(r *conformance.Report, prefix string) (found, quiet []group) {
	found = []group{
		groupFailing:  {ID: prefix + "failing", Title: "Fails the run", urgent: true},
		groupOpen:     {ID: prefix + "open", Title: "Inconclusive", urgent: true},
		groupShould:   {ID: prefix + "should", Title: "Recommendations"},
		groupAdvice:   {ID: prefix + "advice", Title: "Advice"},
		groupKnown:    {ID: prefix + "known", Title: "Known failures"},
		groupUnscored: {ID: prefix + "unscored", Title: "Broken, without score"},
	}
	quiet = []group{{ID: prefix + "passed", Title: "Passed"}, {ID: prefix + "inapplicable", Title: "Not applicable"}}
	for _, f := range findings(r) {
		at := groupShould
		switch f.rank {
		case rankFails:
			at = groupFailing
		case rankError, rankOpen, rankBlocked:
			at = groupOpen
		case rankAdvice:
			at = groupAdvice
		case rankKnown:
			at = groupUnscored
			if f.lead().Excused() {
				at = groupKnown
			}
		case rankShould:
		}
		found[at].findings = append(found[at].findings, f)
	}
	for i := range r.Results {
		res := &r.Results[i]
		switch {
		case !shown(res), reported(res):
		case res.Status == conformance.Skip:
			quiet[1].results = append(quiet[1].results, res)
		default:
			quiet[0].results = append(quiet[0].results, res)
		}
	}
	for i := range found {
		found[i].report, found[i].prefix = r, prefix
	}
	for i := range quiet {
		quiet[i].report, quiet[i].prefix = r, prefix
	}
	found = slices.DeleteFunc(found, func(g group) bool { return len(g.findings) == 0 })
	return found, slices.DeleteFunc(quiet, func(g group) bool { return len(g.results) == 0 })
}

// checkLook is the look of a check in a page.
func checkLook(res *conformance.Result) look {
	if res.Baseline == conformance.BaselineStale { // it passes, and that is what is wrong
		l := lookOf(conformance.Fail)
		l.Word = string(res.Baseline)
		return l
	}
	return lookOf(res.Status)
}

// finding writes a finding: a line that unfolds.
func (p *page) finding(g *group, f *finding, open bool) {
	res, r := f.lead(), g.report
	l := checkLook(res)
	p.put("\n<details class=\"check\" id=\"%v\" data-status=\"%v\"", anchor(r, res, g.prefix), l.Class)
	if open {
		p.put(" open")
	}
	meta := []string{string(res.Level), res.ID}
	if f.rank == rankFails && f.harm < harmMust {
		meta[0] = f.harm.String()
	}
	if len(r.Revisions) > 1 {
		for _, v := range f.versions() {
			meta = append(meta, string(v))
		}
	}
	if n := len(f.results) - 1; n > 0 {
		meta = append(meta, plural(n, "more check"))
	}
	p.put(`><summary><span class="mark %v">%v %v</span> %v <small>%v</small></summary>`, l.Class, l.Sign, l.Word, f.title(), strings.Join(meta, " · "))
	if f.title() != res.Title {
		p.put("<p>%v</p>", res.Title)
	}
	if url := specURL(res); url != "" {
		p.put(`<p><a href="%v" rel="noreferrer">%v</a></p>`, url, source(res))
	} else {
		p.some("<p>%v</p>", source(res))
	}
	p.some("<blockquote><p>%v</p></blockquote>", res.Spec.Quote)
	for _, remark := range remarks(res) {
		p.put("<p>%v</p>", remark)
	}
	p.put("<dl>")
	p.some("<dt>sent</dt><dd>%v</dd>", f.sent(messageLimit))
	p.some("<dt>expected</dt><dd>%v</dd>", visible(f.wanted()))
	p.some("<dt>got</dt><dd>%v</dd>", clip(f.got(), 2*messageLimit))
	p.put("</dl>")
	p.wire(res.Evidence)
	if len(f.results) > 1 {
		p.put("\n<ul class=\"same\" aria-label=\"checks with the same cause\">")
		for _, other := range f.results[1:] {
			p.same(g, other)
		}
		p.put("\n</ul>")
	}
	p.some("<pre class=\"again\"><code>%v</code></pre>", f.again(r))
	p.put("\n</details>")
}

// same writes another check of a finding.
func (p *page) same(g *group, res *conformance.Result) {
	l := checkLook(res)
	meta := string(res.Level)
	if len(g.report.Revisions) > 1 {
		meta += " · " + string(res.Revision)
	}
	p.put(`<li id="%v"><span class="%v">%v</span> <code>%v</code> %v <small>%v</small>`, anchor(g.report, res, g.prefix), l.Class, l.Sign, res.ID, res.Title, meta)
	const line = 200
	if said := strings.Join(append([]string{message(res)}, remarks(res)...), "; "); said != "" {
		p.put("<br>%v", clip(said, line))
	}
	p.put("</li>\n")
}

// wire writes the traffic of a finding, as much as the page has room for.
func (p *page) wire(frames []conformance.Frame) {
	if len(frames) == 0 {
		return
	}
	p.put("\n<ol class=\"wire\" aria-label=\"wire trace\">")
	for i := range frames {
		var one page
		one.frame(&frames[i])
		// The last frames show the failure.
		if p.wired+one.Len() > evidenceShown && i < len(frames)-2 {
			continue
		}
		p.wired += one.Len()
		p.Write(one.Bytes())
	}
	p.put("\n</ol>")
}

// passed writes the checks of a group by area, a line each.
func (p *page) passed(g *group) {
	for _, area := range byText(g.results, func(res *conformance.Result) string { return res.Area }) {
		rows := byText(area, func(res *conformance.Result) string { return res.ID })
		p.put("\n<details class=\"check\" data-status=\"pass\"><summary><span class=\"mark pass\">✓ pass</span> %v <small>%v</small></summary><ul>", area[0].Area, plural(len(rows), "check"))
		for _, row := range rows {
			p.put("\n<li><code>%v</code> %v", row[0].ID, row[0].Title)
			p.some(" <small>%v</small>", passedMeta(g.report, row))
			p.put("</li>")
		}
		p.put("\n</ul></details>")
	}
}

// passedMeta is what a check that passed has to say: another level than MUST, and its
// revision if it is not all.
func passedMeta(r *conformance.Report, row []*conformance.Result) string {
	var meta []string
	if row[0].Level != conformance.Must {
		meta = append(meta, string(row[0].Level))
	}
	if len(row) < len(r.Revisions) {
		for _, res := range row {
			meta = append(meta, string(res.Revision))
		}
	}
	return strings.Join(append(meta, remarks(row[0])...), " · ")
}

// inapplicable writes the checks of a group by the reason, their ids only.
func (p *page) inapplicable(g *group) {
	for _, reason := range byText(g.results, func(res *conformance.Result) string { return string(res.Reason) }) {
		rows := byText(reason, func(res *conformance.Result) string { return res.ID })
		p.put("\n<details class=\"check\" data-status=\"skip\"><summary><span class=\"mark skip\">– n/a</span> %v <small>%v</small></summary><ul>", skipText(reason[0].Reason), plural(len(rows), "check"))
		for _, area := range byText(reason, func(res *conformance.Result) string { return res.Area }) {
			var ids []string
			for _, row := range byText(area, func(res *conformance.Result) string { return res.ID }) {
				ids = append(ids, row[0].ID)
			}
			p.put("\n<li>%v: %v</li>", area[0].Area, strings.Join(ids, " "))
		}
		p.put("\n</ul></details>")
	}
}

func skipText(reason conformance.SkipReason) string {
	if text := skipWords[reason]; text != "" {
		return string(reason) + ": " + text
	}
	return string(reason)
}

// byText groups results by a text, in their order.
func byText(results []*conformance.Result, text func(*conformance.Result) string) [][]*conformance.Result {
	var out [][]*conformance.Result
	at := map[string]int{}
	for _, res := range results {
		n, there := at[text(res)]
		if !there {
			n = len(out)
			at[text(res)] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], res)
	}
	return out
}

// frame writes a frame: a line that unfolds.
func (p *page) frame(f *conformance.Frame) {
	const line = 160
	data := kept(f)
	if f.HTTP == nil && f.Size <= line && len(f.Note) <= line {
		p.put("\n<li class=\"short\"><code>%v</code></li>", arrow(f)+" "+frameLine(f, line))
		return
	}
	p.put("\n<li><details><summary><code>%v</code></summary>", arrow(f)+" "+frameLine(f, line))
	if f.HTTP != nil {
		p.some("<pre>%v</pre>", headers(f.HTTP))
	}
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") == nil {
		p.some("<pre>%v</pre>", lines(b.String()))
	} else {
		p.some("<pre>%v</pre>", lines(strings.ToValidUTF8(string(data), "\uFFFD")))
	}
	note := visible(f.Note)
	if f.Size > len(data) {
		note = strings.TrimPrefix(fmt.Sprintf("%s; the first %d of %d bytes", note, len(data), f.Size), "; ")
	}
	p.some("<p>%v</p>", note)
	p.put("</details></li>")
}

// headers writes the HTTP headers, sorted by name.
func headers(h *conformance.HTTPInfo) string {
	var names []string
	for name := range h.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	if h.Method != "" {
		fmt.Fprintf(&b, "%s\n", visible(h.Method))
	}
	if h.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d\n", h.Status)
	}
	for _, name := range names {
		for _, value := range h.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", visible(name), visible(value))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines makes each line of a text harmless.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = visible(all[i])
	}
	return strings.Join(all, "\n")
}

// packed encodes a document for a script element: the base64 of URLs, of its gzip, has no
// character that ends the element or that HTML escapes.
func packed(document any) (string, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(zip).Encode(document); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b.Bytes()), nil
}
