package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// faulty is a folder in which one operation on one file goes wrong.
type faulty struct {
	folder
	op   string // mkdir, open, write, sync, rename, remove
	name string // base name of the file it concerns
	err  error
}

func (f *faulty) hits(op, name string) bool {
	return f.op == op && (f.name == "" || filepath.Base(name) == f.name)
}

func (f *faulty) MkdirAll(name string, perm fs.FileMode) error {
	if f.hits("mkdir", name) {
		return &fs.PathError{Op: "mkdir", Path: name, Err: f.err}
	}
	return f.folder.MkdirAll(name, perm)
}

func (f *faulty) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if f.hits("open", name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	file, err := f.folder.OpenFile(name, flag, perm)
	if err == nil && f.hits("write", name) {
		// The temp file is there, and every write to it fails.
		_ = file.Close()
		return f.folder.OpenFile(name, os.O_RDONLY, 0)
	}
	return file, err
}

func (f *faulty) Sync(file *os.File) error {
	if f.hits("sync", file.Name()) {
		return &fs.PathError{Op: "sync", Path: file.Name(), Err: f.err}
	}
	return f.folder.Sync(file)
}

func (f *faulty) Rename(from, to string) error {
	if f.hits("rename", to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: f.err}
	}
	return f.folder.Rename(from, to)
}

func (f *faulty) Remove(name string) error {
	if f.hits("remove", name) {
		return &fs.PathError{Op: "remove", Path: name, Err: f.err}
	}
	return f.folder.Remove(name)
}

// fault makes one operation of the rig's store fail.
func (r *rig) fault(op, name string, err error) {
	r.store.open = func(base string) (folder, error) {
		root, oerr := openQuick(base)
		return &faulty{folder: root, op: op, name: name, err: err}, oerr
	}
}

// tree lists the files below the base.
func (r *rig) tree(t testing.TB) []string {
	t.Helper()
	out := []string{}
	require.NoError(t, filepath.WalkDir(r.base, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == stateDir {
			return fs.SkipDir // locks and intents, which no reader of artifacts sees
		}
		if err == nil && !d.IsDir() {
			rel, rerr := filepath.Rel(r.base, path)
			out = append(out, filepath.ToSlash(rel))
			return rerr
		}
		return err
	}))
	return out
}

func (r *rig) file(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.base, name))
	require.NoError(t, err)
	return string(data)
}

func TestS0_STORE_01_ResultFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, failure := r.call(t, "store_artifact", map[string]any{"artifact_content": epic("1", "Draft", ""), "task_id": "t"})
	require.Nil(t, failure)
	require.JSONEq(t, fmt.Sprintf(`{"success":true,"artifact_id":"EPIC-006","storage_path":%q,
		"resource_uri":"mcp://resources/artifacts/epics/EPIC-006_v1.md"}`, r.base+"/epic/EPIC-006_v1.md"), out)
}

func TestS0_STORE_02_ContentByteForByte(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := epic("1", "Draft", "\r\nGrüße 🙂 <&>\u2028\t \n\n\n")
	_, failure := r.put(t, content)
	require.Nil(t, failure)
	require.Equal(t, content, r.file(t, "epic/EPIC-006_v1.md"))
}

func TestS0_STORE_03_MetadataFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := epic("2", "In Review", "äöü 🙂")
	_, failure := r.put(t, content)
	require.Nil(t, failure)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.file(t, "epic/EPIC-006_v2_metadata.json")), &got))
	require.Equal(t, map[string]any{
		"artifact_id": "EPIC-006", "artifact_type": "epic", "version": 2.0, "status": "In Review",
		"parent_id": "INIT-001", "title": "MCP Server Integration",
		"file_path": r.base + "/epic/EPIC-006_v2.md", "size_bytes": float64(len(content)),
	}, got)
}

func TestS0_STORE_04_MissingFolderIsMade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.base = filepath.Join(r.base, "not", "yet")
	r.store = quickStore(r.base)
	_, failure := r.put(t, epic("1", "Draft", ""))
	require.Nil(t, failure)
	require.ElementsMatch(t, []string{"epic/EPIC-006_v1.md", "epic/EPIC-006_v1_metadata.json"}, r.tree(t))
}

