package suitetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// fakeError is a refusal of a tool.
type fakeError struct {
	code    int64
	message string
	data    map[string]any
}

func (e *fakeError) Error() string { return e.message }

var (
	fakeID      = regexp.MustCompile(`^([A-Z]+)-\d{3,}$`)
	fakeHeading = regexp.MustCompile(`(?m)^## (.+)$`)
	fakeBracket = regexp.MustCompile(`\[[A-Z][a-z][^\]]*\][^(]`)
	fakeField   = regexp.MustCompile(`(?m)^- \*\*(Story ID|Title|Status|Version|Parent PRD):\*\* "?([^"\n]*)"?$`)
)

// kindOf returns the folder and plural of an id's type.
func kindOf(id string) (folder, plural string, err error) {
	m := fakeID.FindStringSubmatch(id)
	if m == nil {
		return "", "", &fakeError{code: wire.CodeInvalidParams, message: "Invalid params: bad id", data: map[string]any{"reason": "id"}}
	}
	var prefixes []string
	for _, k := range artifact.StoredTypes {
		if k.Prefix == m[1] {
			return k.Folder, k.Plural, nil
		}
		prefixes = append(prefixes, k.Prefix)
	}
	return "", "", &fakeError{code: wire.CodeInvalidParams, message: "Invalid params: Unknown artifact ID prefix: " + m[1] + ". Valid prefixes: " + strings.Join(prefixes, ", ")}
}

func (f *fake) validateTool(arguments map[string]any) (map[string]any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, _ := arguments["artifact_content"].(string)
	id, _ := arguments["artifact_id"].(string)
	f.warnTraversal(artifact.ToolValidate, arguments)
	folder, _, err := kindOf(id)
	if err != nil {
		return nil, err
	}
	checklist := folder + "_validation_v1"
	log := func() map[string]any {
		return map[string]any{"task_id": arguments["task_id"], "artifact_id": id, "checklist_id": checklist}
	}
	f.logLine(artifact.ToolValidate+"_invocation_started", artifact.ToolValidate, log())
	criteria, err := f.criteria(checklist, folder)
	if err != nil {
		return nil, err
	}
	payload := judgeArtifact(content, criteria)
	if f.verdict != nil {
		f.verdict(arguments, payload)
	}
	line := log()
	line["automated_pass_rate"], line["passed"] = payload["automated_pass_rate"], payload["passed"]
	line["agent_review_count"], line["duration_ms"], line["success"] = payload["agent_review_required"], 1, true
	if f.files == "log-content" {
		line["content"] = content
	}
	f.logLine(artifact.ToolValidate+"_invocation_completed", artifact.ToolValidate, line)
	return payload, nil
}

// criteria reads a checklist: the suite's own from its folder, else one that
// is built in.
func (f *fake) criteria(checklist, artifactType string) ([]artifact.Criterion, error) {
	data, cached := f.cache[checklist]
	if !cached || f.files == "no-cache" {
		var err error
		if data, err = f.readChecklist(checklist, artifactType); err != nil {
			return nil, err
		}
	}
	if f.files == "cache-failures" {
		f.cache[checklist] = data
	}
	var list struct {
		Type     string               `json:"artifact_type"`
		Criteria []artifact.Criterion `json:"criteria"`
	}
	if err := json.Unmarshal(data, &list); err != nil || list.Type != artifactType {
		switch {
		case f.files == "broken-is-fine":
			return nil, nil
		case f.files == "wrong-is-fine" && strings.HasPrefix(checklist, "task"):
			return nil, nil
		}
		return nil, &fakeError{code: wire.CodeInternal, message: "Internal error: the checklist is no checklist"}
	}
	f.cache[checklist] = data
	return list.Criteria, nil
}

func (f *fake) readChecklist(checklist, artifactType string) ([]byte, error) {
	if f.checklists == "" {
		return builtIn(artifactType), nil
	}
	path := filepath.Join(f.checklists, checklist+".json")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.files == "missing-is-internal" {
			return nil, &fakeError{code: wire.CodeInternal, message: "Internal error: no file"}
		}
		return nil, &fakeError{code: artifact.CodeNotFound, message: "Resource not found: Checklist not found: " + checklist}
	case err == nil && info.Mode().Perm()&0o400 == 0 && f.files != "no-permissions":
		// The superuser may read it; this server plays an ordinary user.
		return nil, &fakeError{code: artifact.CodeServer, message: "Permission denied: checklist"}
	}
	return os.ReadFile(path)
}

