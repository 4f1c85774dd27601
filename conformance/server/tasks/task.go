package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// status is how far a task has come.
type status string

const (
	statusWorking       status = "working"
	statusInputRequired status = "input_required"
	statusCompleted     status = "completed"
	statusFailed        status = "failed"
	statusCancelled     status = "cancelled"
)

// final reports the states that no task leaves.
func (s status) final() bool {
	return s == statusCompleted || s == statusFailed || s == statusCancelled
}

// A record is what of a task is on the disk.
type record struct {
	ID        string          `json:"id"`
	User      string          `json:"user,omitempty"`
	Status    status          `json:"status"`
	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
	TTLMs     int64           `json:"ttlMs"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *jsonrpc.Error  `json:"error,omitempty"`
}

func (r *record) ttl() time.Duration { return time.Duration(r.TTLMs) * time.Millisecond }

// A Task is a call that runs, or ran, as a task.
type Task struct {
	record // in memory without the result; under the lock of the store where it changes
	store  *Store
	cancel context.CancelFunc
	expiry *time.Timer

	questions int // that were asked so far
	asked     mcp.InputRequestMap
	answers   mcp.InputResponseMap
	answered  chan struct{} // closed when none of asked is left
}

// Ask asks the client for requests, by names that the work has for them, and
// returns its answers under the same names. One work calls it, from one goroutine.
func (t *Task) Ask(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	if len(requests) == 0 {
		return mcp.InputResponseMap{}, nil
	}
	names := map[string]string{} // by key: no key names two questions of one task
	t.store.mu.Lock()
	if t.Status.final() { // it was cancelled, and its context ends
		t.store.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	t.asked, t.answers, t.answered = mcp.InputRequestMap{}, mcp.InputResponseMap{}, make(chan struct{})
	for name, request := range requests {
		t.questions++
		key := fmt.Sprintf("%s-%d", name, t.questions)
		names[key], t.asked[key] = name, request
	}
	t.become(statusInputRequired)
	t.store.tell(t.ID)
	answered := t.answered
	t.store.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	byName := mcp.InputResponseMap{}
	for key, answer := range t.answers {
		byName[names[key]] = answer
	}
	return byName, nil
}

// update takes answers of the client. Those to nothing that is asked, or is asked
// no longer, are ignored. A wrong answer is an error, and none of the others counts.
func (t *Task) update(responses map[string]json.RawMessage) error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.Status.final() {
		return nil
	}
	fitting := mcp.InputResponseMap{}
	for key, request := range t.asked {
		raw, given := responses[key]
		if !given {
			continue
		}
		answer, err := readAnswer(request, raw)
		if err != nil {
			return errAnswer(key)
		}
		fitting[key] = answer
	}
	if len(fitting) == 0 {
		return nil
	}
	maps.Copy(t.answers, fitting)
	for key := range fitting {
		delete(t.asked, key)
	}
	if len(t.asked) == 0 {
		t.become(statusWorking)
		close(t.answered)
	}
	t.store.tell(t.ID)
	return nil
}

var errForeignAnswer = errors.New("an answer to something else")

// readAnswer decodes the answer to a request, which must be of its kind.
func readAnswer(request mcp.InputRequest, raw json.RawMessage) (mcp.InputResponse, error) {
	wrapped, err := json.Marshal(map[string]json.RawMessage{"": raw})
	if err != nil {
		return nil, err
	}
	var one mcp.InputResponseMap
	if err := json.Unmarshal(wrapped, &one); err != nil {
		return nil, err
	}
	var fits bool
	switch request.(type) {
	case *mcp.ElicitParams:
		_, fits = one[""].(*mcp.ElicitResult)
	case *mcp.ListRootsParams: //nolint:staticcheck // in force in every revision before the last
		_, fits = one[""].(*mcp.ListRootsResult) //nolint:staticcheck // as above
	default:
		_, fits = one[""].(*mcp.CreateMessageWithToolsResult) //nolint:staticcheck // as above
	}
	if !fits {
		return nil, errForeignAnswer
	}
	return one[""], nil
}

// errAnswer does not quote what the client sent: it may be long, or a secret.
func errAnswer(key string) *jsonrpc.Error {
	data, _ := json.Marshal(map[string]any{"reason": "answer", "field": "inputResponses"}) // strings
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("Invalid params: inputResponses[%q] does not answer what was asked", key), Data: data,
	}
}

// giveUp cancels the task. One that has ended stays as it is.
func (t *Task) giveUp() {
	if t.settle(func(r *record) { r.Status = statusCancelled }) {
		t.cancel()
	}
}

// end notes what the work came to. It is lost when the task was cancelled before.
func (t *Task) end(result json.RawMessage, err error) {
	if err != nil && t.store.life.Err() != nil {
		err = errStopped()
	}
	t.settle(func(r *record) {
		r.Status, r.Result = statusCompleted, result
		if err != nil {
			r.Status, r.Error = statusFailed, wireError(err)
		}
	})
}

// settle ends the task as change says, on the disk first, unless it has ended.
func (t *Task) settle(change func(*record)) bool {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Status.final() || s.tasks[t.ID] != t {
		return false
	}
	last := t.record
	change(&last)
	last.UpdatedAt = time.Now()
	if err := s.folder.write(&last); err != nil {
		last.Status, last.Error = statusFailed, errInternal("the outcome of the task could not be kept")
		s.opts.Logger.Error("mcp_task_lost", "mcp_task", t.ID, "error", err.Error())
	}
	t.record, t.asked = last, nil
	t.Result = nil // it stays on the disk
	s.tell(t.ID)
	s.opts.Logger.Info("mcp_task_ended", "mcp_task", t.ID, "status", string(t.Status), "duration_ms", t.UpdatedAt.Sub(t.CreatedAt).Milliseconds())
	return true
}

// become changes the state of a task that goes on. The caller holds the lock.
func (t *Task) become(s status) { t.Status, t.UpdatedAt = s, time.Now() }

// wireError is the error that a call would have been answered with.
func wireError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return errInternal("unexpected failure, see the server's log")
}
