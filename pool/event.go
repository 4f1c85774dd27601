package pool

import (
	"context"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
)

// Event reports something that happened to a server of a [Pool]; see [OnEvent].
type Event struct {
	// Server is the name of the server in the pool.
	Server string
	// State is the state of the server now. A server that joins late, or again, is
	// [Connected] here; its tools can be listed then.
	State State
	// Err is the reason when State is [Failed].
	Err error
	// Event is what the server's client reported ([client.OnEvent]); nil when State
	// has changed. A lost connection is reported as [Failed]: the pool may close the
	// client before it reports [client.Disconnected].
	Event client.Event
}

// size is about how many bytes of a server's words the event holds.
func (e Event) size() int { return footprint.Of(e.Event) + footprint.Error(e.Err) }

// How many events, and how many bytes of them, wait for a slow handler. The oldest
// are dropped first.
const (
	maxEvents     = 1024
	maxEventBytes = 16 << 20
)

// events is the queue before the application's handler. Its goroutine exists while
// something waits.
type events struct {
	mu      sync.Mutex
	queue   []Event
	bytes   int // of what is queued
	running bool
	stopped bool
	work    sync.WaitGroup
}

// emit queues an event; it never waits.
func (p *Pool) emit(e Event) {
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
	for len(q.queue) > maxEvents || (len(q.queue) > 1 && q.bytes > maxEventBytes) {
		q.take()
	}
	if !q.running {
		q.running = true
		q.work.Go(func() {
			callback.InTurn(q.work.Go, func() bool {
				e, ok := q.next()
				if ok {
					callback.Run("OnEvent", p.callbackFailed, func() { p.cfg.onEvent(p.life, e) })
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

func (q *events) next() (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.queue, q.running = nil, false
		return e, false
	}
	return q.take(), true
}

// take removes the oldest event. Requires q.mu.
func (q *events) take() Event {
	e := q.queue[0]
	q.queue[0] = Event{}
	q.queue = q.queue[1:]
	q.bytes -= e.size()
	return e
}

func (q *events) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue, q.bytes, q.stopped = nil, 0, true
}

// wait waits for the handler to return, for bound at most, and reports whether it
// has.
func (q *events) wait(bound time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.work.Wait()
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// forward passes an event of the server's client on.
func (m *member) forward(_ context.Context, e client.Event) {
	m.p.emit(Event{Server: m.server.Name, State: m.health().State, Event: e})
}
