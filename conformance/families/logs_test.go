package families

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lines returns the log of the server, each line as a JSON object.
func (w *wire) lines() []map[string]any {
	w.t.Helper()
	var out []map[string]any
	for l := range strings.Lines(w.logs.String()) {
		var rec map[string]any
		require.NoError(w.t, json.Unmarshal([]byte(l), &rec), l)
		out = append(out, rec)
	}
	return out
}

func TestX_LOG_01_TwoLinesACall(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	require.Nil(t, w.call("validate_artifact", example(t, "prd-006-validate.json")).Error)
	require.NotNil(t, w.call("store_artifact", map[string]any{"task_id": "abc-123"}).Error)
	require.NotNil(t, w.call("panic", map[string]any{"task_id": "gen-001"}).Error)
	var events []string
	for _, rec := range w.lines() {
		if !strings.Contains(rec["event"].(string), "_invocation_") {
			continue
		}
		events = append(events, rec["event"].(string))
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, rec["timestamp"])
		require.Contains(t, rec, "tool_name")
		require.NotEmpty(t, rec["task_id"])
		if !strings.HasSuffix(rec["event"].(string), "_started") {
			require.Equal(t, strings.HasSuffix(rec["event"].(string), "_completed"), rec["success"])
			require.Contains(t, rec, "duration_ms")
		}
	}
	require.Equal(t, []string{
		"validate_artifact_invocation_started", "validate_artifact_invocation_completed",
		"store_artifact_invocation_started", "store_artifact_invocation_failed",
		"panic_invocation_started", "panic_invocation_failed",
	}, events)
}

func TestX_LOG_02_NoContentInLogs(t *testing.T) {
	t.Parallel()
	const marker = "PLANTED-7F3A"
	w := dial(t)
	w.handshake("2025-11-25")
	good := strings.Replace(example(t, "prd-006.json")["artifact_content"].(string), "Executive Summary", "Executive Summary\n\n"+marker, 1)
	for _, content := range []string{
		good, good + "\n[" + marker + "]\n",
		strings.Replace(good, `"Draft"`, marker, 1), strings.Replace(good, "EPIC-006", marker, 1), marker,
	} {
		w.call("validate_artifact", map[string]any{"artifact_content": content, "artifact_id": "PRD-006", "task_id": "t"})
		w.call("store_artifact", map[string]any{"artifact_content": content, "task_id": "t"})
		w.call("store_artifact", map[string]any{"artifact_content": map[string]any{"x": content}, "task_id": "t"})
	}
	require.NotEmpty(t, w.lines())
	require.NotContains(t, w.logs.String(), marker)
}

// X-LOG-03 is dial itself: recv refuses a line that is no response, while the
// log is at debug level. Here the output is read to its end.
func TestX_LOG_03_StdoutHasOnlyMessages(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	w.call("validate_artifact", example(t, "prd-006-validate.json"))
	w.call("panic", map[string]any{})
	w.ask(`{oops`)
	require.NoError(t, w.in.Close())
	for w.out.Scan() {
		t.Errorf("unasked line: %s", w.out.Text())
	}
	require.NoError(t, <-w.ended)
}

func TestX_SEC_01_TraversalTouchesNothing(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	base := filepath.Join(outer, "in", "base")
	require.NoError(t, os.WriteFile(filepath.Join(outer, "secret.md"), []byte("top secret"), 0o600))
	w := dial(t, func(o *Options) { o.ArtifactsDir = base })
	w.handshake("2025-11-25")
	long := strings.Repeat("words ", 30)
	for _, evil := range []string{"../../secret", "/etc/passwd", "%2e%2e%2f%2e%2e%2fsecret", "PRD-001\x00", `..\..\secret`} {
		a := w.call("validate_artifact", map[string]any{"artifact_content": "x", "artifact_id": evil, "task_id": "t"})
		require.Equal(t, int64(-32602), a.Error.Code, evil)
		require.Equal(t, "path_traversal_check", a.Error.Data["validation_failed"])
		a = w.call("store_artifact", map[string]any{"artifact_content": "## Metadata\n**PRD ID:** " + evil + "\n**Title:** A title\n**Status:** Draft\n## B\n" + long, "task_id": "t"})
		require.Equal(t, int64(-32602), a.Error.Code, evil)
		uri, err := json.Marshal("mcp://resources/artifacts/prds/" + evil + ".md")
		require.NoError(t, err)
		a = w.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":` + string(uri) + `}}`)
		require.NotNil(t, a.Error, evil)
		require.Contains(t, []int64{-32602, -32001}, a.Error.Code, "%s", evil)
	}
	var found []string
	require.NoError(t, filepath.WalkDir(outer, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, filepath.Base(path))
		}
		return err
	}))
	require.Equal(t, []string{"secret.md"}, found)
	require.Equal(t, 10, strings.Count(w.logs.String(), "Path traversal attempt detected"), "one for each id refused")
}

func TestS0_STORE_12_ReadOverTheWire(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	args := example(t, "prd-006.json")
	var stored struct {
		StructuredContent struct {
			ResourceURI string `json:"resource_uri"`
			StoragePath string `json:"storage_path"`
		}
	}
	require.NoError(t, json.Unmarshal(w.call("store_artifact", args).Result, &stored))
	uri := stored.StructuredContent.ResourceURI
	require.Equal(t, "mcp://resources/artifacts/prds/PRD-006_v1.md", uri)
	disk, err := os.ReadFile(stored.StructuredContent.StoragePath)
	require.NoError(t, err)
	require.Equal(t, args["artifact_content"], string(disk))
	var read struct {
		Contents []struct{ URI, MIMEType, Text string }
	}
	require.NoError(t, json.Unmarshal(w.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`"}}`).Result, &read))
	require.Len(t, read.Contents, 1)
	require.Equal(t, string(disk), read.Contents[0].Text)
	require.Equal(t, uri, read.Contents[0].URI)
	for missing, code := range map[string]int64{
		"mcp://resources/artifacts/prds/PRD-999_v1.md": -32001,
		"mcp://resources/elsewhere":                    -32001,
		"file:///etc/passwd":                           -32002,
	} {
		a := w.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + missing + `"}}`)
		require.Equal(t, code, a.Error.Code)
		require.Equal(t, "Resource not found: "+missing, a.Error.Message)
		require.Equal(t, missing, a.Error.Data["uri"])
	}
	require.Contains(t, string(w.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`).Result), "mcp://resources/artifacts/{+path}")
}
