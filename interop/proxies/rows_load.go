package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	speedRounds = 5
	inFlight    = 64
	loadTime    = 1500 * time.Millisecond
	alone       = 400 // calls one at a time
)

// speed lets all ways take turns, so that a busy machine slows all alike.
func speed(ctx context.Context, s *stage, chosen []way, set func(w *way, values ...string)) {
	rates, p50s := make([][]float64, len(chosen)), make([][]float64, len(chosen))
	for range speedRounds {
		for i := range chosen {
			rate, p50, err := speedOnce(ctx, s, &chosen[i])
			if err != nil {
				set(&chosen[i], "cannot: "+brief(err))
				continue
			}
			rates[i], p50s[i] = append(rates[i], rate), append(p50s[i], p50)
		}
	}
	for i := range chosen {
		if len(rates[i]) == speedRounds {
			set(&chosen[i], spread(rates[i]), spread(p50s[i]))
		}
	}
}

func spread(of []float64) string {
	return fmt.Sprintf("%.0f (%.0f–%.0f)", median(of), slices.Min(of), slices.Max(of))
}

// speedOnce returns calls a second and the median time of a call in µs.
func speedOnce(ctx context.Context, s *stage, w *way) (rate, p50 float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := s.setUp(ctx, w)
	defer r.close()
	if err != nil {
		return 0, 0, err
	}
	h, err := r.host(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer h.close()
	times := make([]float64, 0, alone)
	for i := range 2 * alone { // the first half is to warm up
		began := time.Now()
		if err := echo(ctx, h); err != nil {
			return 0, 0, err
		}
		if i >= alone {
			times = append(times, float64(time.Since(began).Nanoseconds())/1000)
		}
	}
	var done atomic.Int64
	var first error
	var once sync.Once
	began := time.Now()
	var callers sync.WaitGroup
	for range inFlight {
		callers.Go(func() {
			for time.Since(began) < loadTime {
				if err := echo(ctx, h); err != nil {
					once.Do(func() { first = err })
					return
				}
				done.Add(1)
			}
		})
	}
	callers.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), median(times), first
}

const manySessions = 100

func memory(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	r, err := s.setUp(ctx, w)
	defer r.close()
	if err != nil {
		return err
	}
	h, err := r.host(ctx)
	if err != nil {
		return err
	}
	defer h.close()
	if err := echo(ctx, h); err != nil {
		return err
	}
	wait(ctx, 2*time.Second)
	one := resident(r.ownProcesses(h))
	if !w.urlFront() {
		set(mebi(one), "– (a process for each)", count(len(r.programsBehind())))
		return nil
	}
	for range manySessions - 1 {
		more, err := r.host(ctx)
		if err != nil {
			return err
		}
		defer more.close() //nolint:revive // all sessions stay until the end
		if err := echo(ctx, more); err != nil {
			return err
		}
	}
	wait(ctx, 2*time.Second)
	set(mebi(one), mebi(resident(r.ownProcesses(h))), count(len(r.programsBehind())))
	return nil
}

// ownProcesses are the processes of the proxy, without those of the server.
func (r *rig) ownProcesses(h host) []int {
	p := r.proxy
	if piped, is := h.(*pipeHost); is {
		p = piped.process
	}
	programs := r.record().programs()
	return slices.DeleteFunc(tree(p.pid()), func(pid int) bool { return slices.Contains(programs, pid) })
}

// programsBehind are the programs of the server that the proxy has started.
func (r *rig) programsBehind() []int {
	if r.server != nil {
		return nil
	}
	return r.record().programs()
}

const leaversTime = 3 * time.Minute

func leavers(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	r, err := s.setUp(ctx, w)
	defer r.close()
	if err != nil {
		return err
	}
	before := resident(r.ownProcesses(nil))
	began := time.Now()
	var left, served atomic.Int64
	left.Store(1000)
	var hosts sync.WaitGroup
	for range 4 {
		hosts.Go(func() {
			for left.Add(-1) >= 0 && time.Since(began) < leaversTime {
				if r.visit(ctx) == nil {
					served.Add(1)
				}
			}
		})
	}
	hosts.Wait()
	took := time.Since(began)
	wait(ctx, 5*time.Second)
	programs := r.programsBehind()
	set(count(int(served.Load())), fmt.Sprintf("%.0f", took.Seconds()), mebi(before), mebi(resident(r.ownProcesses(nil))), count(len(programs)), mebi(resident(programs)))
	return nil
}

// visit is a host that makes one call and goes.
func (r *rig) visit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	h, err := r.host(ctx)
	if err != nil {
		return err
	}
	defer h.close()
	return echo(ctx, h)
}
