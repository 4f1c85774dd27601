package clientsuite

import (
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// serverAsks are what a server says beside its answers.
func serverAsks() []scenario {
	ping := spec("basic/utilities/ping#behavior-requirements", "The receiver MUST respond promptly with an empty response")
	sameID := spec("basic#responses", "Result responses MUST include the same ID as the request they correspond to.")
	silence := spec("basic#notifications", "The receiver MUST NOT send a response.")
	return []scenario{
		{
			id: "C-PING", area: lifecycle, title: "the server pings within a call", until: mcp.LatestSession,
			checks: []check{
				must("C-UTIL-01/answered", "ping is answered with an empty result", ping),
				must("C-RPC-06/integer", "an integer id comes back as that integer", sameID),
				must("C-RPC-06/string", "a string id comes back as that string", sameID),
				must("C-UTIL-01/result", "the call goes on", sameID),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.ask("4711", mcp.MethodPing, "{}")
					x.ask(`"4712"`, mcp.MethodPing, "{}")
					x.good()
				})
				t.do(call("echo", `{"text":"alive"}`))
				if !t.needs(len(t.calls("echo")) > 0, "echo was not called") {
					return
				}
				integer, str := t.answersTo("4711"), t.answersTo(`"4712"`)
				all := append(integer, str...)
				t.check("C-UTIL-01/answered", len(all) > 0 && isObject(all[0].members["result"]) && len(members(all[0].members["result"])) == 0, "result {}", "%s", contents(all))
				t.check("C-RPC-06/integer", len(integer) == 1, "one answer with id 4711", "%s", contents(t.responses()))
				t.check("C-RPC-06/string", len(str) == 1, `one answer with id "4712"`, "%s", contents(t.responses()))
				t.told("C-UTIL-01/result", 0, says("alive"), wantsText("alive"))
			},
		},
		{
			id: "C-UNKNOWN-REQUEST", area: lifecycle, title: "the server asks for what the client does not have", until: mcp.LatestSession,
			checks: []check{
				must("C-RPC-13/unknown", "an unknown request is answered with -32601", spec("basic#responses", "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.")),
				must("C-RPC-13/undeclared", "a request for what was not declared is refused", spec("basic/lifecycle#operation", "Only use capabilities that were successfully negotiated")),
				must("C-RPC-13/result", "the call goes on", sameID),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.ask(`"u"`, "no/such/method", "{}")
					x.ask(`"s"`, mcp.MethodSamplingCreateMessage, `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}`)
					x.good()
				})
				t.do(call("echo", `{"text":"still here"}`))
				if !t.needs(len(t.calls("echo")) > 0, "echo was not called") {
					return
				}
				unknown, sampling := t.answersTo(`"u"`), t.answersTo(`"s"`)
				t.check("C-RPC-13/unknown", len(unknown) == 1 && string(at(unknown[0].members["error"], "code")) == "-32601", "error -32601", "%s", contents(unknown))
				if t.declares("sampling") {
					t.skip("C-RPC-13/undeclared", conformance.SkipNotDeclared, "the client declares sampling")
				} else {
					t.check("C-RPC-13/undeclared", len(sampling) == 1 && sampling[0].members["error"] != nil, "an error", "%s", contents(sampling))
				}
				t.told("C-RPC-13/result", 0, says("still here"), wantsText("still here"))
			},
		},
		{
			id: "C-NOTIFICATIONS", area: lifecycle, title: "the server sends notifications nobody asked for",
			checks: []check{
				must("C-RPC-11/silent", "notifications are not answered", silence),
				must("C-RPC-11/result", "the call goes on", sameID),
				must("C-UTIL-09/progress", "progress for an unknown token, and progress that decreases, harm nothing", spec("basic/utilities/progress#progress-flow", "Progress notifications MUST only reference tokens that: Were provided in an active request")).
					or(spec("basic/patterns/progress#behavior-requirements", "Progress notifications MUST only reference tokens that: Were provided in an active request")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.notify("notifications/no/such", `{"a":1}`)
					x.notify(mcp.MethodMessage, `{"level":"info","data":"log"}`)
					x.notify(mcp.MethodCancelled, `{"requestId":"nobody's"}`)
					if text(x.param("name")) == "write" {
						x.notify(mcp.MethodProgress, `{"progressToken":"nobody's","progress":1}`)
						if token := x.param("_meta", mcp.MetaProgressToken); token != nil {
							x.notify(mcp.MethodProgress, `{"progressToken":`+string(token)+`,"progress":0.75,"total":1}`)
							x.notify(mcp.MethodProgress, `{"progressToken":`+string(token)+`,"progress":0.25,"total":1}`)
						}
					}
					x.good()
				})
				progressing := call("write", `{"text":"with progress"}`)
				progressing.Progress = true
				t.do(call("echo", `{"text":"quiet"}`), progressing)
				if !t.needs(len(t.calls("echo")) > 0, "echo was not called") {
					return
				}
				t.check("C-RPC-11/silent", len(t.responses()) == 0, "no response", "%s", contents(t.responses()))
				t.told("C-RPC-11/result", 0, says("quiet"), wantsText("quiet"))
				t.told("C-UTIL-09/progress", 1, says("with progress"), wantsText("with progress"))
			},
		},
		{
			id: "C-REQUEST-IN-STATELESS", area: lifecycle, title: "a server of the stateless era sends a request", since: mcp.Version2026_07_28,
			checks: []check{
				must("C-RPC-14/unanswered", "it is not answered", spec("basic/transports/streamable-http#sending-messages", "The client MUST NOT send JSON-RPC responses.")),
				must("C-RPC-14/result", "the call goes on", sameID),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.notify(mcp.MethodMessage, `{"level":"info","data":"log"}`)
					// No ping: the SDKs' servers send it over stdio in this era too, and a client
					// that answers it there helps them.
					x.way.send([]byte(`{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{}}`))
					x.hold(100 * time.Millisecond)
					x.good()
				})
				t.do(call("echo", `{"text":"no answer"}`))
				if !t.needs(len(t.calls("echo")) > 0, "echo was not called") {
					return
				}
				t.check("C-RPC-14/unanswered", len(t.responses()) == 0, "no response", "%s", contents(t.responses()))
				t.told("C-RPC-14/result", 0, says("no answer"), wantsText("no answer"))
			},
		},
		{
			id: "C-PING-EARLY", area: lifecycle, title: "the server pings before it answers initialize", until: mcp.LatestSession, transport: conformance.TransportStdio,
			checks: []check{must("C-LC-09/ping", "it is answered, in any phase", ping)},
			play: func(t *trial) {
				t.on(mcp.MethodInitialize, func(x *exchange) {
					x.notify(mcp.MethodMessage, `{"level":"info","data":"starting"}`)
					x.ask(`"early"`, mcp.MethodPing, "{}")
					x.good()
				})
				t.do(listTools())
				if t.needs(len(t.sent(mcp.MethodInitialize)) > 0, "no initialize was sent") {
					got := t.answersTo(`"early"`)
					t.check("C-LC-09/ping", len(got) == 1 && got[0].members["result"] != nil, "a result", "%s", contents(got))
				}
			},
		},
	}
}

// responses are all the client sent.
func (r *run) responses() []*message {
	var out []*message
	for _, m := range r.tape.all() {
		if m.isResponse() {
			out = append(out, m)
		}
	}
	return out
}

// declares reports whether the client declared a capability in this run.
func (r *run) declares(name string) bool {
	for _, m := range r.tape.all() {
		if members(m.param("capabilities"))[name] != nil || members(m.param("_meta", mcp.MetaClientCapabilities))[name] != nil {
			return true
		}
	}
	return false
}

// contents are the bytes of messages, for people.
func contents(all []*message) string {
	if len(all) == 0 {
		return "nothing"
	}
	out := string(all[0].data)
	for _, m := range all[1:] {
		out += " and " + string(m.data)
	}
	if len(out) > 300 {
		out = out[:300] + "…"
	}
	return out
}
