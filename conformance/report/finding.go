package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The texts about reports and results that all formats share.

// The sites of the pages that rules are on. JSON-RPC and the tasks extension have no
// revisions.
const (
	specSite    = "https://modelcontextprotocol.io/specification/"
	jsonrpcSite = "https://www.jsonrpc.org/specification"
	tasksSite   = "https://modelcontextprotocol.github.io/ext-tasks/specification/" + string(mcp.Version2026_07_28) + "/tasks.html"
)

// specURL returns the page of the rule in the judged revision, "" for a rule that is not in
// the specification.
func specURL(res *conformance.Result) string { return RuleURL(res.Spec.Section, res.Revision) }

// RuleURL returns the address of a section of the specification, in a revision. It is "" for a
// rule that is not in the specification.
func RuleURL(section string, revision mcp.Version) string {
	if anchor, ok := strings.CutPrefix(section, "jsonrpc"); ok {
		return jsonrpcSite + anchor
	}
	if section == "" || revision == "" {
		return ""
	}
	if anchor, ok := strings.CutPrefix(section, "extensions/tasks"); ok {
		return tasksSite + anchor
	}
	return specSite + string(revision) + "/" + section
}

// passivePrefix begins the ids of scenarios that judge the traffic of all others: alone
// they decide nothing.
const passivePrefix = "SEEN-"

func passive(res *conformance.Result) bool {
	return strings.HasPrefix(res.Scenario, passivePrefix)
}

// source names the source of the rule.
func source(res *conformance.Result) string {
	rule, jsonrpc := strings.CutPrefix(res.Spec.Section, "jsonrpc#")
	switch {
	case jsonrpc:
		return "JSON-RPC 2.0 " + rule
	case res.Spec.Section != "":
		return strings.TrimSpace("spec "+string(res.Revision)) + " " + res.Spec.Section
	case res.Spec.Requirement != "":
		return "requirement " + res.Spec.Requirement
	}
	return ""
}

// again returns the command line that repeats one check, or the whole run for a passive check.
func again(r *conformance.Report, res *conformance.Result) string {
	return shellLine(command(r, res))
}

// command returns the words of again, with more flags.
func command(r *conformance.Report, res *conformance.Result, flags ...string) []string {
	words := slices.Clone(r.Again)
	if len(words) == 0 {
		words = []string{"mcpctl", "conform", string(cmp.Or(r.Target.Role, conformance.RoleServer))}
		if r.Target.URL != "" {
			words = append(words, r.Target.URL)
		}
	}
	if len(r.Revisions) > 1 && res.Revision != "" {
		words = append(words, "--spec", string(res.Revision))
	}
	if !passive(res) {
		words = append(words, "--only", res.ID)
	}
	words = append(words, flags...)
	if len(r.Target.Argv) > 0 {
		words = append(append(words, "--"), r.Target.Argv...)
	}
	return words
}

// subject returns the subject as in the command line.
func subject(t conformance.Target) string {
	switch {
	case t.URL != "":
		return t.URL
	case len(t.Argv) > 0:
		return "-- " + shellLine(t.Argv)
	}
	return ""
}

// named returns the name and version that the subject reports.
func named(t conformance.Target) string {
	name := strings.TrimSpace(visible(t.Name + " " + t.Version))
	if name == "" {
		return "a " + string(cmp.Or(t.Role, conformance.RoleServer)) + " that gave no name"
	}
	return name
}

// revisions returns the judged revisions, newest first.
func revisions(r *conformance.Report) []mcp.Version {
	var out []mcp.Version
	for _, l := range r.Revisions {
		out = append(out, l.Revision)
	}
	if len(out) == 0 && r.Target.Revision != "" {
		out = append(out, mcp.Version(r.Target.Revision))
	}
	return out
}

// revisionsText names the revisions with their eras.
func revisionsText(r *conformance.Report) string {
	var parts []string
	for _, v := range revisions(r) {
		parts = append(parts, v.Era().String()+" "+visible(string(v)))
	}
	return strings.Join(parts, ", ")
}

// reported reports whether a result is a finding: a failure or a stale entry.
func reported(res *conformance.Result) bool {
	return res.Status != conformance.Pass && res.Status != conformance.Skip || res.Baseline == conformance.BaselineStale
}

// shown reports whether a result is part of the report: the options select it.
func shown(res *conformance.Result) bool { return res.Reason != conformance.SkipExcluded }

// message describes the failure in one clause.
func message(res *conformance.Result) string {
	switch {
	case res.Baseline == conformance.BaselineStale:
		return "passes, and is listed as a known failure"
	case res.Status == conformance.Skip && res.Detail != "":
		return string(res.Reason) + ": " + visible(res.Detail)
	case res.Status == conformance.Skip:
		return string(res.Reason)
	case res.Expected != "":
		return "expected " + res.Expected + ", got " + visible(res.Actual)
	}
	return visible(res.Detail)
}

