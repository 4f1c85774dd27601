package artifact

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// storeNeeds is what every scenario of store_artifact needs.
func storeNeeds() engine.Needs {
	return engine.Needs{Capability: "tools", Profile: profile.Artifact, Tools: []string{ToolStore}, SideEffects: conformance.SideEffectsAll}
}

func storeScenarios() []engine.Scenario {
	needs := storeNeeds()
	reading := needs
	reading.Capability = "resources"
	logs := needs
	logs.Process = true
	return []engine.Scenario{
		{ID: "S0-STORE-01", Needs: needs, Run: runStoreResult},
		{ID: "S0-STORE-05", Needs: needs, Run: runStoreMissing},
		{ID: "S0-STORE-06", Needs: needs, Run: runStoreVersions},
		{ID: "S0-STORE-11", Needs: needs, Run: runStoreTypes},
		{ID: "S0-STORE-12", Needs: reading, Run: runStoreRead},
		{ID: "S0-STORE-14", Needs: needs, Run: runStoreOver},
		{ID: "S0-STORE-15", Starts: 1, Needs: logs, Run: runStoreLog},
	}
}

// stored is the result of store_artifact.
type stored struct {
	Success bool   `json:"success"`
	ID      string `json:"artifact_id"`
	Path    string `json:"storage_path"`
	URI     string `json:"resource_uri"`
}

// store calls store_artifact.
func store(t *engine.Trial, s *wire.Session, content string) (stored, wire.Answer, error) {
	return called[stored](t, s, ToolStore, storeArguments(content))
}