func TestS0_STORE_05_MissingMetadata(t *testing.T) {
	t.Parallel()
	id, title, status := "**Epic ID:** EPIC-006", `**Title:** "A fine title"`, `**Status:** "Draft"`
	for field, content := range map[string]string{
		"artifact_id": doc(title, status), "title": doc(id, status), "status": doc(id, title),
	} {
		r := newRig(t)
		_, failure := r.put(t, content)
		require.NotNil(t, failure)
		require.Equal(t, int64(-32602), failure.Code)
		require.Contains(t, failure.Message, "Invalid params: Missing required metadata field: "+field+". Write a line such as ")
		require.Equal(t, field, failure.Data["field"])
		require.Empty(t, r.tree(t))
	}
}

func TestS0_STORE_06_Version(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, failure := r.put(t, doc("**Epic ID:** EPIC-007", "**Title:** Some title", "**Status:** Draft"))
	require.Nil(t, failure)
	_, failure = r.put(t, epic("3", "Draft", ""))
	require.Nil(t, failure)
	require.Subset(t, r.tree(t), []string{"epic/EPIC-007_v1.md", "epic/EPIC-006_v3.md"})
	for _, v := range []string{"0", "1000", "-1", "1.5", "one"} {
		_, failure = r.put(t, epic(v, "Draft", ""))
		require.NotNil(t, failure, v)
		require.Equal(t, "Invalid params: Invalid metadata field: version must be a whole number from 1 to 999 (line 8)", failure.Message)
		require.Equal(t, v, failure.Data["value"])
	}
	_, failure = r.put(t, epic("999", "Draft", ""))
	require.Nil(t, failure)
}

func TestS0_STORE_07_NoParent(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{"", "**Parent PRD:** None", "**Parent Epic:** N/A (top level)"} {
		r := newRig(t)
		_, failure := r.put(t, doc("**PRD ID:** PRD-006", "**Title:** Some title", "**Status:** Draft", parent))
		require.Nil(t, failure)
		require.Contains(t, r.file(t, "prd/PRD-006_v1_metadata.json"), `"parent_id": null`)
	}
}

func TestS0_STORE_08_FaultLeavesOldOrNothing(t *testing.T) {
	t.Parallel()
	document, meta := "EPIC-006_v1.md", "EPIC-006_v1_metadata.json"
	for _, tc := range []struct{ name, op, file string }{
		{"open temp", "open", "." + document + ".tmp"},
		{"write", "write", "." + document + ".tmp"},
		{"sync", "sync", "." + document + ".tmp"},
		{"rename", "rename", document},
		{"open metadata temp", "open", "." + meta + ".tmp"},
		{"write metadata", "write", "." + meta + ".tmp"},
		{"sync metadata", "sync", "." + meta + ".tmp"},
		{"rename metadata", "rename", meta},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.fault(tc.op, tc.file, syscall.EIO)
			_, failure := r.put(t, epic("1", "Draft", "new"))
			require.NotNil(t, failure)
			require.Equal(t, int64(-32603), failure.Code)
			require.Equal(t, "Internal error: the artifact could not be stored", failure.Message)
			require.Empty(t, r.tree(t), "target absent, no temp file")

			r.store.open = openQuick
			_, failure = r.put(t, epic("1", "Draft", "old"))
			require.Nil(t, failure)
			before := r.file(t, "epic/"+meta)
			r.fault(tc.op, tc.file, syscall.EIO)
			_, failure = r.put(t, epic("1", "In Review", "newer and longer"))
			require.NotNil(t, failure)
			require.Equal(t, epic("1", "Draft", "old"), r.file(t, "epic/"+document))
			require.Equal(t, before, r.file(t, "epic/"+meta))
			require.Len(t, r.tree(t), 2)
		})
	}
}

func TestS0_STORE_09_ReaderNeverSeesAPart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inputs := map[string]bool{}
	texts := make([]string, 2)
	for i := range texts {
		texts[i] = epic("1", "Draft", strings.Repeat(fmt.Sprint(i), 12_000+i*18_000))
		inputs[texts[i]] = true
	}
	_, failure := r.put(t, texts[0])
	require.Nil(t, failure)
	m, err := readSection(texts[0]) // once: the writes are what is tested
	require.NoError(t, err)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for i := range 200 {
			if _, _, err := r.store.put(t.Context(), texts[i%2], m); err != nil {
				t.Errorf("put: %v", err)
				return
			}
		}
	})
	reads := 0
	for done := false; !done; reads++ {
		select {
		case <-stop:
			done = true
		default:
		}
		data, err := os.ReadFile(filepath.Join(r.base, "epic/EPIC-006_v1.md"))
		require.NoError(t, err)
		require.True(t, inputs[string(data)], "a part of %d bytes", len(data))
	}
	wg.Wait()
	require.Greater(t, reads, 1)
}

