package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one thing that is counted in a scenario.
type row struct {
	scenario, counted string
	values            [2]string // mainstay, go-sdk
	verdict           verdict
}

type verdict string

const (
	noWorse   verdict = "no worse"
	worse     verdict = "WORSE"
	unplayed  verdict = "NOT SHOWN" // neither got anywhere, as without a registry
	onlyShown verdict = "(shown)"   // not compared
)

// result is what a scenario gives: rows, and what explains them.
type result struct {
	rows  []row
	notes []string
}

func (r *result) add(counted string, v verdict, values [2]string) {
	r.rows = append(r.rows, row{counted: counted, values: values, verdict: v})
}

func (r *result) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *result) fail(side, what string, err error) {
	r.note("%s: %s: %v", side, what, err)
}

// atLeast is the verdict on a figure of which more is better. Slack is the fraction of
// go-sdk's figure that chance may take away; 0 allows none. Two zeros show nothing.
func atLeast(got [2]int, slack float64) verdict {
	if got == [2]int{} {
		return unplayed
	}
	return verdictOf(float64(got[0]) >= float64(got[1])*(1-slack))
}

// within is the verdict on a time, of which less is better. Slack is what chance may add.
func within(got [2]time.Duration, slack time.Duration) verdict {
	return verdictOf(got[0] <= got[1]+slack)
}

func verdictOf(fine bool) verdict {
	if fine {
		return noWorse
	}
	return worse
}

func counts(got [2]int, of int) [2]string {
	return [2]string{fmt.Sprintf("%d of %d", got[0], of), fmt.Sprintf("%d of %d", got[1], of)}
}

func times(got [2]time.Duration) [2]string {
	return [2]string{seconds(got[0]), seconds(got[1])}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// printTable writes the table and the notes, and returns the exit code.
func printTable(w io.Writer, results []result) int {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "scenario\twhat is counted\tmainstay\tgo-sdk\tverdict")
	var notes []string
	seen := map[verdict]bool{}
	for _, r := range results {
		notes = append(notes, r.notes...)
		for _, row := range r.rows {
			fmt.Fprintln(tab, strings.Join([]string{row.scenario, row.counted, row.values[0], row.values[1], string(row.verdict)}, "\t"))
			seen[row.verdict] = true
		}
	}
	_ = tab.Flush() // a terminal has no second place to report to
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
	switch {
	case seen[worse]:
		return exitWorse
	case seen[unplayed]:
		return exitMissing
	default:
		return 0
	}
}

const (
	exitWorse   = 1
	exitUsage   = 2
	exitMissing = 75
)

// classes counts errors by a short text.
type classes map[string]int

func (c classes) String() string {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(c[b]-c[a], strings.Compare(a, b)) })
	var text []string
	for _, name := range names[:min(len(names), 6)] {
		text = append(text, fmt.Sprintf("%d× %s", c[name], name))
	}
	return strings.Join(text, "; ")
}
