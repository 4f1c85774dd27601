package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// JSON writes the report as one indented JSON document; [Schema] describes it,
// [Read] reads it.
func JSON(w io.Writer, r *conformance.Report) error { return encode(w, toJSON(r)) }

// encode writes v indented.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

const timeForm = "2006-01-02T15:04:05.000Z"

func toJSON(r *conformance.Report) jsonReport {
	s, t, p := r.Summary(), r.Target, r.Policy
	out := jsonReport{
		Kind: jsonKind, Version: jsonVersion, Tool: toolOf(r),
		Run: jsonRun{StartedAt: r.StartedAt.UTC().Format(timeForm), DurationMs: r.Duration.Milliseconds(), Seed: p.Seed, Argv: r.Again},
		Target: jsonTarget{
			Role: t.Role, Transport: t.Transport, URL: t.URL, Argv: t.Argv, Name: t.Name, ServerVersion: t.Version,
			Era: mcp.Version(t.Revision).Era().String(), Revision: t.Revision, Offered: t.Offered, Capabilities: t.Capabilities,
			Surface: surface(t.Tools),
		},
		Revisions: make([]jsonRevision, len(r.Revisions)),
		Policy: jsonPolicy{
			Requirements: p.Set, Revisions: append([]mcp.Version{}, p.Revisions...), SideEffects: p.SideEffects, Granted: p.Granted,
			Suites: p.Suites, AllowTools: p.AllowTools, Only: p.Only, Skip: p.Skip, Baselines: p.Baselines, Repeat: max(1, p.Repeat), Strict: p.Strict, Gentle: p.Gentle,
		},
		Summary: jsonSummary{
			Verdict: r.Verdict(), Exit: r.ExitCode(),
			Must:   jsonMust{s.Must[conformance.Pass], s.Must[conformance.Fail], s.Must[conformance.Inconclusive], s.Must[conformance.Error]},
			Should: jsonShould{s.Should[conformance.Pass], s.Should[conformance.Warn], s.Should[conformance.Inconclusive], s.Should[conformance.Error]},
			Skip:   s.Skipped, Known: s.Known, Stale: s.Stale, Flaky: s.Flaky, Unscored: s.Unscored, Blocked: s.Blocked, Gentle: notRun(r), SkippedAreas: s.SkippedAreas,
		},
		Checks: make([]jsonCheck, len(r.Results)),
	}
	if out.Target.Role == "" {
		out.Target.Role = conformance.RoleServer
	}
	if r.CI != (conformance.CI{}) {
		out.Run.CI = &jsonCI{r.CI.Provider, r.CI.Commit, r.CI.Ref, r.CI.URL, r.CI.File}
	}
	for i, l := range r.Revisions {
		out.Revisions[i] = jsonRevision{l.Revision, l.Revision.Era().String(), l.Name, l.Version, l.Capabilities, surfaceOf(l)}
	}
	for i := range r.Results {
		out.Checks[i] = checkJSON(r, &r.Results[i])
	}
	for _, f := range findings(r) {
		res := f.lead()
		out.Findings = append(out.Findings, jsonFinding{
			Title: f.title(), Harm: f.harm.String(), Status: res.Status, Checks: f.ids(), Revisions: f.versions(),
			Sent: f.sent(frameLimit), Expected: f.wanted(), Actual: clip(f.got(), frameLimit), Quote: res.Spec.Quote, URL: specURL(res), Repro: f.again(r),
		})
	}
	return out
}

// packable returns the document of a page: without what [Read] computes again, and with the
// checks in the order of their ids, because the revisions of one have most in common.
func packable(doc jsonReport) jsonReport {
	doc.Findings = nil
	order := make([]*jsonCheck, len(doc.Checks))
	for i := range doc.Checks {
		c := &doc.Checks[i]
		c.At, order[i] = i+1, c
		if c.Status == conformance.Pass || c.Status == conformance.Skip {
			c.Fingerprint = ""
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return order[i].ID < order[j].ID })
	doc.Checks = make([]jsonCheck, len(order))
	for i, c := range order {
		doc.Checks[i] = *c
	}
	return doc
}

func surface(tools int) *jsonSurface {
	if tools < 0 {
		return nil
	}
	return &jsonSurface{Tools: tools}
}

func surfaceOf(l conformance.RevisionReport) *jsonSurface {
	s := surface(l.Tools)
	if s != nil {
		s.Called, s.WithExamples, s.ReadOnly = l.Called, l.WithExamples, l.ReadOnly
	}
	return s
}

func checkJSON(r *conformance.Report, res *conformance.Result) jsonCheck {
	c := jsonCheck{
		ID: res.ID, Scenario: res.Scenario, Area: res.Area, Revision: res.Revision, Title: res.Title, Level: res.Level, Status: res.Status,
		Baseline: string(res.Baseline), BaselineReason: res.BaselineReason, Unscored: res.Unscored,
		Spec:     jsonSpec{Section: res.Spec.Section, URL: specURL(res), Quote: res.Spec.Quote, Seed: res.Spec.Requirement},
		Official: res.Official, Detail: res.Detail, Expected: res.Expected, Actual: res.Actual,
		DurationMs: ms(res.Duration), Attempts: res.Attempts, Bad: res.Bad, Fingerprint: fingerprint(r, res),
	}
	if c.Spec.URL != "" {
		c.Spec.Revision = string(res.Revision)
	}
	if res.Status == conformance.Skip {
		c.Skip, c.Detail = &jsonSkip{res.Reason, res.Detail}, ""
		return c
	}
	if c.Baseline == "" && len(r.Policy.Baselines) > 0 && r.Fails(res) {
		c.Baseline = baselineNew
	}
	for i := range res.Evidence {
		c.Evidence = append(c.Evidence, frameJSON(res.Evidence[i]))
	}
	if reported(res) {
		c.Repro = again(r, res)
	}
	return c
}

func frameJSON(f conformance.Frame) jsonFrame {
	out := jsonFrame{AtMs: ms(f.At), Dir: f.Dir, Size: f.Size, Note: f.Note}
	if data := kept(&f); utf8.Valid(data) {
		out.Frame = string(data)
	} else {
		out.Base64 = base64.StdEncoding.EncodeToString(f.Data)
	}
	if f.HTTP != nil {
		out.HTTP = &jsonHTTP{f.HTTP.Method, f.HTTP.Status, f.HTTP.ContentType, f.HTTP.Header}
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fingerprint identifies a finding across runs by the check, the subject and the failure.
func fingerprint(r *conformance.Report, res *conformance.Result) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		res.ID, string(res.Revision), r.Target.Name, r.Target.URL, strings.Join(r.Target.Argv, "\x00"), string(res.Status), res.Expected,
	}, "\x01")))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// toolOf returns the program that made the report: this one, unless the report was read
// from a file.
func toolOf(r *conformance.Report) jsonTool {
	if r.Tool != (conformance.Tool{}) {
		return jsonTool(r.Tool)
	}
	t := jsonTool{Name: "mainstay", Version: "devel", OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		t.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			t.Commit = s.Value[:min(len(s.Value), 12)]
		}
	}
	return t
}