func TestS0_STORE_10_PermissionDenied(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op  string
		err error
	}{{"mkdir", fs.ErrPermission}, {"open", syscall.EACCES}, {"open", syscall.EROFS}, {"rename", syscall.EPERM}} {
		r := newRig(t)
		r.fault(tc.op, "", tc.err)
		_, failure := r.put(t, epic("1", "Draft", ""))
		require.NotNil(t, failure)
		require.Equal(t, int64(-32000), failure.Code)
		require.Equal(t, "Permission denied: the artifacts folder cannot be written", failure.Message)
		require.Equal(t, "permission", failure.Data["reason"])
		require.Empty(t, r.tree(t))
	}
}

func TestS0_STORE_11_FoldersAndURIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for prefix, where := range map[string][2]string{
		"VIS": {"product_vision", "product_visions"}, "INIT": {"initiative", "initiatives"}, "EPIC": {"epic", "epics"},
		"PRD": {"prd", "prds"}, "HLS": {"hls", "hls"}, "US": {"backlog_story", "backlog_stories"},
		"SPEC": {"tech_spec", "tech_specs"}, "ADR": {"adr", "adrs"}, "SPIKE": {"spike", "spikes"}, "TASK": {"task", "tasks"},
	} {
		res, failure := r.put(t, doc("**Artifact ID:** "+prefix+"-021", "**Title:** Some title", "**Status:** Draft"))
		require.Nil(t, failure)
		require.Equal(t, fmt.Sprintf("%s/%s/%s-021_v1.md", r.base, where[0], prefix), res.StoragePath)
		require.Equal(t, fmt.Sprintf("mcp://resources/artifacts/%s/%s-021_v1.md", where[1], prefix), res.ResourceURI)
		text, err := r.read(t, res.ResourceURI)
		require.NoError(t, err)
		require.NotEmpty(t, text)
	}
	require.Len(t, r.tree(t), 20)
}

func TestS0_STORE_12_ResourceOfTheReturnedURI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := epic("1", "Draft", "Grüße")
	res, failure := r.put(t, content)
	require.Nil(t, failure)
	text, err := r.read(t, res.ResourceURI)
	require.NoError(t, err)
	require.Equal(t, content, text)
	require.NoError(t, os.WriteFile(filepath.Join(r.base, "secret.md"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(r.base, "epic", "EPIC-666_v1.md")))
	require.NoError(t, os.Symlink("EPIC-006_v1.md", filepath.Join(r.base, "epic", "EPIC-667_v1.md")))
	require.NoError(t, os.Mkdir(filepath.Join(r.base, "epic", "EPIC-668_v1.md"), 0o755))
	for uri, code := range map[string]int64{
		"mcp://resources/artifacts/epics/EPIC-999_v1.md":          -32001,
		"mcp://resources/artifacts/prds/EPIC-006_v1.md":           -32001,
		"mcp://resources/artifacts/epics/EPIC-006_v1":             -32001,
		"mcp://resources/artifacts/epics/EPIC-666_v1.md":          -32001, // a link is no artifact, as for an approval
		"mcp://resources/artifacts/epics/EPIC-667_v1.md":          -32001,
		"mcp://resources/artifacts/epics/EPIC-668_v1.md":          -32001,
		"mcp://resources/artifacts/epics/../secret.md":            -32602,
		"mcp://resources/artifacts/../secret.md":                  -32602,
		"mcp://resources/artifacts/epics/%2e%2e%2fsecret.md":      -32602,
		"mcp://resources/artifacts/epics/EPIC-006_v1.md/../../x":  -32602,
		"mcp://resources/artifacts/epics/EPIC-006_v1.md%00":       -32602,
		"mcp://resources/artifacts//etc/passwd":                   -32602,
		"mcp://resources/artifacts/epics/EPIC-006_v1_metadata.js": -32001,
	} {
		_, err := r.read(t, uri)
		require.Error(t, err, uri)
		failure := (&family.Family{Classify: classify}).Failure(err)
		require.Equal(t, code, failure.Code, "%s: %v", uri, err)
		if code == -32001 {
			require.Equal(t, "Resource not found: "+uri, failure.Message)
		}
	}
}

