package proxy

import (
	"sync"
	"time"
)

const (
	// maxResting bounds the goroutines of a host that wait for a request.
	maxResting = 64
	// restTime is how long one waits that is not needed.
	restTime = time.Second
)

// workers are goroutines that answer requests of a host. One that has answered a request
// rests until the next: to grow the stack of a new goroutine takes longer than the rest of a small
// request.
type workers[T any] struct {
	answer func(*T)
	next   chan *T // nil ends the goroutine that receives it

	mu      sync.Mutex
	stopped bool
	resting int         // that receive from next, or are about to
	spare   int         // of those that were not needed since the last tick
	tick    *time.Timer // nil while none rests
}

// give hands a request to a goroutine that rests, or to a new one.
func (w *workers[T]) give(r *T) {
	w.mu.Lock()
	rested := w.resting > 0
	if rested {
		w.resting--
		w.spare = min(w.spare, w.resting)
	}
	w.mu.Unlock()
	if rested {
		w.next <- r
		return
	}
	go func() {
		for ; r != nil; r = <-w.next {
			if w.answer(r); !w.rest() {
				return
			}
		}
	}()
}

// rest reports whether the caller is to receive from next.
func (w *workers[T]) rest() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.resting == maxResting {
		return false
	}
	w.resting++
	if w.tick == nil {
		w.spare = w.resting
		w.tick = time.AfterFunc(restTime, w.dismiss)
	}
	return true
}

// dismiss ends those that were not needed since the last tick.
func (w *workers[T]) dismiss() {
	w.mu.Lock()
	spare := w.spare
	w.resting -= spare
	w.spare, w.tick = w.resting, nil
	if w.resting > 0 {
		w.tick = time.AfterFunc(restTime, w.dismiss)
	}
	w.mu.Unlock()
	w.end(spare)
}

// stop ends all that rest, and those that answer a request after it.
func (w *workers[T]) stop() {
	w.mu.Lock()
	resting := w.resting
	w.stopped, w.resting, w.spare = true, 0, 0
	if w.tick != nil {
		w.tick.Stop()
	}
	w.mu.Unlock()
	w.end(resting)
}

// end ends n of those that rest.
func (w *workers[T]) end(n int) {
	for range n {
		w.next <- nil
	}
}
