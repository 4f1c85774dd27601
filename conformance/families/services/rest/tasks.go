package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// A Task is a task as it is put into the queue: TaskMetadata v3 (tools.md §2.5).
type Task struct {
	ArtifactID string `json:"artifact_id"`
	Generator  string `json:"generator"`
	Status     string `json:"status"`
	// TaskID is the caller's correlation id, not the service's id of the task.
	TaskID      string  `json:"task_id"`
	Description string  `json:"description,omitempty"`
	Inputs      []Input `json:"inputs"`
}

// An Input is a resolved input of a generator (S0 GeneratorInput).
type Input struct {
	Name           string `json:"name"`
	Classification string `json:"classification"`
	ArtifactType   string `json:"artifact_type"`
	ArtifactID     string `json:"artifact_id"`
	ResourcePath   string `json:"resource_path"`
	MCPResourceURI string `json:"mcp_resource_uri"`
	Status         string `json:"status"`
}

// Tasks is the client of the Task Tracking service. It is safe for concurrent
// use.
type Tasks struct{ *caller }

// NewTasks returns a client of the Task Tracking service.
func NewTasks(opts Options) (*Tasks, error) {
	c, err := newCaller("Task Tracking service", opts)
	return &Tasks{c}, err
}

// Close gives back the connections that are not in use.
func (t *Tasks) Close() { t.close() }

// Add puts all the tasks into the queue of project, or none, and returns the
// service's ids of them in their order. The key stands for this batch: with
// the same key the service does the work once, however often it is asked, so
// an answer that was lost is asked for again.
func (t *Tasks) Add(ctx context.Context, workflow, key, project string, tasks []Task) ([]string, error) {
	var answer struct {
		TaskIDs []string `json:"task_ids"`
	}
	err := t.call(ctx, request{
		method: http.MethodPost, path: "tasks/batch", task: workflow, key: key, repeatable: true,
		body: map[string]any{"project_id": project, "tasks": tasks},
	}, &answer)
	if err != nil {
		return nil, err
	}
	if len(answer.TaskIDs) != len(tasks) {
		return nil, t.unusable(errors.New("not one id for each task"))
	}
	return answer.TaskIDs, nil
}

// Remove takes tasks of project, by the service's ids and what they make, out of
// the queue: all of them or none. It is refused when one was begun, and harmless
// when they are gone, so it may be asked again.
func (t *Tasks) Remove(ctx context.Context, workflow, project string, tasks []Queued) error {
	var answer struct{}
	return t.call(ctx, request{
		method: http.MethodPost, path: "tasks/remove", task: workflow, repeatable: true,
		body: map[string]any{"project_id": project, "tasks": tasks},
	}, &answer)
}

// Queued is a task in the queue.
type Queued struct {
	ID         string `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
}

// DependsOn returns the tasks of project that have an artifact as an input.
func (t *Tasks) DependsOn(ctx context.Context, workflow, project, artifactID string) ([]Queued, error) {
	var answer struct {
		Tasks []struct {
			Queued
			Inputs []Input `json:"inputs_json"`
		} `json:"tasks"`
	}
	err := t.call(ctx, request{
		method: http.MethodGet, path: "tasks", task: workflow, repeatable: true,
		query: url.Values{"project": {project}, "input_artifact_id": {artifactID}},
	}, &answer)
	var found []Queued
	for _, task := range answer.Tasks { // a service may not know the filter
		if slices.ContainsFunc(task.Inputs, func(in Input) bool { return in.ArtifactID == artifactID }) {
			found = append(found, task.Queued)
		}
	}
	return found, err
}

// Find returns the service's id of the latest task of project that makes an
// artifact and belongs to the workflow, or "" when there is none. A service
// that does not say which workflow a task belongs to is taken to mean this one.
func (t *Tasks) Find(ctx context.Context, workflow, project, artifactID string) (string, error) {
	var answer struct {
		Tasks []struct {
			ID         string `json:"task_id"`
			ArtifactID string `json:"artifact_id"`
			Workflow   string `json:"correlation_id"`
		} `json:"tasks"`
	}
	err := t.call(ctx, request{
		method: http.MethodGet, path: "tasks", task: workflow, repeatable: true,
		query: url.Values{"project": {project}, "artifact_id": {artifactID}},
	}, &answer)
	found := ""
	for _, task := range answer.Tasks {
		if task.ArtifactID == artifactID && (task.Workflow == workflow || task.Workflow == "") {
			found = task.ID
		}
	}
	return found, err
}
