package report

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// sarifSchema is the part of the schema of SARIF 2.1.0 that a log of ours uses:
// names, types, closed lists and what is required are those of the standard.
// Objects are closed, as they are there.
const sarifSchema = `{
  "type": "object", "additionalProperties": false, "required": ["version", "runs"],
  "properties": {
    "$schema": {"type": "string", "format": "uri", "pattern": "^https?://[^\\s]+$"},
    "version": {"enum": ["2.1.0"]},
    "runs": {"type": "array", "items": {
      "type": "object", "additionalProperties": false, "required": ["tool"],
      "properties": {
        "tool": {"type": "object", "additionalProperties": false, "required": ["driver"], "properties": {"driver": {
          "type": "object", "additionalProperties": false, "required": ["name"],
          "properties": {"name": {"type": "string"}, "version": {"type": "string"}, "rules": {"type": "array", "uniqueItems": true, "items": {
            "type": "object", "additionalProperties": false, "required": ["id"],
            "properties": {
              "id": {"type": "string"}, "shortDescription": {"$ref": "#/$defs/text"}, "fullDescription": {"$ref": "#/$defs/text"}, "help": {"$ref": "#/$defs/text"},
              "helpUri": {"type": "string", "format": "uri", "pattern": "^https?://[^\\s]+$"},
              "defaultConfiguration": {"type": "object", "additionalProperties": false, "properties": {"level": {"$ref": "#/$defs/level"}}},
              "properties": {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}}
            }}}}}}},
        "automationDetails": {"type": "object", "additionalProperties": false, "properties": {"id": {"type": "string"}}},
        "invocations": {"type": "array", "items": {
          "type": "object", "additionalProperties": false, "required": ["executionSuccessful"],
          "properties": {"executionSuccessful": {"type": "boolean"}, "startTimeUtc": {"type": "string", "format": "date-time", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$"}, "exitCode": {"type": "integer"}}}},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": {
          "type": "object", "additionalProperties": false, "required": ["message"],
          "properties": {
            "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": -1},
            "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
            "level": {"$ref": "#/$defs/level"}, "message": {"$ref": "#/$defs/text"},
            "locations": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {"physicalLocation": {
              "type": "object", "additionalProperties": false, "properties": {
                "artifactLocation": {"type": "object", "additionalProperties": false, "properties": {"uri": {"type": "string", "format": "uri-reference"}}},
                "region": {"type": "object", "additionalProperties": false, "properties": {"startLine": {"type": "integer", "minimum": 1}}}}}, "logicalLocations": {
              "type": "array", "uniqueItems": true, "items": {
                "type": "object", "additionalProperties": false,
                "properties": {"name": {"type": "string"}, "fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}}}}}}},
            "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
            "suppressions": {"type": "array", "uniqueItems": true, "items": {
              "type": "object", "additionalProperties": false, "required": ["kind"],
              "properties": {"kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"}}}}
          }}}
      }}}
  },
  "$defs": {
    "level": {"enum": ["none", "note", "warning", "error"]},
    "text": {"type": "object", "additionalProperties": false, "required": ["text"], "properties": {"text": {"type": "string"}}}
  }
}`

func TestSARIF(t *testing.T) {
	t.Parallel()
	schema := resolved(t, []byte(sarifSchema))
	for _, r := range samples() {
		var b bytes.Buffer
		require.NoError(t, SARIF(&b, []*conformance.Report{r, sampleReport()}))
		requireValid(t, schema, b.Bytes())
		requireConsistent(t, b.Bytes())
		requireTaken(t, b.Bytes())
	}

	log := sarifRunOf(sampleReport())
	require.Len(t, log.Results, 4)
	require.Equal(t, "mcpctl/conform/every-thing/", log.AutomationDetails.ID)
	require.Equal(t, []string{"error", "warning", "note", "note"}, []string{log.Results[0].Level, log.Results[1].Level, log.Results[2].Level, log.Results[3].Level})
	require.Equal(t, "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages", log.Tool.Driver.Rules[0].HelpURI)
	require.Empty(t, log.Results[0].Suppressions)

	log = sarifRunOf(wideReport())
	require.Len(t, log.Tool.Driver.Rules, 5, "one for each check, over all revisions")
	for _, res := range log.Results {
		if res.RuleID == "RPC-07/exclusive" && strings.HasPrefix(res.Locations[0].Logical[0].QualifiedName, "2026") {
			require.Equal(t, "external", res.Suppressions[0].Kind)
			require.Contains(t, res.Suppressions[0].Justification, "known")
		}
	}
}

