package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// storeFileScenarios look at what store_artifact leaves on disk.
func storeFileScenarios() []engine.Scenario {
	needs := storeNeeds()
	needs.Fixture = surroundings.Artifacts
	started := needs
	started.Process = true
	return []engine.Scenario{
		{ID: "S0-STORE-02", Needs: needs, Run: runFileContent},
		{ID: "S0-STORE-03", Needs: needs, Run: runFileMetadata},
		{ID: "S0-STORE-04", Needs: needs, Run: runFileFolder},
		{ID: "S0-STORE-08", Needs: needs, Run: runFileBlocked},
		{ID: "S0-STORE-09", Needs: needs, Run: runFileReaders},
		{ID: "S0-STORE-10", Needs: started, Run: runFileReadOnly},
		{ID: "S0-STORE-13", Needs: needs, Run: runFileTraversal},
		{ID: "S0-STORE-16", Needs: needs, Run: runFileParallel},
	}
}

// artifact returns the path of a stored file, of its metadata with meta.
func artifact(t *engine.Trial, folder, id string, meta bool) string {
	name := id + "_v1.md"
	if meta {
		name = id + "_v1_metadata.json"
	}
	return filepath.Join(surroundings.Of(t).Artifacts, folder, name)
}

// storeOr stores a document. If that fails, so do the checks, and the scenario ends.
func storeOr(t *engine.Trial, s *wire.Session, content string, checks ...string) {
	_, a, err := store(t, s, content)
	if err == nil {
		return
	}
	for _, c := range checks {
		t.Fail(c, "a stored document", "%s", a.OrError(err))
	}
	t.Stop(err)
}

func runFileContent(t *engine.Trial) {
	s := t.Shared()
	d := newDraft(unusedID(t, "EPIC"))
	d.body = "Line ends of two kinds\r\n, a tab\t, and no line end at the end"
	storeOr(t, s, d.text(), "S0-STORE-02")
	got, err := os.ReadFile(artifact(t, "epic", d.id, false))
	switch {
	case err != nil:
		t.Fail("S0-STORE-02", "the file", "%v", errors.Unwrap(err))
	default:
		t.Check("S0-STORE-02", string(got) == d.text(), "the input", "%d bytes, other than the %d given", len(got), len(d.text()))
	}
}

func runFileMetadata(t *engine.Trial) {
	s := t.Shared()
	d := newDraft(unusedID(t, "EPIC"))
	all := []string{"S0-STORE-03/keys", "S0-STORE-03/values", "S0-STORE-03/size"}
	storeOr(t, s, d.text(), all...)
	meta, err := readMetadata(artifact(t, "epic", d.id, true))
	if err != nil {
		for _, c := range all {
			t.Fail(c, "the metadata file", "%v", err)
		}
		return
	}
	want := []string{"artifact_id", "artifact_type", "file_path", "parent_id", "size_bytes", "status", "title", "version"}
	t.Check("S0-STORE-03/keys", slices.Equal(rawjson.SortedKeys(meta), want), strings.Join(want, ", "), "%s", strings.Join(rawjson.SortedKeys(meta), ", "))
	ok := rawjson.Text(meta["artifact_id"]) == d.id && rawjson.Text(meta["artifact_type"]) == "epic" && string(meta["version"]) == "1" &&
		rawjson.Text(meta["status"]) == d.status && rawjson.Text(meta["parent_id"]) == d.parent && rawjson.Text(meta["title"]) == d.title &&
		strings.HasSuffix(slash(rawjson.Text(meta["file_path"])), "epic/"+d.id+"_v1.md")
	t.Check("S0-STORE-03/values", ok, "those of the document", "%s", rawjson.Encode(meta))
	t.Check("S0-STORE-03/size", string(meta["size_bytes"]) == fmt.Sprint(len(d.text())), fmt.Sprint(len(d.text())), "%s", rawjson.OrAbsent(meta["size_bytes"]))

	t.Step(s)
	orphan := newDraft(unusedID(t, "EPIC"))
	orphan.parent = ""
	storeOr(t, s, orphan.text(), "S0-STORE-07")
	meta, err = readMetadata(artifact(t, "epic", orphan.id, true))
	t.Check("S0-STORE-07", err == nil && string(meta["parent_id"]) == "null", "parent_id null", "%v %s", err, rawjson.OrAbsent(meta["parent_id"]))
}

