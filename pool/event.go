package pool

import (
	"context"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
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

// events is the queue before the application's handler. Its goroutine exists while
// something waits.
type events struct {
	queue *inbox.Queue[queued] // nil without a handler
	work  sync.WaitGroup
}

// queued is an event on its way to the handler.
type queued struct{ Event }

// Size implements [inbox.Item].
func (q queued) Size() int { return footprint.Of(q.Event.Event) + footprint.Error(q.Err) }

// Drop implements [inbox.Item].
func (queued) Drop() {}

// begin makes the queue, if there is a handler.
func (e *events) begin(p *Pool) {
	if p.cfg.onEvent == nil {
		return
	}
	e.queue = inbox.New(inbox.Host[queued]{
		Go: e.work.Go,
		Deliver: func(q queued) {
			callback.Run("OnEvent", p.callbackFailed, func() { p.cfg.onEvent(p.life, q.Event) })
		},
		Dropped: func(int) {}, // as [OnEvent] says
	})
}

// emit queues an event; it never waits.
func (p *Pool) emit(e Event) {
	if q := p.events.queue; q != nil {
		q.Put(queued{e})
	}
}

// callbackFailed logs that a function of the application did not return.
func (p *Pool) callbackFailed(e *callback.Error) {
	p.cfg.logger.Error("[MCP] a function of the application failed", "error", e.Error(), "stack", string(e.Stack))
}

func (e *events) stop() {
	if e.queue != nil {
		e.queue.Stop()
	}
}

// wait waits for the handler to return, for bound at most, and reports whether it
// has.
func (e *events) wait(bound time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.work.Wait()
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
