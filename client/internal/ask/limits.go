package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Limits bounds what a server may ask. A field that is 0 takes its default.
type Limits struct {
	// Concurrent is how many handlers run at once, 16 by default.
	Concurrent int
	// PerMinute is how many questions handlers get in a minute, 120 by default.
	// Roots do not count.
	PerMinute int
	// Rounds is how often one call may ask, 10 by default. It may be put off twice as
	// often.
	Rounds int
}

func (l *Limits) complete() error {
	for _, m := range []struct {
		value  *int
		preset int
	}{{&l.Concurrent, 16}, {&l.PerMinute, 120}, {&l.Rounds, 10}} {
		if *m.value < 0 {
			return errors.New("WithServerLimits: only MemoryBytes may be negative; 0 is the default")
		}
		if *m.value == 0 {
			*m.value = m.preset
		}
	}
	return nil
}

// gate lets questions through to the handlers.
type gate struct {
	slots chan struct{}
	// full says that the log has a line about the slots since one was free.
	full atomic.Bool

	mu     sync.Mutex
	budget float64 // questions that may still come now
	since  time.Time
}

func newGate(l Limits) *gate {
	return &gate{slots: make(chan struct{}, l.Concurrent), budget: float64(l.PerMinute), since: time.Now()}
}

// allow takes one question from the budget, which fills up again with time.
func (g *gate) allow(perMinute int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.budget = min(float64(perMinute), g.budget+now.Sub(g.since).Minutes()*float64(perMinute))
	g.since = now
	if g.budget < 1 {
		return false
	}
	g.budget--
	return true
}

// codeBusy is the error of a server that asks too much. JSON-RPC leaves the number
// to implementations.
const codeBusy = -32000

// put runs a question's handler within the limits and waits for it until ctx
// ends. The handler has a goroutine of its own: one that ignores its context delays
// Close and nothing else.
func (d *Dispatcher) put(ctx context.Context, method string, q question) (json.RawMessage, *Refusal) {
	if most := d.Offer.Limits.PerMinute; method != mcp.MethodRootsList && !d.gate.allow(most) {
		d.Log.Warn("[MCP] the server asks too often; refused", "server", d.Server, "method", method)
		return nil, refuse(codeBusy, "more than %d questions a minute", most)
	}
	if no := d.awaitSlot(ctx, method); no != nil {
		return nil, no
	}
	if ctx.Err() != nil { // no handler runs for nobody
		<-d.gate.slots
		return nil, gaveUp(ctx.Err())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.Life.Context(), cancel)()
	type answer struct {
		result json.RawMessage
		no     *Refusal
	}
	done := make(chan answer, 1)
	started := d.Life.Go(func() {
		result, no := q(ctx)
		<-d.gate.slots
		done <- answer{result, no}
	})
	if !started {
		<-d.gate.slots
		return nil, gaveUp(context.Canceled)
	}
	select {
	case a := <-done:
		if ctx.Err() != nil { // whatever it returned, it returned because of that
			return nil, gaveUp(ctx.Err())
		}
		return a.result, a.no
	case <-ctx.Done():
		return nil, gaveUp(ctx.Err())
	}
}

// awaitSlot waits until one more handler may run. Handlers that ignore the end of
// their contexts keep their slots: then every question waits as long as its call
// may take, and the log says why, once until a slot is free again.
func (d *Dispatcher) awaitSlot(ctx context.Context, method string) *Refusal {
	slots := d.gate.slots
	select {
	case slots <- struct{}{}:
		d.gate.full.Store(false)
		return nil
	default:
	}
	if d.gate.full.CompareAndSwap(false, true) {
		d.Log.Warn("[MCP] a question of the server waits: all handlers are busy", "server", d.Server, "method", method,
			"handlers", cap(slots), "longest", d.MaxTime)
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return gaveUp(fmt.Errorf("all %d handlers were busy: %w", cap(slots), ctx.Err()))
	case <-d.Life.Context().Done():
		return gaveUp(context.Canceled)
	}
}

// gaveUp is the refusal of a question that nobody waits for any more.
func gaveUp(err error) *Refusal {
	return &Refusal{rpc: jsonrpc.NewError(jsonrpc.CodeInternalError, "No answer in time", nil), cause: err}
}
