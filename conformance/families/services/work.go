package services

import (
	"errors"
	"sync"
	"time"
)

// endTimeout is how long what was cancelled may take to end.
const endTimeout = time.Second

// work counts what runs for the services: requests, listeners, the cleanup.
// Unlike a [sync.WaitGroup] it turns away whatever would begin after its end,
// as a request may that was read just before its connection was closed.
type work struct {
	mu      sync.Mutex
	running int
	ended   bool
	idle    chan struct{}
}

func newWork() *work { return &work{idle: make(chan struct{})} }

// begin counts one more, which must call done; false is that the end has come.
func (w *work) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.running++
	return true
}

func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if w.ended && w.running == 0 {
		close(w.idle)
	}
}

// end lets nothing begin any more and waits for what runs, at most for
// endTimeout. What runs then still is an error.
func (w *work) end() error {
	w.mu.Lock()
	if !w.ended {
		w.ended = true
		if w.running == 0 {
			close(w.idle)
		}
	}
	w.mu.Unlock()
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-w.idle:
		return nil
	case <-timer.C:
		return errors.New("a request or the cleanup still runs, though it was cancelled")
	}
}
