package artifact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// work takes the tasks of a project as a worker does, one after another, and
// returns the artifacts in the order they came.
func (f *flow) work(t testing.TB) (artifacts []string) {
	t.Helper()
	for {
		var next struct {
			Task *struct {
				ID       string `json:"task_id"`
				Artifact string `json:"artifact_id"`
			} `json:"task"`
		}
		f.ask(t, http.MethodGet, "/tasks/next?project="+url.QueryEscape(f.opts.ProjectID), "", &next)
		if next.Task == nil {
			return artifacts
		}
		artifacts = append(artifacts, next.Task.Artifact)
		for _, status := range []string{"in_progress", "completed"} {
			f.ask(t, http.MethodPut, "/tasks/"+next.Task.ID+"/status", `{"status":"`+status+`"}`, nil)
		}
	}
}

// The workflow of S0 §2.11: what a client does, and what it finds at the end.
func TestS0_E2E_01_ThePRD(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, strings.Replace(example(t, "epic-006.json"), `"Draft"`, `"Approved"`, 1))
	f.research(t)
	content := example(t, "prd-006-answered.json")
	res, failure := f.call(t, "validate_artifact", map[string]any{"artifact_content": example(t, "epic-006.json"), "artifact_id": "EPIC-006"})
	require.Nil(t, failure)
	require.Equal(t, true, res["passed"], "%v", res["results"])
	names := idsOf(content, "HLS")
	require.GreaterOrEqual(t, len(names), 3)

	res, failure = f.call(t, "validate_artifact", map[string]any{"artifact_content": content, "artifact_id": "PRD-006"})
	require.Nil(t, failure)
	require.Equal(t, true, res["passed"])
	require.Equal(t, "24/24", res["automated_pass_rate"])
	f.put(t, prd(t))
	_, failure = f.approve(t, "PRD-006")
	require.Equal(t, "Artifact has 1 open question requiring resolution", failure.Message, "the spike comes first")
	f.put(t, content)

	t.Run("S0-E2E-02 declined", func(t *testing.T) {
		f.untouched(t, "prd/PRD-006_v1", content)
		require.Empty(t, f.queued(t))
	})
	res, failure = f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Len(t, res["sub_artifacts_detected"], len(names))
	require.Equal(t, res["sub_artifacts_detected"], anys(f.work(t)...))
	for _, task := range f.queued(t) {
		require.Equal(t, "completed", task.Status)
	}

	// Approved, it validates still: no placeholder is left.
	res, failure = f.call(t, "validate_artifact", map[string]any{"artifact_content": f.file(t, "prd/PRD-006_v1.md"), "artifact_id": "PRD-006"})
	require.Nil(t, failure)
	require.Equal(t, true, res["passed"], "%v", res["results"])

	for l := range strings.Lines(f.logs.String()) {
		var rec map[string]any
		require.NoError(t, json.Unmarshal([]byte(l), &rec))
		require.Equal(t, "wf-1", rec["task_id"], l)
	}
	for _, sent := range f.wire.sent {
		require.Equal(t, "wf-1", sent.Header.Get("X-Task-Id"))
	}
}

func TestS0_E2E_03_ValidationFails(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	res, failure := f.call(t, "validate_artifact", map[string]any{
		"artifact_content": strings.Replace(prd(t), "## Goals", "## Aims", 1), "artifact_id": "PRD-006",
	})
	require.Nil(t, failure)
	require.Equal(t, false, res["passed"])
	// The client stops here (S0); nothing happens on its own.
	require.Empty(t, f.tree(t))
	require.Empty(t, f.wire.sent)
}

