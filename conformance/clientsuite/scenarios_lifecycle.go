package clientsuite

import (
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const lifecycle = "lifecycle"

// lifecycleScenarios are how a client of the session era opens a session.
func lifecycleScenarios() []scenario {
	in := func(quote string) conformance.Spec { return spec("basic/lifecycle#initialization", quote) }
	first := in("The initialization phase MUST be the first interaction between client and server.")
	contents := in("The client MUST initiate this phase by sending an initialize request containing: Protocol version supported, Client capabilities, Client implementation information")
	ready := in("After successful initialization, the client MUST send an initialized notification to indicate it is ready to begin normal operations")
	quiet := in("The client SHOULD NOT send requests other than pings before the server has responded to the initialize request.")
	versions := "basic/lifecycle#version-negotiation"
	return []scenario{
		{
			id: "C-HANDSHAKE", area: lifecycle, title: "how a session is opened", until: mcp.LatestSession,
			checks: []check{
				must("C-LC-01/first", "the first request is initialize, or a probe for the stateless era", first).official("initialize"),
				must("C-LC-01/params", "initialize has protocolVersion, capabilities and clientInfo with name and version", contents).official("initialize"),
				must("C-LC-02/session-era", "the version offered is one that has sessions", spec(versions, "In the initialize request, the client MUST send a protocol version it supports.")),
				must("C-LC-07/initialized", "notifications/initialized follows the answer, before other traffic", ready).official("initialize"),
				must("C-LC-07/once", "it is sent once", ready),
				should("C-LC-08/quiet", "nothing but ping is sent before initialize is answered", quiet),
			},
			play: playHandshake,
		},
		{
			id: "C-VERSION-UNKNOWN", area: lifecycle, title: "the server answers with a version nobody knows", until: mcp.LatestSession,
			checks: []check{
				should("C-LC-04/disconnect", "the client sends no request any more", spec(versions, "If the client does not support the version in the server's response, it SHOULD disconnect.")),
				should("C-LC-04/told", "the caller is told that there is no connection", spec(versions, "If the client does not support the version in the server's response, it SHOULD disconnect.")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodInitialize, func(x *exchange) { x.initialized("1999-01-01") })
				t.do(listTools())
				opened := t.sent(mcp.MethodInitialize)
				if !t.needs(len(opened) > 0, "no initialize was sent") {
					return
				}
				later := t.requestsAfter(opened[0].answered)
				t.check("C-LC-04/disconnect", len(later) == 0, "no request after the answer", "%s", names(later))
				t.told("C-LC-04/told", -1, Line.failed, "connect fails")
			},
		},
		{
			id: "C-INITIALIZE-REFUSED", area: lifecycle, title: "the server refuses initialize", until: mcp.LatestSession,
			checks: []check{
				must("C-LC-07/refused", "no session is used that was not opened", ready),
				must("C-LC-07/refused-told", "the caller is told", ready),
			},
			play: func(t *trial) {
				t.on(mcp.MethodInitialize, func(x *exchange) { x.fail(jsonrpc.CodeInternalError, "not today", "") })
				t.do(listTools())
				opened := t.sent(mcp.MethodInitialize)
				if !t.needs(len(opened) > 0, "no initialize was sent") {
					return
				}
				used := append(t.sent(mcp.MethodInitialized), t.sent(mcp.MethodToolsList)...)
				t.check("C-LC-07/refused", len(used) == 0, "neither notifications/initialized nor tools/list", "%s", names(used))
				t.told("C-LC-07/refused-told", -1, Line.failed, "connect fails")
			},
		},
		{
			id: "C-INITIALIZE-SILENT", area: lifecycle, title: "the server never answers initialize", until: mcp.LatestSession,
			checks: []check{
				must("C-LC-10/not-canceled", "initialize is not cancelled by a notification", spec("basic/utilities/cancellation#behavior-requirements", "The initialize request MUST NOT be cancelled by clients")),
				should("C-LC-15/initialize", "the caller is not left waiting", spec("basic/lifecycle#timeouts", "Implementations SHOULD establish timeouts for all sent requests, to prevent hung connections and resource exhaustion.")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodInitialize, func(x *exchange) { x.hold(time.Minute) })
				t.doExactly(Step{Call: stepConnect}.within(time.Second), Step{Call: stepClose})
				if !t.needs(len(t.sent(mcp.MethodInitialize)) > 0, "no initialize was sent") {
					return
				}
				canceled := t.sent(mcp.MethodCancelled)
				t.check("C-LC-10/not-canceled", len(canceled) == 0, "no notifications/cancelled", "%s", names(canceled))
				t.told("C-LC-15/initialize", -1, Line.failed, "connect fails when its deadline has passed")
			},
		},
	}
}

func playHandshake(t *trial) {
	t.on(mcp.MethodInitialize, func(x *exchange) {
		x.hold(100 * time.Millisecond) // time to say something too early
		x.good()
	})
	t.do(listTools(), call("echo", `{"text":"hello"}`))
	opened := t.sent(mcp.MethodInitialize)
	if !t.needs(len(t.tape.all()) > 0, "nothing was sent") {
		return
	}
	var first *message
	for _, m := range t.tape.all() {
		if m.isRequest() && m.method() != mcp.MethodDiscover {
			first = m
			break
		}
	}
	if !t.needs(first != nil, "no request was sent") {
		return
	}
	t.check("C-LC-01/first", first.method() == mcp.MethodInitialize, "initialize", "%s", first.method())
	if !t.needs(len(opened) > 0, "no initialize was sent") {
		return
	}
	open := opened[0]
	info := open.param("clientInfo")
	whole := isString(open.param("protocolVersion")) && isObject(open.param("capabilities")) && isString(at(info, "name")) && isString(at(info, "version"))
	t.check("C-LC-01/params", whole, "protocolVersion, capabilities, clientInfo{name, version}", "%s", open.members["params"])
	offered, _ := mcp.ParseVersion(text(open.param("protocolVersion")))
	t.check("C-LC-02/session-era", offered.Era() == mcp.EraSession, "a revision with sessions", "%q", offered)
	early := t.requestsBetween(open.seq, open.answered)
	t.check("C-LC-08/quiet", len(early) == 0, "no request before the answer to initialize", "%s", names(early))
	ready := t.sent(mcp.MethodInitialized)
	if len(ready) == 0 {
		t.check("C-LC-07/initialized", false, "notifications/initialized", "it was not sent")
		return
	}
	tooEarly := ready[0].seq < open.answered
	before := t.requestsBetween(open.answered, ready[0].seq)
	t.check("C-LC-07/initialized", !tooEarly && len(before) == 0, "notifications/initialized first after the answer",
		"%s before it%s", names(before), map[bool]string{true: "; it came before the answer"}[tooEarly])
	t.check("C-LC-07/once", len(ready) == 1, "one notifications/initialized", "%d", len(ready))
}

// requestsAfter are the requests behind a place of the tape, pings left out.
func (r *run) requestsAfter(seq int) []*message { return r.requestsBetween(seq, int(^uint(0)>>1)) }

func (r *run) requestsBetween(from, to int) []*message {
	var out []*message
	for _, m := range r.tape.all() {
		if m.isRequest() && m.seq > from && m.seq < to && m.method() != mcp.MethodPing {
			out = append(out, m)
		}
	}
	return out
}

// names says which messages these are.
func names(all []*message) string {
	if len(all) == 0 {
		return "nothing"
	}
	out := ""
	for i, m := range all {
		if i == 5 {
			return out + fmt.Sprintf(" and %d more", len(all)-i)
		}
		if i > 0 {
			out += ", "
		}
		switch {
		case m.method() != "":
			out += m.method()
		case m.isResponse():
			out += "a response"
		case m.verb != "":
			out += m.verb
		default:
			out += "what is no message"
		}
	}
	return out
}
