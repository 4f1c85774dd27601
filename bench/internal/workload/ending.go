package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

var errNever = fmt.Errorf("never: not within %s", patience)

// death is W7: how long after the SIGKILL of the server the last of N calls in
// flight has its error.
func death(ctx context.Context, c Cell, self string) (Result, error) {
	var times []time.Duration
	for range pick(c, 7, 2) {
		d, err := die(ctx, c, self)
		if err != nil {
			return Result{}, err
		}
		times = append(times, d)
	}
	r := Result{Calls: len(times)}
	r.P50, r.P99 = percentiles(times)
	return r, nil
}

func die(ctx context.Context, c Cell, self string) (time.Duration, error) {
	t, err := aim(ctx, c, self, server.Options{Heir: c.Variant == Heir})
	if err != nil {
		return 0, err
	}
	client, err := t.dial(ctx)
	if err != nil {
		return 0, errors.Join(err, t.stop())
	}
	defer closing(client)
	var calls sync.WaitGroup
	for range c.N {
		calls.Go(func() {
			// An error is what this call is for.
			_, _ = client.Call(ctx, "silent", map[string]any{})
		})
	}
	if err := awaitCount(ctx, client, c.N); err != nil {
		return 0, errors.Join(err, t.kill(), t.stop())
	}
	done := make(chan struct{})
	go func() {
		calls.Wait()
		close(done)
	}()
	at := time.Now()
	if err := t.kill(); err != nil {
		return 0, errors.Join(err, t.stop())
	}
	select {
	case <-done:
		return time.Since(at), t.stop()
	case <-time.After(patience):
		return 0, errors.Join(errNever, t.stop())
	}
}

// awaitCount waits until n silent calls have reached the server.
func awaitCount(ctx context.Context, client clients.Client, n int) error {
	limit := time.After(patience)
	for {
		seen, err := client.Call(ctx, "count", map[string]any{})
		if err != nil {
			return fmt.Errorf("the session is lost: %w", err)
		}
		if seen >= n {
			return nil
		}
		select {
		case <-limit:
			return fmt.Errorf("%d of %d calls reached the server", seen, n)
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// cancel is W8: how long a call takes to return once its context has ended.
func cancel(ctx context.Context, c Cell, self string) (Result, error) {
	if c.Variant == FullPipe {
		return cancelFull(ctx, c, self)
	}
	tool := "silent"
	if c.Variant == HalfBody {
		tool = "half"
	}
	return with(ctx, c, self, server.Options{}, nil, func(_ *target, client clients.Client) (Result, error) {
		var times []time.Duration
		for i := range pick(c, 200, 10) {
			d, err := cancelOne(ctx, client, tool, map[string]any{}, func() error { return awaitCount(ctx, client, i+1) })
			if err != nil {
				return Result{}, err
			}
			times = append(times, d)
			if err := call(ctx, client, "echo", map[string]any{"message": "hi"}); err != nil {
				return Result{}, fmt.Errorf("the session is lost: %w", err)
			}
		}
		r := Result{Calls: len(times)}
		r.P50, r.P99 = percentiles(times)
		return r, nil
	})
}

// cancelFull cancels a call whose arguments do not fit into the pipe of a
// server that has stopped reading.
func cancelFull(ctx context.Context, c Cell, self string) (Result, error) {
	var times []time.Duration
	payload := map[string]any{"payload": server.Text(1 << 20)}
	for range pick(c, 5, 1) {
		t, err := aim(ctx, c, self, server.Options{})
		if err != nil {
			return Result{}, err
		}
		client, err := t.dial(ctx)
		if err != nil {
			return Result{}, errors.Join(err, t.stop())
		}
		stalled, giveUp := context.WithCancel(ctx)
		go func() { _, _ = client.Call(stalled, "stall", map[string]any{}) }() // never answers
		err = t.awaitStall(ctx)
		var d time.Duration
		if err == nil {
			d, err = cancelOne(ctx, client, "sink", payload, func() error {
				// To encode it and to fill the pipe takes a few milliseconds.
				<-time.After(250 * time.Millisecond)
				return nil
			})
		}
		giveUp()
		err = errors.Join(err, t.kill())
		closing(client)
		if err = errors.Join(err, t.stop()); err != nil {
			return Result{}, err
		}
		times = append(times, d)
	}
	r := Result{Calls: len(times)}
	r.P50, r.P99 = percentiles(times)
	return r, nil
}

// awaitStall waits until the server has stopped reading.
func (t *target) awaitStall(ctx context.Context) error {
	limit := time.After(patience)
	for {
		if _, err := os.Stat(t.pidFile + server.Stalled); err == nil {
			return nil
		}
		select {
		case <-limit:
			return errors.New("the server did not stall")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}

// cancelOne starts a call, waits until it is ready to be cancelled, and
// measures from there to its return.
func cancelOne(ctx context.Context, client clients.Client, tool string, args any, ready func() error) (time.Duration, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	done := make(chan time.Time, 1)
	var callErr error
	go func() {
		_, callErr = client.Call(ctx, tool, args)
		done <- time.Now()
	}()
	if err := ready(); err != nil {
		return 0, err
	}
	at := time.Now()
	end()
	select {
	case returned := <-done:
		if callErr == nil {
			return 0, errors.New("the call was answered")
		}
		return returned.Sub(at), nil
	case <-time.After(patience):
		return 0, errNever
	}
}
