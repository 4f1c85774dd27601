package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Task is one task. Its methods may be called from many goroutines at once.
type Task struct {
	Handle
	follower *Follower
	turn     chan struct{} // held by the goroutine that waits

	mu    sync.Mutex
	seen  report
	since time.Time // when the first report arrived
	// done is set once outcome or failure is known.
	done    bool
	outcome json.RawMessage
	failure error

	inputs inputs // guarded by turn
}

// Status asks the server for the state of the task.
func (t *Task) Status(ctx context.Context) (State, error) {
	r, err := t.status(ctx)
	return r.State, err
}

func (t *Task) status(ctx context.Context) (report, error) {
	if t.ID == "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.done {
			return t.seen, nil
		}
	}
	raw, err := t.send(ctx, mcp.MethodTasksGet, nil)
	if err != nil {
		return report{}, err
	}
	r, err := readReport(raw, t.Stateless, t.ID)
	if err != nil {
		return report{}, t.name(t.follower.Undecodable(t.subject(), err))
	}
	t.hear(r)
	return r, nil
}

// Wait follows the task until it has ended, at most for bound (0 means no limit), and returns its
// result undecoded.
func (t *Task) Wait(ctx context.Context, bound time.Duration) (json.RawMessage, error) {
	if !t.hasEnded() { // a known outcome is returned even if ctx has ended
		if err := t.lock(ctx); err != nil {
			return nil, err
		}
		defer t.unlock()
		if err := t.follow(ctx, bound); err != nil {
			if ctx.Err() != nil && t.CancelWithWait {
				t.cancelBehind()
			}
			return nil, t.inDoubt(err)
		}
		t.Call.Ended(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.outcome), t.failure
}

// Cancel asks the server to cancel the task. It does nothing if the task has ended.
func (t *Task) Cancel(ctx context.Context) error {
	if t.hasEnded() {
		return nil
	}
	_, err := t.send(ctx, mcp.MethodTasksCancel, nil)
	if mcperrors.KindOf(err) == mcperrors.KindNotFound {
		// In 2025-11-25 a task that has ended has the same error.
		if r, statusErr := t.status(ctx); statusErr == nil && r.Status.Final() {
			return nil
		}
	}
	return err
}

// cancelBehind cancels the task after its caller has given up.
func (t *Task) cancelBehind() {
	f := t.follower
	f.Life.Background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		if err := t.Cancel(ctx); err != nil {
			f.Log.Warn("[MCP] a task could not be cancelled", "server", f.Server, "tool", t.Tool, "error", err)
		}
	})
}

// lock waits for the turn to follow the task: two followers would answer its questions twice.
func (t *Task) lock(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return t.name(errormap.From(ctx.Err(), mcperrors.Unknown))
	case <-t.follower.Life.Context().Done():
		return t.name(life.ErrClosed())
	}
}

func (t *Task) unlock() { <-t.turn }

// send sends a request about the task.
func (t *Task) send(ctx context.Context, method string, answers mcp.InputResponses) (json.RawMessage, error) {
	raw, err := t.Call.Send(ctx, method, answers)
	if err != nil {
		return nil, t.name(err)
	}
	return raw, nil
}

// name adds the task to an error.
func (t *Task) name(err error) error {
	seen, _ := t.last()
	return t.follower.Name(Ref{ID: t.ID, Tool: t.Tool, Status: seen.Status}, err)
}

// hear records a report.
func (t *Task) hear(r report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = time.Now()
	}
	t.seen = r
}

// last returns the last report, and the time of the first.
func (t *Task) last() (r report, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen, t.since
}

func (t *Task) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done
}

// end records how the task ended.
func (t *Task) end(outcome json.RawMessage, failure error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done, t.outcome, t.failure = true, outcome, failure
}

// inDoubt returns the error of a wait. If a poll did not reach the server, or was rejected, the
// call may have run: repeating it may repeat its effects.
func (t *Task) inDoubt(err error) error {
	var e *mcperrors.Error
	if t.ID == "" || !errors.As(err, &e) || (e.Delivery == mcperrors.Answered && !refusesPoll(e.Kind)) {
		return err
	}
	if _, since := t.last(); since.IsZero() && e.Kind == mcperrors.KindUnsupported {
		return err // the server supports no such task
	}
	e.Delivery = mcperrors.Unknown
	return err
}

// refusesPoll reports whether an error kind is about the poll itself, not about the call.
func refusesPoll(k mcperrors.Kind) bool {
	switch k {
	case mcperrors.KindNotFound, mcperrors.KindUnsupported, mcperrors.KindInvalidArguments, mcperrors.KindProtocol, mcperrors.KindVersion:
		return true
	default:
		return false
	}
}
