package jsonrpc

import (
	"sync"
	"sync/atomic"
	"time"
)

// inflight is the table of calls that wait for an answer. Whoever removes a
// call from it decides how the call ends, so each ends exactly once.
type inflight struct {
	mu     sync.Mutex
	calls  map[string]*call
	failed error
	// broken is why nothing can be sent any more while answers may still come.
	broken error
	// free keeps finished calls for reuse. It belongs to the connection, not
	// to the process, so that timers and channels stay inside a synctest
	// bubble.
	free []*call
}

// call is one waiting call. Its fields are handed over through answered.
type call struct {
	id       string
	at       span          // where its frame stands
	others   int           // how many calls were under way when it began
	answered chan struct{} // capacity 1; one value when the call has ended
	response Response
	err      error

	// timer fires at fires, or never when that is zero. It is left alone when
	// it fires before it has to: that is once an idle timeout and not once a
	// call.
	timer *time.Timer
	fires time.Time
	idle  time.Duration
	until time.Time // the latest end; zero without one
	// seen is when something last came for this call, in nanoseconds since
	// began; written by the read loop.
	seen  atomic.Int64
	began time.Time
}

func (t *inflight) init() { t.calls = make(map[string]*call) }

func (t *inflight) add(id ID, wait Wait) (*call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return nil, t.failed
	}
	if _, there := t.calls[id.token]; there {
		return nil, ErrDuplicateID
	}
	var cl *call
	if last := len(t.free) - 1; last >= 0 {
		cl = t.free[last]
		t.free[last] = nil
		t.free = t.free[:last]
	} else {
		cl = &call{answered: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	}
	cl.id = id.token
	cl.others = len(t.calls)
	cl.start(wait)
	t.calls[id.token] = cl
	return cl, nil
}

// placed notes where a call's frame stands.
func (t *inflight) placed(cl *call, at span, left func(span) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cl.at = at
	if t.broken != nil && t.calls[cl.id] == cl && !left(at) {
		t.end(cl, t.broken)
	}
}

// breaks ends the calls whose frames have not left, since they never will. The
// others may be answered until the stream ends.
func (t *inflight) breaks(reason error, left func(span) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = reason
	for _, cl := range t.calls {
		if cl.at.to > 0 && !left(cl.at) {
			t.end(cl, reason)
		}
	}
}

// end ends a waiting call with an error. Requires t.mu.
func (t *inflight) end(cl *call, err error) {
	delete(t.calls, cl.id)
	cl.err = err
	cl.answered <- struct{}{}
}

// answer ends the call with this id token. A response without id belongs to
// the only call there is, or to none (RPC-10). false means nobody waits.
func (t *inflight) answer(token []byte, resp Response) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	cl := t.calls[string(token)]
	if token == nil && len(t.calls) == 1 {
		for _, cl = range t.calls {
		}
	}
	if cl == nil {
		return false
	}
	delete(t.calls, cl.id)
	cl.response = resp
	cl.response.ID = ID{token: cl.id}
	cl.answered <- struct{}{}
	return true
}

// failOne ends the call with this id with an error.
func (t *inflight) failOne(id ID, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	cl := t.calls[id.token]
	if cl == nil {
		return false
	}
	t.end(cl, err)
	return true
}

// fail ends every call, and every later one, with the first reason given.
func (t *inflight) fail(reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = reason
	}
	for _, cl := range t.calls {
		t.end(cl, t.failed)
	}
	t.free = nil
}

// drop removes a call whose caller gave up. false means that it has ended
// already and that answered holds its end.
func (t *inflight) drop(cl *call) bool {
	t.mu.Lock()
	// Somebody else may wait under the same id, once this call was answered.
	waits := t.calls[cl.id] == cl
	if waits {
		delete(t.calls, cl.id)
	}
	t.mu.Unlock()
	if waits {
		t.recycle(cl)
	}
	return waits
}

// recycle keeps a call that has ended for the next one.
func (t *inflight) recycle(cl *call) {
	cl.id, cl.at, cl.response, cl.err = "", span{}, Response{}, nil
	t.mu.Lock()
	defer t.mu.Unlock()
	const keep = 1024
	if t.failed == nil && len(t.free) < keep {
		t.free = append(t.free, cl)
	}
}

func (t *inflight) touch(id ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cl := t.calls[id.token]; cl != nil {
		cl.seen.Store(int64(time.Since(cl.began)))
	}
}

func (t *inflight) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}

// start begins to count wait.
func (cl *call) start(wait Wait) {
	wait.Idle, wait.Max = max(wait.Idle, 0), max(wait.Max, 0)
	if wait == (Wait{}) {
		cl.timer.Stop()
		cl.fires, cl.idle, cl.until = time.Time{}, 0, time.Time{}
		return
	}
	cl.began = time.Now()
	cl.seen.Store(0)
	cl.idle = wait.Idle
	cl.until = time.Time{}
	first := wait.Idle
	if wait.Max > 0 {
		cl.until = cl.began.Add(wait.Max)
		if first == 0 || wait.Max < first {
			first = wait.Max
		}
	}
	if fires := cl.began.Add(first); cl.fires.IsZero() || fires.Before(cl.fires) {
		cl.fires = fires
		cl.timer.Reset(first)
	}
}

// expired says why the timer that fired ends the call, or sets it anew.
func (cl *call) expired() error {
	now := time.Now()
	cl.fires = time.Time{}
	if !cl.until.IsZero() && !now.Before(cl.until) {
		return ErrMaxWait
	}
	next := time.Duration(0)
	if cl.idle > 0 {
		next = cl.began.Add(time.Duration(cl.seen.Load()) + cl.idle).Sub(now)
		if next <= 0 {
			return ErrIdle
		}
	}
	if !cl.until.IsZero() && (next == 0 || cl.until.Sub(now) < next) {
		next = cl.until.Sub(now)
	}
	cl.fires = now.Add(next)
	cl.timer.Reset(next)
	return nil
}