// builtIn is a checklist of 24 automated and 2 agent criteria for PRDs, of one
// for the rest.
func builtIn(artifactType string) []byte {
	criteria := []artifact.Criterion{artifact.SectionCriterion("CQ-01", "Metadata")}
	if artifactType == "prd" {
		criteria[0].RequiredSections = []string{"Metadata", artifact.PRDSection}
		criteria = append(criteria, artifact.Criterion{ID: "CQ-02", Category: "content_quality", ValidationType: "automated", CheckType: "no_placeholders"})
		for i := range 22 {
			criteria = append(criteria, artifact.SectionCriterion(fmt.Sprintf("UT-%02d", i+1), "Metadata"))
		}
		for i := range 2 {
			criteria = append(criteria, artifact.Criterion{ID: fmt.Sprintf("OQ-%02d", i+1), Category: "open_questions_markers", ValidationType: "agent"})
		}
	}
	return rawjson.Encode(map[string]any{"artifact_type": artifactType, "version": 1, "criteria": criteria})
}

func judgeArtifact(content string, criteria []artifact.Criterion) map[string]any {
	var sections []string
	for _, m := range fakeHeading.FindAllStringSubmatch(content, -1) {
		sections = append(sections, m[1])
	}
	passed, automated, agents := 0, 0, 0
	var results []any
	for _, c := range criteria {
		r := map[string]any{"id": c.ID, "category": c.Category, "description": c.Description, "validation_type": c.ValidationType, "details": "", "passed": nil}
		switch c.ValidationType {
		case "agent":
			agents++
			r["requires_agent_review"] = true
		case "automated":
			automated++
			ok, details := judgeCriterion(content, sections, c)
			r["passed"], r["details"] = ok, details
			if ok {
				passed++
			}
		}
		results = append(results, r)
	}
	return map[string]any{
		"passed": passed == automated, "automated_pass_rate": fmt.Sprintf("%d/%d", passed, automated),
		"agent_review_required": agents, "results": results,
	}
}

func judgeCriterion(content string, sections []string, c artifact.Criterion) (bool, string) {
	switch c.CheckType {
	case "template_sections":
		for _, s := range c.RequiredSections {
			if !slices.Contains(sections, s) {
				return false, "Missing sections: " + s
			}
		}
		return true, "Found"
	case "no_placeholders":
		if found := fakeBracket.FindString(content); found != "" {
			return false, "Found 1 placeholder: " + strings.TrimSpace(found)
		}
		return true, "No placeholders found"
	}
	return false, "Unknown check type: " + c.CheckType
}

// document is what the fake reads from an artifact.
type document struct {
	id, title, status, version string
	parent                     any
}

func (f *fake) readDocument(content string) (document, error) {
	d := document{version: "1"}
	values := map[string]string{}
	for _, m := range fakeField.FindAllStringSubmatch(content, -1) {
		values[m[1]] = m[2]
	}
	d.id, d.title, d.status = values["Story ID"], values["Title"], values["Status"]
	d.version = cmp.Or(values["Version"], d.version)
	if p := values["Parent PRD"]; p != "" {
		d.parent = p
	}
	for name, value := range map[string]*string{"artifact_id": &d.id, "status": &d.status, "title": &d.title} {
		if *value == "" {
			if f.files == "accept-no-"+name {
				*value = map[string]string{"artifact_id": "PRD-777", "status": "Draft", "title": "Title"}[name]
				continue
			}
			return d, &fakeError{code: wire.CodeInvalidParams, message: "Invalid params: Missing required metadata field: " + name}
		}
	}
	return d, nil
}