// remarks explain the outcome.
func remarks(res *conformance.Result) []string {
	var out []string
	if res.Baseline != conformance.BaselineNone {
		text := string(res.Baseline)
		if res.BaselineReason != "" {
			text += ": " + visible(res.BaselineReason)
		}
		out = append(out, text)
	}
	if res.Flaky() {
		out = append(out, fmt.Sprintf("held in %d of %d attempts", res.Attempts-res.Bad, res.Attempts))
	}
	if res.Unscored {
		out = append(out, "does not score")
	}
	return out
}

// sentence describes the outcome of the run in words.
func sentence(r *conformance.Report) string {
	s := r.Summary()
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, plural(n, what))
		}
	}
	if s.Must[conformance.Fail] > 0 {
		parts = append(parts, broken(r))
	}
	add(s.Stale, "stale entry")
	if s.Stale > 1 {
		parts[len(parts)-1] = fmt.Sprintf("%d stale entries", s.Stale)
	}
	if s.Must[conformance.Inconclusive]+s.Should[conformance.Inconclusive]+s.Blocked > 0 {
		parts = append(parts, inconclusive(r))
	}
	advised := advice(r)
	add(s.Should[conformance.Warn]-advised, "recommendation")
	if n := s.Must[conformance.Error] + s.Should[conformance.Error]; n > 0 {
		parts = append(parts, plural(n, "fault")+" of the suite")
	}
	if len(parts) == 0 {
		if r.Verdict() == conformance.VerdictInconclusive {
			return "no requirement could be judged"
		}
		parts = []string{"every rule that applies was seen to hold"}
	}
	if advised > 0 {
		parts = append(parts, plural(advised, "piece")+" of advice")
	}
	return strings.Join(parts, ", ")
}

// advice counts the advice that is not followed: no rule of the specification.
func advice(r *conformance.Report) int {
	n := 0
	for i := range r.Results {
		if res := &r.Results[i]; res.Status == conformance.Warn && res.Level == conformance.Advice && !res.Unscored {
			n++
		}
	}
	return n
}

// broken counts the broken requirements, with the known ones.
func broken(r *conformance.Report) string {
	n, known := 0, 0
	for i := range r.Results {
		res := &r.Results[i]
		if res.Status == conformance.Fail && !res.Unscored {
			n++
			if res.Excused() {
				known++
			}
		}
	}
	if known > 0 {
		return fmt.Sprintf("%s (%d known)", plural(n, "broken requirement"), known)
	}
	return plural(n, "broken requirement")
}

// inconclusive counts the inconclusive checks, with the known ones.
func inconclusive(r *conformance.Report) string {
	s := r.Summary()
	known := 0
	for i := range r.Results {
		if res := &r.Results[i]; res.Status == conformance.Inconclusive && res.Excused() && !res.Unscored {
			known++
		}
	}
	text := fmt.Sprintf("%d inconclusive", s.Must[conformance.Inconclusive]+s.Should[conformance.Inconclusive]+s.Blocked)
	if known > 0 {
		text += fmt.Sprintf(" (%d known)", known)
	}
	return text
}

// took and lasted are rounded as in the JSON form, so that formats made from it later are
// the same.
func took(r *conformance.Report) time.Duration { return r.Duration.Truncate(time.Millisecond) }

func lasted(res *conformance.Result) time.Duration { return res.Duration.Truncate(time.Microsecond) }

// part is an area in a revision.
type part struct {
	revision mcp.Version
	area     string
	results  []*conformance.Result
}

// parts groups the shown results by revision and area, in the order of the report.
func parts(r *conformance.Report) []part {
	var out []part
	for i := range r.Results {
		res := &r.Results[i]
		if !shown(res) {
			continue
		}
		at := slices.IndexFunc(out, func(p part) bool { return p.revision == res.Revision && p.area == res.Area })
		if at < 0 {
			at = len(out)
			out = append(out, part{revision: res.Revision, area: res.Area})
		}
		out[at].results = append(out[at].results, res)
	}
	return out
}

// kept returns the bytes of a frame, without an incomplete last character.
func kept(f *conformance.Frame) []byte {
	data := f.Data
	for f.Size > len(data) && len(data) > 0 && !utf8.Valid(data) && len(f.Data)-len(data) < utf8.UTFMax {
		data = data[:len(data)-1]
	}
	if !utf8.Valid(data) {
		return f.Data // it is no text at all
	}
	return data
}

// frameLine returns a frame as one line of text, cut to n bytes.
func frameLine(f *conformance.Frame, n int) string {
	var parts []string
	if h := f.HTTP; h != nil {
		if h.Method != "" {
			parts = append(parts, h.Method)
		}
		if h.Status != 0 {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", h.Status, visible(h.ContentType))))
		}
	}
	if data := kept(f); len(data) > 0 {
		text := visible(string(bytes.ToValidUTF8(data[:min(len(data), n)], []byte("\uFFFD"))))
		if f.Size > min(len(data), n) {
			text += fmt.Sprintf("… (%d bytes)", f.Size)
		}
		parts = append(parts, text)
	}
	if f.Note != "" {
		parts = append(parts, "["+visible(f.Note)+"]")
	}
	return strings.Join(parts, "  ")
}

// arrow returns the direction of a frame.
func arrow(f *conformance.Frame) string {
	if f.Dir == conformance.FromServer {
		return "←"
	}
	return "→"
}
