package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Read returns the reports in a file that [JSON], [Matrix] or [HTML] wrote. Writing them
// again makes the same file.
func Read(in io.Reader) ([]*conformance.Report, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		if data, err = embedded(data); err != nil {
			return nil, err
		}
	}
	var head struct {
		Kind    string
		Version int
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not a report: %w", err)
	}
	if head.Kind != jsonKind && head.Kind != matrixKind || head.Version != jsonVersion {
		return nil, fmt.Errorf("not a report: kind %q, version %d; want %s, version %d", head.Kind, head.Version, jsonKind, jsonVersion)
	}
	matrix := jsonMatrix{Reports: make([]jsonReport, 1)}
	var into any = &matrix.Reports[0]
	if head.Kind == matrixKind {
		into = &matrix
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("not a report: %w", err)
	}
	var out []*conformance.Report
	for i := range matrix.Reports {
		r, err := fromJSON(&matrix.Reports[i])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("not a report: the matrix is empty")
	}
	return out, nil
}

// embedded returns the document inside an HTML report.
func embedded(page []byte) ([]byte, error) {
	_, rest, zipped := bytes.Cut(page, []byte(scriptOpen))
	plain := false
	if !zipped {
		_, rest, plain = bytes.Cut(page, []byte(plainOpen))
	}
	data, _, closed := bytes.Cut(rest, []byte("</script>"))
	if !zipped && !plain || !closed {
		return nil, errors.New("not a report: an HTML page without a report in it")
	}
	if plain {
		return data, nil
	}
	zip, err := gzip.NewReader(base64.NewDecoder(base64.RawURLEncoding, bytes.NewReader(data)))
	if err != nil {
		return nil, fmt.Errorf("not a report: %w", err)
	}
	data, err = io.ReadAll(zip)
	if err != nil {
		return nil, fmt.Errorf("not a report: %w", err)
	}
	return data, nil
}

func fromJSON(j *jsonReport) (*conformance.Report, error) {
	started, err := time.Parse(timeForm, j.Run.StartedAt)
	if err != nil {
		return nil, fmt.Errorf("not a report: %w", err)
	}
	t, p := j.Target, j.Policy
	r := &conformance.Report{
		StartedAt: started, Duration: time.Duration(j.Run.DurationMs) * time.Millisecond,
		Tool: conformance.Tool(j.Tool), Again: j.Run.Argv,
		Target: conformance.Target{
			Role: t.Role, Transport: t.Transport, Argv: t.Argv, URL: t.URL, Name: t.Name, Version: t.ServerVersion,
			Revision: t.Revision, Offered: t.Offered, Capabilities: t.Capabilities, Tools: tools(t.Surface),
		},
		Policy: conformance.Policy{
			Revisions: p.Revisions, Set: p.Requirements, Baselines: p.Baselines, Repeat: p.Repeat, Seed: j.Run.Seed, Strict: p.Strict,
			SideEffects: p.SideEffects, Granted: p.Granted, Suites: p.Suites, AllowTools: p.AllowTools, Only: p.Only, Skip: p.Skip,
			Gentle: p.Gentle,
		},
	}
	if ci := j.Run.CI; ci != nil {
		r.CI = conformance.CI{Provider: ci.Provider, Commit: ci.Commit, Ref: ci.Ref, URL: ci.URL, File: ci.File}
	}
	for _, l := range j.Revisions {
		said := conformance.RevisionReport{Revision: l.Revision, Name: l.Name, Version: l.ServerVersion, Capabilities: l.Capabilities, Tools: tools(l.Surface)}
		if s := l.Surface; s != nil {
			said.Called, said.WithExamples, said.ReadOnly = s.Called, s.WithExamples, s.ReadOnly
		}
		r.Revisions = append(r.Revisions, said)
	}
	for _, c := range inOrder(j.Checks) {
		res, err := checkFrom(c)
		if err != nil {
			return nil, err
		}
		r.Results = append(r.Results, res)
	}
	return r, nil
}

// inOrder returns the checks in the order of the report, which pages change.
func inOrder(checks []jsonCheck) []*jsonCheck {
	out := make([]*jsonCheck, len(checks))
	for i := range checks {
		out[i] = &checks[i]
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].At < out[j].At })
	return out
}

