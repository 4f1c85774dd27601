package client

import "fmt"

// A hook of the application (a round tripper, a trace, a generator of ids) that
// panics does so on the goroutine of whoever called, who may recover. On a
// goroutine of the client nobody could, and the process would end with all other
// calls (G6). There it is caught: it goes on where a caller waits, and into the
// log where none does.

// caught runs f and returns what it panicked with, nil for nothing.
func caught(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}

// goesOn panics on the goroutine of a caller with what was caught, if anything was.
func goesOn(panicked any) {
	if panicked != nil {
		panic(panicked) //nolint:forbidigo // the application's own, where it would have been without our goroutine
	}
}

// unheard logs a panic that no caller is there to be told of.
func (c *Client) unheard(where string, panicked any) {
	if panicked != nil {
		c.log.Error("[MCP] a hook of the application panicked", "server", c.server, "in", where, "panic", fmt.Sprint(panicked))
	}
}
