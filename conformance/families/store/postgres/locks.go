package postgres

import (
	"context"
	"sync"
)

// keyedLocks is a mutex for every key that somebody wants, first come, first
// served, and given up when the context ends. The zero value is ready.
type keyedLocks struct {
	mu   sync.Mutex
	held map[string]*keyedLock
}

type keyedLock struct {
	users int // who holds it or waits for it; guarded by keyedLocks.mu
	token chan struct{}
}

// lock waits for the key and returns what unlocks it.
func (l *keyedLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*keyedLock{}
	}
	k := l.held[key]
	if k == nil {
		k = &keyedLock{token: make(chan struct{}, 1)}
		k.token <- struct{}{}
		l.held[key] = k
	}
	k.users++
	l.mu.Unlock()
	select {
	case <-k.token:
		return func() {
			k.token <- struct{}{}
			l.leave(key, k)
		}, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, ctx.Err()
	}
}

func (l *keyedLocks) leave(key string, k *keyedLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, key)
	}
}
