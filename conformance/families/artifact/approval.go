package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// defaultLinger is shorter than the grace a server gives its calls when it shuts
// down.
const defaultLinger = 5 * time.Second

// The steps of an approval, as data.failed_step names them.
const (
	stepReserve = "reserve_ids"
	stepIntent  = "record_intent"
	stepWrite   = "write_artifact"
	stepStatus  = "update_status"
	stepInputs  = "resolve_inputs"
	stepTasks   = "create_tasks"
	stepConfirm = "confirm_reservation"
	stepRecord  = "record_approval"
	stepDone    = "close_intent"
)

// approver runs approve_artifact.
type approver struct {
	store *store
	queue *queue
	ids   *rest.IDs
	log   *slog.Logger
	// linger is how long the services may still answer once the caller has gone.
	linger time.Duration
	// reached is called before each step, with its name; tests stop there.
	reached func(step string)
}

func (a *approver) at(step string) {
	if a.reached != nil {
		a.reached(step)
	}
}

// approval is one run of the workflow on one artifact, with its lock held.
type approval struct {
	*approver
	root folder
	log  *slog.Logger
	it   *intent
	// undone is the result of an undo that was found open and carried to its end.
	undone *undoResult
}

// event writes the line of a stage (tools.md §2.4).
func (a *approval) event(ctx context.Context, name string, attrs ...slog.Attr) {
	a.log.LogAttrs(ctx, slog.LevelInfo, name, attrs...)
}

// approve approves the current version of an artifact. What it answers is
// what is: an error leaves a draft.
func (a *approver) approve(ctx context.Context, call *family.Call, t artifactType, id string) (*approveResult, error) {
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
	run.event(ctx, "approval_workflow_started", slog.String("artifact_id", id))
	res, err := run.resume(ctx, id)
	if res != nil || err != nil {
		return res, err
	}
	d, err := a.store.loadDraft(root, t, id)
	if err != nil {
		return nil, err
	}
	run.event(ctx, "approval_prerequisites_validated", slog.String("artifact_id", id))
	if err := run.prepare(ctx, call, d); err != nil {
		return nil, err
	}
	return run.execute(ctx, call)
}

// prepare finds the sub-artifacts, reserves their ids and works out both files.
// All it changes is the reservation, which expires on its own.
func (a *approval) prepare(ctx context.Context, call *family.Call, d *draft) error {
	text := string(d.files.Document)
	plan, err := findChildren(d.place, text)
	if err != nil {
		return err
	}
	a.event(ctx, "sub_artifacts_detected", slog.Any("placeholders", plan.found()))
	a.it = &intent{
		Stage: prepared, ArtifactID: d.place.ID, Version: d.place.Version, Dir: d.place.Dir, Workflow: call.Task(),
		Saved: d.files, Mapping: map[string]string{}, Children: []child{}, Reservations: []string{}, Project: a.queue.project,
	}
	a.at(stepReserve)
	for _, g := range plan {
		if err := a.assign(ctx, g); err != nil {
			return err
		}
	}
	text = withStatus(replacePlaceholders(text, a.it.Mapping), statusDraft, statusApproved)
	after := *d.stored
	after.Status, after.SizeBytes = statusApproved, len(text)
	described, err := encodeMetadata(&after)
	a.it.Approved = contents{Document: []byte(text), Metadata: described}
	return errors.Join(err, ctx.Err()) // nothing is to be taken back yet
}

// assign gives the placeholders of one type their final ids, in order.
func (a *approval) assign(ctx context.Context, g group) error {
	ids := g.fixed
	if ids == nil {
		got, err := a.ids.Reserve(ctx, a.it.Workflow, a.it.Project, g.of.Prefix, len(g.placeholders))
		if err != nil {
			return failedAt(serviceError(err), stepReserve)
		}
		ids = got.IDs
		for _, id := range ids {
			if t, err := parseID("artifact_id", id); err != nil || t != g.of {
				return family.Internal(fmt.Errorf("reserved id %q is none of %s", id, g.of.Prefix))
			}
		}
		a.it.Reservations = append(a.it.Reservations, got.ID)
		a.event(ctx, "id_range_reserved", slog.String("artifact_type", g.of.Prefix),
			slog.Any("reserved_ids", ids), slog.String("reservation_id", got.ID))
	}
	for i, p := range g.placeholders {
		a.it.Mapping[p] = ids[i]
	}
	for _, id := range ids {
		a.it.Children = append(a.it.Children, child{ID: id, Type: g.of.Name})
	}
	return nil
}

