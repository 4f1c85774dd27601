package artifact

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// maxRange bounds a reservation, and maxProject the name of a project.
const (
	maxRange   = 100
	maxProject = 100
)

// nextIDResult is the result of get_next_available_id.
type nextIDResult struct {
	Success      bool   `json:"success"`
	ArtifactType string `json:"artifact_type"`
	NextID       string `json:"next_id"`
}

// reserveResult is the result of reserve_id_range.
type reserveResult struct {
	Success       bool      `json:"success"`
	ReservationID string    `json:"reservation_id"`
	ArtifactType  string    `json:"artifact_type"`
	ReservedIDs   []string  `json:"reserved_ids"`
	ExpiresAt     time.Time `json:"expires_at,omitzero"`
}

func nextIDTool(ids *rest.IDs) family.Tool {
	return family.Tool{
		Name:  "get_next_available_id",
		Title: "Get next available id",
		Description: "Take the next free id of an artifact type in a project, such as US-071 for backlog_story. " +
			"Each call takes a number: an id is never handed out twice.",
		InputSchema: nextIDSchema,
		Handle: func(ctx context.Context, call *family.Call) (any, error) {
			args, err := family.ParseArgs(call.Arguments, "artifact_type", "project_id", "task_id")
			if err != nil {
				return nil, err
			}
			t, project, err := typeAndProject(args)
			if err != nil {
				return nil, err
			}
			fields := []slog.Attr{slog.String("artifact_type", t.Name), slog.String("project_id", project)}
			call.Started(ctx, fields...)
			id, err := ids.Next(ctx, call.Task(), project, t.Prefix)
			if err != nil {
				return nil, serviceError(err)
			}
			call.Completed(append(fields, slog.String("next_id", id))...)
			return &nextIDResult{Success: true, ArtifactType: t.Name, NextID: id}, nil
		},
	}
}

func reserveTool(ids *rest.IDs) family.Tool {
	return family.Tool{
		Name:  "reserve_id_range",
		Title: "Reserve id range",
		Description: "Reserve 1 to 100 consecutive ids of an artifact type in a project for a batch of artifacts. " +
			"The reservation expires unless it is confirmed, and its ids are never handed out again.",
		InputSchema: reserveSchema,
		Handle: func(ctx context.Context, call *family.Call) (any, error) {
			args, err := family.ParseArgs(call.Arguments, "artifact_type", "count", "project_id", "task_id")
			if err != nil {
				return nil, err
			}
			count, err := rangeCount(args)
			if err != nil {
				return nil, err
			}
			t, project, err := typeAndProject(args)
			if err != nil {
				return nil, err
			}
			fields := []slog.Attr{slog.String("artifact_type", t.Name), slog.Int("count", count)}
			call.Started(ctx, append(fields, slog.String("project_id", project))...)
			got, err := ids.Reserve(ctx, call.Task(), project, t.Prefix, count)
			if err != nil {
				return nil, serviceError(err)
			}
			call.Completed(append(fields, slog.Any("reserved_ids", got.IDs), slog.String("reservation_id", got.ID))...)
			return &reserveResult{
				Success: true, ReservationID: got.ID, ArtifactType: t.Name, ReservedIDs: got.IDs, ExpiresAt: got.ExpiresAt,
			}, nil
		},
	}
}

// typeAndProject reads what both id tools have, and the task id.
func typeAndProject(args family.Args) (t artifactType, project string, err error) {
	name, err := args.String("artifact_type", 1, 0)
	if err != nil {
		return t, "", err
	}
	t, ok := typeNamed(name)
	if !ok {
		return t, "", family.Invalid("artifact_type", "enum", "Unknown artifact_type: %s. Valid types: %s", quoted(name), typeNames())
	}
	if project, err = args.String("project_id", 1, maxProject); err != nil {
		return t, "", err
	}
	if err := checkProject(project); err != nil {
		return t, "", err
	}
	_, err = args.TaskID()
	return t, project, err
}

// rangeCount reads count, which must be a whole number: 3.0 is one.
func rangeCount(args family.Args) (int, error) {
	raw, ok := args["count"]
	if !ok {
		return 0, family.Invalid("count", "missing", "Missing required argument: count")
	}
	var n *float64
	if json.Unmarshal(raw, &n) != nil || n == nil || *n != float64(int(*n)) {
		return 0, family.Invalid("count", "type", "count must be an integer")
	}
	if *n < 1 || *n > maxRange {
		return 0, family.Invalid("count", "range", "count must be between 1 and %d", maxRange)
	}
	return int(*n), nil
}
