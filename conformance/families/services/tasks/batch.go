package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

const (
	maxTasks = 100
	// The columns of S0.
	maxArtifactID = 20
	maxGenerator  = 100
	// maxText bounds every other text of a task.
	maxText        = 2000
	maxCorrelation = 128
	maxInputs      = 1000
)

var (
	taskID     = regexp.MustCompile(`^TASK-\d{3,10}$`)
	artifactID = regexp.MustCompile(`^[A-Z]+-\d{3,}$`)
	// classifications are those of tools.md §2.5.
	classifications = []string{store.Mandatory, "recommended", "conditional"}
)

// newTask is a task in a request. The inputs come as a list, under either
// name, or as the text of one (C-18).
type newTask struct {
	ArtifactID  string          `json:"artifact_id"`
	Generator   string          `json:"generator"`
	Status      string          `json:"status"`
	Description string          `json:"description"`
	TaskID      string          `json:"task_id"`
	Inputs      json.RawMessage `json:"inputs"`
	InputsJSON  json.RawMessage `json:"inputs_json"`
}

// inputJSON is an input in a request: resource_uri is accepted as another
// name of mcp_resource_uri (C-18).
type inputJSON struct {
	store.Input
	ResourceURI string `json:"resource_uri"`
}

func (s *service) batch(ctx context.Context, req *api.Request) (int, any, error) {
	var in struct {
		ProjectID string    `json:"project_id"`
		Project   string    `json:"project"`
		Tasks     []newTask `json:"tasks"`
	}
	raw, err := req.Body(&in, nil)
	if err != nil {
		return 0, nil, err
	}
	project, err := api.Project("project_id", in.ProjectID, in.Project)
	if err != nil {
		return 0, nil, err
	}
	if in.Tasks == nil {
		return 0, nil, api.Bad("Missing required parameter: tasks")
	}
	if len(in.Tasks) < 1 || len(in.Tasks) > maxTasks {
		return 0, nil, api.Bad("Task validation failed: tasks must hold between 1 and %d tasks", maxTasks)
	}
	key, err := req.Key(raw)
	if err != nil {
		return 0, nil, err
	}
	b := store.Batch{Project: project, Key: key, Now: s.Now()}
	open := map[string]bool{}
	for i := range in.Tasks {
		t, err := in.Tasks[i].check()
		if err != nil {
			return 0, nil, api.Bad("Task validation failed: %s", err)
		}
		if open[t.ArtifactID] {
			return 0, nil, api.Bad("Task validation failed: Duplicate artifact_id in batch: %s", t.ArtifactID)
		}
		open[t.ArtifactID] = true
		b.Tasks = append(b.Tasks, t)
	}
	ids, err := s.Store.AddTasks(ctx, b)
	var queued *store.DuplicateError
	if errors.As(err, &queued) {
		return 0, nil, api.Bad("Task validation failed: %s", queued.Error())
	}
	if err != nil {
		return 0, nil, err
	}
	req.Log(ctx, "tasks_added", slog.String("project", project), slog.Int("tasks_added", len(ids)), slog.Any("task_ids", ids))
	return http.StatusCreated, map[string]any{"success": true, "tasks_added": len(ids), "task_ids": ids}, nil
}

// check turns a task of a request into one for the queue. Its error is for the
// caller.
func (n *newTask) check() (store.NewTask, error) {
	t := store.NewTask{
		ArtifactID: n.ArtifactID, Generator: n.Generator, Status: store.Status(n.Status),
		Description: n.Description, CorrelationID: n.TaskID,
	}
	if !artifactID.MatchString(n.ArtifactID) || len(n.ArtifactID) > maxArtifactID {
		return t, fmt.Errorf("invalid artifact_id %q", api.Clip(n.ArtifactID))
	}
	if n.Generator == "" {
		return t, fmt.Errorf("generator missing for task %s", n.ArtifactID)
	}
	if t.Status == "" {
		t.Status = store.Pending
	}
	if !t.Status.Known() {
		return t, fmt.Errorf("unknown status %q for task %s", api.Clip(n.Status), n.ArtifactID)
	}
	for _, text := range []struct {
		name, value string
		most        int
	}{{"generator", n.Generator, maxGenerator}, {"task_id", n.TaskID, maxCorrelation}, {"description", n.Description, maxText}} {
		if err := fits(text.name, text.value, text.most); err != nil {
			return t, fmt.Errorf("%s for task %s", err.Error(), n.ArtifactID)
		}
	}
	var err error
	if t.Inputs, err = n.inputs(); err != nil {
		return t, fmt.Errorf("%w for task %s", err, n.ArtifactID)
	}
	return t, nil
}

func (n *newTask) inputs() ([]store.Input, error) {
	raw := n.Inputs
	if raw == nil {
		raw = n.InputsJSON
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, errors.New("inputs are not a list")
		}
		raw = json.RawMessage(text)
	}
	var list []inputJSON
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("inputs are not a list of objects")
	}
	if len(list) == 0 || len(list) > maxInputs {
		return nil, fmt.Errorf("inputs must hold between 1 and %d inputs", maxInputs)
	}
	inputs := make([]store.Input, 0, len(list))
	mandatory := false
	for _, in := range list {
		if in.Input.ResourceURI == "" {
			in.Input.ResourceURI = in.ResourceURI
		}
		if err := checkInput(in.Input); err != nil {
			return nil, err
		}
		mandatory = mandatory || in.Classification == store.Mandatory
		inputs = append(inputs, in.Input)
	}
	if !mandatory {
		return nil, errors.New("mandatory input missing")
	}
	return inputs, nil
}

func checkInput(in store.Input) error {
	if in.Name == "" {
		return errors.New("input without a name")
	}
	if !slices.Contains(classifications, in.Classification) {
		return fmt.Errorf("unknown classification %q", api.Clip(in.Classification))
	}
	for _, text := range []string{in.Name, in.ArtifactType, in.ArtifactID, in.ResourcePath, in.ResourceURI, in.Status} {
		if err := fits("input", text, maxText); err != nil {
			return err
		}
	}
	return nil
}
