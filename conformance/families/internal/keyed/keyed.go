// Package keyed has mutexes by key.
package keyed

import (
	"context"
	"sync"
)

// Locks is a mutex for each key, first come, first served. It keeps nothing of a key that
// nobody holds or waits for. The zero value is ready.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	users int // who holds it or waits for it; guarded by Locks.mu
	// free holds a token while nobody has the lock. A channel and not a mutex, because a caller
	// that has gone must not stay in the queue.
	free chan struct{}
}

// Lock waits for the key and returns what unlocks it, or the error of ctx.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), err error) {
	k := l.enter(key)
	select {
	case <-k.free:
		return func() {
			k.free <- struct{}{}
			l.leave(key, k)
		}, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, ctx.Err()
	}
}

func (l *Locks) enter(key string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[key]
	if k == nil {
		k = &lock{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		if l.held == nil {
			l.held = map[string]*lock{}
		}
		l.held[key] = k
	}
	k.users++
	return k
}

func (l *Locks) leave(key string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, key)
	}
}