func (f *fake) storeTool(arguments map[string]any) (map[string]any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, _ := arguments["artifact_content"].(string)
	f.logLine(artifact.ToolStore+"_invocation_started", artifact.ToolStore, map[string]any{"task_id": arguments["task_id"], "content_size": len(content)})
	if f.files == "write-first" {
		_ = os.WriteFile(filepath.Join(f.base, "_v1.md"), []byte(content), 0o600)
	}
	d, err := f.readDocument(content)
	if err != nil {
		return nil, err
	}
	if f.files == "accept-traversal" {
		d.id = strings.NewReplacer(".", "", "/", "", `\`, "", "%2e", "", "x", "", "tmp", "").Replace(d.id)
	}
	if f.files == "write-outside" && strings.Contains(d.id, "/") {
		_ = os.WriteFile(filepath.Join(filepath.Dir(f.base), "outside"), []byte(content), 0o600)
	}
	folder, plural, err := kindOf(d.id)
	if err != nil {
		return nil, err
	}
	if f.files == "odd-type" && folder == "task" {
		folder, plural = "todo", "todos"
	}
	name := d.id + "_v" + d.version
	path := filepath.Join(f.base, folder, name+".md")
	uri := "mcp://resources/artifacts/" + plural + "/" + name + ".md"
	if err := f.put(path, name, d, content); err != nil {
		return nil, err
	}
	payload := map[string]any{"success": true, "artifact_id": d.id, "storage_path": path, "resource_uri": uri}
	if f.stored != nil {
		f.stored(arguments, payload)
	}
	f.logLine(artifact.ToolStore+"_invocation_completed", artifact.ToolStore, map[string]any{
		"task_id": arguments["task_id"], "artifact_id": d.id, "artifact_type": folder, "version": d.version,
		"size_bytes": len(content), "resource_uri": uri, "duration_ms": 1, "success": true,
	})
	return payload, nil
}

// put writes a document and its metadata.
func (f *fake) put(path, name string, d document, content string) error {
	metaPath := filepath.Join(filepath.Dir(path), name+"_metadata.json")
	if old, err := os.ReadFile(metaPath); err == nil {
		var before struct{ Status string }
		_ = json.Unmarshal(old, &before)
		if before.Status == "Approved" && f.files != "approved-is-nothing" {
			return &fakeError{code: artifact.CodeServer, message: "State conflict", data: map[string]any{"reason": "approved_immutable"}}
		}
		if f.files == "never-again" {
			return &fakeError{code: artifact.CodeServer, message: "exists"}
		}
	}
	if info, err := os.Stat(f.base); err == nil && info.Mode().Perm()&0o200 == 0 && f.files != "no-permissions" {
		return &fakeError{code: artifact.CodeServer, message: "Permission denied: artifacts"}
	}
	if f.files != "no-mkdir" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	meta := f.metadata(path, d, content)
	if err := f.place(path, f.written(path, content)); err != nil {
		return err
	}
	if f.files == "first-metadata" {
		if _, err := os.Stat(metaPath); err == nil {
			return nil
		}
	}
	return f.place(metaPath, rawjson.Encode(meta))
}

func (f *fake) metadata(path string, d document, content string) map[string]any {
	meta := map[string]any{
		"artifact_id": d.id, "artifact_type": filepath.Base(filepath.Dir(path)), "version": json.RawMessage(d.version), "status": d.status,
		"parent_id": d.parent, "title": d.title, "file_path": path, "size_bytes": len(content),
	}
	switch f.files {
	case "extra-key":
		meta["author"] = "x"
	case "odd-status":
		meta["status"] = "odd"
	case "count-characters":
		meta["size_bytes"] = utf8.RuneCountInString(content)
	case "no-parent":
		if d.parent == nil {
			meta["parent_id"] = ""
		}
	}
	return meta
}

// written is what ends up in the file.
func (f *fake) written(path, content string) []byte {
	switch f.files {
	case "line-end":
		return []byte(content + "\n")
	case "append":
		old, _ := os.ReadFile(path)
		return append(old, content...)
	}
	return []byte(content)
}

// place puts a file in its place, atomically.
func (f *fake) place(path string, data []byte) error {
	if f.files == "not-atomic" {
		if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o600)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return &fakeError{code: wire.CodeInternal, message: "Internal error: write"}
	}
	if err := os.Rename(tmp, path); err != nil {
		if f.files != "leave-tmp" {
			_ = os.Remove(tmp)
		}
		if f.files == "ignore-errors" {
			return nil
		}
		return &fakeError{code: wire.CodeInternal, message: "Internal error: rename"}
	}
	return nil
}

func (c *fakeConn) readResource(m fakeMessage) reply {
	uri, _ := m.params["uri"].(string)
	for _, k := range artifact.StoredTypes {
		if rest, ok := strings.CutPrefix(uri, "mcp://resources/artifacts/"+k.Plural+"/"); ok {
			data, err := os.ReadFile(filepath.Join(c.base, k.Folder, filepath.Base(rest)))
			if err == nil {
				return success(m.id, reply{"contents": []any{reply{"uri": uri, "mimeType": "text/markdown", "text": string(data)}}})
			}
		}
	}
	return failure(m.id, artifact.CodeNotFound, "Resource not found: "+uri, nil)
}
