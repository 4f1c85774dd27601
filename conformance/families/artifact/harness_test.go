package artifact

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// rig is the family with its logs captured.
type rig struct {
	validator *validator
	store     *store
	base      string

	mu   sync.Mutex
	logs bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	base := t.TempDir()
	return &rig{
		base:      base,
		store:     quickStore(base),
		validator: &validator{checklists: newChecklists(resources(""))},
	}
}

// quick is a folder that does not wait for the disk. That a write outlives a
// power cut no test here can see.
type quick struct{ folder }

func (quick) Sync(*os.File) error { return nil }

func openQuick(base string) (folder, error) {
	root, err := openFolder(base)
	return quick{root}, err
}

func quickStore(base string) *store {
	s := newStore(base)
	s.open = openQuick
	return s
}

func (r *rig) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.Write(p)
}

// call runs a tool as the server does and returns its result as JSON.
func (r *rig) call(t *testing.T, tool string, args map[string]any) (string, *family.Error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	handle := map[string]family.Tool{"validate_artifact": validateTool(r.validator), "store_artifact": storeTool(r.store)}[tool].Handle
	call := family.NewCall(tool, raw, slog.New(slog.NewJSONHandler(r, nil)))
	res, err := handle(t.Context(), call)
	fam := &family.Family{Classify: classify}
	failure := fam.Failure(err)
	call.Finish(t.Context(), failure)
	if failure != nil {
		return "", failure
	}
	out, err := family.Encode(res)
	require.NoError(t, err)
	return string(out), nil
}

func (r *rig) validate(t *testing.T, id, content string) (*validationResult, *family.Error) {
	t.Helper()
	out, failure := r.call(t, "validate_artifact", map[string]any{"artifact_content": content, "artifact_id": id, "task_id": "t-1"})
	if failure != nil {
		return nil, failure
	}
	var res validationResult
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	return &res, nil
}

func (r *rig) put(t *testing.T, content string) (*storeResult, *family.Error) {
	t.Helper()
	out, failure := r.call(t, "store_artifact", map[string]any{"artifact_content": content, "task_id": "t-1"})
	if failure != nil {
		return nil, failure
	}
	var res storeResult
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	return &res, nil
}

// records returns the log lines of one event.
func (r *rig) records(t testing.TB, event string) []map[string]any {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []map[string]any
	for l := range strings.Lines(r.logs.String()) {
		var rec map[string]any
		require.NoError(t, json.Unmarshal([]byte(l), &rec))
		if rec["msg"] == event {
			out = append(out, rec)
		}
	}
	return out
}

// prd is the PRD shipped as an example.
func prd(t testing.TB) string { return example(t, "prd-006.json") }

// example is the document of one of the shipped examples.
func example(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../../examples/artifacts/" + name)
	require.NoError(t, err)
	var args struct {
		Content string `json:"artifact_content"`
	}
	require.NoError(t, json.Unmarshal(data, &args))
	return args.Content
}

// doc writes a document with the given metadata lines.
func doc(lines ...string) string {
	return "# A document\n\n## Metadata\n\n" + strings.Join(lines, "\n") + "\n\n## Body\n\n" +
		strings.Repeat("Enough words to be a document. ", 6) + "\n"
}

// epic is a storable epic, with what is given in place of its defaults.
func epic(version, status, body string) string {
	return doc(`- **Epic ID:** EPIC-006`, `- **Title:** "MCP Server Integration"`, `- **Status:** "`+status+`"`,
		`- **Version:** `+version, `- **Parent Initiative:** INIT-001`) + body
}

// files serves checklists, with faults and a count of the opens.
type files struct {
	mu    sync.Mutex
	data  map[string]string
	err   error
	opens int
	gate  chan struct{} // when set, opens wait for it
}

func (f *files) Open(name string) (fs.File, error) {
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	if f.err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return mapFile(f.data, name)
}

func (f *files) set(name, data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data[name] = data
}

func (f *files) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opens
}

// criteria writes a PRD checklist of the given criteria.
func criteria(cs ...string) string {
	return `{"artifact_type":"prd","version":1,"criteria":[` + strings.Join(cs, ",") + `]}`
}

const (
	hasHeading = `{"id":"CQ-01","category":"content_quality","description":"has a heading","validation_type":"automated","check_type":"id_format","pattern":"(?m)^# "}`
	byAgent    = `{"id":"CQ-02","category":"content_quality","description":"readable at all","validation_type":"agent"}`
	byHand     = `{"id":"CQ-03","category":"content_quality","description":"business agrees","validation_type":"manual"}`
	unknown    = `{"id":"CQ-04","category":"content_quality","description":"check of the future","validation_type":"automated","check_type":"spelling"}`
)

// read reads a resource of artifacts as the server does.
func (r *rig) read(t *testing.T, uri string) (string, error) {
	t.Helper()
	return artifactResource(r.store, research{files: researchFiles()}).Read(t.Context(), uri)
}

// idsOf are the placeholder ids of a type in a text.
func idsOf(text, prefix string) []string {
	ids, _ := placeholders(text, prefix)
	return ids
}
