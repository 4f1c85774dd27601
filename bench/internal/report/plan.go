// Package report runs the cells of all workloads in rounds and prints what came
// of them.
package report

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// Group is one row of cells that are compared with each other: the same work by
// each client.
type Group struct {
	Cell    workload.Cell // without a client
	Clients []string
}

var (
	everyone = []string{clients.Floor, clients.Mainstay, clients.GoSDK, clients.MCPGo}
	onlyOurs = []string{clients.Mainstay}
)

// Plan returns the groups of the named workloads, all of them when none is named.
func Plan(names []string, quick bool) []Group {
	var groups []Group
	add := func(who []string, cells ...workload.Cell) {
		for _, c := range cells {
			if len(names) > 0 && !slices.Contains(names, c.Workload) {
				continue
			}
			c.Quick = quick
			groups = append(groups, Group{c, who})
		}
	}
	size := func(full, small int) int {
		if quick {
			return small
		}
		return full
	}
	withGoroutine := slices.Insert(slices.Clone(everyone), 1, clients.FloorGoroutine)

	add(withGoroutine,
		workload.Cell{Workload: "W1", Transport: workload.Stdio},
		workload.Cell{Workload: "W1", Transport: workload.Stdio, Variant: workload.RawArgs},
		workload.Cell{Workload: "W1", Transport: workload.Stdio, Modern: true})
	for _, modern := range []bool{false, true} {
		add(everyone,
			workload.Cell{Workload: "W1", Transport: workload.JSON, Modern: modern},
			workload.Cell{Workload: "W1", Transport: workload.SSE, Modern: modern})
	}

	for _, n := range []int{64, 1_000, size(10_000, 2_000)} {
		add(everyone, workload.Cell{Workload: "W2", Transport: workload.Stdio, N: n})
	}
	for _, n := range []int{64, 1_000, size(10_000, 2_000)} {
		add(everyone, workload.Cell{Workload: "W2", Transport: workload.JSON, N: n})
	}
	add(everyone,
		workload.Cell{Workload: "W2", Transport: workload.SSE, N: 64},
		workload.Cell{Workload: "W2", Transport: workload.JSON, N: 64, Variant: workload.DefaultPool},
		workload.Cell{Workload: "W2", Transport: workload.Stdio, N: size(10_000, 2_000), Variant: workload.Hold},
		workload.Cell{Workload: "W2", Transport: workload.JSON, N: size(9_900, 1_000), Variant: workload.Hold})

	for _, transport := range []string{workload.Stdio, workload.JSON, workload.SSE} {
		for _, n := range []int{1 << 20, 16 << 20, 100 << 20} {
			if n <= size(100<<20, 1<<20) {
				add(everyone, workload.Cell{Workload: "W3", Transport: transport, N: n})
			}
		}
	}
	for _, modern := range []bool{false, true} {
		for _, transport := range []string{workload.Stdio, workload.JSON} {
			add(everyone, workload.Cell{Workload: "W4", Transport: transport, Modern: modern, N: size(16<<20, 1<<20)})
		}
	}

	for _, c := range []workload.Cell{{Transport: workload.Stdio}, {Transport: workload.JSON}, {Transport: workload.JSON, Modern: true}} {
		c.Workload, c.N = "W5", 1_000
		add(everyone, c)
	}
	add(onlyOurs,
		workload.Cell{Workload: "W5", Transport: workload.JSON, N: 1_000, Variant: workload.Walk},
		workload.Cell{Workload: "W5", Transport: workload.JSON, N: 1_000, Variant: workload.Cached})

	sessions := workload.Cell{Workload: "W6", Transport: workload.JSON, N: size(1_000, 100)}
	add(everyone, sessions)
	sessions.Variant = workload.SharedPool
	add(onlyOurs, sessions)
	for _, variant := range []string{workload.OneTool, workload.TwentyTools} {
		sessions.Variant = variant
		add(everyone, sessions)
	}
	sessions.Variant = workload.Listening
	add(everyone, sessions)
	sessions.Variant = workload.ListeningShared
	add([]string{clients.Floor, clients.Mainstay}, sessions)

	add(everyone,
		workload.Cell{Workload: "W7", Transport: workload.Stdio, N: 100},
		workload.Cell{Workload: "W7", Transport: workload.Stdio, N: 100, Variant: workload.Heir},
		workload.Cell{Workload: "W8", Transport: workload.Stdio},
		workload.Cell{Workload: "W8", Transport: workload.JSON},
		workload.Cell{Workload: "W8", Transport: workload.SSE},
		workload.Cell{Workload: "W8", Transport: workload.JSON, Variant: workload.HalfBody})
	add([]string{clients.Mainstay, clients.GoSDK, clients.MCPGo},
		workload.Cell{Workload: "W8", Transport: workload.Stdio, Variant: workload.FullPipe})
	add(everyone, workload.Cell{Workload: "W9", Transport: workload.Mixed, N: size(1_000, 50)})
	return groups
}
