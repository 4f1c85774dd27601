package tasks

import (
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// hints wakes waits for tasks that the server mentions. The zero value is ready for use.
type hints struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// listen returns a channel that receives a value when the server mentions the task, until done is
// called. Of two listeners for one task, the later one receives them.
func (h *hints) listen(id string) (hint <-chan struct{}, done func()) {
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

// tell passes on a notification about a task. It never blocks.
func (h *hints) tell(n jsonrpc.Notification) {
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
