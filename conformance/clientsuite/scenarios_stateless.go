package clientsuite

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

const stateless = "stateless"

// statelessScenarios are what only the stateless era has.
func statelessScenarios() []scenario {
	result := func(quote string) (s check) {
		s.Spec = spec("basic#resulttype", quote)
		return s
	}
	negotiation := spec("basic/versioning#protocol-version-negotiation", "The client SHOULD select a mutually supported version from the supported list and retry the request, or surface an error to the user if no compatible version exists.")
	all := []scenario{
		{
			id: "C-REJECTED-ONCE", area: stateless, title: "the first request is refused for its version, naming the very same",
			checks: []check{
				should("C-DISC-07/again", "the request is sent again with a version that was named", negotiation).official("request-metadata"),
				must("C-DISC-07/new-id", "under another id", row("RSL-01")),
				should("C-DISC-07/result", "the caller gets the result", negotiation),
			},
			play: func(t *trial) {
				t.peer.gate = func(x *exchange) bool {
					if !x.isRequest() || x.method() == mcp.MethodInitialize || x.peer.next() > 1 {
						return false
					}
					x.fail(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version", `{"supported":[`+quote(string(x.peer.revision))+`],"requested":"1900-01-01"}`)
					return true
				}
				t.do(listTools(), call("echo", `{"text":"after all"}`))
				var requests []*message
				for _, m := range t.tape.all() {
					if m.isRequest() {
						requests = append(requests, m)
					}
				}
				if !t.needs(len(requests) > 0, "no request was sent") {
					return
				}
				t.told("C-DISC-07/result", 1, says("after all"), wantsText("after all"))
				if len(requests) == 1 {
					t.check("C-DISC-07/again", false, requests[0].method()+" again", "nothing")
					return
				}
				again := requests[1]
				t.check("C-DISC-07/again", again.method() == requests[0].method() && text(again.param("_meta", mcp.MetaProtocolVersion)) == string(t.rev.revision),
					requests[0].method()+" with "+string(t.rev.revision), "%s", again.data)
				t.check("C-DISC-07/new-id", again.id() != requests[0].id(), "another id", "%s again", again.id())
			},
		},
		{
			id: "C-REJECTED-ALWAYS", area: stateless, title: "every request is refused for its version",
			checks: []check{
				advised("C-DISC-07/bounded", "the client gives up", row("DISC-07")),
				must("C-DISC-07/told", "the caller is told", negotiation),
			},
			play: func(t *trial) {
				t.peer.gate = func(x *exchange) bool {
					if x.isRequest() {
						x.fail(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version", `{"supported":[`+quote(string(x.peer.revision))+`],"requested":"1900-01-01"}`)
					}
					return x.isRequest()
				}
				t.do(call("echo", `{}`))
				n := len(t.requestsAfter(0))
				if t.needs(n > 0, "no request was sent") {
					t.check("C-DISC-07/bounded", n <= 8, "at most 8 requests", "%d", n)
					t.told("C-DISC-07/told", 0, Line.failed, "an error")
				}
			},
		},
		{
			id: "C-DISCOVER", area: stateless, title: "the server speaks versions the client does not know besides its own",
			checks: []check{should("C-DISC-04/mutual", "a version that both know is used", negotiation)},
			play: func(t *trial) {
				t.on(mcp.MethodDiscover, func(x *exchange) { x.discovered("2099-01-01", string(x.peer.revision), "1999-01-01") })
				t.do(call("echo", `{}`))
				if calls := t.calls("echo"); t.needs(len(calls) > 0, "echo was not called") {
					got := text(calls[0].param("_meta", mcp.MetaProtocolVersion))
					t.check("C-DISC-04/mutual", got == string(t.rev.revision), string(t.rev.revision), "%s", got)
				}
			},
		},
		{
			id: "C-RESULT-TYPE", area: stateless, title: "results of a type nobody knows, and of none",
			checks: []check{
				must("C-DISC-12/unknown", "an unknown resultType is no result", result("A resultType of any value unrecognized by the client MUST be considered invalid.").Spec),
				must("C-DISC-13/absent", "a result without one is complete", result("clients MUST treat an absent resultType as \"complete\".").Spec).official("sep-2322-client-request-state"),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if text(x.param("name")) == "echo" {
						x.bare(`{"resultType":"weird","content":[{"type":"text","text":"weird"}]}`)
						return
					}
					x.bare(`{"content":[{"type":"text","text":"plain"}]}`)
				})
				t.do(call("echo", `{}`), call("write", `{}`))
				t.told("C-DISC-12/unknown", 0, Line.failed, "no result")
				t.told("C-DISC-13/absent", 1, says("plain"), wantsText("plain"))
			},
		},
		{
			id: "C-CAPABILITY-MISSING", area: stateless, title: "the server misses a capability of the client",
			checks: []check{
				must("C-DISC-09/widen", "the client does not claim it", spec("basic#_meta", "A server MUST NOT rely on capabilities the client has not declared.")),
				must("C-DISC-09/told", "the caller gets the error", spec("basic#_meta", "the server MUST return a MissingRequiredClientCapabilityError")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.fail(mcp.CodeMissingRequiredClientCapability, "Missing capability", `{"requiredCapabilities":{"sampling":{}}}`)
				})
				t.do(call("echo", `{}`))
				calls := t.calls("echo")
				if !t.needs(len(calls) > 0, "echo was not called") {
					return
				}
				first, last := declared(calls[0]), declared(calls[len(calls)-1])
				t.check("C-DISC-09/widen", strings.Contains(first, "sampling") || !strings.Contains(last, "sampling"), first, "%s", last)
				t.told("C-DISC-09/told", 0, func(l Line) bool {
					return l.Outcome == OutcomeError && l.Code == mcp.CodeMissingRequiredClientCapability
				}, "error -32021")
			},
		},
	}
	for i := range all {
		all[i].since = mcp.Version2026_07_28
	}
	return all
}

// declared are the capabilities that a request states.
func declared(m *message) string { return orNull(m.param("_meta", mcp.MetaClientCapabilities)) }
