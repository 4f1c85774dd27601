// Command mutants measures conformance suites: it plants the defects of
// conformance/families/internal/mutants into the reference server, one at a time, runs the
// suite of this project on each, and prints a table. scripts/mutants.sh builds
// what it needs. What the official suite notices is measured with -node and
// -suite, kept in a record, and printed beside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
)

type options struct {
	server, node, suite, only, checks string
	official, noticed, out, progress  string
	jobs                              int
	least                             float64
	quick                             bool
}

func main() {
	var o options
	flag.StringVar(&o.server, "refserver", "", "the reference server, built")
	flag.StringVar(&o.node, "node", "", "Node: run the official suite, write its record, and do nothing else")
	flag.StringVar(&o.suite, "suite", "", "the entry file of the official suite")
	flag.StringVar(&o.official, "official", "", "the record of what the official suite notices")
	flag.StringVar(&o.noticed, "noticed", "", "the record of the checks that noticed: they are asked first, and those that notice are written to it")
	flag.StringVar(&o.only, "only", "*", "mutants to run, by patterns of their ids with commas between")
	flag.StringVar(&o.checks, "checks", "", "only the checks and areas that match these patterns, with commas between: for who writes checks")
	flag.BoolVar(&o.quick, "quick", false, "leave it at the areas of the defect")
	flag.StringVar(&o.out, "out", "", "write the document here; empty: a table on standard output")
	flag.StringVar(&o.progress, "progress", "", "keep what is noticed here as it is, and take what is there from a run that was ended")
	flag.IntVar(&o.jobs, "jobs", 2, "mutants at once")
	flag.Float64Var(&o.least, "least", 95, "percentage to detect; below it the exit code is 1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, o, os.Stdout, os.Stderr)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run judges the mutants and reports whether enough were detected.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (bool, error) {
	chosen, err := choose(o.only)
	if err != nil {
		return false, err
	}
	if o.node != "" {
		return true, measureOfficial(ctx, o, chosen, stderr)
	}
	record, err := mutants.ReadRecord(o.official)
	if err != nil && o.official != "" && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	j := newJudge(o, record, stderr)
	if j.progress, err = openProgress(o.progress); err != nil {
		return false, err
	}
	defer func() { _ = j.progress.close() }()                   // every line of it was written
	if last, err := mutants.ReadRecord(o.noticed); err == nil { // else there was no last run
		j.noticed = last
	}
	verdicts := make([]mutants.Verdict, len(chosen))
	each(o.jobs, chosen, func(i int, m mutants.Mutant) { verdicts[i] = j.judge(ctx, m) })
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if o.noticed != "" {
		if err := noticed(verdicts).Write(o.noticed); err != nil {
			return false, err
		}
	}
	score := mutants.Count(verdicts)
	if o.out == "" {
		_, _ = fmt.Fprint(stdout, mutants.Table(verdicts))
	} else if err := os.WriteFile(o.out, []byte(document(verdicts, score)), 0o644); err != nil { //nolint:gosec // a document
		return false, err
	}
	_, _ = fmt.Fprintln(stdout, score)
	for _, v := range verdicts {
		if v.Finding == nil {
			_, _ = fmt.Fprintf(stdout, "survives  %-32s %-12s %s %s\n", v.Mutant.ID, v.Mutant.Breaks, v.Mutant.Says, errText(v.Err))
		}
	}
	return mutants.Percent(score.Ours, score.All) >= o.least, nil
}

// choose returns the mutants whose ids match one of the patterns. A pattern that
// matches none is a slip of the pen.
func choose(patterns string) ([]mutants.Mutant, error) {
	all := mutants.Mutants()
	wanted := make([]bool, len(all))
	for pattern := range strings.SplitSeq(patterns, ",") {
		matched := false
		for i := range all {
			ok, err := path.Match(pattern, all[i].ID)
			if err != nil {
				return nil, err
			}
			wanted[i], matched = wanted[i] || ok, matched || ok
		}
		if !matched {
			return nil, fmt.Errorf("no mutant matches %q", pattern)
		}
	}
	var chosen []mutants.Mutant
	for i, m := range all {
		if wanted[i] {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// each calls f for the mutants, some at once.
func each(jobs int, chosen []mutants.Mutant, f func(i int, m mutants.Mutant)) {
	slots := make(chan struct{}, jobs)
	var all sync.WaitGroup
	for i, m := range chosen {
		slots <- struct{}{}
		all.Go(func() {
			f(i, m)
			<-slots
		})
	}
	all.Wait()
}

// noticed is the record of the checks that noticed.
func noticed(verdicts []mutants.Verdict) mutants.Record {
	record := mutants.Record{}
	for _, v := range verdicts {
		if v.Finding != nil {
			record[v.Mutant.ID] = []string{v.Finding.Check}
		}
	}
	return record
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return "(" + err.Error() + ")"
}

// judge runs the suite of this project.
type judge struct {
	stderr   io.Writer
	detector mutants.Detector
	checks   []string // empty: the whole suite
	quick    bool
	record   mutants.Record
	noticed  mutants.Record // by the last run
	progress *progress

	mu    sync.Mutex
	clean map[string]func() (mutants.Baseline, error)
}

func newJudge(o options, record mutants.Record, stderr io.Writer) *judge {
	var checks []string
	if o.checks != "" {
		checks = strings.Split(o.checks, ",")
	}
	return &judge{
		checks: checks, quick: o.quick, stderr: stderr, record: record, clean: map[string]func() (mutants.Baseline, error){},
		detector: mutants.Detector{Rig: rig(o.server), Answer: 8 * time.Second},
	}
}

// baseline is what holds without a defect where m is judged; it is measured once.
func (j *judge) baseline(ctx context.Context, m mutants.Mutant) (mutants.Baseline, error) {
	j.mu.Lock()
	setup := fmt.Sprint(m.Transport, m.Revisions)
	if j.clean[setup] == nil {
		j.clean[setup] = sync.OnceValues(func() (mutants.Baseline, error) { return j.detector.Clean(ctx, m) })
	}
	clean := j.clean[setup]
	j.mu.Unlock()
	return clean()
}

// rounds are the checks to ask, one after another, until one notices: what did the
// last time, the areas of the defect, everything.
func (j *judge) rounds(m mutants.Mutant) [][]string {
	if len(j.checks) > 0 {
		return [][]string{j.checks}
	}
	rounds := [][]string{}
	if last := j.noticed[m.ID]; len(last) > 0 {
		rounds = append(rounds, last)
	}
	rounds = append(rounds, mutants.First(m))
	if !j.quick {
		rounds = append(rounds, nil)
	}
	return rounds
}

func (j *judge) judge(ctx context.Context, m mutants.Mutant) mutants.Verdict {
	v := mutants.Verdict{Mutant: m}
	v.Official, v.OfficialRan = j.record[m.ID]
	if f, there := j.progress.found[m.ID]; there {
		v.Finding = &f
		return v
	}
	if ctx.Err() != nil {
		v.Err = ctx.Err()
		return v
	}
	clean, err := j.baseline(ctx, m)
	began := time.Now()
	for _, checks := range j.rounds(m) {
		if err == nil && v.Finding == nil {
			v.Finding, err = j.detector.Judge(ctx, m, clean, checks...)
		}
	}
	v.Err = err
	found := "SURVIVES"
	if v.Finding != nil {
		found = v.Finding.Check
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if v.Finding != nil && ctx.Err() == nil {
		v.Err = j.progress.add(m.ID, *v.Finding)
	}
	_, _ = fmt.Fprintf(j.stderr, "%6.1fs %-32s %s %s\n", time.Since(began).Seconds(), m.ID, found, errText(v.Err))
	return v
}
