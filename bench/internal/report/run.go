package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// RunCell is the first argument of a process that runs one cell, the cell as
// JSON the second.
const RunCell = "cell"

// cellTime bounds a cell, should a client hang.
const cellTime = 90 * time.Second

// Outcome is what the rounds gave for one group.
type Outcome struct {
	Group
	// Rounds[i][client] is round i.
	Rounds []map[string]workload.Result
}

// Run runs all groups, rounds times over. Within a round the clients of a group
// follow each other at once, so that neighbours have had the same machine.
func Run(ctx context.Context, self string, groups []Group, rounds int, progress io.Writer) ([]Outcome, error) {
	outcomes := make([]Outcome, len(groups))
	for i, g := range groups {
		outcomes[i].Group = g
	}
	start := time.Now()
	for round := range rounds {
		for i, g := range groups {
			results := map[string]workload.Result{}
			for _, name := range g.Clients {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				c := g.Cell
				c.Client = name
				results[name] = RunChild(ctx, self, c)
				fmt.Fprintf(progress, "%5.0fs round %d/%d  %-40s %-16s %s\n", time.Since(start).Seconds(), round+1, rounds,
					c.Name(), name, brief(results[name]))
			}
			outcomes[i].Rounds = append(outcomes[i].Rounds, results)
		}
	}
	return outcomes, nil
}

// RunChild runs one cell in a process of its own. What goes wrong is in the result.
func RunChild(ctx context.Context, self string, c workload.Cell) workload.Result {
	arg, err := json.Marshal(c)
	if err != nil {
		return workload.Result{Err: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, cellTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, RunCell, string(arg))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return workload.Result{Err: fmt.Sprintf("the cell did not end within %s", cellTime)}
	}
	if err != nil {
		return workload.Result{Err: fmt.Sprintf("the cell failed: %v: %s", err, lastLine(stderr.String()))}
	}
	var r workload.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return workload.Result{Err: fmt.Sprintf("the cell answered %.100q: %v", out, err)}
	}
	return r
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func brief(r workload.Result) string {
	if r.Err != "" {
		return "n/a: " + r.Err
	}
	return fmt.Sprintf("p50 %.1f us, %.0f/s, %.0f MB/s, %.1f us CPU, %.1f allocs, %.0f B", r.P50, r.PerSecond, r.MBPerSecond,
		r.CPU, r.Allocs, r.Bytes)
}
