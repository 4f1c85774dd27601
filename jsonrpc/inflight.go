package jsonrpc

import (
	"sync"
	"sync/atomic"
	"time"
)

// inflight is the table of calls that wait for an answer. The goroutine that
// removes a call from it decides how the call ends, so each call ends exactly once.
type inflight struct {
	mu     sync.Mutex
	calls  map[string]*call
	failed error
	// free keeps finished calls for reuse. Each connection has its own, so that
	// timers and channels stay inside a synctest bubble.
	free sync.Pool
}

// call is one waiting call. A value in answered hands response and err over.
type call struct {
	id       string
	at       span          // the place of its frame, once known; guarded by the writer's mutex
	others   int           // how many calls were in flight when it began
	answered chan struct{} // capacity 1; one value when the call has ended
	response Response
	err      error

	// timer rings at fires, or never if that is zero. A timer that is set to an
	// earlier time than needed stays set: so it fires once in each idle timeout, and
	// is not reset for each call. It has no channel, because a timer with a channel
	// enters and leaves the runtime's heap with every select.
	timer *time.Timer
	rings chan struct{} // capacity 1; one value when timer fired, perhaps for an earlier call
	fires time.Time
	idle  time.Duration
	until time.Time // the latest end; zero without one
	// endless and nullID are fields of [Wait].
	endless, nullID bool
	// seen is when something last arrived for this call, in nanoseconds since
	// began. The read loop writes it.
	seen  atomic.Int64
	began time.Time
}

func (t *inflight) init() { t.calls = make(map[string]*call) }

func (t *inflight) add(id ID, wait Wait) (*call, error) {
	cl, ok := t.free.Get().(*call)
	if !ok {
		cl = &call{answered: make(chan struct{}, 1), rings: make(chan struct{}, 1)}
		cl.timer = time.AfterFunc(time.Hour, cl.ring)
	}
	cl.id = id.token
	cl.start(wait)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return nil, t.failed
	}
	if _, there := t.calls[id.token]; there {
		return nil, ErrDuplicateID
	}
	cl.others = len(t.calls)
	t.calls[id.token] = cl
	return cl, nil
}

// breaks fails the calls whose frames will never be sent. The others may be answered
// until the stream ends.
func (t *inflight) breaks(reason error, stuck func(*call) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cl := range t.calls {
		if stuck(cl) {
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

// answer ends the call with this id token. A response without id answers the only
// call in flight if that has nullID, and otherwise no call. found reports whether a
// call waited for it, alone whether no other call waits.
func (t *inflight) answer(token []byte, resp Response) (alone, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cl := t.calls[string(token)]
	if token == nil && len(t.calls) == 1 {
		for _, cl = range t.calls {
		}
		if !cl.nullID {
			cl = nil
		}
	}
	if cl == nil {
		return false, false
	}
	delete(t.calls, cl.id)
	cl.response = resp
	cl.response.ID = ID{token: cl.id}
	cl.answered <- struct{}{}
	return len(t.calls) == 0, true
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

// fail ends every call, and every later one, with the first reason.
func (t *inflight) fail(reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = reason
	}
	for _, cl := range t.calls {
		t.end(cl, t.failed)
	}
}

// drop removes a call whose caller gave up. It returns false if the call has ended:
// then answered has a value.
func (t *inflight) drop(cl *call) bool {
	t.mu.Lock()
	// After this call was answered, another one may use the same id.
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

// recycle keeps an ended call for reuse.
func (t *inflight) recycle(cl *call) {
	cl.id, cl.at, cl.response, cl.err = "", span{}, Response{}, nil
	t.free.Put(cl)
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

// start sets the limits of wait and the timer.
func (cl *call) start(wait Wait) {
	wait.Idle, wait.Max = max(wait.Idle, 0), max(wait.Max, 0)
	cl.endless, cl.nullID = wait.Endless, wait.NullID
	if wait.Idle == 0 && wait.Max == 0 {
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

// ring tells the caller that the timer fired.
func (cl *call) ring() {
	select {
	case cl.rings <- struct{}{}:
	default:
	}
}

// expired returns the error with which the timer ends the call. If the call may
// still wait, it sets the timer again and returns nil: the timer may have fired for
// an earlier call.
func (cl *call) expired() error {
	now := time.Now()
	cl.fires = time.Time{}
	if cl.idle == 0 && cl.until.IsZero() {
		return nil
	}
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
