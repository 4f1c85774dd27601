package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// playAll plays scenarios and reports their results in the order of the scenarios. total is
// the number of checks of the revision.
func (l *RevisionRun) playAll(ctx context.Context, scenarios []Scenario, total int) {
	outcomes, played, reported := make([][]conformance.Result, len(scenarios)), make([]bool, len(scenarios)), 0
	report := func(i int, results []conformance.Result) {
		outcomes[i], played[i] = results, true
		for ; reported < len(scenarios) && played[reported]; reported++ {
			for _, res := range outcomes[reported] {
				l.emit(res)
			}
			l.results = append(l.results, outcomes[reported]...)
		}
	}
	l.due = 0
	if l.Opts.Parallel > 1 && l.IsProcess() {
		l.playParallel(ctx, scenarios, func(i int, results []conformance.Result) {
			l.progress(string(l.Revision)+" "+scenarios[i].Area+l.starting, len(l.results), total)
			report(i, results)
		})
	}
	if !slices.Contains(played, true) { // else it is not worth it
		l.expect(scenarios)
	}
	for i := range scenarios {
		if !played[i] {
			l.progress(string(l.Revision)+" "+scenarios[i].Area+l.starting, len(l.results), total)
			l.opened = 0
			report(i, l.play(ctx, &scenarios[i]))
			if l.runs(&scenarios[i]) {
				l.due -= scenarios[i].Starts
			}
		}
	}
}

// parallelMost bounds the scenarios that run at once.
const parallelMost = 16

// playParallel plays the scenarios of the specification, several at once: each worker has
// programs of its own. The others share the surroundings of the server.
func (l *RevisionRun) playParallel(ctx context.Context, scenarios []Scenario, report func(i int, results []conformance.Result)) {
	type outcome struct {
		i       int
		results []conformance.Result
	}
	next, played := make(chan int), make(chan outcome)
	over := map[string]chan struct{}{} // the scenarios that others run after
	for i := range scenarios {
		after := scenarios[i].After
		if over[after] == nil && slices.ContainsFunc(scenarios, func(sc Scenario) bool { return sc.ID == after && sc.parallel() }) {
			over[after] = make(chan struct{})
		}
	}
	var workers sync.WaitGroup
	for range min(l.Opts.Parallel, parallelMost) {
		w := l.worker()
		workers.Go(func() {
			defer w.CloseShared()
			defer w.closeLeft()
			for i := range next {
				played <- outcome{i, w.play(ctx, &scenarios[i])}
				if done := over[scenarios[i].ID]; done != nil {
					close(done)
				}
			}
		})
	}
	go func() {
		for _, i := range inTurn(scenarios, over) {
			if done := over[scenarios[i].After]; done != nil {
				<-done
			}
			next <- i
		}
		close(next)
		workers.Wait()
		close(played)
	}()
	for o := range played {
		report(o.i, o.results)
	}
}

// parallel reports whether a scenario may run beside others.
func (sc *Scenario) parallel() bool {
	return !sc.Last && sc.suite() == SuiteProtocol && sc.Needs.Fixture == ""
}

// inTurn returns the indexes of the scenarios to play in parallel: those that others run after come
// first, and those others last.
func inTurn(scenarios []Scenario, awaited map[string]chan struct{}) []int {
	var first, rest, waiting []int
	for i := range scenarios {
		switch sc := &scenarios[i]; {
		case !sc.parallel():
		case awaited[sc.ID] != nil:
			first = append(first, i)
		case awaited[sc.After] != nil:
			waiting = append(waiting, i)
		default:
			rest = append(rest, i)
		}
	}
	return slices.Concat(first, rest, waiting)
}

// worker returns a run of the same revision with programs of its own.
func (l *RevisionRun) worker() *RevisionRun {
	shared, w := *l.runner, *l
	shared.spare, shared.due, shared.first = nil, 0, nil // as many programs run as there are workers
	w.runner, w.shared, w.left, w.fatal, w.results = &shared, map[string]*wire.Session{}, map[wire.Stage][]*wire.Session{}, map[string]bool{}, nil
	return &w
}
