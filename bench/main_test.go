package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/report"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// TestMain makes the test binary what bench is: its own servers and cells.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		return
	}
	m.Run()
}

// known are cells in which a peer cannot do what is asked, with a part of what
// is said then. On a busy machine one may get through for once, which is logged.
var known = map[string]string{
	"W7 stdio 2025 100 in flight, heir/" + clients.Floor: "never",
	"W7 stdio 2025 100 in flight, heir/" + clients.GoSDK: "never",
	"W7 stdio 2025 100 in flight, heir/" + clients.MCPGo: "never",
	"W8 json 2025, half body/" + clients.GoSDK:           "the session is lost",
	"W8 stdio 2025, full pipe/" + clients.GoSDK:          "never",
	"W8 stdio 2025, full pipe/" + clients.MCPGo:          "never",
}

// Every client does every workload, with figures that can be right.
func TestEveryCell(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, group := range report.Plan(nil, true) {
		for _, name := range group.Clients {
			c := tiny(group.Cell)
			c.Client = name
			t.Run(group.Cell.Name()+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := report.RunChild(t.Context(), self, c)
				if want, ok := known[c.Name()+"/"+name]; ok {
					if r.Err == "" {
						t.Logf("%s can do this now", name)
						return
					}
					require.Contains(t, r.Err, want)
					return
				}
				require.Empty(t, r.Err)
				require.Positive(t, r.Calls)
				sane(t, c, r)
			})
		}
	}
}

// tiny makes a cell small; W7 keeps its size, which is small enough.
func tiny(c workload.Cell) workload.Cell {
	switch c.Workload {
	case "W2":
		c.N = min(c.N, 100)
	case "W3", "W4":
		c.N = min(c.N, 256<<10)
	case "W6", "W9":
		c.N = 10
	}
	return c
}

func sane(t *testing.T, c workload.Cell, r workload.Result) {
	t.Helper()
	switch c.Workload {
	case "W1":
		require.Positive(t, r.P50)
		require.GreaterOrEqual(t, r.P99, r.P50)
		require.Positive(t, r.CPU)
		if c.Transport == workload.Stdio && strings.HasPrefix(c.Client, clients.Floor) {
			require.Less(t, r.Allocs, 1.0, "the floor allocates")
		} else {
			require.GreaterOrEqual(t, r.Allocs, 1.0)
		}
	case "W2":
		require.Positive(t, r.PerSecond)
		if c.Transport != workload.Stdio {
			require.Positive(t, r.Connections)
		}
	case "W3", "W4":
		require.Positive(t, r.MBPerSecond)
		if !strings.HasPrefix(c.Client, clients.Floor) {
			require.Greater(t, r.Bytes, float64(c.N)/2, "the payload cannot have been taken")
		}
	case "W5":
		require.Positive(t, r.P50)
		if c.Variant == workload.Cached {
			require.Zero(t, r.Lists)
		} else if c.Transport != workload.Stdio {
			require.GreaterOrEqual(t, r.Lists, int64(r.Calls), "the list came from somewhere else")
		}
	case "W9":
		require.Positive(t, r.PerSecond)
		require.Positive(t, r.P50)
	case "W7", "W8":
		require.Positive(t, r.P50)
	}
}

// The program as a user runs it, from flags to goals.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-quick", "-w", "W1", "-only", "stdio 2025"}, &out, &progress))
	text := out.String()
	for _, want := range []string{
		"Command: `cd bench && go run . -quick -w W1 -only 'stdio 2025'`", "| W1 stdio 2025 | floor |", "| mainstay |", "| gosdk |",
		"| mcpgo |", "| W1 stdio 2025: allocations | A | <= 5 |", "go-sdk v1.8.0", "mcp-go v1.2.1",
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 10, strings.Count(progress.String(), "round 1/1"))
}

func TestRunProfile(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"-quick", "-w", "W5", "-only", "cached", "-profile", folder}, io.Discard, io.Discard))
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Positive(t, info.Size(), f.Name())
	}
}

func TestRunBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-w", "W10"}, {"-only", "nothing"}, {"stray"}, {"-rounds", "0"}, {"-unknown"}} {
		require.Error(t, run(t.Context(), args, io.Discard, io.Discard), "%q", args)
	}
}

// A cell that cannot be run says why in its row.
func TestRunCellFails(t *testing.T) {
	for name, c := range map[string]workload.Cell{
		"no workload \"W10\"":  {Workload: "W10", Client: clients.Mainstay},
		"no client \"nobody\"": {Workload: "W1", Transport: workload.Stdio, Client: "nobody"},
	} {
		arg, err := json.Marshal(c)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), []string{report.RunCell, string(arg)}, &out, io.Discard))
		var r workload.Result
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
		require.Contains(t, r.Err, name, fmt.Sprint(c))
	}
}
