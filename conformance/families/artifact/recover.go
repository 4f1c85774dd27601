package artifact

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/flock"
)

// recovery bounds what a start spends on the approvals an earlier process left
// open, but for the answer it waits for at that moment. Those it does not get to
// are drafts until the next call settles them.
const recovery = 10 * time.Second

// keyLife is how long a service is sure to know a key; ours keep one a day.
const keyLife = 12 * time.Hour

// resume settles the open intent of an artifact whose lock is held: it carries
// the approval to its end and returns the result, or takes it back and returns
// nil, as it does when there is none. An undo it carries to its end, with the
// result in a.undone, or drops. An error means that it is still open.
func (a *approval) resume(ctx context.Context, id string) (*approveResult, error) {
	it, err := readIntent(a.root, id)
	if it == nil || err != nil {
		return nil, err
	}
	a.it = it
	switch it.Stage {
	case prepared:
		return nil, a.takeBack(ctx)
	case undoing:
		return nil, a.resumeUndo(ctx)
	case sending:
	}
	ids, err := a.sent(ctx, time.Now())
	switch {
	case err == nil && ids == nil:
		return nil, a.takeBack(ctx)
	case err != nil:
		failure := failedAt(serviceError(err), stepTasks)
		failure.Data["undecided"] = true
		a.leave(ctx, failure)
		return nil, failure
	}
	if err := it.writeApproved(a.root); err != nil {
		return nil, failedAt(diskErrorOf(err), stepWrite)
	}
	a.recovered(ctx, "completed")
	return a.finish(ctx, ids)
}

// sent returns the ids of the tasks an earlier process or call asked for, or
// nil when they do not exist and never will.
func (a *approval) sent(ctx context.Context, now time.Time) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // no time is left to wait for the service
	}
	if now.Sub(a.it.SentAt) < keyLife {
		ids, err := a.send(ctx)
		var e *rest.Error
		if !errors.As(err, &e) || e.Kind != rest.Refused {
			return ids, err
		}
	}
	ctx, cancel := outlive(ctx, a.linger)
	defer cancel()
	ids := make([]string, len(a.it.Tasks))
	for i, t := range a.it.Tasks {
		var err error
		ids[i], err = a.queue.service.Find(ctx, a.it.Workflow, a.it.Project, t.ArtifactID)
		if err != nil || ids[i] == "" {
			return nil, err
		}
	}
	return ids, nil
}

// takeBack makes the artifact the draft it was and closes the intent.
func (a *approval) takeBack(ctx context.Context) error {
	err := a.it.restoreSaved(a.root)
	if err == nil {
		err = a.it.drop(a.root)
	}
	if err != nil {
		return diskError(err)
	}
	a.recovered(ctx, "undone")
	return nil
}

func (a *approval) recovered(ctx context.Context, outcome string) {
	a.log.LogAttrs(ctx, slog.LevelWarn, "approval_recovered",
		slog.String("artifact_id", a.it.ArtifactID), slog.String("outcome", outcome))
}

// settle is [approval.resume] for those who only need an artifact that nobody
// is about to approve.
func (a *approver) settle(ctx context.Context, root folder, id string) error {
	run := &approval{approver: a, root: root, log: a.log.With(slog.String("tool_name", "approve_artifact"))}
	_, err := run.resume(ctx, id)
	return err
}

// recover settles what an earlier process left open. An approval whose lock is
// taken belongs to a process that lives and will end it. One that cannot be
// settled now is no reason not to start.
func (a *approver) recover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	root, err := a.store.view()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	ids, err := openIntents(root)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := a.recoverOne(ctx, root, id); err != nil {
			a.log.LogAttrs(ctx, slog.LevelError, "approval_not_recovered",
				slog.String("artifact_id", id), slog.String("error", err.Error()), slog.String("cause", causeOf(err)))
		}
	}
	return nil
}

func (a *approver) recoverOne(ctx context.Context, root folder, id string) error {
	f, err := lockFile(root, id)
	if err != nil {
		return err
	}
	defer flock.Unlock(f)
	if locked, err := flock.TryLock(f); err != nil || !locked {
		return err
	}
	return errors.Join(a.settle(ctx, root, id), sweep(root, id))
}

// causeOf is what an operator has to know of an error, whose own text is made
// for callers.
func causeOf(err error) string {
	var failure *family.Error
	if errors.As(err, &failure) && failure.Err != nil {
		return failure.Err.Error()
	}
	return err.Error()
}

// diskErrorOf is [diskError] for those who add to its data.
func diskErrorOf(err error) *family.Error {
	return (&family.Family{Classify: classify}).Failure(diskError(err))
}
