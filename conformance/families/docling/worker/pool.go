package worker

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
)

// ErrBusy says that too many conversions wait already.
var ErrBusy = errors.New("too many conversions at once")

// A Pool bounds how many workers run at once. Every document gets a process of
// its own, so that none can spoil what another is converted with.
type Pool struct {
	argv    []string
	limits  Limits
	running chan struct{}
	waiting chan struct{}
}

// NewPool returns a pool that starts argv and runs at most parallel workers
// while queue more wait. Zero parallel is one for each processor, and two at
// least; zero queue is 64, a negative one none.
func NewPool(argv []string, limits Limits, parallel, queue int) *Pool {
	if parallel <= 0 {
		parallel = max(2, runtime.GOMAXPROCS(0))
	}
	if queue == 0 {
		queue = 64
	}
	return &Pool{
		argv: argv, limits: limits,
		running: make(chan struct{}, parallel),
		waiting: make(chan struct{}, parallel+max(queue, 0)),
	}
}

// Convert converts a document in a process of its own. The error is a
// [*Failure], [ErrBusy], [ErrUnavailable] or the context's own.
func (p *Pool) Convert(ctx context.Context, req *Request) (json.RawMessage, error) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return nil, ErrBusy
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	proc, err := Start(ctx, p.argv, p.limits)
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	return proc.Convert(ctx, req)
}
