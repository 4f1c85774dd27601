package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The JSON form of a report: kind and version name it, additions are the only
// changes.
const (
	jsonKind    = "mcpctl.conform"
	jsonVersion = 1
	// specSite is where the specification's pages are.
	specSite = "https://modelcontextprotocol.io/specification/"
)

type jsonReport struct {
	Kind    string      `json:"kind"`
	Version int         `json:"version"`
	Tool    jsonTool    `json:"tool"`
	Run     jsonRun     `json:"run"`
	Target  jsonTarget  `json:"target"`
	Policy  jsonPolicy  `json:"policy"`
	Summary jsonSummary `json:"summary"`
	Checks  []jsonCheck `json:"checks"`
}

type jsonTool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

type jsonRun struct {
	StartedAt  string `json:"startedAt"`
	DurationMs int64  `json:"durationMs"`
}

type jsonTarget struct {
	Role          string                    `json:"role"`
	Transport     conformance.TransportKind `json:"transport"`
	URL           string                    `json:"url,omitempty"`
	Argv          []string                  `json:"argv,omitempty"`
	Name          string                    `json:"name,omitempty"`
	ServerVersion string                    `json:"serverVersion,omitempty"`
	Era           string                    `json:"era"`
	Revision      string                    `json:"revision,omitempty"`
	Capabilities  json.RawMessage           `json:"capabilities,omitempty"`
	Surface       *jsonSurface              `json:"surface,omitempty"`
}

type jsonSurface struct {
	Tools int `json:"tools"`
}

type jsonPolicy struct {
	Revisions   []mcp.Version           `json:"revisions"`
	SideEffects conformance.SideEffects `json:"sideEffects"`
	Granted     bool                    `json:"granted"`
	AllowTools  []string                `json:"allowTools,omitempty"`
	Only        []string                `json:"only,omitempty"`
	Skip        []string                `json:"skip,omitempty"`
}

type jsonSummary struct {
	Verdict      conformance.Verdict `json:"verdict"`
	Exit         int                 `json:"exit"`
	Must         jsonMust            `json:"must"`
	Should       jsonShould          `json:"should"`
	Skip         int                 `json:"skip"`
	SkippedAreas []string            `json:"skippedAreas,omitempty"`
}

type jsonMust struct {
	Pass    int `json:"pass"`
	Fail    int `json:"fail"`
	Unknown int `json:"unknown"`
	Error   int `json:"error"`
}

type jsonShould struct {
	Pass    int `json:"pass"`
	Warn    int `json:"warn"`
	Unknown int `json:"unknown"`
	Error   int `json:"error"`
}

type jsonCheck struct {
	ID          string             `json:"id"`
	Scenario    string             `json:"scenario"`
	Area        string             `json:"area"`
	Title       string             `json:"title"`
	Level       conformance.Level  `json:"level"`
	Status      conformance.Status `json:"status"`
	Spec        jsonSpec           `json:"spec"`
	Skip        *jsonSkip          `json:"skip,omitempty"`
	Detail      string             `json:"detail,omitempty"`
	Expected    string             `json:"expected,omitempty"`
	Actual      string             `json:"actual,omitempty"`
	DurationMs  float64            `json:"durationMs"`
	Attempts    int                `json:"attempts"`
	Evidence    []jsonFrame        `json:"evidence,omitempty"`
	Repro       string             `json:"repro,omitempty"`
	Fingerprint string             `json:"fingerprint"`
}

type jsonSpec struct {
	Revision string `json:"revision,omitempty"`
	Section  string `json:"section,omitempty"`
	URL      string `json:"url,omitempty"`
	Quote    string `json:"quote,omitempty"`
	Seed     string `json:"seed,omitempty"`
}

type jsonSkip struct {
	Reason conformance.SkipReason `json:"reason"`
	Detail string                 `json:"detail,omitempty"`
}

type jsonFrame struct {
	AtMs float64               `json:"atMs"`
	Dir  conformance.Direction `json:"dir"`
	HTTP *jsonHTTP             `json:"http,omitempty"`
	// Frame is the text of the bytes; Base64 holds them when they are not
	// UTF-8. Both are cut to what was kept, Size is what there was.
	Frame  string `json:"frame,omitempty"`
	Base64 string `json:"base64,omitempty"`
	Size   int    `json:"size"`
	Note   string `json:"note,omitempty"`
}

