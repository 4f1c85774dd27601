package ask

import (
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Patience keeps calls from their idle timeout while a handler answers a request of the session
// era. The server may be waiting for that answer before it goes on with a call, and such a request
// does not say with which. The calls' maximum times are unchanged.
type Patience struct {
	mu     sync.Mutex
	calls  map[*Awaited]struct{}
	asking int
	timer  *time.Timer // runs while asking > 0 and there are calls
}

// Awaited is a call in flight; see [Patience.Begin].
type Awaited struct {
	touch func(id jsonrpc.ID)
	id    jsonrpc.ID
	idle  time.Duration
}

// Begin adds a call with an idle timeout. touch restarts that timeout. The caller ends it with
// [Patience.End].
func (p *Patience) Begin(touch func(id jsonrpc.ID), id jsonrpc.ID, idle time.Duration) *Awaited {
	a := &Awaited{touch, id, idle}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[*Awaited]struct{}{}
	}
	p.calls[a] = struct{}{}
	if p.asking > 0 {
		p.touchAll()
	}
	return a
}

// End removes a call.
func (p *Patience) End(a *Awaited) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, a)
}

// asks begins the time in which a handler runs; the caller calls answered.
func (p *Patience) asks() (answered func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking++
	p.touchAll()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.touchAll() // the server goes on from here
		if p.asking--; p.asking == 0 && p.timer != nil {
			p.timer.Stop()
		}
	}
}

// touchAll restarts the idle timeouts, and comes back before the first one ends. Requires p.mu.
func (p *Patience) touchAll() {
	var shortest time.Duration
	for a := range p.calls {
		a.touch(a.id)
		if shortest == 0 || a.idle < shortest {
			shortest = a.idle
		}
	}
	if shortest == 0 {
		return
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(shortest/2, p.again)
		return
	}
	p.timer.Reset(shortest / 2)
}

func (p *Patience) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking > 0 {
		p.touchAll()
	}
}