func TestS0_STORE_13_TraversalInMetadata(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../etc/EPIC-006", "/EPIC-006", `EPIC-006\..`, "EPIC-%2e%2e%2f006", "EPIC-006\x00"} {
		outer := t.TempDir()
		r := newRig(t)
		r.base = filepath.Join(outer, "base")
		r.store = quickStore(r.base)
		_, failure := r.put(t, doc("**Epic ID:** "+id, "**Title:** Some title", "**Status:** Draft"))
		require.NotNil(t, failure, id)
		require.Equal(t, int64(-32602), failure.Code)
		require.Equal(t, "path_traversal_check", failure.Data["validation_failed"])
		require.Len(t, r.records(t, "Path traversal attempt detected"), 1)
		left, err := os.ReadDir(outer)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestS0_STORE_13_LinkOutOfTheBase(t *testing.T) {
	t.Parallel()
	r, outside := newRig(t), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(r.base, "epic")))
	_, failure := r.put(t, epic("1", "Draft", ""))
	require.NotNil(t, failure)
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestS0_STORE_14_ApprovedIsImmutable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, failure := r.put(t, epic("1", "Draft", "first"))
	require.Nil(t, failure)
	_, failure = r.put(t, epic("1", "Approved", "second"))
	require.Nil(t, failure, "a draft is replaced")
	approved := r.file(t, "epic/EPIC-006_v1.md")
	for range 2 { // with its metadata, and after they are lost
		_, failure = r.put(t, epic("1", "Draft", "third"))
		require.NotNil(t, failure)
		require.Equal(t, int64(-32000), failure.Code)
		require.Equal(t, "Artifact EPIC-006 v1 is approved and cannot be replaced", failure.Message)
		require.Equal(t, "approved_immutable", failure.Data["reason"])
		require.Equal(t, approved, r.file(t, "epic/EPIC-006_v1.md"))
		require.NoError(t, os.RemoveAll(filepath.Join(r.base, "epic/EPIC-006_v1_metadata.json")))
	}
	_, failure = r.put(t, epic("2", "Draft", "next"))
	require.Nil(t, failure, "another version is another file")
}

func TestS0_STORE_15_LogFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := epic("1", "Draft", "SECRET-MARKER é")
	_, failure := r.put(t, content)
	require.Nil(t, failure)
	started := r.records(t, "store_artifact_invocation_started")
	require.Len(t, started, 1)
	require.Subset(t, started[0], map[string]any{"tool_name": "store_artifact", "task_id": "t-1", "content_size": float64(len(content))})
	done := r.records(t, "store_artifact_invocation_completed")
	require.Len(t, done, 1)
	require.Subset(t, done[0], map[string]any{
		"artifact_id": "EPIC-006", "artifact_type": "epic", "version": 1.0, "size_bytes": float64(len(content)),
		"resource_uri": "mcp://resources/artifacts/epics/EPIC-006_v1.md", "success": true,
	})
	require.Contains(t, done[0], "duration_ms")
	_, failure = r.put(t, doc("**Epic ID:** EPIC-006", "**Title:** SECRET-MARKER", "**Status:** SECRET-MARKER"))
	require.NotNil(t, failure)
	require.Len(t, r.records(t, "store_artifact_invocation_failed"), 1)
	require.NotContains(t, r.logs.String(), "SECRET-MARKER")
}

func TestS0_STORE_16_ParallelStores(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inputs := map[string]bool{}
	var wg sync.WaitGroup
	for i := range 20 {
		content := epic("1", "Draft", strings.Repeat("x", 100*i))
		inputs[content] = true
		wg.Go(func() {
			if _, failure := r.put(t, content); failure != nil {
				t.Errorf("put: %v", failure)
			}
		})
	}
	wg.Wait()
	got := r.file(t, "epic/EPIC-006_v1.md")
	require.True(t, inputs[got])
	require.Contains(t, r.file(t, "epic/EPIC-006_v1_metadata.json"), fmt.Sprintf(`"size_bytes": %d`, len(got)))
	require.Len(t, r.tree(t), 2)
	free, err := r.store.locks.Lock(t.Context(), "EPIC-006")
	require.NoError(t, err, "the lock was given back")
	free()
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int64
		text string
	}{
		{fs.ErrNotExist, -32001, "Resource not found: "},
		{fs.ErrPermission, -32000, "Permission denied: "},
		{os.ErrDeadlineExceeded, -32000, "Request timeout: "},
		{syscall.ETIMEDOUT, -32000, "Request timeout: "},
		{errors.New("/srv/secret: boom"), -32603, "Internal error: "},
	} {
		got := classify(tc.err)
		require.Equal(t, tc.code, got.Code)
		require.True(t, strings.HasPrefix(got.Message, tc.text), got.Message)
		require.NotContains(t, got.Message, "/srv")
	}
}
