package client

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

// InputLimits bounds what a server may ask the application for. A member that is 0
// takes its default.
type InputLimits struct {
	// Concurrent is how many handlers run at once, 16 by default; what comes
	// then waits. A handler that calls the server needs 2 at least: the call may
	// ask something itself.
	Concurrent int
	// PerMinute is how many questions handlers get in a minute, 120 by default;
	// what comes then is refused. Roots do not count.
	PerMinute int
	// Rounds is how often one call may ask, 10 by default.
	Rounds int
	// Waits is how often one call may be told to come back later, 20 by
	// default. The client waits in between, longer each time.
	Waits int
}

// WithInputLimits replaces the limits on what a server may ask for.
func WithInputLimits(l InputLimits) Option { return optionFunc(func(c *config) { c.limits = l }) }

func (l *InputLimits) complete() error {
	for _, m := range []struct {
		value  *int
		preset int
	}{{&l.Concurrent, 16}, {&l.PerMinute, 120}, {&l.Rounds, 10}, {&l.Waits, 20}} {
		if *m.value < 0 {
			return errors.New("input limits must not be negative; 0 takes the default")
		}
		if *m.value == 0 {
			*m.value = m.preset
		}
	}
	return nil
}

// inputs is what a client has to do with questions of its server.
type inputs struct {
	gate    lazy[inputGate]
	asked   asked
	errands urlErrands
}

// inputGate lets questions through to the handlers.
type inputGate struct {
	slots chan struct{}
	// full says that it was logged that no slot is free.
	full atomic.Bool

	mu     sync.Mutex
	budget float64 // questions that may still come now
	since  time.Time
}

func (c *Client) newInputGate() *inputGate {
	l := c.cfg.limits
	return &inputGate{slots: make(chan struct{}, l.Concurrent), budget: float64(l.PerMinute), since: time.Now()}
}

// allow takes one question from the budget, which fills up again with time.
func (g *inputGate) allow(perMinute int) bool {
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

// codeBusy is what a server is told that asks too much. JSON-RPC leaves the
// number to implementations.
const codeBusy = -32000

// put runs a question's handler within the limits and waits for it until ctx
// ends. The handler has a goroutine of its own: one that does not listen to its
// context keeps nobody waiting but Close.
func (c *Client) put(ctx context.Context, method string, q question) (json.RawMessage, *refusal) {
	gate := c.inputs.get().gate.made(c.newInputGate)
	if method != mcp.MethodRootsList && !gate.allow(c.cfg.limits.PerMinute) {
		c.log.Warn("[MCP] the server asks too often; refused", "server", c.server, "method", method)
		return nil, refuse(codeBusy, "more than %d questions a minute", c.cfg.limits.PerMinute)
	}
	if no := c.awaitSlot(ctx, gate, method); no != nil {
		return nil, no
	}
	if ctx.Err() != nil { // nobody is bothered in vain
		<-gate.slots
		return nil, gaveUp(ctx.Err())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	type answer struct {
		result json.RawMessage
		no     *refusal
	}
	done := make(chan answer, 1)
	started := c.within(func() {
		result, no := q(ctx)
		<-gate.slots
		done <- answer{result, no}
	})
	if !started {
		<-gate.slots
		return nil, gaveUp(context.Canceled)
	}
	select {
	case a := <-done:
		if ctx.Err() != nil { // whatever it says, it says it because of that
			return nil, gaveUp(ctx.Err())
		}
		return a.result, a.no
	case <-ctx.Done():
		return nil, gaveUp(ctx.Err())
	}
}

// awaitSlot waits until one more handler may run. Handlers that hang, deaf to
// their contexts, keep their slots: then every question waits as long as its
// call may take, and the log says why, once until a slot is free again.
func (c *Client) awaitSlot(ctx context.Context, gate *inputGate, method string) *refusal {
	select {
	case gate.slots <- struct{}{}:
		gate.full.Store(false)
		return nil
	default:
	}
	if gate.full.CompareAndSwap(false, true) {
		c.log.Warn("[MCP] a question of the server waits: all handlers are busy", "server", c.server, "method", method,
			"handlers", cap(gate.slots), "longest", c.res.MaxTime)
	}
	select {
	case gate.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return gaveUp(fmt.Errorf("all %d handlers were busy: %w", cap(gate.slots), ctx.Err()))
	case <-c.life.Done():
		return gaveUp(context.Canceled)
	}
}

// gaveUp is the refusal of a question that nobody waits for any more.
func gaveUp(err error) *refusal {
	return &refusal{rpc: jsonrpc.NewError(jsonrpc.CodeInternalError, "No answer in time", nil), cause: err}
}

// handlerFailed is the refusal of a question whose handler failed. The server is not
// told why: the reason is this side's business. A handler that wants to say
// something returns a [*jsonrpc.Error].
func handlerFailed(err error) *refusal {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		rpc = jsonrpc.NewError(jsonrpc.CodeInternalError, "The request could not be handled", nil)
	}
	return &refusal{rpc: rpc, cause: err}
}
