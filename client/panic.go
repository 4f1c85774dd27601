package client

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A function of the application that panics, or ends its goroutine as a failing
// test does, fails by itself (G6): the server's messages are read on, the
// functions after it run, and a call that it belongs to fails with an error. It
// is logged, and [CallbackFailed] tells of it.

// CallbackFailed reports that a function of the application panicked, or ended
// its goroutine with [runtime.Goexit] (as t.FailNow does). The client logs it
// too. A failure of OnEvent is only logged.
type CallbackFailed struct {
	// Callback names the function by its option, for example "OnLog",
	// "WithProgress" or "Trace.Sent".
	Callback string
	// Value is the value of the panic; nil if the goroutine was ended.
	Value any
	// Stack is the stack of the panic; nil if the goroutine was ended.
	Stack []byte
}

func (e CallbackFailed) hidden(now mcperrors.Secrets) Event {
	switch v := e.Value.(type) {
	case nil:
	case error:
		e.Value = now.HideError(v)
	default:
		text := fmt.Sprint(v)
		if hidden := now.Hide(text); hidden != text {
			e.Value = hidden
		}
	}
	if hidden := now.Hide(string(e.Stack)); hidden != string(e.Stack) {
		e.Stack = []byte(hidden)
	}
	return e
}

// callbackFailed tells of a function of the application that did not return.
func (c *Client) callbackFailed(e *callback.Error) {
	if e.Name != callback.LogHandler {
		c.log.Error("[MCP] a function of the application failed", "server", c.server, "error", e.Error(), "stack", string(e.Stack))
	}
	if e.Name != "OnEvent" { // it would be told of that, and so on
		c.emit(CallbackFailed{Callback: e.Name, Value: e.Value, Stack: e.Stack})
	}
}

// guarded runs a function of the application.
func (c *Client) guarded(name string, f func()) {
	callback.Run(name, c.callbackFailed, f)
}

// aside is guarded for a function that may run on a goroutine others wait for:
// should it end its goroutine, that is one of its own. It reports whether the
// function returned.
func (c *Client) aside(name string, f func()) bool {
	return callback.Aside(name, c.callbackFailed, f)
}

// guardHooks puts guards around what the application gave the client.
func (c *Client) guardHooks() {
	cfg, failed := c.cfg, c.callbackFailed // bound once: that allocates
	c.live.Failed = failed
	cfg.logger = callback.Logger(cfg.logger, failed)
	c.log = cfg.logger
	if next := cfg.nextID; next == nil {
		cfg.nextID = run.NextID
	} else {
		cfg.nextID = func() (id jsonrpc.ID) {
			if !c.aside("WithIDs", func() { id = next() }) {
				id = run.NextID()
			}
			return id
		}
	}
	if cfg.meter != nil {
		cfg.meter = guardedMeter{c, cfg.meter}
	}
}

// guardedMeter is the application's meter.
type guardedMeter struct {
	c *Client
	m Meter
}

// AttemptEnded implements [Meter].
func (g guardedMeter) AttemptEnded(r AttemptRecord) {
	g.c.aside("Meter.AttemptEnded", func() { g.m.AttemptEnded(r) })
}

// CallEnded implements [Meter].
func (g guardedMeter) CallEnded(r CallRecord) {
	g.c.aside("Meter.CallEnded", func() { g.m.CallEnded(r) })
}

// Happened implements [Meter].
func (g guardedMeter) Happened(h Happening) {
	g.c.aside("Meter.Happened", func() { g.m.Happened(h) })
}

// made runs a function of the application that options have to ask once.
func made(name string, f func()) (err error) {
	callback.Run(name, func(e *callback.Error) { err = e }, f)
	return err
}