// slash makes a path of the server's machine comparable.
func slash(p string) string { return strings.ReplaceAll(p, `\`, "/") }

func runStoreResult(t *engine.Trial) {
	s := t.Shared()
	id := unusedID(t, "EPIC")
	got, a, err := store(t, s, newDraft(id).text())
	if !t.Check("S0-STORE-01/fields", err == nil && got.Success && got.ID == id && got.Path != "" && got.URI != "",
		"the four fields", "%s", a.OrError(err)) {
		t.NoError(err)
		return
	}
	t.Check("S0-STORE-01/path", strings.HasSuffix(slash(got.Path), "/epic/"+id+"_v1.md"), "…/epic/"+id+"_v1.md", "%q", got.Path)
	uri := uriOf(id, 1)
	t.Check("S0-STORE-01/uri", got.URI == uri, uri, "%q", got.URI)
}

func runStoreMissing(t *engine.Trial) {
	s := t.Shared()
	id := unusedID(t, "PRD")
	for _, c := range []struct {
		check string
		strip func(*draft)
	}{
		{"S0-STORE-05/id", func(d *draft) { d.id = "" }},
		{"S0-STORE-05/status", func(d *draft) { d.status = "" }},
		{"S0-STORE-05/title", func(d *draft) { d.title = "" }},
	} {
		d := newDraft(id)
		c.strip(&d)
		refused(t, s, c.check, ToolStore, storeArguments(d.text()), wire.CodeInvalidParams, "Missing required metadata field")
	}
	if surroundings.Of(t).Artifacts == "" {
		t.Skip("S0-STORE-05/nothing", conformance.SkipControl, "needs a look at the server's artifacts folder")
		return
	}
	files, err := names(surroundings.Of(t).Artifacts)
	t.NoError(err)
	left := ""
	for _, f := range files {
		if name := path.Base(f); strings.Contains(name, id) || strings.HasPrefix(name, "_v") {
			left = f
		}
	}
	t.Check("S0-STORE-05/nothing", left == "", "no file", "%s", left)
}

func runStoreVersions(t *engine.Trial) {
	s := t.Shared()
	id := unusedID(t, "HLS")
	for _, each := range [][2]string{{"S0-STORE-06/default", ""}, {"S0-STORE-06/given", "3"}} {
		check, version := each[0], each[1]
		d := newDraft(id)
		d.version = version
		want := "_v" + version + ".md"
		if version == "" {
			want = "_v1.md"
		}
		t.Step(s)
		got, a, err := store(t, s, d.text())
		t.Check(check, err == nil && strings.HasSuffix(got.Path, want) && strings.HasSuffix(got.URI, want), id+want, "%s", a.OrError(err))
	}
}

func runStoreTypes(t *engine.Trial) {
	s := t.Shared()
	folder, uri := "", ""
	for _, kind := range StoredTypes {
		id := unusedID(t, kind.Prefix)
		t.Step(s)
		got, a, err := store(t, s, newDraft(id).text())
		if err != nil {
			folder = id + ": " + a.OrError(err)
			uri = folder
			break
		}
		if !strings.HasSuffix(slash(got.Path), "/"+kind.Folder+"/"+id+"_v1.md") {
			folder = got.Path
		}
		if got.URI != "mcp://resources/artifacts/"+kind.Plural+"/"+id+"_v1.md" {
			uri = got.URI
		}
	}
	t.Check("S0-STORE-11/folders", folder == "", "{BASE}/<type>/<ID>_v1.md", "%s", folder)
	t.Check("S0-STORE-11/uris", uri == "", "mcp://resources/artifacts/<types>/<ID>_v1.md", "%s", uri)
}

func runStoreRead(t *engine.Trial) {
	s := t.Shared()
	content := newDraft(unusedID(t, "SPEC")).text()
	got, a, err := store(t, s, content)
	if err != nil {
		t.Fail("S0-STORE-12", "a stored document", "%s", a.OrError(err))
		t.Stop(err)
	}
	t.Step(s)
	a, err = s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": got.URI})
	var result struct {
		Contents []struct{ URI, Text string } `json:"contents"`
	}
	ok := err == nil && a.Err == nil && json.Unmarshal(a.Result, &result) == nil &&
		len(result.Contents) == 1 && result.Contents[0].Text == content
	t.Check("S0-STORE-12", ok, "the content that was stored", "%s", a.OrError(err))
	t.NoError(err)
}

func runStoreOver(t *engine.Trial) {
	s := t.Shared()
	d := newDraft(unusedID(t, "US"))
	if _, a, err := store(t, s, d.text()); err != nil {
		t.Fail("S0-STORE-14/draft", "a stored draft", "%s", a.OrError(err))
		t.Stop(err)
	}
	d.status, d.body = "Approved", "The second text.\n"
	t.Step(s)
	_, a, err := store(t, s, d.text())
	t.Check("S0-STORE-14/draft", err == nil, "a result", "%s", a.OrError(err))
	t.NoError(err, "the second store")
	d.body = "The third text.\n"
	t.Step(s)
	a, err = t.Call(s, ToolStore, storeArguments(d.text()))
	data, _ := rawjson.Object(a.ErrorData())
	t.Check("S0-STORE-14/approved", a.HasCode(err, CodeServer) && rawjson.Text(data["reason"]) == "approved_immutable",
		`error -32000 with data.reason "approved_immutable"`, "%s", a.OrError(err))
	t.NoError(err)
}

func runStoreLog(t *engine.Trial) {
	s := t.Fresh()
	arguments := storeArguments(newDraft(unusedID(t, "TASK")).text())
	task := "log-store-" + TaskID
	arguments["task_id"] = task
	_, err := t.Call(s, ToolStore, arguments)
	t.NoError(err)
	line, found := logLine(t, s, ToolStore+"_invocation_completed", "task_id", task)
	missing := missingMembers(line, "artifact_id", "artifact_type", "version", "size_bytes", "resource_uri", "duration_ms")
	t.Check("S0-STORE-15/completed", found && missing == "", "the members of a completed line", "%s", lineFault(line, found, missing))
	line, found = logLine(t, s, ToolStore+"_invocation_started", "task_id", task)
	missing = missingMembers(line, "tool_name", "content_size")
	t.Check("S0-STORE-15/started", found && missing == "", "the members of a started line", "%s", lineFault(line, found, missing))
}
