package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// An approval can be undone while nobody has worked on what came of it. Its
// record, which is its intent with the tasks that were made, stays on the disk
// for that.
//
// An undo removes the tasks and restores the two files, and may end at any
// moment as an approval may. So the record becomes an intent first, of the stage
// [undoing]. The service removes the tasks as a whole or, when one was begun, not
// at all, and a task that is gone counts as removed: asking again is harmless
// and tells what became of the first request. A process that finds the intent asks again,
// and
//
//   - if the tasks are gone, the files are restored and the undo is done;
//   - if one was begun, nothing was removed, and the approval holds;
//   - if there is no answer, nobody knows, and the intent stays.
//
// The ids of the sub-artifacts stay taken: the next approval reserves others.

// The steps of an undo, as data.failed_step names them.
const (
	stepUndo    = "record_undo"
	stepRemove  = "remove_tasks"
	stepRestore = "restore_draft"
	stepForget  = "remove_record"
	stepUndone  = "close_undo"
)

// recordFile is where the record of a version's approval is.
func recordFile(p place) string { return stateDir + "/" + p.stem() + ".approval.json" }

// keepRecord writes what an undo of the approval needs.
func (it *intent) keepRecord(root folder, taskIDs []string) error {
	p, err := it.where()
	if err != nil {
		return err
	}
	record := *it
	record.Stage, record.TaskIDs, record.Tasks, record.Key = undoing, taskIDs, nil, ""
	data, err := json.Marshal(&record)
	if err != nil {
		return err
	}
	return writeAtomic(root, recordFile(p), data)
}

