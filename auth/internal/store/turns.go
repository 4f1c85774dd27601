package store

import (
	"context"
	"sync"
)

// turns are locks by name. A wait for one ends with a context. The zero turns are ready.
type turns[K comparable] struct {
	mu    sync.Mutex
	taken map[K]*turn
}

type turn struct {
	free  chan struct{} // has a value while no caller has the turn
	users int           // callers that have the turn or wait for it; guarded by turns.mu
}

// take waits for the turn of a name; done gives it back.
func (t *turns[K]) take(ctx context.Context, name K) (done func(), err error) {
	t.mu.Lock()
	if t.taken == nil {
		t.taken = map[K]*turn{}
	}
	mine := t.taken[name]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.taken[name] = mine
	}
	mine.users++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.taken, name)
		}
	}
	if err := ctx.Err(); err != nil {
		leave()
		return nil, err
	}
	select {
	case <-mine.free:
		return func() {
			mine.free <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
