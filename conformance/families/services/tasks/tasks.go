// Package tasks is the Task Tracking service of S0: the queue of generator
// tasks with their resolved inputs (tools.md §2.9).
package tasks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// Name is the service in the log.
const Name = "task_tracking"

// The page of GET /tasks.
const maxLimit = 1000

const (
	maxNotes  = 10_000
	maxWorker = 128
)

// Options configure the service.
type Options struct {
	api.Options
	Store store.TaskStore
	// Now is the clock rows are stamped by. Nil is [time.Now].
	Now func() time.Time
}

// Handler returns the service.
func Handler(o Options) http.Handler {
	o.Name = Name
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &service{o}
	return api.Handler(o.Options,
		api.Route{Method: http.MethodGet, Path: "/tasks/next", Handle: s.next},
		api.Route{Method: http.MethodPut, Path: "/tasks/{id}/status", Handle: s.setStatus},
		api.Route{Method: http.MethodGet, Path: "/tasks", Handle: s.list},
		api.Route{Method: http.MethodPost, Path: "/tasks/batch", Handle: s.batch},
		api.Route{Method: http.MethodPost, Path: "/tasks/remove", Handle: s.remove},
	)
}

type service struct{ Options }

func (s *service) next(ctx context.Context, req *api.Request) (int, any, error) {
	project, err := req.Project()
	if err != nil {
		return 0, nil, err
	}
	status, err := statusOf(req.Query("status"), store.Pending)
	if err != nil {
		return 0, nil, err
	}
	t, err := s.Store.NextTask(ctx, project, status)
	if errors.Is(err, store.ErrNotFound) {
		return http.StatusOK, map[string]any{"success": true, "task": nil, "message": "No " + string(status) + " tasks for project"}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"success": true, "task": wireTask(*t)}, nil
}

func (s *service) list(ctx context.Context, req *api.Request) (int, any, error) {
	project, err := req.Project()
	if err != nil {
		return 0, nil, err
	}
	f := store.TaskFilter{Project: project}
	if f.Status, err = statusOf(req.Query("status"), ""); err != nil {
		return 0, nil, err
	}
	for _, id := range []struct {
		name string
		dest *string
	}{{"artifact_id", &f.ArtifactID}, {"input_artifact_id", &f.InputArtifactID}} {
		*id.dest = req.Query(id.name)
		if !store.Storable(*id.dest) {
			return 0, nil, api.Bad("Invalid %s", id.name)
		}
	}
	if f.Limit, err = number(req, "limit", maxLimit, 1, maxLimit); err != nil {
		return 0, nil, err
	}
	if f.Offset, err = number(req, "offset", 0, 0, 1<<31-1); err != nil {
		return 0, nil, err
	}
	if f.WithoutMandatory, err = flag(req, "without_mandatory"); err != nil {
		return 0, nil, err
	}
	found, err := s.Store.Tasks(ctx, f)
	if err != nil {
		return 0, nil, err
	}
	tasks := make([]taskJSON, 0, len(found))
	for _, t := range found {
		tasks = append(tasks, wireTask(t))
	}
	return http.StatusOK, map[string]any{"success": true, "tasks": tasks, "count": len(tasks)}, nil
}

func (s *service) setStatus(ctx context.Context, req *api.Request) (int, any, error) {
	id := req.HTTP.PathValue("id")
	var in struct {
		Status string `json:"status"`
		// CompletionNotes is the name of the column, Notes another name of it.
		CompletionNotes string `json:"completion_notes"`
		Notes           string `json:"notes"`
		Worker          string `json:"worker"`
		Reset           bool   `json:"reset"`
	}
	if _, err := req.Body(&in, nil); err != nil {
		return 0, nil, err
	}
	if in.Status == "" {
		return 0, nil, api.Bad("Missing required parameter: status")
	}
	status, err := statusOf(in.Status, "")
	if err != nil {
		return 0, nil, err
	}
	notes := cmp.Or(in.CompletionNotes, in.Notes)
	if err := fits("completion_notes", notes, maxNotes); err != nil {
		return 0, nil, err
	}
	if err := fits("worker", in.Worker, maxWorker); err != nil {
		return 0, nil, err
	}
	if !taskID.MatchString(id) {
		return 0, nil, api.NotFound("Task not found: %s", api.Clip(id))
	}
	t, err := s.Store.SetStatus(ctx, id, store.Change{Status: status, Notes: notes, Worker: in.Worker, Reset: in.Reset, Now: s.Now()})
	var refused *store.TransitionError
	var queued *store.DuplicateError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return 0, nil, api.NotFound("Task not found: %s", api.Clip(id))
	case errors.Is(err, store.ErrClaimed):
		return 0, nil, &api.Error{Status: http.StatusConflict, Detail: "Task already in progress: " + id}
	case errors.As(err, &refused):
		return 0, nil, api.Bad("%s", refused.Error())
	case errors.As(err, &queued):
		return 0, nil, api.Bad("Invalid status transition: %s", queued.Error())
	case err != nil:
		return 0, nil, err
	}
	req.Log(ctx, "task_status_updated", slog.String("id", id), slog.String("project", t.Project), slog.String("new_status", string(t.Status)))
	return http.StatusOK, map[string]any{"success": true, "updated_task": updatedJSON{
		TaskID: t.ID, Status: string(t.Status), StartedAt: timeJSON(t.StartedAt), CompletedAt: timeJSON(t.CompletedAt), CompletionNotes: t.CompletionNotes,
	}}, nil
}

// statusOf reads a status, with a default for none.
func statusOf(text string, none store.Status) (store.Status, error) {
	if text == "" {
		return none, nil
	}
	status := store.Status(text)
	if !status.Known() {
		return "", api.Bad("Invalid status: %s. Valid statuses: pending, in_progress, completed", api.Clip(text))
	}
	return status, nil
}

func number(req *api.Request, name string, none, least, most int) (int, error) {
	text := req.Query(name)
	if text == "" {
		return none, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, api.Bad("Invalid %s: must be between %d and %d", name, least, most)
	}
	return n, nil
}

func flag(req *api.Request, name string) (bool, error) {
	switch req.Query(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, api.Bad("Invalid %s: must be true or false", name)
}

func fits(name, text string, most int) error {
	if !store.Storable(text) || utf8.RuneCountInString(text) > most {
		return api.Bad("Invalid %s: must be at most %d characters without NUL", name, most)
	}
	return nil
}
