// Package server is the one MCP server that every client is measured against.
// It answers with bytes it made before, checks nothing, and costs next to
// nothing, so that what is measured is the client.
package server

import (
	"flag"
	"fmt"
	"strconv"
)

// Options say which server this is. It knows one era only: a client that falls
// back to the other one fails, instead of being measured there unseen.
type Options struct {
	// Modern is revision 2026-07-28; otherwise it is 2025-11-25.
	Modern bool
	// Tools is how long the list of tools is: of the server's own tools first.
	Tools int
	// Label is in the text of each tool, so that no two servers list the same.
	Label string
	// Prepare is the size of a large result to make before the first request.
	Prepare int
	// SSE answers POSTs with event streams, otherwise with JSON (HTTP only).
	SSE bool
	// Stream offers a stream of the server's own to a GET (HTTP, 2025 era).
	Stream bool
	// Heir starts a child that holds the server's stdout open for a while
	// after the server has died (stdio only).
	Heir bool
	// Pid is a file to write the process id to, "" for none.
	Pid string
}

// Args returns the flags that make ParseArgs return o.
func (o Options) Args() []string {
	return []string{
		"-modern=" + strconv.FormatBool(o.Modern), "-tools=" + strconv.Itoa(o.Tools), "-label=" + o.Label,
		"-prepare=" + strconv.Itoa(o.Prepare), "-sse=" + strconv.FormatBool(o.SSE),
		"-stream=" + strconv.FormatBool(o.Stream), "-heir=" + strconv.FormatBool(o.Heir), "-pid=" + o.Pid,
	}
}

// ParseArgs reads what Args wrote.
func ParseArgs(args []string) (Options, error) {
	var o Options
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	f.BoolVar(&o.Modern, "modern", false, "speak 2026-07-28 instead of 2025-11-25")
	f.IntVar(&o.Tools, "tools", OwnTools, "tools in the list")
	f.StringVar(&o.Label, "label", "", "what is in the text of each tool")
	f.IntVar(&o.Prepare, "prepare", 0, "size of a large result to make at the start")
	f.BoolVar(&o.SSE, "sse", false, "answer with event streams")
	f.BoolVar(&o.Stream, "stream", false, "offer a stream to GET")
	f.BoolVar(&o.Heir, "heir", false, "start a child that holds stdout")
	f.StringVar(&o.Pid, "pid", "", "file for the process id")
	if err := f.Parse(args); err != nil {
		return Options{}, fmt.Errorf("server: %w", err)
	}
	return o, nil
}
