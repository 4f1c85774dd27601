package report

import (
	"encoding/json"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The JSON form, which kind and version identify. It only changes by additions.
const (
	jsonKind    = "mcpctl.conform"
	matrixKind  = "mcpctl.conform.matrix"
	jsonVersion = 1
	// baselineNew marks a failure that no baseline file expects.
	baselineNew = "new"
)

// jsonMatrix holds the reports of several runs.
type jsonMatrix struct {
	Kind    string       `json:"kind"`
	Version int          `json:"version"`
	Reports []jsonReport `json:"reports"`
}

type jsonReport struct {
	Kind      string         `json:"kind"`
	Version   int            `json:"version"`
	Tool      jsonTool       `json:"tool"`
	Run       jsonRun        `json:"run"`
	Target    jsonTarget     `json:"target"`
	Revisions []jsonRevision `json:"legs"`
	Policy    jsonPolicy     `json:"policy"`
	Summary   jsonSummary    `json:"summary"`
	Findings  []jsonFinding  `json:"findings,omitempty"`
	Checks    []jsonCheck    `json:"checks"`
}

type jsonTool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

type jsonRun struct {
	StartedAt  string   `json:"startedAt"`
	DurationMs int64    `json:"durationMs"`
	Seed       uint64   `json:"seed,omitempty"`
	Argv       []string `json:"argv,omitempty"`
	CI         *jsonCI  `json:"ci,omitempty"`
}

type jsonCI struct {
	Provider string `json:"provider"`
	Commit   string `json:"commit,omitempty"`
	Ref      string `json:"ref,omitempty"`
	URL      string `json:"url,omitempty"`
	File     string `json:"file,omitempty"`
}

type jsonTarget struct {
	Role          conformance.Role          `json:"role"`
	Transport     conformance.TransportKind `json:"transport"`
	URL           string                    `json:"url,omitempty"`
	Argv          []string                  `json:"argv,omitempty"`
	Name          string                    `json:"name,omitempty"`
	ServerVersion string                    `json:"serverVersion,omitempty"`
	Era           string                    `json:"era"`
	Revision      string                    `json:"revision,omitempty"`
	Offered       []string                  `json:"offered,omitempty"`
	Capabilities  json.RawMessage           `json:"capabilities,omitempty"`
	Surface       *jsonSurface              `json:"surface,omitempty"`
}

type jsonSurface struct {
	Tools        int `json:"tools"`
	Called       int `json:"called,omitempty"`
	WithExamples int `json:"withExamples,omitempty"`
	ReadOnly     int `json:"readOnly,omitempty"`
}

type jsonRevision struct {
	Revision      mcp.Version     `json:"revision"`
	Era           string          `json:"era"`
	Name          string          `json:"name,omitempty"`
	ServerVersion string          `json:"serverVersion,omitempty"`
	Capabilities  json.RawMessage `json:"capabilities,omitempty"`
	Surface       *jsonSurface    `json:"surface,omitempty"`
}

type jsonPolicy struct {
	Requirements string        `json:"requirements,omitempty"`
	Revisions    []mcp.Version `json:"revisions"`
	SideEffects  string        `json:"sideEffects"`
	Granted      bool          `json:"granted"`
	Suites       []string      `json:"suites,omitempty"`
	AllowTools   []string      `json:"allowTools,omitempty"`
	Only         []string      `json:"only,omitempty"`
	Skip         []string      `json:"skip,omitempty"`
	Baselines    []string      `json:"baselines,omitempty"`
	Repeat       int           `json:"repeat"`
	Strict       bool          `json:"strict,omitempty"`
	Gentle       bool          `json:"gentle,omitempty"`
}

type jsonSummary struct {
	Verdict      conformance.Verdict `json:"verdict"`
	Exit         int                 `json:"exit"`
	Must         jsonMust            `json:"must"`
	Should       jsonShould          `json:"should"`
	Skip         int                 `json:"skip"`
	Known        int                 `json:"known"`
	Stale        int                 `json:"stale"`
	Flaky        int                 `json:"flaky"`
	Unscored     int                 `json:"unscored"`
	Blocked      int                 `json:"blocked"`
	Gentle       int                 `json:"gentle,omitempty"`
	SkippedAreas []string            `json:"skippedAreas,omitempty"`
}

type jsonMust struct {
	Pass         int `json:"pass"`
	Fail         int `json:"fail"`
	Inconclusive int `json:"inconclusive"`
	Error        int `json:"error"`
}

type jsonShould struct {
	Pass         int `json:"pass"`
	Warn         int `json:"warn"`
	Inconclusive int `json:"inconclusive"`
	Error        int `json:"error"`
}

// jsonFinding is one cause with the checks that it fails.
type jsonFinding struct {
	Title     string             `json:"title"`
	Harm      string             `json:"harm"`
	Status    conformance.Status `json:"status"`
	Checks    []string           `json:"checks"`
	Revisions []mcp.Version      `json:"revisions,omitempty"`
	Sent      string             `json:"sent,omitempty"`
	Expected  string             `json:"expected,omitempty"`
	Actual    string             `json:"actual,omitempty"`
	Quote     string             `json:"quote,omitempty"`
	URL       string             `json:"url,omitempty"`
	Repro     string             `json:"repro"`
}

type jsonCheck struct {
	// At is the place of the check in the report, from 1. Only pages have it.
	At             int                `json:"at,omitempty"`
	ID             string             `json:"id"`
	Scenario       string             `json:"scenario"`
	Area           string             `json:"area"`
	Revision       mcp.Version        `json:"revision,omitempty"`
	Title          string             `json:"title"`
	Level          conformance.Level  `json:"level"`
	Status         conformance.Status `json:"status"`
	Baseline       string             `json:"baseline,omitempty"`
	BaselineReason string             `json:"baselineReason,omitempty"`
	Unscored       bool               `json:"unscored,omitempty"`
	Spec           jsonSpec           `json:"spec"`
	Official       []string           `json:"official,omitempty"`
	Skip           *jsonSkip          `json:"skip,omitempty"`
	Detail         string             `json:"detail,omitempty"`
	Expected       string             `json:"expected,omitempty"`
	Actual         string             `json:"actual,omitempty"`
	DurationMs     float64            `json:"durationMs"`
	Attempts       int                `json:"attempts"`
	Bad            int                `json:"bad,omitempty"`
	Evidence       []jsonFrame        `json:"evidence,omitempty"`
	Repro          string             `json:"repro,omitempty"`
	Fingerprint    string             `json:"fingerprint,omitempty"`
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
	// Frame is the kept bytes as text, or Base64 if they are not UTF-8. Size is the whole
	// size.
	Frame  string `json:"frame,omitempty"`
	Base64 string `json:"base64,omitempty"`
	Size   int    `json:"size"`
	Note   string `json:"note,omitempty"`
}

type jsonHTTP struct {
	Method      string      `json:"method,omitempty"`
	Status      int         `json:"status,omitempty"`
	ContentType string      `json:"contentType,omitempty"`
	Header      http.Header `json:"headers,omitempty"`
}
