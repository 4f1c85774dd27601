package report

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// SARIF writes the findings as a SARIF 2.1.0 log: a rule for each check, a result for each
// check that did not pass. Known failures are suppressed. Code scanning takes findings only at a
// file of the repository: that of the CI job, else the first baseline file, else README.md.
func SARIF(w io.Writer, reports []*conformance.Report) error {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0"}
	for _, r := range reports {
		log.Runs = append(log.Runs, sarifRunOf(r))
	}
	return encode(w, log)
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool              sarifTool      `json:"tool"`
	AutomationDetails sarifID        `json:"automationDetails"`
	Invocations       []sarifInvoked `json:"invocations"`
	ColumnKind        string         `json:"columnKind"`
	Results           []sarifResult  `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID            string      `json:"id"`
	Short         sarifText   `json:"shortDescription"`
	Full          sarifText   `json:"fullDescription"`
	Help          sarifText   `json:"help"`
	HelpURI       string      `json:"helpUri,omitempty"`
	Configuration sarifConfig `json:"defaultConfiguration"`
	Properties    sarifTags   `json:"properties"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifConfig struct {
	Level string `json:"level"`
}

type sarifTags struct {
	Tags []string `json:"tags"`
}

type sarifID struct {
	ID string `json:"id"`
}

type sarifInvoked struct {
	ExecutionSuccessful bool   `json:"executionSuccessful"`
	StartTimeUTC        string `json:"startTimeUtc"`
	ExitCode            int    `json:"exitCode"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Kind         string             `json:"kind"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name          string `json:"name"`
	QualifiedName string `json:"fullyQualifiedName"`
	Kind          string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification,omitempty"`
}

func sarifRunOf(r *conformance.Report) sarifRun {
	tool := toolOf(r)
	run := sarifRun{
		Tool:              sarifTool{sarifDriver{Name: tool.Name, Version: tool.Version, Rules: []sarifRule{}}},
		AutomationDetails: sarifID{automation(r)},
		Invocations:       []sarifInvoked{{true, r.StartedAt.UTC().Format(timeForm), r.ExitCode()}},
		ColumnKind:        "utf16CodeUnits",
		Results:           []sarifResult{},
	}
	place := sarifPhysical{sarifArtifact{findingFile(r)}, sarifRegion{1}}
	rules := map[string]int{}
	for i := range r.Results {
		res := &r.Results[i]
		if !reported(res) {
			continue
		}
		at, known := rules[res.ID]
		if !known {
			at = len(run.Tool.Driver.Rules)
			rules[res.ID] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(res))
		}
		out := sarifResult{
			RuleID: res.ID, RuleIndex: at, Kind: "fail", Level: sarifLevel(r, res),
			Message: sarifText{clip(res.Title+": "+message(res), messageLimit)},
			Locations: []sarifLocation{{place, []sarifLogical{{
				Name: res.Area, QualifiedName: string(res.Revision) + "/" + res.Area + "/" + res.Scenario, Kind: "module",
			}}}},
		}
		finding := strings.TrimPrefix(fingerprint(r, res), "sha256:")
		out.Fingerprints = map[string]string{"mcpctlConform/v1": finding, "primaryLocationLineHash": finding} // without it, GitHub compares the lines, which are the same
		if res.Excused() || res.Unscored {
			out.Suppressions = []sarifSuppression{{Kind: "external", Justification: strings.Join(remarks(res), "; ")}}
		}
		run.Results = append(run.Results, out)
	}
	return run
}

func sarifRuleOf(res *conformance.Result) sarifRule {
	rule := sarifRule{
		ID: res.ID, Short: sarifText{res.Title}, Full: sarifText{res.Title}, HelpURI: specURL(res),
		Help:          sarifText{cmp.Or(res.Spec.Quote, source(res), res.Title)},
		Configuration: sarifConfig{"warning"}, Properties: sarifTags{[]string{"mcp", res.Area, string(res.Level)}},
	}
	if res.Level == conformance.Must {
		rule.Configuration.Level = "error"
	}
	return rule
}

// findingFile is the path of a file below the root of the repository, as a URL.
func findingFile(r *conformance.Report) string {
	for _, name := range append([]string{r.CI.File}, r.Policy.Baselines...) {
		if name != "" && filepath.IsLocal(name) {
			u := url.URL{Path: filepath.ToSlash(filepath.Clean(name))}
			return u.EscapedPath()
		}
	}
	return "README.md"
}

func sarifLevel(r *conformance.Report, res *conformance.Result) string {
	switch {
	case r.Fails(res):
		return "error"
	case res.Status == conformance.Inconclusive || res.Status == conformance.Error:
		return "note"
	}
	return "warning"
}

var unsafeInID = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// automation names the series of this run: the tool, the command and the subject, with a
// slash at the end, where readers of SARIF split it.
func automation(r *conformance.Report) string {
	target := cmp.Or(r.Target.Name, r.Target.URL, strings.Join(r.Target.Argv, " "), "server")
	parts := []string{"mcpctl", "conform", strings.Trim(unsafeInID.ReplaceAllString(target, "-"), "-")}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "/") + "/"
}