// requireTaken checks what GitHub's code scanning demands besides the schema
// (docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning):
// it refuses a result without a file of the repository, and a rule without its texts.
func requireTaken(t *testing.T, document []byte) {
	t.Helper()
	require.Less(t, len(document), 10<<20)
	var log sarifLog
	require.NoError(t, json.Unmarshal(document, &log))
	require.LessOrEqual(t, len(log.Runs), 20)
	for _, run := range log.Runs {
		require.NotEmpty(t, run.Tool.Driver.Name)
		require.LessOrEqual(t, len(run.Results), 5_000)
		for _, rule := range run.Tool.Driver.Rules {
			require.LessOrEqual(t, len(rule.ID), 255)
			require.NotEmpty(t, rule.Short.Text)
			require.LessOrEqual(t, len(rule.Short.Text), 1024)
			require.NotEmpty(t, rule.Full.Text)
			require.LessOrEqual(t, len(rule.Full.Text), 1024)
			require.NotEmpty(t, rule.Help.Text)
			require.LessOrEqual(t, len(rule.Properties.Tags), 10)
		}
		for _, res := range run.Results {
			require.NotEmpty(t, res.Message.Text)
			require.Len(t, res.Locations, 1)
			at := res.Locations[0].Physical
			require.NotEmpty(t, at.Artifact.URI)
			u, err := url.Parse(at.Artifact.URI)
			require.NoError(t, err)
			require.False(t, u.IsAbs())
			require.True(t, fs.ValidPath(u.Path), u.Path)
			require.Positive(t, at.Region.StartLine)
			require.NotEmpty(t, res.Fingerprints["primaryLocationLineHash"])
		}
	}
}

// Findings stand at the file of the CI job, else at the baseline file, else at README.md.
func TestSARIF_File(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file      string
		baselines []string
		want      string
	}{
		{"", nil, "README.md"},
		{"", []string{"/tmp/known.txt", "../known.txt", "./conf/known #1.txt"}, "conf/known%20%231.txt"},
		{".github/workflows/ci.yml", []string{"known.txt"}, ".github/workflows/ci.yml"},
	} {
		r := sampleReport()
		r.CI.File, r.Policy.Baselines = c.file, c.baselines
		for _, res := range sarifRunOf(r).Results {
			require.Equal(t, c.want, res.Locations[0].Physical.Artifact.URI)
		}
	}
}

// requireConsistent checks what no schema can: indexes match their rules, only kind fail
// has a level, the series ends in one slash.
func requireConsistent(t *testing.T, document []byte) {
	t.Helper()
	var log sarifLog
	require.NoError(t, json.Unmarshal(document, &log))
	for _, run := range log.Runs {
		seen := map[string]bool{}
		for _, rule := range run.Tool.Driver.Rules {
			require.False(t, seen[rule.ID], rule.ID)
			seen[rule.ID] = true
		}
		prints := map[string]bool{}
		for _, res := range run.Results {
			require.Equal(t, res.RuleID, run.Tool.Driver.Rules[res.RuleIndex].ID)
			require.Equal(t, "fail", res.Kind)
			require.False(t, prints[res.Fingerprints["mcpctlConform/v1"]], "two findings with one fingerprint: %s", res.RuleID)
			prints[res.Fingerprints["mcpctlConform/v1"]] = true
		}
		require.Regexp(t, `^mcpctl/conform/[^/]+/$`, run.AutomationDetails.ID)
	}
}
