package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// group has the checks of one kind of outcome.
type group struct {
	ID, Title string
	report    *conformance.Report
	prefix    string // of the anchors of its checks
	results   []*conformance.Result
	urgent    bool
}

// groupsOf sorts the checks of a report into groups; empty ones are left out.
func groupsOf(r *conformance.Report, prefix string) []group {
	groups := []group{
		{ID: prefix + "failing", Title: "Fails the run", urgent: true},
		{ID: prefix + "open", Title: "Inconclusive", urgent: true},
		{ID: prefix + "advice", Title: "Recommendations"},
		{ID: prefix + "known", Title: "Known failures"},
		{ID: prefix + "unscored", Title: "Broken, without score"},
		{ID: prefix + "passed", Title: "Passed"},
		{ID: prefix + "inapplicable", Title: "Not applicable"},
	}
	for i := range groups {
		groups[i].report, groups[i].prefix = r, prefix
	}
	for i := range r.Results {
		res := &r.Results[i]
		if !shown(res) {
			continue
		}
		at := 5
		switch {
		case r.Fails(res):
			at = 0
		case res.Status == conformance.Skip:
			at = 6
		case res.Status == conformance.Pass:
		case res.Excused():
			at = 3
		case res.Unscored:
			at = 4
		case res.Status == conformance.Inconclusive, res.Status == conformance.Error:
			at = 1
		case res.Status == conformance.Warn:
			at = 2
		}
		groups[at].results = append(groups[at].results, res)
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.results) == 0 })
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

// check writes a check: a line that unfolds.
func (p *page) check(g *group, res *conformance.Result, open bool) {
	l, r := checkLook(res), g.report
	p.put("\n<details class=\"check\" id=\"%v\" data-status=\"%v\"", anchor(r, res, g.prefix), l.Class)
	if open {
		p.put(" open")
	}
	meta := []string{string(res.Level)}
	if len(r.Revisions) > 1 {
		meta = append(meta, string(res.Revision))
	}
	if res.Status != conformance.Skip {
		meta = append(meta, lasted(res).Round(100*time.Microsecond).String())
	}
	p.put(`><summary><span class="mark %v">%v %v</span> <code>%v</code> %v <small>%v</small></summary>`, l.Class, l.Sign, l.Word, res.ID, res.Title, strings.Join(meta, " · "))
	if url := specURL(res); url != "" {
		p.put(`<p><a href="%v" rel="noreferrer">%v</a></p>`, url, source(res))
	} else {
		p.some("<p>%v</p>", source(res))
	}
	if reported(res) {
		p.some("<blockquote><p>%v</p></blockquote>", res.Spec.Quote)
	}
	for _, remark := range remarks(res) {
		p.put("<p>%v</p>", remark)
	}
	if res.Detail != "" || res.Status == conformance.Skip {
		p.put("<p>%v</p>", message(&conformance.Result{Status: res.Status, Reason: res.Reason, Detail: res.Detail}))
	}
	if res.Expected != "" {
		p.put("<dl><dt>expected</dt><dd>%v</dd><dt>got</dt><dd>%v</dd></dl>", visible(res.Expected), visible(res.Actual))
	}
	if reported(res) {
		if len(res.Evidence) > 0 {
			p.put("\n<ol class=\"wire\" aria-label=\"wire trace\">")
			for i := range res.Evidence {
				p.frame(&res.Evidence[i])
			}
			p.put("\n</ol>")
		}
		p.some("<pre class=\"again\"><code>%v</code></pre>", again(r, res))
	}
	p.put("\n</details>")
}

// frame writes a frame: a line that unfolds.
func (p *page) frame(f *conformance.Frame) {
	const line = 160
	p.put("\n<li><details><summary><code>%v</code></summary>", arrow(f)+" "+frameLine(f, line))
	if f.HTTP != nil {
		p.some("<pre>%v</pre>", headers(f.HTTP))
	}
	data := kept(f)
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
