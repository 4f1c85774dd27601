package repo

import (
	"context"
	"sync"
	"time"
)

// Locks lets one writer at a time into a repository: among the callers of this
// process, and, by a lock of the operating system that dies with its holder,
// among processes. The zero value is ready.
type Locks struct {
	mu   sync.Mutex
	held map[string]*gate
}

// gate is the place of one repository and how many hold or await it.
type gate struct {
	turn  chan struct{}
	users int
}

// otherProcess is how often a lock that another process holds is tried.
const otherProcess = 10 * time.Millisecond

// Lock waits for the repository at root and returns what releases it.
func (l *Locks) Lock(ctx context.Context, root string) (unlock func(), err error) {
	g := l.enter(root)
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		l.leave(root, g)
		return nil, context.Cause(ctx)
	}
	release, err := lockBetweenProcesses(ctx, root)
	if err != nil {
		<-g.turn
		l.leave(root, g)
		return nil, err
	}
	return func() {
		release()
		<-g.turn
		l.leave(root, g)
	}, nil
}

func (l *Locks) enter(root string) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*gate)
	}
	g := l.held[root]
	if g == nil {
		g = &gate{turn: make(chan struct{}, 1)}
		l.held[root] = g
	}
	g.users++
	return g
}

func (l *Locks) leave(root string, g *gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(l.held, root)
	}
}

func lockBetweenProcesses(ctx context.Context, root string) (release func(), err error) {
	retry := time.NewTicker(otherProcess)
	defer retry.Stop()
	for {
		release, busy, err := tryLock(root)
		if !busy {
			return release, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