type jsonHTTP struct {
	Method      string `json:"method,omitempty"`
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"contentType,omitempty"`
}

// JSON writes the report as one indented JSON document.
func JSON(w io.Writer, r *conformance.Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(toJSON(r))
}

func toJSON(r *conformance.Report) jsonReport {
	s := r.Summary()
	out := jsonReport{
		Kind: jsonKind, Version: jsonVersion, Tool: thisTool(),
		Run: jsonRun{StartedAt: r.StartedAt.UTC().Format("2006-01-02T15:04:05.000Z"), DurationMs: r.Duration.Milliseconds()},
		Target: jsonTarget{
			Role: "server", Transport: r.Target.Transport, URL: r.Target.URL, Argv: r.Target.Argv,
			Name: r.Target.Name, ServerVersion: r.Target.Version, Era: "session",
			Revision: r.Target.Revision, Capabilities: r.Target.Capabilities,
		},
		Policy: jsonPolicy{
			Revisions: r.Policy.Revisions, SideEffects: r.Policy.SideEffects, Granted: r.Policy.Granted,
			AllowTools: r.Policy.AllowTools, Only: r.Policy.Only, Skip: r.Policy.Skip,
		},
		Summary: jsonSummary{
			Verdict: r.Verdict(), Exit: r.ExitCode(),
			Must:   jsonMust{s.Must.Pass, s.Must.Fail, s.Must.Unknown, s.Must.Error},
			Should: jsonShould{s.Should.Pass, s.Should.Warn, s.Should.Unknown, s.Should.Error},
			Skip:   s.Skipped, SkippedAreas: s.SkippedAreas,
		},
		Checks: make([]jsonCheck, len(r.Results)),
	}
	if r.Target.Tools >= 0 {
		out.Target.Surface = &jsonSurface{r.Target.Tools}
	}
	for i, res := range r.Results {
		out.Checks[i] = checkJSON(r, res)
	}
	return out
}

func checkJSON(r *conformance.Report, res conformance.Result) jsonCheck {
	c := jsonCheck{
		ID: res.ID, Scenario: res.Scenario, Area: res.Area, Title: res.Title, Level: res.Level, Status: res.Status,
		Spec:     jsonSpec{Section: res.Spec.Section, Quote: res.Spec.Quote, Seed: res.Spec.Seed},
		Detail:   res.Detail,
		Expected: res.Expected, Actual: res.Actual,
		DurationMs: ms(res.Duration), Attempts: 1,
		Fingerprint: fingerprint(r, res),
	}
	if res.Spec.Section != "" && res.Revision != "" {
		c.Spec.Revision = string(res.Revision)
		c.Spec.URL = specSite + c.Spec.Revision + "/" + res.Spec.Section
	}
	if res.Status == conformance.Skip {
		c.Skip, c.Detail, c.Attempts = &jsonSkip{res.Reason, res.Detail}, "", 0
		return c
	}
	for _, f := range res.Evidence {
		c.Evidence = append(c.Evidence, frameJSON(f))
	}
	if res.Status != conformance.Pass {
		c.Repro = repro(r.Target, res.ID)
	}
	return c
}

func repro(t conformance.Target, id string) string {
	line := "mcpctl conform server --only " + shellWord(id)
	if subject := subjectText(t); subject != "" {
		line += " " + subject
	}
	return line
}

func frameJSON(f conformance.Frame) jsonFrame {
	out := jsonFrame{AtMs: ms(f.At), Dir: f.Dir, Size: f.Size, Note: f.Note}
	data := f.Data
	for f.Size > len(data) && len(data) > 0 && !utf8.Valid(data) && len(f.Data)-len(data) < utf8.UTFMax {
		data = data[:len(data)-1] // the cut went through a character
	}
	if utf8.Valid(data) {
		out.Frame = string(data)
	} else {
		out.Base64 = base64.StdEncoding.EncodeToString(f.Data)
	}
	if f.HTTP != nil {
		out.HTTP = &jsonHTTP{f.HTTP.Method, f.HTTP.Status, f.HTTP.ContentType}
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fingerprint names a finding over runs: the check, who was judged, and what
// was wrong, without what changes from run to run.
func fingerprint(r *conformance.Report, res conformance.Result) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		res.ID, r.Target.Name, r.Target.URL, strings.Join(r.Target.Argv, "\x00"), string(res.Status), res.Expected,
	}, "\x01")))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

func thisTool() jsonTool {
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
