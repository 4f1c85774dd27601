// Package workload runs one workload with one client: a cell of the table. A
// cell has a process of its own, so that allocations, CPU and memory are of that
// client alone; the server is in another process always.
package workload

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
)

// Transports of a cell.
const (
	Stdio = "stdio"
	JSON  = "json"  // HTTP, answered with JSON
	SSE   = "sse"   // HTTP, answered with event streams
	Mixed = "mixed" // a fifth programs, the others JSON
)

// Variants of workloads.
const (
	// RawArgs gives W1 its arguments as bytes instead of as a map.
	RawArgs = "raw args"
	// DefaultPool gives W2's peers no http.Client, as most users do.
	DefaultPool = "default pool"
	// Hold lets W2's server answer none until all calls are there.
	Hold = "hold"
	// Walk makes W5 list tools past what the client fetched while connecting.
	Walk = "walk"
	// Cached asks W5's client for a tool it has fetched already.
	Cached = "cached"
	// Listening keeps the server's own stream open in W6.
	Listening = "listening"
	// SharedPool gives all sessions of W6 one round tripper, as the peers have by
	// default, and no list of tools, which the peers do not fetch.
	SharedPool = "shared pool, no list"
	// ListeningShared is both: what listening costs beyond the stream itself.
	ListeningShared = "listening, shared pool"
	// OneTool and TwentyTools say how long the list is in W6, where each session
	// is otherwise of a server with eight.
	OneTool     = "1 tool"
	TwentyTools = "20 tools"
	// Heir lets a child hold stdout when the server dies in W7.
	Heir = "heir"
	// FullPipe cancels a call in W8 to a server that does not read.
	FullPipe = "full pipe"
	// HalfBody cancels a call in W8 in the middle of its answer.
	HalfBody = "half body"
)

// Cell says what to run.
type Cell struct {
	Workload  string // "W1" to "W9"
	Variant   string
	Transport string
	Modern    bool
	Client    string
	// N is calls in flight (W2, W7), bytes (W3, W4), tools (W5), sessions (W6),
	// servers (W9).
	N int
	// Quick does enough to see that it works, not to measure.
	Quick bool
	// CPUProfile and HeapProfile are files to write, "" for none. With
	// HeapProfile every allocation is recorded, which makes times useless.
	CPUProfile, HeapProfile string
}

// Result is what was measured; zero means not measured here.
type Result struct {
	// Err is why there is nothing else.
	Err string `json:",omitempty"`
	// Calls is how many were measured.
	Calls int `json:",omitempty"`
	// P50 and P99 are microseconds from call to return.
	P50, P99 float64 `json:",omitempty"`
	// PerSecond is calls, MBPerSecond payload in 10^6 bytes.
	PerSecond, MBPerSecond float64 `json:",omitempty"`
	// CPU is microseconds of this process a call, the kernel's included.
	CPU float64 `json:",omitempty"`
	// Allocs and Bytes are what the heap gave a call.
	Allocs, Bytes float64
	// Memory is the peak of resident bytes over what was there before (W3, W4),
	// or what a session (W6) or all servers (W9) hold.
	Memory float64 `json:",omitempty"`
	// Held is heap and stacks a session holds (W6), or all servers (W9), in bytes.
	Held float64 `json:",omitempty"`
	// Goroutines is what a session (W6) or all servers (W9) hold.
	Goroutines float64 `json:",omitempty"`
	// Connections is how many TCP connections the server saw (W2 over HTTP), Lists
	// how often it was asked for its tools (W5).
	Connections, Lists int64 `json:",omitempty"`
}

// Run runs a cell in this process. self is the program that serves, see [Serve].
func Run(ctx context.Context, c Cell, self string) Result {
	stop, err := profile(c)
	if err != nil {
		return Result{Err: err.Error()}
	}
	var r Result
	switch c.Workload {
	case "W1":
		r, err = sequential(ctx, c, self)
	case "W2":
		if c.Variant == Hold {
			r, err = hold(ctx, c, self)
		} else {
			r, err = concurrent(ctx, c, self)
		}
	case "W3":
		r, err = largeResult(ctx, c, self)
	case "W4":
		r, err = largeArguments(ctx, c, self)
	case "W5":
		if c.Variant == Cached {
			r, err = cached(ctx, c, self)
		} else {
			r, err = connect(ctx, c, self)
		}
	case "W6":
		r, err = sessions(ctx, c, self)
	case "W9":
		r, err = many(ctx, c, self)
	case "W7":
		r, err = death(ctx, c, self)
	case "W8":
		r, err = cancel(ctx, c, self)
	default:
		err = fmt.Errorf("no workload %q", c.Workload)
	}
	if perr := stop(); err == nil {
		err = perr
	}
	if err != nil {
		return Result{Err: err.Error()}
	}
	return r
}

// Name is the cell without its client.
func (c Cell) Name() string {
	name := c.Workload + " " + c.Transport
	if c.Modern {
		name += " 2026"
	} else {
		name += " 2025"
	}
	switch c.Workload {
	case "W2", "W7":
		name += " " + strconv.Itoa(c.N) + " in flight"
	case "W3", "W4":
		name += " " + strconv.Itoa(c.N>>20) + " MiB"
	case "W5":
		name += " " + strconv.Itoa(c.N) + " tools"
	case "W6":
		name += " " + strconv.Itoa(c.N) + " sessions"
	case "W9":
		name += " " + strconv.Itoa(c.N) + " servers"
	}
	if c.Variant != "" {
		name += ", " + c.Variant
	}
	return name
}

// pick returns the first value, or the second one for a quick run.
func pick[T any](c Cell, full, quick T) T {
	if c.Quick {
		return quick
	}
	return full
}

// floorName is the floor that can do a cell: concurrent calls over stdio need
// the one with a goroutine.
func floorName(c Cell) string {
	if c.Client == clients.Floor && c.Transport == Stdio && (c.Workload == "W2" || c.Workload == "W7" || c.Workload == "W8") {
		return clients.FloorGoroutine
	}
	return c.Client
}
