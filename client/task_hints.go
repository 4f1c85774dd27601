package client

import (
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// taskHints tells who waits for a task that the server said something about it.
// The zero value is ready.
type taskHints struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// listen returns a channel that gets a value when the task is mentioned, until
// done is called. Of two who listen for one task the later gets them.
func (h *taskHints) listen(id string) (hint <-chan struct{}, done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[string]chan struct{}{}
	}
	ch := make(chan struct{}, 1)
	h.waiting[id] = ch
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.waiting[id] == ch {
			delete(h.waiting, id)
		}
	}
}

// tell passes a notification about a task on. It never waits.
func (h *taskHints) tell(n jsonrpc.Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return
	}
	var about struct {
		TaskID string `json:"taskId"`
	}
	if jsonrpc.Unmarshal(n.Params, &about) != nil {
		return
	}
	if ch := h.waiting[about.TaskID]; ch != nil {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
