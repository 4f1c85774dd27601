package artifact

import (
	"context"
	"crypto/rand"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// addTaskResult is the result of add_task; the lists are in the order of the
// tasks.
type addTaskResult struct {
	Success     bool     `json:"success"`
	TasksAdded  int      `json:"tasks_added"`
	TaskIDs     []string `json:"task_ids"`
	ArtifactIDs []string `json:"artifact_ids"`
}

// queue puts tasks into the Task Tracking service for a project.
type queue struct {
	service  *rest.Tasks
	store    *store
	research research
	project  string
}

func addTaskTool(q *queue) family.Tool {
	return family.Tool{
		Name:  "add_task",
		Title: "Add tasks",
		Description: "Put 1 to 100 tasks into the Task Tracking queue, each with the generator to run and ALL its inputs resolved " +
			"to resource URIs. Every mandatory input of the generator must be there, exist and be Approved (research: Finalized). " +
			"All tasks are added or none.",
		InputSchema: addTaskSchema,
		Handle:      q.handle,
	}
}

func (q *queue) handle(ctx context.Context, call *family.Call) (any, error) {
	args, err := family.ParseArgs(call.Arguments, "tasks", "task_id")
	if err != nil {
		return nil, err
	}
	tasks, err := parseTasks(args["tasks"])
	if err != nil {
		return nil, err
	}
	if _, err := args.TaskID(); err != nil {
		return nil, err
	}
	call.Started(ctx, slog.Int("tasks_count", len(tasks)))
	check := taskChecker{store: q.store, research: q.research, call: call}
	if err := check.check(ctx, tasks); err != nil {
		return nil, err
	}
	describe(tasks)
	ids, err := q.service.Add(ctx, call.Task(), rand.Text(), q.project, tasks)
	if err != nil {
		return nil, serviceError(err)
	}
	call.Completed(taskFields(tasks, ids)...)
	return &addTaskResult{Success: true, TasksAdded: len(ids), TaskIDs: ids, ArtifactIDs: artifactIDs(tasks)}, nil
}

// describe gives tasks without a description the usual one.
func describe(tasks []rest.Task) {
	for i := range tasks {
		t := &tasks[i]
		if t.Description != "" {
			continue
		}
		t.Description = "Generate " + t.ArtifactID
		for _, in := range t.Inputs {
			if in.Classification == mandatory {
				t.Description += " from " + in.ArtifactID
				break
			}
		}
	}
}

func artifactIDs(tasks []rest.Task) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.ArtifactID
	}
	return out
}

// taskFields are the fields of the line a batch ends with. The two counts are
// of one task, as in S0's example: of the one that has the most.
func taskFields(tasks []rest.Task, ids []string) []slog.Attr {
	generators := make([]string, len(tasks))
	must, should := 0, 0
	for i, t := range tasks {
		generators[i] = t.Generator
		count := map[string]int{}
		for _, in := range t.Inputs {
			count[in.Classification]++
		}
		must, should = max(must, count[mandatory]), max(should, count[recommended])
	}
	return []slog.Attr{
		slog.Int("tasks_added", len(ids)), slog.Any("artifact_ids", artifactIDs(tasks)),
		slog.Any("generators", generators), slog.Any("task_ids", ids), slog.Bool("inputs_validated", true),
		slog.Int("mandatory_inputs_count", must), slog.Int("recommended_inputs_count", should),
	}
}