func readMetadata(path string) (map[string]json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Unwrap(err) // without the path, which differs from run to run
	}
	members, ok := rawjson.Object(data)
	if !ok {
		return nil, errors.New("the metadata are no JSON object")
	}
	return members, nil
}

func runFileFolder(t *engine.Trial) {
	s := t.Shared()
	folder := filepath.Join(surroundings.Of(t).Artifacts, "spike")
	if surroundings.Of(t).Own {
		t.NoError(engine.SuiteError(os.RemoveAll(folder)))
	} else if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Skip("S0-STORE-04", conformance.SkipControl, "the folder exists, and the suite removes only folders that it made")
		return
	}
	d := newDraft(unusedID(t, "SPIKE"))
	storeOr(t, s, d.text(), "S0-STORE-04")
	_, err := os.Stat(artifact(t, "spike", d.id, false))
	t.Check("S0-STORE-04", err == nil, "the folder and the file", "no file")
}

// runFileBlocked puts a folder where the file belongs: the rename at the end
// of an atomic write cannot work.
func runFileBlocked(t *engine.Trial) {
	s := t.Shared()
	id := unusedID(t, "ADR")
	path := artifact(t, "adr", id, false)
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil { //nolint:gosec // the server may be another user
		t.NoError(engine.SuiteError(err))
		return
	}
	a, err := t.Call(s, ToolStore, storeArguments(newDraft(id).text()))
	result, _ := rawjson.Object(a.Result)
	t.Check("S0-STORE-08/error", err == nil && (a.Err != nil || string(result["isError"]) == "true"), "an error", "%s", a.OrError(err))
	files, lookErr := names(surroundings.Of(t).Artifacts)
	if lookErr != nil {
		t.NoError(lookErr)
		return
	}
	left := slices.IndexFunc(files, func(f string) bool {
		// In a hidden folder a server may keep what is no part of a document,
		// such as its locks.
		hidden := strings.HasPrefix(f, ".") && strings.Contains(f, "/")
		return strings.Contains(f, id) && !strings.Contains(f, "in the way") && !hidden
	})
	if left >= 0 {
		t.Fail("S0-STORE-08/clean", "no file of the document", "%s", files[left])
	} else {
		t.Pass("S0-STORE-08/clean")
	}
	if removeErr := os.RemoveAll(path); removeErr != nil {
		t.NoError(engine.SuiteError(removeErr))
		return
	}
	t.NoError(err)
}

// BusyReader is how many times as many it writes on a machine so busy that the
// reader hardly comes to look.
const BusyReader = 10

func runFileReaders(t *engine.Trial) {
	s := t.Shared()
	texts, id := [2]string{}, unusedID(t, "US")
	for i := range texts {
		d := newDraft(id)
		d.body = strings.Repeat(string(rune('a'+i)), 32_000*(i+1)) + "\nend of document\n"
		texts[i] = d.text()
	}
	storeOr(t, s, texts[0], "S0-STORE-09")
	path := artifact(t, "backlog_story", id, false)
	stop := make(chan struct{})
	found := make(chan string, 1)
	var writing atomic.Int64 // the number of the write under way
	var looked atomic.Int64  // writes during which the file was read
	go func() {
		last := int64(0)
		for {
			during := writing.Load()
			data, err := surroundings.Of(t).ReadStored(path)
			if err != nil || string(data) != texts[0] && string(data) != texts[1] {
				found <- fmt.Sprintf("%d bytes, %v", len(data), errors.Unwrap(err))
				return
			}
			if during = max(during, writing.Load()); during > last {
				looked.Add(1)
				last = during
			}
			select {
			case <-stop:
				found <- ""
				return
			default:
			}
		}
	}()
	enough, writes := surroundings.Of(t).ConcurrentWrites, 0
	var err error
	seldom := func() bool { return looked.Load() < int64(enough)/10 }
	for writes < enough || seldom() && writes < BusyReader*enough {
		if len(found) > 0 {
			break // the reader has seen a part
		}
		writes++
		writing.Store(int64(writes))
		_, a, storeErr := store(t, s, texts[writes%2])
		writing.Store(0)
		if storeErr != nil {
			err = fmt.Errorf("store %d: %s", writes, a.OrError(storeErr))
			break
		}
	}
	close(stop)
	partial := <-found
	t.NoError(err)
	if partial == "" && seldom() {
		t.Inconclusive("S0-STORE-09", fmt.Sprintf("the file was read during %d of %d writes: the machine is too busy to tell what readers see", looked.Load(), writes))
		return
	}
	t.Check("S0-STORE-09", partial == "", "one of the two texts", "%s", partial)
}