func TestS0_E2E_04_Chain(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.research(t)
	f.put(t, strings.Replace(epic("1", "Draft", ""), "- **Parent Initiative:** INIT-001", "", 1))
	f.put(t, prdDraft("PRD-006", "- **Parent Epic:** EPIC-006", "HLS-AAA HLS-BBB"))
	_, failure := f.approve(t, "PRD-006")
	require.Equal(t, "Parent EPIC-006 must be approved first", failure.Message)

	_, failure = f.approve(t, "EPIC-006")
	require.Nil(t, failure)
	_, failure = f.approve(t, "PRD-006")
	require.Nil(t, failure)
	f.put(t, doc("**HLS ID:** HLS-001", "**Title:** A story", "**Parent PRD:** PRD-006", "**Status:** Draft")+"US-AAA")
	res, failure := f.approve(t, "HLS-001")
	require.Nil(t, failure)
	require.Equal(t, anys("US-001"), res["sub_artifacts_detected"])
	require.Equal(t, []string{"PRD-006", "HLS-001", "HLS-002", "US-001"}, f.work(t))
}

// S0-ERR-01: each row of S0's table, through a tool. S0-ERR-02: no answer shows
// what HTTP or the system said.
func TestS0_ERR_01_02_EachRow(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	secret := "SECRET-" + "BODY"
	for _, tc := range []struct {
		name   string
		fault  func()
		args   map[string]any
		code   int64
		prefix string
	}{
		{"file missing", func() {}, map[string]any{"artifact_id": "PRD-999"}, -32001, "Resource not found: "},
		{"bad value", func() {}, map[string]any{"artifact_id": "PRD"}, -32602, "Invalid params: "},
		{"bad type", func() {}, map[string]any{"artifact_id": 1}, -32602, "Invalid params: "},
		{"permission", func() { f.fault("mkdir", "", syscall.EACCES) }, nil, -32000, "Permission denied: "},
		{"timeout", func() { f.fault("mkdir", "", syscall.ETIMEDOUT) }, nil, -32000, "Request timeout: "},
		{"other", func() { f.fault("mkdir", "", syscall.EIO) }, nil, -32603, "Internal error: "},
		{"service 400", func() { f.wire.on("/ids/reserve", status(400, "a sentence")) }, nil, -32602, "Invalid params: a sentence"},
		{"service 401", func() { f.wire.on("/ids/reserve", status(401, secret)) }, nil, -32000, "Permission denied: "},
		{"service 500", func() { f.wire.on("/ids/reserve", status(500, secret)) }, nil, -32603, "Internal error: "},
		{"service 418", func() { f.wire.on("/ids/reserve", status(418, secret)) }, nil, -32603, "Internal error: "},
	} {
		f.workflow.store.open = openQuick
		f.wire.heal()
		tc.fault()
		args := tc.args
		if args == nil {
			args = map[string]any{"artifact_id": "PRD-006"}
		}
		_, failure := f.call(t, "approve_artifact", args)
		require.NotNil(t, failure, tc.name)
		require.Equal(t, tc.code, failure.Code, tc.name)
		require.True(t, strings.HasPrefix(failure.Message, tc.prefix), "%s: %s", tc.name, failure.Message)
		wire, err := json.Marshal(failure.Wire(Name))
		require.NoError(t, err)
		for _, leak := range []string{"status_code", `"detail"`, "127.0.0.1", f.base, secret} {
			require.NotContains(t, string(wire), leak, tc.name)
		}
	}
	f.workflow.store.open = openQuick
	f.untouched(t, "prd/PRD-006_v1", text)
	require.NotContains(t, f.logs.String(), secret)
}

