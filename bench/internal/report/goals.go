package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// goal is one line of what was promised.
type goal struct {
	// exact goals are of allocations and bytes, which repeat on any machine; the
	// others are of times.
	exact bool
	// cell is where Mainstay is measured.
	cell workload.Cell
	name string
	// limit is what value must not exceed; with least it is what it must reach.
	limit float64
	least bool
	// value takes the figure out of the rounds: the one the verdict is on and,
	// for ratios of times, the median of the rounds. ok is false without figures.
	value func(all []Outcome, o Outcome) (best, median float64, ok bool)
	// write formats a value.
	write func(float64) string
}

// Goals writes every goal with what was measured, and returns how many exact
// ones do not hold. Rows that were not measured are left out.
func Goals(w io.Writer, outcomes []Outcome) (missed int, err error) {
	var b strings.Builder
	b.WriteString("\n| goal | kind | limit | measured | verdict |\n|---|---|---:|---:|---|\n")
	for _, g := range goals() {
		o, ok := find(outcomes, g.cell)
		if !ok {
			continue
		}
		measured, verdict, holds := g.judge(outcomes, o)
		kind := "B"
		if g.exact {
			kind = "A"
			if !holds {
				missed++
			}
		}
		limit := "<= "
		if g.least {
			limit = ">= "
		}
		fmt.Fprintf(&b, "| %s: %s | %s | %s%s | %s | %s |\n", o.Cell.Name(), g.name, kind, limit, g.write(g.limit), measured, verdict)
	}
	_, err = io.WriteString(w, b.String())
	return missed, err
}

func (g goal) judge(outcomes []Outcome, o Outcome) (measured, verdict string, holds bool) {
	if why := o.failure(clients.Mainstay); why != "" {
		return "", "**does not hold**: n/a: " + cell(why), false
	}
	best, median, ok := g.value(outcomes, o)
	if !ok {
		return "", "not measured: nothing to compare with", true
	}
	measured = g.write(best)
	if median != best {
		measured += " (" + g.write(median) + ")"
	}
	switch {
	case g.met(best) && g.met(median):
		return measured, "holds", true
	case g.met(best):
		return measured, "holds by the best round, not by the median", true
	}
	return measured, "**does not hold**", false
}

// met compares what a reader of the table sees: the collector's own few
// allocations are spread over all calls.
func (g goal) met(v float64) bool {
	v = math.Round(100*v) / 100
	if g.least {
		return v >= g.limit
	}
	return v <= g.limit
}

func plainly(v float64) string { return exact(v) }
func asTimes(v float64) string { return short(v) + "x" }

// ours is a figure of Mainstay alone: the median, since exact figures do not
// get better by luck.
func ours(m metric) func([]Outcome, Outcome) (float64, float64, bool) {
	return func(_ []Outcome, o Outcome) (float64, float64, bool) {
		v := o.median(clients.Mainstay, m)
		return v, v, true
	}
}

// oursBest is a time of Mainstay alone.
func oursBest(m metric) func([]Outcome, Outcome) (float64, float64, bool) {
	return func(_ []Outcome, o Outcome) (float64, float64, bool) {
		return o.best(clients.Mainstay, m), o.median(clients.Mainstay, m), true
	}
}

// over is what Mainstay has beyond the floor.
func over(m metric) func([]Outcome, Outcome) (float64, float64, bool) {
	return func(_ []Outcome, o Outcome) (float64, float64, bool) {
		v := o.median(clients.Mainstay, m) - o.median(clients.Floor, m)
		return v, v, o.failure(clients.Floor) == ""
	}
}

// timesFloor is Mainstay's cost in floors.
func timesFloor(floor string, m func(workload.Cell) metric) func([]Outcome, Outcome) (float64, float64, bool) {
	return func(_ []Outcome, o Outcome) (float64, float64, bool) {
		return o.ratio(clients.Mainstay, floor, m(o.Cell))
	}
}

// peerOver is how many times more the cheapest of the peers needs.
func peerOver(m func(workload.Cell) metric, peers ...string) func([]Outcome, Outcome) (float64, float64, bool) {
	return func(_ []Outcome, o Outcome) (float64, float64, bool) {
		best, median, found := math.Inf(1), math.Inf(1), false
		for _, p := range peers {
			if b, m, ok := o.ratio(p, clients.Mainstay, m(o.Cell)); ok {
				best, median, found = min(best, b), min(median, m), true
			}
		}
		return best, median, found
	}
}

func cpuOf(workload.Cell) metric          { return cpu }
func allocs(r workload.Result) float64    { return r.Allocs }
func allocated(r workload.Result) float64 { return r.Bytes }
func memory(r workload.Result) float64    { return r.Memory }
func held(r workload.Result) float64      { return r.Held }
func p50(r workload.Result) float64       { return r.P50 }

// goroutines rounds away the odd one of the runtime's own.
func goroutines(r workload.Result) float64 { return math.Round(10*math.Max(0, r.Goroutines)) / 10 }

// perPayload divides by the bytes a cell carries.
func perPayload(m metric, size int) metric {
	return func(r workload.Result) float64 { return m(r) / float64(size) }
}
