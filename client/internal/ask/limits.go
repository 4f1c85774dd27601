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

// Limits limit a server's requests for input. 0 means the default.
type Limits struct {
	// Concurrent is the number of concurrent handlers, 16 by default.
	Concurrent int
	// PerMinute is the number of questions per minute, 120 by default. Requests for roots do not
	// count.
	PerMinute int
	// Rounds is how often one call may ask for input, 10 by default. It may be postponed twice
	// as often.
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

// gate limits the questions to handlers.
type gate struct {
	slots chan struct{}
	// full is set once busy handlers were logged, until a slot is free.
	full atomic.Bool

	mu     sync.Mutex
	budget float64 // questions that are allowed now
	since  time.Time
}

func newGate(l Limits) *gate {
	return &gate{slots: make(chan struct{}, l.Concurrent), budget: float64(l.PerMinute), since: time.Now()}
}

// allow takes one question from the budget, which refills over time.
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

// codeBusy is the error code for a server that asks too much. JSON-RPC leaves the code to
// implementations.
const codeBusy = -32000

// put runs the handler of a question within the limits, and waits for it until ctx ends. The
// handler has its own goroutine: if it ignores its context, it delays only Close.
func (d *Dispatcher) put(ctx context.Context, method string, q question) (json.RawMessage, *Refusal) {
	if most := d.Offer.Limits.PerMinute; method != mcp.MethodRootsList && !d.gate.allow(most) {
		d.Log.Warn("[MCP] the server asks too often; refused", "server", d.Server, "method", method)
		return nil, refuse(codeBusy, "more than %d requests for input per minute", most)
	}
	if no := d.awaitSlot(ctx, method); no != nil {
		return nil, no
	}
	if ctx.Err() != nil { // the caller has given up
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
	defer d.Patience.asks()()
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
		if ctx.Err() != nil { // the result may be due to the end of ctx
			return nil, gaveUp(ctx.Err())
		}
		return a.result, a.no
	case <-ctx.Done():
		return nil, gaveUp(ctx.Err())
	}
}

// awaitSlot waits for a free handler slot. A handler that ignores the end of its context keeps
// its slot: if all do, questions wait as long as their calls may take. That is logged once until
// a slot is free.
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
			"handlers", cap(slots), "longest", d.OpenTime)
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

// gaveUp returns the refusal of a question whose caller has given up.
func gaveUp(err error) *Refusal {
	return &Refusal{rpc: jsonrpc.NewError(jsonrpc.CodeInternalError, "No answer in time", nil), cause: err}
}
