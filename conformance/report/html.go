package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

//go:embed html/style.css
var style string

//go:embed html/script.js
var script string

// scriptOpen begins the report inside a page, as gzip in base64url: most of a report
// are words that come again. plainOpen began it in pages of earlier builds. [Read]
// looks for both.
const (
	scriptOpen = `<script type="application/gzip" id="report">`
	plainOpen  = `<script type="application/json" id="report">`
)

// HTML writes one page that needs nothing else: no network, no fonts, no
// script, though filters and search need one. One report becomes a report;
// several become a matrix of checks and subjects. The reports are in the page,
// so that [Read] can make any other format of it.
func HTML(w io.Writer, reports []*conformance.Report) error {
	trimmed := make([]*conformance.Report, len(reports))
	for i, r := range reports {
		trimmed[i] = trim(r)
	}
	v, err := viewOf(trimmed)
	if err != nil {
		return err
	}
	// Only what the hashes name may run or colour; nothing may be loaded.
	v.Policy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'", hash(style), hash(script))
	var p page
	p.write(v)
	_, err = p.WriteTo(w)
	return err
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Limits of the evidence in a page: of one check, of all checks, and of what is shown
// without being asked for. The least is left to each check.
const (
	evidenceLimit = 64 << 10
	evidenceTotal = 1 << 20
	evidenceLeast = 8 << 10
	evidenceShown = 60 << 10
)

// trim returns r with no more evidence than a page should carry. The last frames, which show
// the failure, stay.
func trim(r *conformance.Report) *conformance.Report {
	out := *r
	out.Results = append([]conformance.Result{}, r.Results...)
	checks := 1
	for i := range out.Results {
		if len(out.Results[i].Evidence) > 0 {
			checks++
		}
	}
	limit := max(evidenceLeast, min(evidenceLimit, evidenceTotal/checks))
	for i := range out.Results {
		out.Results[i].Evidence = trimmed(out.Results[i].Evidence, limit)
	}
	return &out
}

// trimmed returns the first and the last frames, and a note about those between.
func trimmed(frames []conformance.Frame, limit int) []conformance.Frame {
	const last = 2
	size := 0
	for at, f := range frames {
		size += len(f.Data) + frameWeight
		if size <= limit || at+last >= len(frames) {
			continue
		}
		keep := len(frames) - last
		note := conformance.Frame{At: f.At, Dir: f.Dir, Note: fmt.Sprintf("%d more frames are left out here", keep-at)}
		return append(append(frames[:at:at], note), frames[keep:]...)
	}
	return frames
}

// frameWeight is about what a frame costs in a page beside its bytes.
const frameWeight = 300

// view is what a page shows. All texts in it are plain; [page.put] escapes them.
type view struct {
	Title, Sentence, Footer, Policy, Data string
	Verdict                               look
	Facts                                 []fact
	Only                                  *conformance.Report // nil when there is a Matrix
	Matrix                                *matrix
	Groups                                []group
	Quiet                                 []group // of checks without findings
}

// look is a status as it is shown: a sign and a word, and a colour that nothing
// depends on.
type look struct{ Class, Sign, Word string }

type fact struct{ Name, Value string }

func lookOf(s conformance.Status) look {
	word := string(s)
	if s == conformance.Skip {
		word = "n/a"
	}
	return look{string(s), markOf(s).sign, word}
}

func verdictLook(v conformance.Verdict) look {
	l := lookOf(verdictStatus(v))
	l.Word = string(v)
	return l
}

func viewOf(reports []*conformance.Report) (*view, error) {
	v := &view{Verdict: verdictLook(worst(reports))}
	matrix := toMatrix(reports)
	for i := range matrix.Reports {
		matrix.Reports[i] = packable(matrix.Reports[i])
	}
	var document any = matrix
	if len(reports) == 1 {
		document = packable(toJSON(reports[0]))
	}
	data, err := packed(document)
	if err != nil {
		return nil, err
	}
	v.Data = data
	tool := toolOf(reports[0])
	v.Footer = strings.TrimSpace(fmt.Sprintf("Made by %s %s %s from the report that is embedded in this page; no percentage is a verdict, and what does not apply is not counted as passed.",
		tool.Name, tool.Version, tool.Commit))
	if len(reports) == 1 {
		v.single(reports[0])
	} else {
		v.several(reports)
	}
	return v, nil
}

// single fills the view of one report.
func (v *view) single(r *conformance.Report) {
	v.Title = fmt.Sprintf("%s MCP conformance %s: %s", v.Verdict.Sign, v.Verdict.Word, named(r.Target))
	v.Sentence = capital(sentence(r)) + "."
	v.Facts = facts(r)
	v.Only = r
	v.Groups, v.Quiet = groupsOf(r, "")
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// facts are the four lines that place a report.
func facts(r *conformance.Report) []fact {
	judged := revisionsText(r)
	if len(r.Target.Offered) > 0 {
		judged += "; speaks " + visible(strings.Join(r.Target.Offered, ", "))
	}
	out := []fact{
		{string(cmp.Or(r.Target.Role, conformance.RoleServer)), named(r.Target)},
		{"reached at", strings.TrimSpace(subject(r.Target) + " (" + string(r.Target.Transport) + ")")},
		{"revisions", judged},
		{"run", strings.Join(append([]string{r.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC"), fmt.Sprintf("%.1f s", took(r).Seconds())}, policyWords(r)...), " · ")},
	}
	if len(r.Policy.Baselines) > 0 {
		out = append(out, fact{"known failures", strings.Join(r.Policy.Baselines, ", ")})
	}
	if s := skippedWhole(r); s != "" {
		out = append(out, fact{"attention", s})
	}
	return out
}

// anchor is the id of a check's details. With several revisions it names its own,
// with several subjects the subject, too.
func anchor(r *conformance.Report, res *conformance.Result, prefix string) string {
	id := prefix + strings.ReplaceAll(res.ID, " ", "-")
	if len(r.Revisions) > 1 {
		id += "@" + string(res.Revision)
	}
	return id
}

// columnName names a subject in a matrix.
func columnName(c judged) (name, detail string) {
	return named(c.report.Target), strings.TrimSpace(string(c.revision) + " " + string(c.report.Target.Transport))
}

func versionOr(v mcp.Version, other string) mcp.Version { return cmp.Or(v, mcp.Version(other)) }