// readRecord returns the record of the approval of a version, or nil.
func readRecord(root folder, p place) (*intent, error) {
	data, err := readFile(root, recordFile(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	it, err := parseIntent(data, p.ID)
	if err != nil || it.Stage != undoing || it.Version != p.Version || it.Dir != p.Dir {
		return nil, &family.Error{
			Code: codeInternal, Message: "Internal error: the record of the approval of " + p.stem() + " (" + recordFile(p) + ") is damaged",
			Data: map[string]any{"reason": "record_damaged", "artifact_id": p.ID}, Err: err,
		}
	}
	return it, nil
}

// undoResult is the result of undo_approval.
type undoResult struct {
	Success      bool   `json:"success"`
	ArtifactID   string `json:"artifact_id"`
	OldStatus    string `json:"old_status"`
	NewStatus    string `json:"new_status"`
	ArtifactPath string `json:"artifact_path"`
	// TasksRemoved are the ids of the tasks that are gone.
	TasksRemoved []string `json:"tasks_removed"`
	// RetiredIDs are the ids of the sub-artifacts, which nothing gets again.
	RetiredIDs []string `json:"retired_ids"`
}

// undoApproval makes the current version of an artifact the draft it was before
// its approval. An error leaves it approved, unless data.undecided says that the
// next call has to find out.
func (a *approver) undoApproval(ctx context.Context, call *family.Call, t artifactType, id string) (*undoResult, error) {
	root, err := a.store.open(a.store.base)
	if err != nil {
		return nil, diskError(err)
	}
	defer func() { _ = root.Close() }()
	release, err := a.store.hold(ctx, root, id)
	if err != nil {
		return nil, diskError(err)
	}
	defer release()
	run := &approval{approver: a, root: root, log: call.Log()}
	run.event(ctx, "approval_undo_started", slog.String("artifact_id", id))
	if _, err := run.resume(ctx, id); err != nil || run.undone != nil {
		return run.undone, err
	}
	if run.it, err = a.undoable(ctx, root, t, id); err != nil {
		return nil, err
	}
	run.it.Workflow = call.Task()
	run.at(stepUndo)
	if err := run.it.save(root); err != nil {
		return nil, failedAt(diskErrorOf(errors.Join(err, run.it.drop(root))), stepUndo)
	}
	err = run.removeTasks(ctx)
	var e *rest.Error
	if err != nil && (!errors.As(err, &e) || !e.Undecided) { // nothing was removed
		return nil, run.keepApproved(err)
	}
	return run.endUndo(ctx, err)
}

// undoable checks that nothing came of the approval of the current version, as
// far as files and other tasks show it, and returns its record.
func (a *approver) undoable(ctx context.Context, root folder, t artifactType, id string) (*intent, error) {
	p, exists, err := a.store.current(root, t, id)
	if err != nil {
		return nil, diskError(err)
	}
	if !exists {
		return nil, unmet(artifactExists, id, "Resource not found: Artifact %s not found", id)
	}
	document, err := readFile(root, p.document())
	if err != nil {
		return nil, diskError(err)
	}
	if status := storedStatus(root, p, document); status != statusApproved {
		return nil, notUndone(id, "not_approved", "its current version %d is not Approved (status: %s)", p.Version, quoted(status))
	}
	it, err := readRecord(root, p)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, notUndone(id, "no_record", "approve_artifact did not approve it, or its record %s is gone; store a new version instead", recordFile(p))
	}
	described, err := readFile(root, p.metadata())
	if err != nil || !bytes.Equal(document, it.Approved.Document) || !bytes.Equal(described, it.Approved.Metadata) {
		return nil, notUndone(id, "changed", "its files were changed since")
	}
	if err := a.unused(root, it); err != nil {
		return nil, err
	}
	return it, a.unneeded(ctx, it)
}

// unused checks that no sub-artifact is stored, and that no approval relies on
// this one.
func (a *approver) unused(root folder, it *intent) error {
	for _, c := range it.Children {
		t, ok := typeNamed(c.Type)
		if !ok {
			continue
		}
		p, exists, err := a.store.current(root, t, c.ID)
		if err != nil {
			return diskError(err)
		}
		if exists {
			return notUndone(it.ArtifactID, "sub_artifact_stored", "its sub-artifact %s is stored", p.stem())
		}
	}
	for _, t := range types {
		for _, dir := range a.store.dirs(t) {
			names, err := list(root, dir)
			if err != nil {
				return diskError(err)
			}
			for _, name := range names {
				stem, ok := strings.CutSuffix(name, "_metadata.json")
				p, known := parsePlace(dir, stem+".md")
				if !ok || !known {
					continue
				}
				stored, err := readMetadata(root, p)
				if err == nil && stored.ParentID != nil && *stored.ParentID == it.ArtifactID && stored.Status != statusDraft {
					return notUndone(it.ArtifactID, "parent_of", "%s was approved below it", p.stem())
				}
			}
		}
	}
	return nil
}

// unneeded checks that no other task has the artifact as an input.
func (a *approver) unneeded(ctx context.Context, it *intent) error {
	tasks, err := a.queue.service.DependsOn(ctx, it.Workflow, it.Project, it.ArtifactID)
	if err != nil {
		return failedAt(serviceError(err), stepRemove)
	}
	for _, task := range tasks {
		if !slices.Contains(it.TaskIDs, task.ID) {
			return notUndone(it.ArtifactID, "input_of", "task %s for %s has it as an input", quoted(task.ID), quoted(task.ArtifactID))
		}
	}
	return nil
}

// notUndone is the refusal of an undo, with its reason.
func notUndone(id, reason, format string, args ...any) *family.Error {
	return &family.Error{
		Code: family.CodeServer, Message: fmt.Sprintf("The approval of %s cannot be undone: ", id) + fmt.Sprintf(format, args...),
		Data: map[string]any{"reason": reason, "artifact_id": id},
	}
}

// removeTasks has the tasks of the approval removed.
func (a *approval) removeTasks(ctx context.Context) error {
	a.at(stepRemove)
	var tasks []rest.Queued
	for i, id := range a.it.TaskIDs {
		if i < len(a.it.Children) {
			tasks = append(tasks, rest.Queued{ID: id, ArtifactID: a.it.Children[i].ID})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	ctx, cancel := outlive(ctx, a.linger)
	defer cancel()
	return a.queue.service.Remove(ctx, a.it.Workflow, a.it.Project, tasks)
}

// keepApproved closes an undo that has removed nothing: the approval holds.
func (a *approval) keepApproved(cause error) error {
	failure := failedAt(serviceError(cause), stepRemove)
	var e *rest.Error
	if errors.As(cause, &e) && e.Kind == rest.Refused {
		failure = failedAt(notUndone(a.it.ArtifactID, "task_begun", "%s", e.Detail), stepRemove)
	}
	if err := a.it.drop(a.root); err != nil {
		failure.Err = errors.Join(failure.Err, err)
		failure.Data["undecided"] = true
	}
	return failure
}

// resumeUndo carries on an undo that another call or process left open.
func (a *approval) resumeUndo(ctx context.Context) error {
	err := ctx.Err() // when no time is left to wait for the service
	if err == nil {
		err = a.removeTasks(ctx)
	}
	var e *rest.Error
	if errors.As(err, &e) && e.Kind == rest.Refused {
		if err := a.it.drop(a.root); err != nil {
			return diskError(err)
		}
		a.recovered(ctx, "approval_kept")
		return nil
	}
	if a.undone, err = a.endUndo(ctx, err); err == nil {
		a.recovered(ctx, "undo_completed")
	}
	return err
}

// endUndo restores the draft once the tasks are gone; unknown says that nobody
// knows whether they are.
func (a *approval) endUndo(ctx context.Context, unknown error) (*undoResult, error) {
	if unknown != nil {
		return nil, a.undoOpen(ctx, stepRemove, serviceError(unknown))
	}
	p, err := a.it.where()
	if err != nil {
		return nil, err
	}
	a.at(stepRestore)
	if err := a.it.restoreSaved(a.root); err != nil {
		return nil, a.undoOpen(ctx, stepRestore, diskErrorOf(err))
	}
	a.at(stepForget)
	if err := a.root.Remove(recordFile(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, a.undoOpen(ctx, stepForget, diskErrorOf(err))
	}
	a.at(stepUndone)
	if err := a.it.drop(a.root); err != nil {
		return nil, a.undoOpen(ctx, stepUndone, diskErrorOf(err))
	}
	a.event(ctx, "approval_undone", slog.String("artifact_id", a.it.ArtifactID), slog.Any("task_ids", a.it.TaskIDs))
	res := &undoResult{
		Success: true, ArtifactID: a.it.ArtifactID, OldStatus: statusApproved, NewStatus: statusDraft, ArtifactPath: p.artifactPath(),
		TasksRemoved: append([]string{}, a.it.TaskIDs...), RetiredIDs: []string{},
	}
	if len(a.it.Reservations) > 0 { // an epic's PRD has the epic's number again
		for _, c := range a.it.Children {
			res.RetiredIDs = append(res.RetiredIDs, c.ID)
		}
	}
	return res, nil
}

// undoOpen is the error of an undo that the next call or start ends.
func (a *approval) undoOpen(ctx context.Context, step string, cause *family.Error) error {
	failure := failedAt(cause, step)
	failure.Data["undecided"] = true
	a.log.LogAttrs(ctx, slog.LevelWarn, "approval_undo_undecided", slog.String("artifact_id", a.it.ArtifactID), slog.String("failed_step", step))
	return failure
}
