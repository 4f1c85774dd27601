package client

import (
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// urlErrands remembers the elicitations that sent a user somewhere, until the
// server says that they are complete (ELIC-07).
type urlErrands struct {
	mu   sync.Mutex
	done map[string]chan struct{}
	ids  []string // of done, oldest first
}

// maxErrands bounds what a server that never completes anything makes us
// remember. The oldest are forgotten first.
const maxErrands = 256

// maxErrandID is the longest id that is remembered.
const maxErrandID = 1 << 10

// begin returns the channel that is closed when the elicitation is complete,
// nil for one without an id that can be remembered.
func (u *urlErrands) begin(id string) <-chan struct{} {
	if id == "" || len(id) > maxErrandID {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if done, ok := u.done[id]; ok {
		return done
	}
	if u.done == nil {
		u.done = map[string]chan struct{}{}
	}
	if len(u.ids) == maxErrands {
		delete(u.done, u.ids[0])
		u.ids = u.ids[1:]
	}
	u.done[id] = make(chan struct{})
	u.ids = append(u.ids, id)
	return u.done[id]
}

// end forgets an elicitation. known is false when it was not under way.
func (u *urlErrands) end(id string) (done chan struct{}, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if done, known = u.done[id]; known {
		delete(u.done, id)
		u.ids = slices.DeleteFunc(u.ids, func(other string) bool { return other == id })
	}
	return done, known
}

// onElicitationComplete tells whoever waits. Ids that are not known, or known
// no more, are ignored (ELIC-07).
func (c *Client) onElicitationComplete(n jsonrpc.Notification) {
	var params mcp.ElicitationCompleteParams
	if !mcp.MethodIn(n.Method, c.live.Agreed().Version) || mcp.Unmarshal(slices.Clone(n.Params), &params) != nil {
		return
	}
	if done, known := c.inputs.get().errands.end(params.ElicitationID); known {
		close(done)
		c.emit(ElicitationComplete{ID: params.ElicitationID})
	}
}
