package artifact

import (
	"context"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// undoTool is undo_approval. S0 has no such tool, so it is listed only where it
// is asked for.
func undoTool(a *approver) family.Tool {
	return family.Tool{
		Name:  "undo_approval",
		Title: "Undo approval",
		Description: "Make an Approved artifact the Draft it was, and remove the tasks of its sub-artifacts. This works while nobody has begun " +
			"one of the tasks, stored a sub-artifact or relied on the approval otherwise; else it is refused with the reason. " +
			"The ids of the sub-artifacts are not given out again.",
		InputSchema: approveSchema,
		Handle:      a.handleUndo,
	}
}

func (a *approver) handleUndo(ctx context.Context, call *family.Call) (any, error) {
	t, id, err := a.subject(ctx, call)
	if err != nil {
		return nil, err
	}
	res, err := a.undoApproval(ctx, call, t, id)
	if err != nil {
		return nil, err
	}
	call.Completed(slog.String("artifact_id", id), slog.String("old_status", res.OldStatus), slog.String("new_status", res.NewStatus),
		slog.Any("tasks_removed", res.TasksRemoved), slog.Any("retired_ids", res.RetiredIDs))
	return res, nil
}
