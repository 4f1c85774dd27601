package tasks

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// remove takes tasks that nobody began out of the queue, all of them or none.
// S0 has no such request: an approval that is undone needs one. Repeating it is
// harmless, because a task that is not there is no error.
func (s *service) remove(ctx context.Context, req *api.Request) (int, any, error) {
	var in struct {
		ProjectID string `json:"project_id"`
		Project   string `json:"project"`
		Tasks     []struct {
			ID         string `json:"task_id"`
			ArtifactID string `json:"artifact_id"`
		} `json:"tasks"`
	}
	if _, err := req.Body(&in, nil); err != nil {
		return 0, nil, err
	}
	project, err := api.Project("project_id", in.ProjectID, in.Project)
	if err != nil {
		return 0, nil, err
	}
	if len(in.Tasks) < 1 || len(in.Tasks) > maxTasks {
		return 0, nil, api.Bad("Invalid tasks: must hold between 1 and %d tasks", maxTasks)
	}
	var refs []store.TaskRef
	var ids []string
	for _, t := range in.Tasks {
		if !taskID.MatchString(t.ID) {
			return 0, nil, api.Bad("Invalid task_id: %s", api.Clip(t.ID))
		}
		if !artifactID.MatchString(t.ArtifactID) || len(t.ArtifactID) > maxArtifactID {
			return 0, nil, api.Bad("Invalid artifact_id: %s", api.Clip(t.ArtifactID))
		}
		refs, ids = append(refs, store.TaskRef{ID: t.ID, ArtifactID: t.ArtifactID}), append(ids, t.ID)
	}
	n, err := s.Store.RemoveTasks(ctx, project, refs)
	var begun *store.BegunError
	if errors.As(err, &begun) {
		return 0, nil, &api.Error{Status: http.StatusConflict, Detail: begun.Error()}
	}
	if err != nil {
		return 0, nil, err
	}
	req.Log(ctx, "tasks_removed", slog.String("project", project), slog.Int("tasks_removed", n), slog.Any("task_ids", ids))
	return http.StatusOK, map[string]any{"success": true, "tasks_removed": n}, nil
}
