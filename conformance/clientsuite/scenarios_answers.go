package clientsuite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// answerScenarios are what a server answers a call with, and what the caller is
// to get.
func answerScenarios() []scenario {
	sameID := spec("basic#responses", "Result responses MUST include the same ID as the request they correspond to.")
	return []scenario{
		{
			id: "C-ERROR", area: tools, title: "a call is answered with an error",
			checks: []check{
				must("C-ERR-01/code", "the caller gets the server's code", spec("server/tools#error-handling", "Protocol Errors: Standard JSON-RPC errors for issues like: Unknown tools")),
				advised("C-RSL-03/error-once", "the call is not sent again", row("RSL-03")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.fail(jsonrpc.CodeInvalidParams, "Unknown tool: echo", `{"tool":"echo"}`)
				})
				t.do(call("echo", `{"text":"x"}`))
				if n := len(t.calls("echo")); t.needs(n > 0, "echo was not called") {
					t.check("C-RSL-03/error-once", n == 1, "one tools/call", "%d", n)
					t.told("C-ERR-01/code", 0, func(l Line) bool { return l.Outcome == OutcomeError && l.Code == jsonrpc.CodeInvalidParams }, "error -32602")
				}
			},
		},
		{
			id: "C-WRONG-ID", area: tools, title: "answers with ids of nobody come before the right one",
			checks: []check{must("C-RPC-06/own", "only the answer with the request's own id is taken", sameID)},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					other := quote(strings.Trim(x.id(), `"`))
					if isString(x.members["id"]) {
						other = "7"
					}
					x.way.stream()
					for _, id := range []string{other, `"nobody"`, "424242"} {
						x.way.send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","content":[{"type":"text","text":"wrong"}]}}`))
					}
					x.hold(50 * time.Millisecond)
					x.good()
				})
				t.do(call("echo", `{"text":"right"}`))
				t.told("C-RPC-06/own", 0, says("right"), wantsText("right"))
			},
		},
		{
			id: "C-BOTH", area: tools, title: "an answer with a result and an error",
			checks: []check{
				advised("C-RPC-07/both", "it is no result", row("RPC-07")),
				must("C-RPC-07/next", "the next call works", sameID),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if text(x.param("name")) != "echo" {
						x.good()
						return
					}
					x.way.send([]byte(`{"jsonrpc":"2.0","id":` + x.id() + `,"result":{"resultType":"complete","content":[]},"error":{"code":-32603,"message":"both"}}`))
				})
				t.do(call("echo", `{"text":"x"}`).within(2*time.Second), call("write", `{"text":"next"}`))
				t.told("C-RPC-07/both", 0, Line.failed, "no result")
				t.told("C-RPC-07/next", 1, says("next"), wantsText("next"))
			},
		},
		{
			id: "C-CASE", area: tools, title: "members in another case",
			checks: []check{advised("C-RPC-20/case", "RESULT is no result", row("RPC-20"))},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.stream()
					x.way.send([]byte(`{"jsonrpc":"2.0","id":` + x.id() + `,"RESULT":{"resultType":"complete","content":[{"type":"text","text":"shouted"}]}}`))
					x.hold(50 * time.Millisecond)
					x.good()
				})
				t.do(call("echo", `{"text":"spoken"}`).within(2 * time.Second))
				t.told("C-RPC-20/case", 0, func(l Line) bool { return textOf(l) != "shouted" }, "anything but the text of RESULT")
			},
		},
		{
			id: "C-UNKNOWN-CONTENT", area: tools, title: "members and contents nobody knows",
			checks: []check{advised("C-RPC-19/tolerant", "the result reaches the caller", row("RPC-19"))},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.result(`"content":[{"type":"hologram","data":{"a":1}},{"type":"text","text":"plain","x-new":true}],"x-new":[1]`)
				})
				t.do(call("echo", `{"text":"x"}`))
				t.told("C-RPC-19/tolerant", 0, func(l Line) bool { return l.Outcome == OutcomeResult && strings.HasSuffix(textOf(l), "plain") }, wantsText("plain"))
			},
		},
		{
			id: "C-OUTPUT", area: tools, title: "structured content that breaks the tool's schema", since: mcp.Version2025_06_18,
			checks: []check{should("C-TOOL-11/mismatch", "the caller is told", spec("server/tools#output-schema", "Clients SHOULD validate structured results against this schema."))},
			play: func(t *trial) {
				t.peer.tools = `[{"name":"echo","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]`
				t.on(mcp.MethodToolsCall, func(x *exchange) { x.result(`"content":[],"structuredContent":{"n":"seven"}`) })
				t.do(listTools(), call("echo", `{}`))
				t.told("C-TOOL-11/mismatch", 1, func(l Line) bool { return l.Outcome != OutcomeResult }, "an error")
			},
		},
		{
			id: "C-CONCURRENT", area: tools, title: "ten calls at once, answered in another order",
			checks: []check{
				must("C-RPC-06/each", "each caller gets its own answer", sameID),
				advised("C-RSL-09/parallel", "the calls are sent without waiting for each other", row("RSL-09")),
			},
			play: func(t *trial) {
				const n = 10
				var came atomic.Int64
				all := make(chan struct{})
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if came.Add(1) == n {
						close(all)
					}
					var i int
					_ = json.Unmarshal(x.param("arguments", "n"), &i) // no number: 0
					limit := time.NewTimer(2 * time.Second)
					defer limit.Stop()
					select {
					case <-all:
					case <-limit.C:
					case <-x.ctx.Done():
					}
					x.hold(time.Duration(n-i) * 5 * time.Millisecond)
					x.good()
				})
				step := call("echo", `{}`)
				step.Times = n
				t.do(step)
				got := len(t.calls("echo"))
				if !t.needs(got > 1, "the calls were not made") {
					return
				}
				t.check("C-RSL-09/parallel", got >= n && t.answeredAfterLast(n), "ten calls in flight", "%d calls, the first answered before the last was sent", got)
				if len(t.reported(0)) > 0 && len(t.reported(0)) != n {
					t.check("C-RPC-06/each", false, "ten lines", "%d", len(t.reported(0)))
					return
				}
				t.told("C-RPC-06/each", 0, func(l Line) bool { return l.Outcome == OutcomeResult && textOf(l) == fmt.Sprint("n ", l.N) }, "the text \"n N\"")
			},
		},
		{
			id: "C-LARGE", area: tools, title: "a result of 2 MiB",
			checks: []check{advised("C-STDIO-02/large", "it reaches the caller whole", row("STDIO-02"))},
			play: func(t *trial) {
				large := strings.Repeat("0123456789abcdef", 128<<10)
				t.on(mcp.MethodToolsCall, func(x *exchange) { x.says(large) })
				t.do(call("echo", `{"text":"x"}`))
				t.told("C-STDIO-02/large", 0, func(l Line) bool { return textOf(l) == large }, "2 MiB of text")
			},
		},
		{
			id: "C-REF", area: tools, title: "a schema that points into the network",
			checks: []check{must("C-TOOL-08/fetch", "nothing is fetched", spec("basic#ref-resolution", "Implementations MUST NOT automatically dereference $ref values that resolve to a network URI.")).official("json-schema-ref-no-deref")},
			play: func(t *trial) {
				canary, fetched := t.elsewhere()
				if canary == nil {
					return
				}
				defer canary.close()
				t.peer.tools = `[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"$ref":"` + canary.url + `"}}}}]`
				t.do(listTools(), call("echo", `{"text":"x"}`))
				if t.needs(len(t.sent(mcp.MethodToolsList)) > 0, "tools/list was not sent") {
					t.check("C-TOOL-08/fetch", fetched() == "", "no request for the schema", "%s", fetched())
				}
			},
		},
	}
}

// elsewhere is another server on the network, and what it was asked for last; nil
// when there can be none.
func (t *trial) elsewhere() (*stage, func() string) {
	var mu sync.Mutex
	asked := ""
	s, err := stageHTTP(t.rev.program.network(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusNotFound)
	}))
	if err != nil {
		t.err = err
		return nil, nil
	}
	return s, func() string {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

// answeredAfterLast reports whether none of the first n calls was answered
// before the last of them was sent.
func (r *run) answeredAfterLast(n int) bool {
	calls := r.calls("echo")[:n]
	for _, m := range calls {
		if m.answered != 0 && m.answered < calls[n-1].seq {
			return false
		}
	}
	return true
}