// execute makes the changes. Until the request for the tasks goes out, any
// failure, a cancelled call among them, is undone.
func (a *approval) execute(ctx context.Context, call *family.Call) (*approveResult, error) {
	a.at(stepIntent)
	if err := a.it.save(a.root); err != nil {
		return nil, a.undo(ctx, stepIntent, diskError(err))
	}
	p, err := a.it.where()
	if err != nil {
		return nil, a.undo(ctx, stepIntent, err)
	}
	a.at(stepWrite)
	if err := writeAtomic(a.root, p.document(), a.it.Approved.Document); err != nil {
		return nil, a.undo(ctx, stepWrite, diskError(err))
	}
	a.event(ctx, "placeholders_replaced", slog.Int("placeholder_ids_replaced", len(a.it.Mapping)), slog.Any("id_mapping", a.it.Mapping))
	a.at(stepStatus)
	if err := writeAtomic(a.root, p.metadata(), a.it.Approved.Metadata); err != nil {
		return nil, a.undo(ctx, stepStatus, diskError(err))
	}
	a.event(ctx, "artifact_status_updated", slog.String("old_status", statusDraft), slog.String("new_status", statusApproved))
	a.at(stepInputs)
	if err := a.resolve(ctx, p, call); err != nil {
		return nil, a.undo(ctx, stepInputs, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, a.undo(ctx, stepInputs, err)
	}
	if len(a.it.Tasks) == 0 {
		return a.finish(ctx, nil)
	}
	a.it.Stage, a.it.Key, a.it.SentAt = sending, rand.Text(), time.Now()
	if err := a.it.save(a.root); err != nil {
		return nil, a.undo(ctx, stepTasks, diskError(err))
	}
	ids, err := a.send(ctx)
	if err != nil {
		return nil, a.unsent(ctx, err)
	}
	return a.finish(ctx, ids)
}

// send asks for the tasks. The caller's cancellation does not take the request
// back once it is out, so it is given time for its answer.
func (a *approval) send(ctx context.Context) ([]string, error) {
	ctx, cancel := outlive(ctx, a.linger)
	defer cancel()
	a.at(stepTasks)
	adding := family.NewCall("add_task", nil, a.approver.log)
	adding.SetTask(a.it.Workflow)
	adding.Started(ctx, slog.Int("tasks_count", len(a.it.Tasks)))
	ids, err := a.queue.service.Add(ctx, a.it.Workflow, a.it.Key, a.it.Project, a.it.Tasks)
	if err != nil {
		adding.Finish(ctx, serviceError(err))
		return nil, err
	}
	adding.Completed(taskFields(a.it.Tasks, ids)...)
	adding.Finish(ctx, nil)
	return ids, nil
}

// unsent is the end of an approval whose tasks were not certainly made.
func (a *approval) unsent(ctx context.Context, err error) error {
	var e *rest.Error
	if !errors.As(err, &e) || !e.Undecided {
		return a.undo(ctx, stepTasks, serviceError(err))
	}
	failure := failedAt(serviceError(err), stepTasks)
	failure.Data["undecided"] = true
	a.leave(ctx, failure)
	return failure
}

// leave makes the artifact the draft it was and keeps the intent: whether the
// tasks exist is asked again.
func (a *approval) leave(ctx context.Context, failure *family.Error) {
	err := a.it.restoreSaved(a.root)
	if failure.Data == nil {
		failure.Data = map[string]any{}
	}
	failure.Data["rolled_back"] = err == nil
	failure.Err = errors.Join(failure.Err, err)
	a.log.LogAttrs(ctx, slog.LevelWarn, "approval_undecided", slog.String("artifact_id", a.it.ArtifactID))
}

// undo makes the artifact the draft it was. When even that fails the intent
// stays, and the next call or start tries again.
func (a *approval) undo(ctx context.Context, step string, cause error) error {
	failure := failedAt((&family.Family{Classify: classify}).Failure(cause), step)
	var err error
	if step != stepIntent { // without an intent nothing was changed
		err = a.it.restoreSaved(a.root)
	}
	if err == nil {
		err = a.it.drop(a.root)
	}
	failure.Data["rolled_back"] = err == nil
	failure.Err = errors.Join(failure.Err, err)
	a.log.LogAttrs(ctx, slog.LevelWarn, "approval_rolled_back",
		slog.String("artifact_id", a.it.ArtifactID), slog.String("failed_step", step), slog.Bool("rolled_back", err == nil))
	return failure
}

// finish confirms the reservations and closes the intent: the approval is
// done. A reservation that cannot be confirmed only goes unrecorded, since its
// ids are never handed out again.
func (a *approval) finish(ctx context.Context, taskIDs []string) (*approveResult, error) {
	ctx, cancel := outlive(ctx, a.linger)
	defer cancel()
	if len(taskIDs) > 0 {
		a.event(ctx, "tasks_created", slog.Any("task_ids", taskIDs))
	}
	a.at(stepConfirm)
	confirmed := true
	for _, id := range a.it.Reservations {
		if err := a.ids.Confirm(ctx, a.it.Workflow, id); err != nil {
			confirmed = false
			a.log.LogAttrs(ctx, slog.LevelWarn, "id_reservation_not_confirmed",
				slog.String("reservation_id", id), slog.String("cause", serviceError(err).Err.Error()))
			continue
		}
		a.event(ctx, "id_reservation_confirmed", slog.String("reservation_id", id))
	}
	a.at(stepRecord)
	if err := a.it.keepRecord(a.root, taskIDs); err != nil {
		// The work is done; only nobody can undo it.
		a.log.LogAttrs(ctx, slog.LevelWarn, "approval_not_recorded", slog.String("artifact_id", a.it.ArtifactID), slog.String("cause", err.Error()))
	}
	a.at(stepDone)
	if err := a.it.drop(a.root); err != nil {
		// The work is done, and an intent that stays finds that out.
		a.log.LogAttrs(ctx, slog.LevelWarn, "approval_intent_not_closed", slog.String("cause", err.Error()))
		if len(taskIDs) == 0 {
			return nil, a.undo(ctx, stepDone, diskError(err))
		}
	}
	a.event(ctx, "approval_workflow_completed", slog.String("artifact_id", a.it.ArtifactID))
	return newApproveResult(a.it, taskIDs, confirmed)
}

// failedAt names the step an approval failed at.
func failedAt(e *family.Error, step string) *family.Error {
	out := *e
	out.Data = map[string]any{"failed_step": step}
	for k, v := range e.Data {
		out.Data[k] = v
	}
	return &out
}

// outlive returns a context that ends d after ctx does.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(late)
		select {
		case <-time.After(d):
			cancel()
		case <-out.Done():
		}
	})
	return out, func() {
		cancel()
		if !stop() {
			<-late // nothing of this call outlives it
		}
	}
}
