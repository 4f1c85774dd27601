package artifact

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// approveResult is the result of approve_artifact: S0's members, then what its
// log line has besides (C-50).
type approveResult struct {
	Success                bool              `json:"success"`
	ArtifactID             string            `json:"artifact_id"`
	OldStatus              string            `json:"old_status"`
	NewStatus              string            `json:"new_status"`
	ArtifactPath           string            `json:"artifact_path"`
	SubArtifactsDetected   []string          `json:"sub_artifacts_detected"`
	TasksCreated           int               `json:"tasks_created"`
	TaskIDs                []string          `json:"task_ids"`
	PlaceholderIDsReplaced int               `json:"placeholder_ids_replaced"`
	IDMapping              map[string]string `json:"id_mapping"`
	// ReservationID is the first reservation; only a backlog story, which has
	// two kinds of sub-artifacts, can have two.
	ReservationID  string   `json:"reservation_id,omitempty"`
	ReservationIDs []string `json:"reservation_ids,omitempty"`
	// ReservationConfirmed is there when something was reserved.
	ReservationConfirmed *bool `json:"reservation_confirmed,omitempty"`
}

func newApproveResult(it *intent, taskIDs []string, confirmed bool) (*approveResult, error) {
	p, err := it.where()
	if err != nil {
		return nil, err
	}
	res := &approveResult{
		Success: true, ArtifactID: it.ArtifactID, OldStatus: statusDraft, NewStatus: statusApproved,
		ArtifactPath: p.artifactPath(), SubArtifactsDetected: make([]string, 0, len(it.Children)),
		TasksCreated: len(taskIDs), TaskIDs: append([]string{}, taskIDs...),
		PlaceholderIDsReplaced: len(it.Mapping), IDMapping: it.Mapping,
	}
	for _, c := range it.Children {
		res.SubArtifactsDetected = append(res.SubArtifactsDetected, c.ID)
	}
	if n := len(it.Reservations); n > 0 {
		res.ReservationID, res.ReservationConfirmed = it.Reservations[0], &confirmed
		if n > 1 {
			res.ReservationIDs = it.Reservations
		}
	}
	return res, nil
}

func approveTool(a *approver) family.Tool {
	return family.Tool{
		Name:  "approve_artifact",
		Title: "Approve artifact",
		Description: "Approve the current version of a Draft artifact whose parent is Approved and which has no blocking open " +
			"questions. Placeholder ids such as HLS-AAA become reserved final ids everywhere in the document, and a task with " +
			"resolved inputs is queued for each sub-artifact. Either all of it happens or the artifact stays a Draft.",
		InputSchema: approveSchema,
		Handle:      a.handle,
	}
}

// subject reads the arguments of a tool that works on one artifact, and logs its
// start.
func (a *approver) subject(ctx context.Context, call *family.Call) (t artifactType, id string, err error) {
	args, err := family.ParseArgs(call.Arguments, "artifact_id", "task_id")
	if err != nil {
		return t, "", err
	}
	if id, err = args.String("artifact_id", 1, 0); err != nil {
		return t, "", err
	}
	if _, err := args.TaskID(); err != nil {
		return t, "", err
	}
	if t, err = checkID(ctx, call, "artifact_id", id); err != nil {
		return t, "", err
	}
	call.Started(ctx, slog.String("artifact_id", id))
	return t, id, nil
}

func (a *approver) handle(ctx context.Context, call *family.Call) (any, error) {
	t, id, err := a.subject(ctx, call)
	if err != nil {
		return nil, err
	}
	res, err := a.approve(ctx, call, t, id)
	if err != nil {
		logUnmet(ctx, call, err)
		return nil, err
	}
	call.Completed(
		slog.String("artifact_id", id), slog.String("old_status", res.OldStatus), slog.String("new_status", res.NewStatus),
		slog.Int("placeholder_ids_replaced", res.PlaceholderIDsReplaced), slog.Any("id_mapping", res.IDMapping),
		slog.String("reservation_id", res.ReservationID), slog.Any("sub_artifacts_detected", res.SubArtifactsDetected),
		slog.Int("sub_artifacts_count", len(res.SubArtifactsDetected)),
		slog.Int("tasks_created", res.TasksCreated), slog.Any("task_ids", res.TaskIDs))
	return res, nil
}

// logUnmet writes the line S0 has for each prerequisite.
func logUnmet(ctx context.Context, call *family.Call, err error) {
	var e *family.Error
	if !errors.As(err, &e) {
		return
	}
	if p, ok := e.Data["prerequisite"].(prerequisite); ok {
		call.Warn(ctx, p.event(), slog.Any("artifact_id", e.Data["artifact_id"]))
	}
}
