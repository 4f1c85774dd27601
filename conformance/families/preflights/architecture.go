package preflights

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/repo"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Where the documents are, relative to docs.
const (
	adrFolder      = "adr"
	archiveFolder  = "archive/task"
	currentTask    = "CURRENT_TASK.md"
	projectionFile = "ARCHITECTURE_STATE.md"
)

// headBytes of an ADR hold the UID of the one before it.
const headBytes = 1024

// architecture is what the ADRs of a repository say. The zero value is that of
// a repository without any.
type architecture struct {
	files  map[adr.UID]string
	latest *adr.Record // nil when there is none
}

// readState reads the architecture of the repository at root.
func readState(root string) (*architecture, error) {
	docs, err := repo.Open(root)
	if err != nil {
		return nil, fileFailure(err)
	}
	defer func() { _ = docs.Close() }() // read only
	return loadArchitecture(docs)
}

// loadArchitecture reads the latest ADR and judges its snapshot by the ADR
// before it: a complete one has lost nothing.
func loadArchitecture(docs *repo.Docs) (*architecture, error) {
	names, err := docs.List(adrFolder)
	if err != nil {
		return nil, fileFailure(err)
	}
	a := &architecture{files: make(map[adr.UID]string, len(names))}
	var latest adr.UID
	for _, name := range names {
		if uid, ok := adr.FileUID(name); ok {
			a.files[uid] = name
			latest = max(latest, uid)
		}
	}
	if latest == "" {
		return a, nil
	}
	if a.latest, err = a.record(docs, latest); err != nil {
		return nil, err
	}
	if a.files[a.latest.Previous] == "" {
		return a, nil
	}
	before, err := a.record(docs, a.latest.Previous)
	if err != nil {
		return a, nil //nolint:nilerr // it is not the latest, and cannot judge it
	}
	if missing := a.latest.Snapshot.Missing(before.Snapshot); len(missing) > 0 {
		return nil, failure(codeValidation, "ADR snapshot validation failed", "Review previous ADR and retry", map[string]any{"missing_keys": missing})
	}
	return a, nil
}

func (a *architecture) record(docs *repo.Docs, uid adr.UID) (*adr.Record, error) {
	name := path.Join(adrFolder, a.files[uid])
	data, err := docs.Read(name)
	if err != nil {
		return nil, fileFailure(err)
	}
	rec, err := adr.Parse(string(data))
	if err == nil && rec.UID != uid {
		err = &adr.ParseError{Line: 1, Reason: "the UID is not that of the file's name"}
	}
	if err != nil {
		f := failure(codeParse, "An ADR is malformed", "Fix the file by hand, or restore it from version control",
			map[string]any{"file": path.Join(repo.Folder, name), "reason": err.Error()})
		return nil, f
	}
	return rec, nil
}

// base returns the snapshot a new ADR starts from: that of the latest one, and
// what other ends of the history say. After a merge of two branches there are
// several ADRs that nothing follows; without them the decisions of a branch
// would be lost in silence.
func (a *architecture) base(docs *repo.Docs) (adr.Snapshot, error) {
	if a.latest == nil {
		return adr.Snapshot{}, nil
	}
	followed := map[adr.UID]bool{a.latest.UID: true, a.latest.Previous: true}
	for _, name := range a.files {
		head, err := docs.Head(path.Join(adrFolder, name), headBytes)
		if err != nil {
			return nil, fileFailure(err)
		}
		followed[adr.PreviousOf(string(head))] = true
	}
	base := a.latest.Snapshot
	for uid := range a.files {
		if followed[uid] {
			continue
		}
		rec, err := a.record(docs, uid)
		if err != nil {
			return nil, err
		}
		base = base.Merge(rec.Snapshot)
	}
	return base, nil
}

// categoryWords are how people call the categories of an architecture.
var categoryWords = map[string][]string{
	"Frontend":       {"frontend", "front end", "ui", "user interface", "styling", "routing"},
	"Backend":        {"backend", "back end", "api", "server"},
	"Database":       {"database", "db", "schema", "orm"},
	"Authentication": {"authentication", "auth", "login", "sign-in"},
	"Infra":          {"infra", "infrastructure", "hosting", "ci", "observability", "monitoring"},
	"Messaging":      {"messaging", "message broker", "queue"},
	"Storage":        {"storage", "object store"},
	"Search":         {"search engine"},
	"Payments":       {"payment provider"},
	"Security":       {"encryption"},
	"Structure":      {"monolith", "microservices"},
}

// texts returns the values of the architecture by category and field.
func (a *architecture) texts() map[string]map[string]string {
	if a.latest == nil {
		return nil
	}
	return a.latest.Snapshot.Texts()
}

// words returns, for each category that has been decided on, the words that
// speak of it: its names and what was chosen.
func (a *architecture) words() map[string][]string {
	if a.latest == nil {
		return nil
	}
	known := make(map[string][]string)
	for category, fields := range a.latest.Snapshot {
		known[category] = append(known[category], categoryWords[category]...)
		for _, v := range fields {
			if len(v.Text) >= 3 && len(v.Text) <= 40 && !strings.EqualFold(v.Text, "none") {
				known[category] = append(known[category], v.Text)
			}
		}
	}
	return known
}

// architectureResult is the answer of read_architecture.
type architectureResult struct {
	Status       string           `json:"status"`
	Architecture architectureView `json:"architecture"`
	SourceFile   string           `json:"source_file"`
}

type architectureView struct {
	UID        *adr.UID                     `json:"uid"`
	Categories map[string]map[string]string `json:"categories"`
}

func (s *service) readTool() family.Tool {
	return family.Tool{
		Name:  "read_architecture",
		Title: "Read architecture",
		Description: "Read what has been decided about the architecture of a repository: the values by category and field, and the UID of the " +
			"latest decision record. It comes from the records in docs/adr and changes nothing.",
		InputSchema: readSchema,
		ReadOnly:    true,
		Handle: func(ctx context.Context, call *family.Call) (any, error) {
			out, err := s.read(ctx, call)
			if err != nil {
				return answered(call, err)
			}
			return out, nil
		},
	}
}

// read computes the answer from the ADRs, so it is right whatever happened to
// the projection it names as its source (C-39).
func (s *service) read(ctx context.Context, call *family.Call) (*architectureResult, error) {
	args, err := family.ParseArgs(call.Arguments, "repo_path")
	if err != nil {
		return nil, err
	}
	path, err := optionalString(args, "repo_path")
	if err != nil {
		return nil, err
	}
	call.Started(ctx)
	root, err := s.place.root(path)
	if err != nil {
		return nil, err
	}
	state, err := readState(root)
	if err != nil {
		return nil, err
	}
	out := &architectureResult{
		Status: "success", SourceFile: repo.Folder + "/" + projectionFile,
		Architecture: architectureView{Categories: map[string]map[string]string{}},
	}
	if state.latest != nil {
		out.Architecture = architectureView{UID: &state.latest.UID, Categories: state.latest.Snapshot.Texts()}
	}
	call.Completed(slog.Int("categories", len(out.Architecture.Categories)))
	return out, nil
}

// absent reports whether err says that a file is not there.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