func TestResources(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.family006(t)
	read := func(uri string) (string, *family.Error) {
		i := 0
		if strings.HasPrefix(uri, checklistRoot) {
			i = 1
		}
		text, err := f.family.Resources[i].Read(t.Context(), uri)
		return text, f.family.Failure(err)
	}
	text, failure := read("mcp://resources/validation/prd_validation_v1")
	require.Nil(t, failure)
	_, err := parseChecklist([]byte(text), "prd")
	require.NoError(t, err)
	text, failure = read("mcp://resources/artifacts/research/" + researchFiles()["business_research"])
	require.Nil(t, failure)
	require.Contains(t, text, "Finalized")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(f.base, researchDir, "link.md")))
	for uri, code := range map[string]int64{
		"mcp://resources/validation/nope_validation_v1":          -32001,
		"mcp://resources/validation/prd_validation_v1.json":      -32001,
		"mcp://resources/validation/":                            -32001,
		"mcp://resources/validation/../prd_validation_v1":        -32602,
		"mcp://resources/validation/%2e%2e%2fprd":                -32602,
		"mcp://resources/validation/prd_validation_v1\x00":       -32602,
		"mcp://resources/artifacts/research/none.md":             -32001,
		"mcp://resources/artifacts/research/link.md":             -32001,
		"mcp://resources/artifacts/research/../prd/x.md":         -32602,
		"mcp://resources/artifacts/prd/PRD-006_v1.md":            -32001, // a URI has the plural
		"mcp://resources/artifacts/.state/PRD-006.lock":          -32001,
		"mcp://resources/artifacts/prds/PRD-006_v1.md/more":      -32602,
		"mcp://resources/artifacts/prds/PRD-006_v0.md":           -32001,
		"mcp://resources/artifacts/prds/PRD-006_v1000.md":        -32001,
		"mcp://resources/artifacts/" + strings.Repeat("x", 9000): -32001,
	} {
		_, failure := read(uri)
		require.NotNil(t, failure, uri)
		require.Equal(t, code, failure.Code, uri)
		require.LessOrEqual(t, len(failure.Message), 400)
	}
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "market.md"), []byte("# Market"), 0o600))
	f = newFlow(t, func(o *Options) {
		o.ResearchDir, o.Research = other, map[string]string{"business_research": "market.md"}
	})
	text, failure = read("mcp://resources/artifacts/research/market.md")
	require.Nil(t, failure)
	require.Equal(t, "# Market", text)
	f.put(t, prdDraft("PRD-006", "", "HLS-AAA"))
	_, failure = f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Equal(t, "artifacts/research/market.md", f.queued(t)[0].Inputs[1].ResourcePath)
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"ftp://x", "localhost:8080", "http://", "http://%zz", "::"} {
		_, err := New(Options{BaseDir: t.TempDir(), TasksURL: url})
		require.Error(t, err, url)
		require.Contains(t, err.Error(), "URL of the Task Tracking service")
		_, err = New(Options{BaseDir: t.TempDir(), IDsURL: url})
		require.Error(t, err, url)
	}
	f, err := New(Options{BaseDir: filepath.Join(t.TempDir(), "none")})
	require.NoError(t, err, "everything but the base has a default")
	require.NoError(t, f.Close(t.Context()))
}

// Whatever the text, nothing but whole placeholders changes, and a second pass
// finds none.
func FuzzPlaceholders(f *testing.F) {
	f.Add("HLS-AAA and HLS-BBB, XHLS-AAA")
	f.Add("US-AAAUS-AAA\xff US-AAA")
	f.Fuzz(func(t *testing.T, text string) {
		mapping := map[string]string{}
		for i, p := range idsOf(text, "HLS") {
			mapping[p] = fmt.Sprintf("HLS-%03d", i+1)
		}
		got := replacePlaceholders(text, mapping)
		require.Empty(t, idsOf(got, "HLS"))
		require.Len(t, got, len(text))
		require.Equal(t, idsOf(text, "US"), idsOf(got, "US"))
	})
}

// The status is one word in one place.
func FuzzStatus(f *testing.F) {
	f.Add("## Metadata\n- **Status:** \"Draft (v3)\"\n")
	f.Add("## Metadata\n**Status**: draft\r\n## Other\n**Status:** Draft")
	f.Add("## Metadata\n```\n**Status:** Draft\n```")
	f.Fuzz(func(t *testing.T, text string) {
		got := withStatus(text, statusDraft, statusApproved)
		before, after := metadataFields(text), metadataFields(got)
		if strings.EqualFold(before["status"], statusDraft) {
			require.Equal(t, statusApproved, after["status"])
		}
		delete(before, "status")
		delete(after, "status")
		require.Equal(t, before, after)
	})
}
