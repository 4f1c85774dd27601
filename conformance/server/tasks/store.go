package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Options configures a [Store].
type Options struct {
	// Dir is the folder of the tasks. It is made when it does not exist. If another
	// process uses it, the store takes a folder of its own below it.
	Dir string
	// Max bounds the tasks that are kept, ended ones included; 0 is 4096.
	Max int
	// MaxPerUser bounds those of one user; 0 is 1024.
	MaxPerUser int
	// TTL is how long a task is kept from its creation, whether or not it has
	// ended by then; 0 is half an hour.
	TTL time.Duration
	// Poll is how often clients shall ask; 0 is one second.
	Poll time.Duration
	// Logger gets a line for each task that ends; nil drops them.
	Logger *slog.Logger
}

// A Store keeps tasks. It is safe for concurrent use.
type Store struct {
	opts   Options
	folder *folder

	life    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	tasks   map[string]*Task
	users   map[string]int // how many tasks each has
	watches map[*watch]bool
	closed  bool
}

// Open returns the store of a folder, with the tasks in it that have not expired.
// The caller closes it.
func Open(opts Options) (*Store, error) {
	opts.Max, opts.MaxPerUser = cmp.Or(opts.Max, 4096), cmp.Or(opts.MaxPerUser, 1024)
	opts.TTL, opts.Poll = cmp.Or(opts.TTL, 30*time.Minute), cmp.Or(opts.Poll, time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	folder, err := openFolder(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	s := &Store{opts: opts, folder: folder, tasks: map[string]*Task{}, users: map[string]int{}, watches: map[*watch]bool{}}
	s.life, s.stop = context.WithCancel(context.Background()) //nolint:forbidigo // it lives until Close
	if err := s.load(); err != nil {
		folder.close()
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return s, nil
}

// load takes in the tasks of an earlier process. Those that had not ended failed
// with it.
func (s *Store) load() error {
	records, err := s.folder.all()
	if err != nil {
		return err
	}
	for _, r := range records {
		left := time.Until(r.CreatedAt.Add(r.ttl()))
		if left <= 0 || len(s.tasks) >= s.opts.Max {
			s.folder.remove(r.ID)
			continue
		}
		if !r.Status.final() {
			r.Status, r.Error, r.UpdatedAt = statusFailed, errStopped(), time.Now()
			if err := s.folder.write(r); err != nil {
				return err
			}
		}
		s.keep(&Task{store: s, record: *r, cancel: func() {}}, left)
	}
	return nil
}

// keep makes a task known until it expires. The caller holds the lock, or is the
// only one yet.
func (s *Store) keep(t *Task, left time.Duration) {
	s.tasks[t.ID] = t
	s.users[t.User]++
	t.expiry = time.AfterFunc(left, func() { s.expire(t) })
}

// expire forgets a task, which ends if it still runs.
func (s *Store) expire(t *Task) {
	s.mu.Lock()
	delete(s.tasks, t.ID)
	if s.users[t.User]--; s.users[t.User] == 0 {
		delete(s.users, t.User)
	}
	s.mu.Unlock()
	t.cancel()
	s.folder.remove(t.ID)
}

// A Work does what a call asks for, until ctx ends. What it returns is what the
// call would have been answered with.
type Work func(ctx context.Context, t *Task) (*mcp.CallToolResult, error)

// Start has the work of a call done as a task of caller. The result is for the
// handler of the call to return: [Store.Middleware] makes of it what the client gets.
// The work may use the values of ctx, but does not end with it. A store that is
// full is an error, [ErrFull].
func (s *Store) Start(ctx context.Context, caller Caller, work Work) (*mcp.CallToolResult, error) {
	now := time.Now()
	t := &Task{store: s, record: record{
		ID: rand.Text(), User: caller.User, Status: statusWorking, CreatedAt: now, UpdatedAt: now, TTLMs: s.opts.TTL.Milliseconds(),
	}}
	created := t.snapshot()
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.admit(t); err != nil {
		t.cancel()
		return nil, err
	}
	s.running.Go(func() {
		defer context.AfterFunc(s.life, t.cancel)()
		defer t.cancel()
		t.end(s.run(ctx, t, work))
	})
	return &mcp.CallToolResult{Meta: mcp.Meta{createdKey: created}}, nil
}

// admit keeps a new task, on the disk first.
func (s *Store) admit(t *Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return &family.Error{Code: family.CodeServer, Message: "the server is being stopped", Data: map[string]any{"reason": "stopping"}}
	case len(s.tasks) >= s.opts.Max:
		return errFull("the server", s.opts.Max)
	case s.users[t.User] >= s.opts.MaxPerUser:
		return errFull("a client", s.opts.MaxPerUser)
	}
	if err := s.folder.write(&t.record); err != nil {
		return fmt.Errorf("keeping a task: %w", err)
	}
	s.keep(t, s.opts.TTL)
	return nil
}

// run does the work, and returns its result as tasks/get has it. A panic is a failure
// of the task alone.
func (s *Store) run(ctx context.Context, t *Task, work Work) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.opts.Logger.Error("panic", "mcp_task", t.ID, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
			result, err = nil, errInternal("unexpected failure, see the server's log")
		}
	}()
	res, err := work(ctx, t)
	if err != nil {
		return nil, err
	}
	return encodeResult(res)
}

// find returns a task of a user.
func (s *Store) find(user, id string) (*Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil || t.User != user {
		return nil, errUnknown(id)
	}
	return t, nil
}

// get returns the state of a task, with its outcome if it has one.
func (s *Store) get(user, id string) (*detailed, error) {
	t, err := s.find(user, id)
	if err != nil {
		return nil, err
	}
	d := t.detailed()
	if d.Status == statusCompleted {
		kept, err := s.folder.read(id)
		if err != nil { // it has expired since
			return nil, errUnknown(id)
		}
		d.Result = kept.Result
	}
	return d, nil
}

// Close ends the tasks that run, and waits for them until ctx is done. They have
// failed when the store is opened again.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for _, t := range s.tasks {
		t.expiry.Stop()
	}
	s.mu.Unlock()
	s.stop()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		s.folder.close()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// encodeResult returns a result of a tool as a task holds it.
func encodeResult(res *mcp.CallToolResult) (json.RawMessage, error) {
	if res.Content == nil {
		res.Content = []mcp.Content{} // null is no list
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	members["resultType"] = json.RawMessage(`"complete"`) // go-sdk adds it to what it sends itself
	return json.Marshal(members)
}

func errInternal(text string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: " + text}
}

// errStopped is how a task ends that the end of the server cuts off.
func errStopped() *jsonrpc.Error {
	return errInternal("the server was stopped before the task had ended")
}

// ErrFull is the cause of the error for a call whose task there is no room for.
var ErrFull = errors.New("too many tasks")

// errFull refuses a call whose task there is no room for.
func errFull(who string, limit int) *family.Error {
	return &family.Error{
		Code:    family.CodeServer,
		Message: fmt.Sprintf("%s may have at most %d tasks: try again when some have expired", who, limit),
		Data:    map[string]any{"reason": "too_many_tasks", "limit": limit}, Err: ErrFull,
	}
}

func errUnknown(id string) *jsonrpc.Error {
	const most = 128 // of what a client sent
	if len(id) > most {
		id = id[:most]
	}
	data, _ := json.Marshal(map[string]any{"reason": "unknown_task", "field": "taskId"}) // strings
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("Invalid params: there is no task %q; it may have expired", id), Data: data,
	}
}
