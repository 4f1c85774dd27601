package clientsuite

import (
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// cancelScenarios are calls that the caller gives up.
func cancelScenarios() []scenario {
	cancel := spec("basic/transports#sending-messages-to-the-server", "To cancel, the client SHOULD explicitly send an MCP CancelledNotification.")
	timeout := spec("basic/lifecycle#timeouts", "When the request has not received a success or error response within the timeout period, the sender SHOULD issue a cancellation notification for that request and stop waiting for a response.")
	modernTimeout := spec("basic/patterns/cancellation#timeouts", "Implementations SHOULD establish timeouts for all sent requests, to prevent hung connections and resource exhaustion.")
	line := spec("basic/transports/stdio#cancellation", "To cancel an in-flight request, the client MUST send a notifications/cancelled notification")
	stream := spec("basic/patterns/cancellation#transport-specific-cancellation", "Closing the SSE response stream is the cancellation signal")
	giving := func(step Step, server, caller, next string) func(t *trial) {
		return func(t *trial) {
			gaveUp := t.giveUp(step)
			if !t.needs(gaveUp != nil, "echo was not called") {
				return
			}
			t.check(server, t.gaveUp(gaveUp), "the call is cancelled", "%s; the stream was left: %t", contents(t.sent(mcp.MethodCancelled)), gaveUp.left != 0)
			t.told(caller, 0, Line.failed, "no result, and no wait for one")
			t.told(next, 1, says("next"), wantsText("next"))
		}
	}
	late := spec("basic/utilities/cancellation#timing-considerations", "Both parties MUST handle these race conditions gracefully")
	modernLate := spec("basic/patterns/cancellation#timing-considerations", "Both parties MUST handle these race conditions gracefully")
	return []scenario{
		{
			id: "C-CANCEL", area: tools, title: "the caller cancels a call",
			checks: []check{
				should("C-UTIL-03/canceled", "the server is told", cancel).or(stream),
				must("C-UTIL-03/told", "the caller does not wait", late).or(modernLate),
				must("C-UTIL-07/late", "the late answer harms nothing", late).or(modernLate),
			},
			play: giving(Step{CancelAfterMs: 200}, "C-UTIL-03/canceled", "C-UTIL-03/told", "C-UTIL-07/late"),
		},
		{
			id: "C-DEADLINE", area: tools, title: "a call is not answered before its deadline",
			checks: []check{
				should("C-LC-15/canceled", "the server is told", timeout).or(modernTimeout),
				must("C-LC-15/told", "the caller does not wait", timeout).or(modernTimeout),
				must("C-LC-15/next", "the next call works", late).or(modernLate),
			},
			play: giving(Step{DeadlineMs: 300}, "C-LC-15/canceled", "C-LC-15/told", "C-LC-15/next"),
		},
		{
			id: "C-CANCEL-STREAM", area: tools, title: "a cancelled call over HTTP in the stateless era", since: mcp.Version2026_07_28, transport: conformance.TransportHTTP,
			checks: []check{
				must("C-HTTP-34/close", "the stream is closed", stream),
				advised("C-HTTP-34/quiet", "no notification is sent besides", row("HTTP-34")),
			},
			play: func(t *trial) {
				if m := t.giveUp(Step{CancelAfterMs: 200}); t.needs(m != nil, "echo was not called") {
					t.check("C-HTTP-34/close", m.left != 0, "the stream is closed", "it was read to its end")
					t.check("C-HTTP-34/quiet", len(t.sent(mcp.MethodCancelled)) == 0, "no notifications/cancelled", "%s", contents(t.sent(mcp.MethodCancelled)))
				}
			},
		},
		{
			id: "C-CANCEL-LINE", area: tools, title: "a cancelled call over stdio in the stateless era", since: mcp.Version2026_07_28, transport: conformance.TransportStdio,
			checks: []check{must("C-STDIO-11/canceled", "notifications/cancelled names the request", line)},
			play: func(t *trial) {
				if m := t.giveUp(Step{CancelAfterMs: 200}); t.needs(m != nil, "echo was not called") {
					t.check("C-STDIO-11/canceled", t.gaveUp(m), "notifications/cancelled for "+m.id(), "%s", contents(t.sent(mcp.MethodCancelled)))
				}
			},
		},
	}
}

// giveUp has the client make a call that is answered too late, and another, and
// returns the first.
func (r *run) giveUp(step Step) *message {
	r.on(mcp.MethodToolsCall, func(x *exchange) {
		if text(x.param("name")) != "echo" {
			x.hold(300 * time.Millisecond) // the first is to be given up by then
			x.good()
			return
		}
		x.way.stream()
		x.hold(1500 * time.Millisecond) // and then it answers, too late
		x.good()
	})
	step.Call, step.Name, step.Arguments = mcp.MethodToolsCall, "echo", []byte(`{"text":"late"}`)
	r.do(step, call("write", `{"text":"next"}`))
	calls, next := r.calls("echo"), r.calls("write")
	if len(calls) == 0 {
		return nil
	}
	// A client that ends leaves every stream: that gives up nothing.
	if len(next) > 0 && calls[0].left > next[0].answered {
		calls[0].left = 0
	}
	return calls[0]
}

// gaveUp reports whether the client told the server that it does not want the
// answer: by a notification, or by leaving the stream where that says so.
func (r *run) gaveUp(m *message) bool {
	for _, n := range r.sent(mcp.MethodCancelled) {
		if string(n.param("requestId")) == m.id() {
			return true
		}
	}
	return r.rev.stateless() && r.rev.opts.Transport == conformance.TransportHTTP && m.left != 0
}
