package report

import (
	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// list gathers goals.
type list []goal

// peersOver asks that every peer needs limit times what Mainstay does.
func (l *list) peersOver(c workload.Cell, name string, limit float64, m func(workload.Cell) metric, peers ...string) {
	*l = append(*l, goal{cell: c, name: name, limit: limit, least: true, write: asTimes, value: peerOver(m, peers...)})
}

// overFloor asks that Mainstay needs no more than limit floors.
func (l *list) overFloor(c workload.Cell, name string, limit float64, floor string, m func(workload.Cell) metric) {
	*l = append(*l, goal{cell: c, name: name, limit: limit, write: asTimes, value: timesFloor(floor, m)})
}

// exactly asks that an exact figure of Mainstay is no more than limit.
func (l *list) exactly(c workload.Cell, name string, limit float64, m metric, write func(float64) string) {
	*l = append(*l, goal{exact: true, cell: c, name: name, limit: limit, write: write, value: ours(m)})
}

// beyond asks that an exact figure is no more than limit over the floor's.
func (l *list) beyond(c workload.Cell, name string, limit float64, m metric) {
	*l = append(*l, goal{exact: true, cell: c, name: name, limit: limit, write: plainly, value: over(m)})
}

// within asks for a time of Mainstay, in microseconds.
func (l *list) within(c workload.Cell, name string, limit float64) {
	*l = append(*l, goal{cell: c, name: name, limit: limit, write: plainly, value: oursBest(p50)})
}

var (
	eras = []bool{false, true}
	http = []string{workload.JSON, workload.SSE}
	all  = []string{workload.Stdio, workload.JSON, workload.SSE}
)

// goals are what the project promised of its client: limits for exact figures
// (A), and for times as ratios (B).
func goals() []goal {
	var l list
	l.sequential()
	l.concurrent()
	l.large()
	l.connections()
	l.endings()
	l.many()
	return l
}

func (l *list) sequential() {
	for _, modern := range eras {
		c := workload.Cell{Workload: "W1", Transport: workload.Stdio, Modern: modern}
		l.exactly(c, "allocations", 5, allocs, plainly)
		l.exactly(c, "bytes", 1024, allocated, plainly)
		l.overFloor(c, "p50 over the pipe", 2.5, clients.Floor, cost)
		l.overFloor(c, "p50 over the pipe with a goroutine", 1.7, clients.FloorGoroutine, cost)
		l.peersOver(c, "p50, best peer over ours", 2.5, cost, clients.GoSDK, clients.MCPGo)
		l.overFloor(c, "CPU over the pipe", 5, clients.Floor, cpuOf)
		if modern {
			l.peersOver(c, "CPU, mcpgo over ours", 4, cpuOf, clients.MCPGo)
			continue
		}
		l.peersOver(c, "CPU, gosdk over ours", 7, cpuOf, clients.GoSDK)
		l.peersOver(c, "CPU, mcpgo over ours", 2.5, cpuOf, clients.MCPGo)
		c.Variant = workload.RawArgs
		l.exactly(c, "allocations", 5, allocs, plainly)
		l.exactly(c, "bytes", 1024, allocated, plainly)
	}
	for _, modern := range eras {
		for _, transport := range http {
			c := workload.Cell{Workload: "W1", Transport: transport, Modern: modern}
			l.beyond(c, "allocations beyond net/http", 6, allocs)
			*l = append(*l, goal{
				exact: true, cell: c, name: "bytes over net/http", limit: 1.5, write: asTimes,
				value: timesFloor(clients.Floor, func(workload.Cell) metric { return allocated }),
			})
			l.overFloor(c, "p50 over net/http", 1.35, clients.Floor, cost)
			l.overFloor(c, "CPU over net/http", 1.35, clients.Floor, cpuOf)
		}
	}
	for _, transport := range all {
		legacy := workload.Cell{Workload: "W1", Transport: transport}
		modern := legacy
		modern.Modern = true
		*l = append(*l, goal{
			exact: true, cell: modern, name: "allocations over 2025", limit: 1.1, write: asTimes, value: overCell(legacy, allocs),
		})
	}
}

func (l *list) concurrent() {
	for _, n := range []int{64, 1_000, 10_000} {
		c := workload.Cell{Workload: "W2", Transport: workload.Stdio, N: n}
		l.overFloor(c, "time over the floor", 2, clients.Floor, cost)
		l.peersOver(c, "calls/s, ours over gosdk", 15, cost, clients.GoSDK)
		l.peersOver(c, "calls/s, ours over mcpgo", 4, cost, clients.MCPGo)
		if n == 10_000 {
			few := c
			few.N = 64
			*l = append(*l, goal{cell: c, name: "time over 64 in flight", limit: 1 / 0.6, write: asTimes, value: overCell(few, cost(c))})
		}
	}
	for _, n := range []int{64, 1_000, 10_000} {
		c := workload.Cell{Workload: "W2", Transport: workload.JSON, N: n}
		l.overFloor(c, "time over net/http", 1.25, clients.Floor, cost)
		l.peersOver(c, "calls/s, ours over gosdk", 4, cost, clients.GoSDK)
		if n == 64 {
			*l = append(*l, goal{cell: c, name: "connections", limit: float64(n), write: plainly, value: ours(connections)})
			continue
		}
		// With many goroutines net/http itself dials more than are in flight.
		l.overFloor(c, "connections over net/http", 1.2, clients.Floor, func(workload.Cell) metric { return connections })
	}
}

func (l *list) large() {
	for _, n := range []int{16 << 20, 100 << 20} {
		for _, transport := range all {
			c := workload.Cell{Workload: "W3", Transport: transport, N: n}
			bytes, peak := 2.5, 2.3
			if transport == workload.JSON {
				bytes, peak = 1.2, 1.3
			}
			l.exactly(c, "allocated per payload", bytes, perPayload(allocated, n), asTimes)
			l.exactly(c, "peak memory per payload", peak, perPayload(memory, n), asTimes)
			l.peersOver(c, "speed, ours over the best peer", 5, cost, clients.GoSDK, clients.MCPGo)
		}
	}
	for _, modern := range eras {
		for _, transport := range []string{workload.Stdio, workload.JSON} {
			c := workload.Cell{Workload: "W4", Transport: transport, Modern: modern, N: 16 << 20}
			l.exactly(c, "allocated per payload", 1.3, perPayload(allocated, c.N), asTimes)
			l.exactly(c, "peak memory per payload", 1.3, perPayload(memory, c.N), asTimes)
			l.peersOver(c, "speed, ours over the best peer", 3, cost, clients.GoSDK, clients.MCPGo)
		}
	}
}

func (l *list) connections() {
	for _, c := range []workload.Cell{{Transport: workload.Stdio}, {Transport: workload.JSON}, {Transport: workload.JSON, Modern: true}} {
		c.Workload = "W5"
		l.exactly(c, "allocations", 1_000, allocs, plainly)
		if c.Transport != workload.Stdio {
			l.peersOver(c, "time, best peer over ours", 5, cost, clients.GoSDK, clients.MCPGo)
		}
	}
	look := workload.Cell{Workload: "W5", Transport: workload.JSON, Variant: workload.Cached}
	// The tool is a deep copy, which is the caller's to change.
	l.exactly(look, "allocations of a look at a cached tool", 5, allocs, plainly)
	l.exactly(look, "requests for it", 0, func(r workload.Result) float64 { return float64(r.Lists) }, plainly)

	idle := workload.Cell{Workload: "W6", Transport: workload.JSON, Variant: workload.SharedPool}
	l.exactly(idle, "heap and stacks a session", 2048, held, plainly)
	l.exactly(idle, "goroutines a session", 0, goroutines, plainly)
	for _, list := range []struct {
		variant string
		tools   float64
	}{{workload.OneTool, 1}, {workload.TwentyTools, 20}} {
		known := workload.Cell{Workload: "W6", Transport: workload.JSON, Variant: list.variant}
		l.exactly(known, "heap and stacks a session", 2048+150*list.tools, held, plainly)
		l.exactly(known, "goroutines a session", 0, goroutines, plainly)
	}
	listening := workload.Cell{Workload: "W6", Transport: workload.JSON, Variant: workload.ListeningShared}
	l.beyond(listening, "heap and stacks beyond net/http", 4096, held)
	l.beyond(listening, "goroutines beyond net/http", 1, goroutines)
}

// many are the goals of a pool: what 1,000 servers hold, and that neither opening it
// nor a call of each server at once costs much more than raw connections do.
func (l *list) many() {
	c := workload.Cell{Workload: "W9", Transport: workload.Mixed}
	l.exactly(c, "heap and stacks", 45e6, held, megabytes)
	l.exactly(c, "goroutines", 1_500, goroutines, plainly)
	l.overFloor(c, "time until ready, over the floor", 1.25, clients.Floor, cost)
	l.overFloor(c, "time of a call of each at once, over the floor", 2, clients.Floor, func(workload.Cell) metric { return together })
}

func together(r workload.Result) float64 { return inverse(r.PerSecond) }

func (l *list) endings() {
	death := workload.Cell{Workload: "W7", Transport: workload.Stdio}
	l.overFloor(death, "last error over the floor", 2.5, clients.Floor, cost)
	death.Variant = workload.Heir
	l.within(death, "µs to the last error", 250_000)
	for _, c := range []workload.Cell{
		{Transport: workload.Stdio},
		{Transport: workload.JSON},
		{Transport: workload.SSE},
		{Transport: workload.JSON, Variant: workload.HalfBody},
		{Transport: workload.Stdio, Variant: workload.FullPipe},
	} {
		c.Workload = "W8"
		l.within(c, "µs from cancel to return", 100)
	}
}

func connections(r workload.Result) float64 { return float64(r.Connections) }

// overCell compares Mainstay with itself in another cell.
func overCell(other workload.Cell, m metric) func([]Outcome, Outcome) (float64, float64, bool) {
	return func(outcomes []Outcome, o Outcome) (float64, float64, bool) {
		base, ok := find(outcomes, other)
		if !ok || base.best(clients.Mainstay, m) == 0 {
			return 0, 0, false
		}
		return o.best(clients.Mainstay, m) / base.best(clients.Mainstay, m),
			o.median(clients.Mainstay, m) / base.median(clients.Mainstay, m), true
	}
}
