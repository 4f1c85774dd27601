package faults

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// kind is what a piece does to the stream of answers.
type kind int

const (
	whole  kind = iota // a message: a line, an event, or the body
	part               // bytes without the end of their line; streams only
	cut                // both directions end; streams only
	silent             // nothing more, the right answer neither
	lost               // as silent; over HTTP the connection closes
)

// piece is one part of what the client gets.
type piece struct {
	kind  kind
	right bool // it is the server's answer, unharmed
	last  bool // nothing follows, and it must not wait to see that
	slow  bool // a byte at a time, with Every between; streams only
	data  []byte
	wait  time.Duration // before it
}

// exchange is one request with a fault of messages.
type exchange struct {
	*hit
	proxy  *Proxy
	ctx    context.Context
	req    *message
	answer []byte          // the server's, or an empty result when it was not asked
	ended  <-chan struct{} // closed when the caller has cancelled (D6, F15)
}

// script is a fault made of messages, the same for every carrier. A nil function means: the
// request unchanged, forwarded, the answer unchanged.
type script struct {
	// local answers without the server; nil forwards the request.
	local func(x *exchange) []byte
	// ask returns the request for the server.
	ask func(x *exchange) []byte
	// tell returns the answer for the client.
	tell func(x *exchange) iter.Seq[piece]
}

func scriptOf(id string) (script, bool) {
	if s, ok := scriptsRPC()[id]; ok {
		return s, true
	}
	if s, ok := scriptsMCP()[id]; ok {
		return s, true
	}
	s, ok := scriptsStream()[id]
	return s, ok
}

// pieces returns the answer of the script.
func (s script) pieces(x *exchange) iter.Seq[piece] {
	if s.tell == nil {
		return tells(good(x))
	}
	return s.tell(x)
}

func good(x *exchange) piece    { return piece{right: true, data: x.answer} }
func bad(data []byte) piece     { return piece{data: data} }
func badText(data string) piece { return piece{data: []byte(data)} }
func tells(all ...piece) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, one := range all {
			if !yield(one) {
				return
			}
		}
	}
}

// thenGood ends with the right answer unless the form is "only".
func (x *exchange) thenGood(first ...piece) iter.Seq[piece] {
	if x.form == "only" {
		return tells(append(first, piece{kind: silent})...)
	}
	return tells(append(first, good(x))...)
}

// repeated sends n messages and then the right answer; 0 means until the client leaves.
func (x *exchange) repeated(n int, wait time.Duration, one func(i int) []byte) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for i := 0; i < n || n == 0; i++ {
			if x.ctx.Err() != nil || !yield(piece{data: one(i), wait: wait}) {
				return
			}
		}
		yield(good(x))
	}
}

// cancelled is closed when the caller cancels the request.
func (p *Proxy) cancelled(h *hit, id json.RawMessage) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := waiter{ended: make(chan struct{}), ignore: h.Fault == "F15"}
	h.period.waiting[string(id)] = w
	return w.ended
}

// waiter is an answer that waits for the caller to cancel.
type waiter struct {
	ended  chan struct{}
	ignore bool // the server is not told (F15)
}

// cancel records notifications/cancelled and reports whether not to forward it.
func (p *Proxy) cancel(id json.RawMessage) (ignore bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.now.waiting[string(id)]
	if ok {
		close(w.ended)
		delete(p.now.waiting, string(id))
	}
	return w.ignore
}

// crowd holds answers until there are enough, and then sends them one after the other in
// random order.
type crowd struct {
	full    chan struct{}
	joined  []chan struct{} // one for each: closed when it has been told
	before  []int           // whom each waits for; -1: nobody
	started bool
}

// join adds the answer; the functions that it returns wait for its turn and end it.
func (p *Proxy) join(x *exchange, n int) (turn func() bool, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := x.period.crowd
	if c == nil || c.started {
		c = &crowd{full: make(chan struct{})}
		x.period.crowd = c
	}
	me, told := len(c.joined), make(chan struct{})
	c.joined = append(c.joined, told)
	if len(c.joined) >= n {
		c.start(x)
	}
	turn = func() bool {
		timer := time.NewTimer(x.For.or(time.Second))
		defer timer.Stop()
		select {
		case <-c.full:
		case <-x.ctx.Done():
			return false
		case <-x.period.over:
		case <-timer.C:
		}
		p.mu.Lock()
		c.start(x)
		before := c.before[me]
		p.mu.Unlock()
		if before < 0 {
			return true
		}
		select {
		case <-c.joined[before]:
			return true
		case <-x.ctx.Done():
			return false
		}
	}
	return turn, func() { close(told) }
}

// start chooses the order. The caller holds the proxy's mutex.
func (c *crowd) start(x *exchange) {
	if c.started {
		return
	}
	c.started = true
	c.before = make([]int, len(c.joined))
	last := -1
	for _, i := range x.random.Perm(len(c.joined)) {
		c.before[i], last = last, i
	}
	close(c.full)
}
