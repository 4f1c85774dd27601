package tasks

import (
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// taskJSON is a task in an answer: the keys of tools.md §2.9 and, where a task
// has them, the rest of its row.
type taskJSON struct {
	TaskID          string        `json:"task_id"`
	ProjectID       string        `json:"project_id"`
	ArtifactID      string        `json:"artifact_id"`
	Generator       string        `json:"generator"`
	Status          string        `json:"status"`
	Description     string        `json:"description"`
	InputsJSON      []store.Input `json:"inputs_json"`
	CreatedAt       string        `json:"created_at"`
	UpdatedAt       string        `json:"updated_at"`
	StartedAt       string        `json:"started_at,omitempty"`
	CompletedAt     string        `json:"completed_at,omitempty"`
	CorrelationID   string        `json:"correlation_id,omitempty"`
	Worker          string        `json:"worker,omitempty"`
	CompletionNotes string        `json:"completion_notes,omitempty"`
}

func wireTask(t store.Task) taskJSON {
	return taskJSON{
		TaskID: t.ID, ProjectID: t.Project, ArtifactID: t.ArtifactID, Generator: t.Generator, Status: string(t.Status),
		Description: t.Description, InputsJSON: t.Inputs, CreatedAt: timeJSON(t.CreatedAt), UpdatedAt: timeJSON(t.UpdatedAt),
		StartedAt: timeJSON(t.StartedAt), CompletedAt: timeJSON(t.CompletedAt),
		CorrelationID: t.CorrelationID, Worker: t.Worker, CompletionNotes: t.CompletionNotes,
	}
}

// updatedJSON is the answer of a status change.
type updatedJSON struct {
	TaskID          string `json:"task_id"`
	Status          string `json:"status"`
	StartedAt       string `json:"started_at,omitempty"`
	CompletedAt     string `json:"completed_at,omitempty"`
	CompletionNotes string `json:"completion_notes,omitempty"`
}

func timeJSON(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return api.Time(t)
}
