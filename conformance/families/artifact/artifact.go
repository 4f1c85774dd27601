// Package artifact is the S0 family: the workflow that validates generated
// documents against checklists, stores them, approves them and queues the
// tasks that follow (tools.md part 2).
package artifact

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Name is the family's name, and that of its error profile.
const Name = "artifact"

//go:embed checklists/*.json
var shipped embed.FS

// The services' own defaults (tools.md §2.1).
const (
	defaultTasksURL = "http://localhost:8080"
	defaultIDsURL   = "http://localhost:8081"
	defaultProject  = "ai-agent-mcp-server"
)

// Options configures the family. All but BaseDir may be left out.
type Options struct {
	// BaseDir is ARTIFACTS_BASE_DIR, made when the first artifact is stored.
	BaseDir string
	// ChecklistDir is VALIDATION_RESOURCES_DIR; empty is the checklists built in.
	ChecklistDir string
	// PluralDirs stores in prds and not in prd. Artifacts are found in either.
	PluralDirs bool
	// TasksURL is TASK_TRACKING_API_URL, by default http://localhost:8080.
	TasksURL string
	// IDsURL is ID_MANAGEMENT_API_URL, by default http://localhost:8081.
	IDsURL string
	// APIKey is API_KEY, sent to both services as a bearer token.
	APIKey string
	// ProjectID is PROJECT_ID, the project approvals reserve ids and add tasks
	// for; by default ai-agent-mcp-server.
	ProjectID string
	// ResearchDir holds the research documents; empty is BaseDir/research.
	ResearchDir string
	// Research are the file names of the research documents by the input they
	// are; nil is business_research and implementation_research of S0.
	Research map[string]string
	// Deprecated lists resolve_artifact_path, which only says what replaced it.
	Deprecated bool
	// Undo lists undo_approval, which takes an approval back.
	Undo bool
	// Logger gets the lines of what is no call: recovery at the start, and the
	// tasks an approval adds. Nil drops them.
	Logger *slog.Logger
	// HTTPClient reaches the services; nil is one of the family's own.
	HTTPClient *http.Client
}

// New returns the family. It first ends what approvals of an earlier process
// left open, for 15 seconds at most. A URL or a base that cannot be used is an
// error.
func New(opts Options) (*family.Family, error) {
	w, err := newWorkflow(opts)
	if err != nil {
		return nil, err
	}
	//nolint:forbidigo // a start has no caller whose context could be taken; recover bounds it
	if err := w.approver.recover(context.Background()); err != nil {
		return nil, fmt.Errorf("open approvals: %w", err)
	}
	return w.family(opts), nil
}

// workflow is the parts the tools share.
type workflow struct {
	store    *store
	ids      *rest.IDs
	queue    *queue
	approver *approver
}

func (w *workflow) family(opts Options) *family.Family {
	files := resources(opts.ChecklistDir)
	tools := []family.Tool{
		validateTool(&validator{checklists: newChecklists(files)}), storeTool(w.store), approveTool(w.approver),
		addTaskTool(w.queue), nextIDTool(w.ids), reserveTool(w.ids),
	}
	if opts.Undo {
		tools = append(tools, undoTool(w.approver))
	}
	if opts.Deprecated {
		tools = append(tools, deprecatedTool())
	}
	return &family.Family{
		Name:      Name,
		Profile:   Name,
		Classify:  classify,
		Tools:     tools,
		Resources: []family.Resource{artifactResource(w.store, w.queue.research), checklistResource(files)},
		Close: func(context.Context) error {
			w.ids.Close()
			w.queue.service.Close()
			return nil
		},
	}
}

func newWorkflow(opts Options) (*workflow, error) {
	tasks, err := rest.NewTasks(rest.Options{
		BaseURL: cmp.Or(opts.TasksURL, defaultTasksURL), APIKey: opts.APIKey, HTTPClient: opts.HTTPClient,
	})
	if err != nil {
		return nil, err
	}
	ids, err := rest.NewIDs(rest.Options{
		BaseURL: cmp.Or(opts.IDsURL, defaultIDsURL), APIKey: opts.APIKey, HTTPClient: opts.HTTPClient,
	})
	if err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := research{dir: opts.ResearchDir, files: opts.Research}
	if r.files == nil {
		r.files = researchFiles()
	}
	st := newStore(opts.BaseDir)
	st.plural = opts.PluralDirs
	q := &queue{service: tasks, store: st, research: r, project: cmp.Or(opts.ProjectID, defaultProject)}
	a := &approver{store: st, queue: q, ids: ids, log: log, linger: defaultLinger}
	st.settle = a.settle
	return &workflow{store: st, ids: ids, queue: q, approver: a}, nil
}

func resources(dir string) fs.FS {
	if dir != "" {
		return os.DirFS(dir)
	}
	sub, err := fs.Sub(shipped, "checklists")
	if err != nil { // only an invalid constant path can do that
		panic(err)
	}
	return sub
}

// classify is S0's table from exceptions to codes for what no tool has
// classified itself. The text never shows a path or the system's words.
func classify(err error) *family.Error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return permission(err, "the server may not access its files")
	case errors.Is(err, fs.ErrNotExist):
		return notFound("a file of the server is missing")
	case errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return &family.Error{Code: family.CodeServer, Message: "Request timeout: the call took too long", Data: map[string]any{"reason": "timeout"}, Err: err}
	}
	return family.Internal(err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func permission(err error, text string) *family.Error {
	return &family.Error{Code: family.CodeServer, Message: "Permission denied: " + text, Data: map[string]any{"reason": "permission"}, Err: err}
}

func notFound(text string) *family.Error {
	return &family.Error{Code: family.CodeNotFound, Message: "Resource not found: " + text}
}
