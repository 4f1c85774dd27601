package client

import (
	"context"
	"sync"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// PoolEvent is something that happened to a server of a [Pool], for
// [OnPoolEvent].
type PoolEvent struct {
	// Server is the server's name in the pool, State how it stands now, and Err
	// why when that is [ServerFailed]. A server that joins late, or again, is
	// [ServerConnected] here; its tools are there then.
	Server string
	State  ServerState
	Err    error
	// Event is what the server's own client told ([OnEvent]); nil when the state
	// has changed. Of a lost connection [ServerFailed] tells: the client may be
	// closed before it has come to tell [Disconnected].
	Event Event
}

// size is about what the event keeps of what a server has sent.
func (e PoolEvent) size() int { return sizeOfEvent(e.Event) + sizeOfError(e.Err) }

// poolEvents is the queue before the application's handler. Its goroutine is there
// while something waits.
type poolEvents struct {
	mu      sync.Mutex
	queue   []PoolEvent
	bytes   int // of what is queued
	running bool
	stopped bool
	work    sync.WaitGroup
}

// tell queues an event; it never waits.
func (p *Pool) tell(e PoolEvent) {
	if p.cfg.onEvent == nil {
		return
	}
	q := &p.events
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	q.queue = append(q.queue, e)
	q.bytes += e.size()
	for len(q.queue) > inboxSize || (len(q.queue) > 1 && q.bytes > inboxBytes) {
		q.take()
	}
	if !q.running {
		q.running = true
		q.work.Go(func() {
			callback.InTurn(q.work.Go, func() bool {
				e, ok := q.next()
				if ok {
					callback.Run("OnPoolEvent", p.callbackFailed, func() { p.cfg.onEvent(p.life, e) })
				}
				return ok
			})
		})
	}
}

// callbackFailed logs that a function of the application did not return.
func (p *Pool) callbackFailed(e *callback.Error) {
	p.cfg.logger.Error("[MCP] a function of the application failed", "error", e.Error(), "stack", string(e.Stack))
}

func (q *poolEvents) next() (e PoolEvent, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.queue, q.running = nil, false
		return e, false
	}
	return q.take(), true
}

// take removes the oldest event. Requires q.mu.
func (q *poolEvents) take() PoolEvent {
	e := q.queue[0]
	q.queue[0] = PoolEvent{}
	q.queue = q.queue[1:]
	q.bytes -= e.size()
	return e
}

func (q *poolEvents) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue, q.bytes, q.stopped = nil, 0, true
}

// tellEvents is the option that passes a client's events on, besides to the handler
// its options have.
func (m *poolMember) tellEvents() Option {
	return optionFunc(func(c *config) {
		before := c.onEvent
		c.onEvent = func(ctx context.Context, e Event) {
			m.p.tell(PoolEvent{Server: m.spec.Name, State: m.health().State, Event: e})
			if before != nil {
				before(ctx, e)
			}
		}
	})
}