func tools(s *jsonSurface) int {
	if s == nil {
		return -1
	}
	return s.Tools
}

// The closed lists. An unknown word in a file is an error, so that it cannot become a
// silent pass.
var (
	knownLevels    = []conformance.Level{conformance.Must, conformance.Should, conformance.May, conformance.Advice}
	knownBaselines = []string{"", baselineNew, string(conformance.BaselineKnown), string(conformance.BaselineFlaky), string(conformance.BaselineStale)}
)

// wasInconclusive is the status of a check in reports of earlier versions.
const wasInconclusive = "unknown"

func checkFrom(c *jsonCheck) (conformance.Result, error) {
	if c.Status == wasInconclusive {
		c.Status = conformance.Inconclusive
	}
	if !slices.Contains(statusOrder, c.Status) || !slices.Contains(knownLevels, c.Level) || !slices.Contains(knownBaselines, c.Baseline) {
		return conformance.Result{}, fmt.Errorf("not a report: check %s has status %q, level %q, baseline %q", c.ID, c.Status, c.Level, c.Baseline)
	}
	res := conformance.Result{
		Check: conformance.Check{
			ID: c.ID, Title: c.Title, Level: c.Level, Official: c.Official,
			Spec: conformance.Spec{Section: c.Spec.Section, Quote: c.Spec.Quote, Requirement: c.Spec.Seed},
		},
		Scenario: c.Scenario, Area: c.Area, Revision: c.Revision, Level: c.Level, Status: c.Status,
		Detail: c.Detail, Expected: c.Expected, Actual: c.Actual,
		Baseline: conformance.Baseline(c.Baseline), BaselineReason: c.BaselineReason, Unscored: c.Unscored,
		Attempts: c.Attempts, Bad: c.Bad, Duration: duration(c.DurationMs),
	}
	if c.Baseline == baselineNew {
		res.Baseline = conformance.BaselineNone
	}
	if c.Skip != nil {
		res.Reason, res.Detail = c.Skip.Reason, c.Skip.Detail
	}
	for _, f := range c.Evidence {
		frame := conformance.Frame{At: duration(f.AtMs), Dir: f.Dir, Data: []byte(f.Frame), Size: f.Size, Note: f.Note}
		if f.Base64 != "" {
			data, err := base64.StdEncoding.DecodeString(f.Base64)
			if err != nil {
				return res, fmt.Errorf("not a report: check %s: %w", c.ID, err)
			}
			frame.Data = data
		}
		if h := f.HTTP; h != nil {
			frame.HTTP = &conformance.HTTPInfo{Method: h.Method, Status: h.Status, ContentType: h.ContentType, Header: h.Header}
		}
		res.Evidence = append(res.Evidence, frame)
	}
	return res, nil
}

func duration(ms float64) time.Duration {
	return (time.Duration(ms*1000+0.5) * time.Microsecond)
}

// Matrix writes the reports of several runs as one JSON document.
func Matrix(w io.Writer, reports []*conformance.Report) error {
	return encode(w, toMatrix(reports))
}

func toMatrix(reports []*conformance.Report) jsonMatrix {
	out := jsonMatrix{Kind: matrixKind, Version: jsonVersion, Reports: make([]jsonReport, len(reports))}
	for i, r := range reports {
		out.Reports[i] = toJSON(r)
	}
	return out
}

// worst returns the verdict over several reports: failed if one is, else inconclusive if
// one is.
func worst(reports []*conformance.Report) conformance.Verdict {
	verdict := conformance.Passed
	for _, r := range reports {
		switch r.Verdict() {
		case conformance.Failed:
			return conformance.Failed
		case conformance.VerdictInconclusive:
			verdict = conformance.VerdictInconclusive
		case conformance.Passed:
		}
	}
	return verdict
}

// judged are the revision runs of several reports as columns of a matrix.
type judged struct {
	report   *conformance.Report
	revision mcp.Version
}

// columns are all revision runs of all reports, in order.
func columns(reports []*conformance.Report) []judged {
	var out []judged
	for _, r := range reports {
		for _, v := range revisions(r) {
			out = append(out, judged{r, v})
		}
	}
	return out
}
