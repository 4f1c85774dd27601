package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// rounds makes an outcome: figures of one client in each round.
func rounds(c workload.Cell, figures map[string][]workload.Result) Outcome {
	o := Outcome{Group: Group{Cell: c}}
	for _, name := range []string{clients.Floor, clients.Mainstay, clients.GoSDK, clients.MCPGo} {
		for i, r := range figures[name] {
			if i == len(o.Rounds) {
				o.Rounds = append(o.Rounds, map[string]workload.Result{})
			}
			o.Rounds[i][name] = r
		}
		if len(figures[name]) > 0 {
			o.Clients = append(o.Clients, name)
		}
	}
	return o
}

func times(p50 ...float64) []workload.Result {
	var all []workload.Result
	for _, v := range p50 {
		all = append(all, workload.Result{Calls: 1, P50: v, CPU: 2 * v, Allocs: 3, Bytes: 100})
	}
	return all
}

func TestRatio(t *testing.T) {
	o := rounds(workload.Cell{Workload: "W1"}, map[string][]workload.Result{
		clients.Floor: times(4, 8, 5), clients.Mainstay: times(8, 8, 20),
	})
	best, median, ok := o.ratio(clients.Mainstay, clients.Floor, p50)
	require.True(t, ok)
	require.InDelta(t, 2, best, 1e-9)   // 8 over 4
	require.InDelta(t, 2, median, 1e-9) // of 2, 1, 4
	_, _, ok = o.ratio(clients.GoSDK, clients.Floor, p50)
	require.False(t, ok)
}

// A round that failed counts in nothing, and a client that failed in all says why.
func TestFailures(t *testing.T) {
	o := rounds(workload.Cell{Workload: "W1", Transport: workload.Stdio}, map[string][]workload.Result{
		clients.Floor:    times(4, 4),
		clients.Mainstay: {{Err: "first"}, times(6)[0]},
		clients.GoSDK:    {{Err: "no | such"}, {Err: "no | such"}},
	})
	require.Empty(t, o.failure(clients.Mainstay))
	require.InDelta(t, 6, o.best(clients.Mainstay, p50), 1e-9)
	require.Equal(t, "no | such", o.failure(clients.GoSDK))
	var b bytes.Buffer
	require.NoError(t, Table(&b, []Outcome{o}))
	require.Contains(t, b.String(), `n/a: no \| such`)
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		require.Equal(t, strings.Count(header[:strings.IndexByte(header, '\n')], "|"), strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"), line)
	}
}

func TestTable(t *testing.T) {
	o := rounds(workload.Cell{Workload: "W1", Transport: workload.Stdio}, map[string][]workload.Result{
		clients.Floor: times(4), clients.Mainstay: times(8), clients.GoSDK: times(40),
	})
	var b bytes.Buffer
	require.NoError(t, Table(&b, []Outcome{o}))
	require.Equal(t, header+
		"| W1 stdio 2025 | floor | 4.00 |  |  |  | 8.00 | 3 | 100 |  |  |  |  |  |  |\n"+
		"|  | mainstay | 8.00 |  |  |  | 16.0 | 3 | 100 |  |  | 2.00 (2.00) | 2.00 (2.00) |  |  |\n"+
		"|  | gosdk | 40.0 |  |  |  | 80.0 | 3 | 100 |  |  | 10.0 (10.0) | 10.0 (10.0) | 5.00 (5.00) | 5.00 (5.00) |\n", b.String())
}

func TestGoals(t *testing.T) {
	cell := workload.Cell{Workload: "W1", Transport: workload.Stdio}
	good := rounds(cell, map[string][]workload.Result{
		clients.Floor: times(4, 4), clients.Mainstay: times(8, 11), clients.GoSDK: times(80, 80), clients.MCPGo: times(24, 24),
	})
	var b bytes.Buffer
	missed, err := Goals(&b, []Outcome{good})
	require.NoError(t, err)
	require.Zero(t, missed)
	require.Contains(t, b.String(), "| W1 stdio 2025: allocations | A | <= 5 | 3 | holds |")
	require.Contains(t, b.String(), "p50 over the pipe | B | <= 2.50x | 2.00x (2.38x) | holds |")
	require.Contains(t, b.String(), "p50, best peer over ours | B | >= 2.50x | 3.00x (2.59x) | holds |")
	require.Contains(t, b.String(), "CPU, gosdk over ours | B | >= 7.00x | 10.0x (8.64x) | holds |")
	require.Contains(t, b.String(), "with a goroutine | B | <= 1.70x |  | not measured")
	require.NotContains(t, b.String(), "W3", "what was not run has no verdict")

	bad := rounds(cell, map[string][]workload.Result{
		clients.Floor: times(4), clients.Mainstay: {{Calls: 1, P50: 40, CPU: 40, Allocs: 5.02, Bytes: 2000}}, clients.MCPGo: times(40),
	})
	b.Reset()
	missed, err = Goals(&b, []Outcome{bad})
	require.NoError(t, err)
	require.Equal(t, 2, missed, b.String())
	require.Contains(t, b.String(), "p50 over the pipe | B | <= 2.50x | 10.0x | **does not hold** |")

	b.Reset()
	none := rounds(cell, map[string][]workload.Result{clients.Floor: times(4), clients.Mainstay: {{Err: "not built"}}})
	missed, err = Goals(&b, []Outcome{none})
	require.NoError(t, err)
	require.Equal(t, 2, missed)
	require.Contains(t, b.String(), "**does not hold**: n/a: not built")

	b.Reset()
	late := rounds(cell, map[string][]workload.Result{clients.Floor: times(4, 4, 4), clients.Mainstay: times(9, 12, 12)})
	_, err = Goals(&b, []Outcome{late})
	require.NoError(t, err)
	require.Contains(t, b.String(), "| 2.25x (3.00x) | holds by the best round, not by the median |")
}

// Every goal is about a cell that the plan has, and no goal stands twice.
func TestGoalsHaveCells(t *testing.T) {
	var outcomes []Outcome
	for _, g := range Plan(nil, false) {
		outcomes = append(outcomes, Outcome{Group: g})
	}
	seen := map[string]bool{}
	for _, g := range goals() {
		o, ok := find(outcomes, g.cell)
		require.True(t, ok, "%+v", g.cell)
		require.Contains(t, o.Clients, clients.Mainstay)
		name := o.Cell.Name() + ": " + g.name
		require.False(t, seen[name], name)
		seen[name] = true
	}
}

func TestPlanNamesAreUnique(t *testing.T) {
	for _, quick := range []bool{false, true} {
		seen := map[string]bool{}
		for _, g := range Plan(nil, quick) {
			require.False(t, seen[g.Cell.Name()], g.Cell.Name())
			seen[g.Cell.Name()] = true
		}
	}
	require.Len(t, Plan([]string{"W7"}, false), 2)
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "", 0.123: "0.12", 9.876: "9.88", 12.34: "12.3", 123.4: "123", 1234.4: "1,234", 1234567: "1,234,567"} {
		require.Equal(t, want, short(v))
	}
	for v, want := range map[float64]string{0: "0", 5: "5", 9.04: "9", 2.26: "2.3", 11.6: "12", -1234: "-1,234"} {
		require.Equal(t, want, exact(v))
	}
}