func runFileReadOnly(t *engine.Trial) {
	if !*surroundings.Of(t).PermissionsEnforced {
		t.Skip("S0-STORE-10", conformance.SkipControl, "file permissions do not bind this user")
		return
	}
	dir, err := os.MkdirTemp(filepath.Dir(surroundings.Of(t).Artifacts), "read-only-")
	t.NoError(engine.SuiteError(err))
	t.NoError(engine.SuiteError(os.Chmod(dir, 0o500))) //nolint:gosec // a folder needs x to be entered
	s := t.Open(surroundings.EnvArtifacts + "=" + dir)
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	refused(t, s, "S0-STORE-10", ToolStore, storeArguments(newDraft(unusedID(t, "EPIC")).text()), CodeServer, "^Permission denied:")
}

func runFileTraversal(t *engine.Trial) {
	s := t.Shared()
	around := filepath.Dir(surroundings.Of(t).Artifacts)
	before, err := names(around)
	t.NoError(err)
	accepted := ""
	for _, id := range []string{"../../EPIC-913", "EPIC-913/../../../x", "/tmp/EPIC-913", `..\EPIC-913`, "EPIC-913%2e%2e"} {
		t.Step(s)
		a, err := t.Call(s, ToolStore, storeArguments(newDraft(id).text()))
		t.NoError(err)
		if !a.HasCode(nil, wire.CodeInvalidParams) {
			accepted = id + ": " + a.Describe()
		}
	}
	t.Check("S0-STORE-13/refused", accepted == "", "error -32602", "%s", accepted)
	after, err := names(around)
	t.NoError(err)
	left := ""
	for _, f := range after {
		if !slices.Contains(before, f) {
			left = f
		}
	}
	t.Check("S0-STORE-13/outside", left == "", "no new file", "%s", left)
}

func runFileParallel(t *engine.Trial) {
	s := t.Shared()
	const stores = 24
	texts := make([]string, stores)
	titles := make([]string, stores)
	ids := make([]string, stores)
	id := unusedID(t, "PRD")
	for i := range texts {
		d := newDraft(id)
		d.title = fmt.Sprintf("Writer number %02d", i)
		d.body = strings.Repeat(fmt.Sprintf("text of writer %d\n", i), 100*(i+1))
		texts[i], titles[i] = d.text(), d.title
		var err error
		ids[i], err = s.Post(t.Ctx, mcp.MethodToolsCall, engine.CallParams(ToolStore, storeArguments(texts[i])))
		t.NoError(err)
	}
	for _, id := range ids {
		if a, err := s.Await(t.Ctx, id); err != nil || a.Err != nil {
			t.Stop(fmt.Errorf("a store: %s", a.OrError(err)))
		}
	}
	data, err := os.ReadFile(artifact(t, "prd", id, false))
	if err != nil {
		t.Fail("S0-STORE-16/whole", "the file", "%v", errors.Unwrap(err))
		return
	}
	winner := slices.IndexFunc(texts, func(text string) bool { return bytes.Equal(data, []byte(text)) })
	if !t.Check("S0-STORE-16/whole", winner >= 0, "one of the inputs", "%d bytes that are none of them", len(data)) {
		t.Skip("S0-STORE-16/match", conformance.SkipPrerequisite, "the file is none of the inputs")
		return
	}
	meta, err := readMetadata(artifact(t, "prd", id, true))
	t.Check("S0-STORE-16/match", err == nil && rawjson.Text(meta["title"]) == titles[winner] && string(meta["size_bytes"]) == fmt.Sprint(len(data)),
		titles[winner], "%v %s", err, rawjson.Encode(meta))
}
