package front

import (
	"context"
	"sync"
)

// A Turnstile counts who is inside, and can be closed to those who are not yet.
// The zero value is open.
type Turnstile struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // Add under mu
}

// Enter counts one more and returns the function that counts it out again,
// which may be called more than once; or nil when the turnstile is closed.
func (t *Turnstile) Enter() (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.inside.Add(1)
	return sync.OnceFunc(t.inside.Done)
}

// Drain closes the turnstile and waits until everybody has left, or ctx ends.
func (t *Turnstile) Drain(ctx context.Context) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	empty := make(chan struct{})
	go func() {
		t.inside.Wait()
		close(empty)
	}()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
