package clientsuite

import (
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// arrayScenarios are messages in arrays, which one revision has, and answers that
// come more than once.
func arrayScenarios() []scenario {
	batch := spec("basic#batching", "MCP implementations MAY support sending JSON-RPC batches, but MUST support receiving JSON-RPC batches.")
	return []scenario{
		{
			id: "C-BATCH", area: tools, title: "the server answers with a batch", since: mcp.Version2025_03_26, until: mcp.Version2025_03_26,
			checks: []check{
				must("C-RPC-15/array", "an answer in an array with a notification before it reaches the caller", batch),
				must("C-RPC-15/stream", "so does one behind a first message of the server", batch),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if text(x.param("name")) == "write" {
						x.notify(mcp.MethodMessage, `{"level":"info","data":"log"}`)
					}
					x.way.send([]byte(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"log"}},` + x.answered("batched") + `]`))
				})
				t.do(call("echo", `{}`), call("write", `{}`))
				t.told("C-RPC-15/array", 0, says("batched"), wantsText("batched"))
				t.told("C-RPC-15/stream", 1, says("batched"), wantsText("batched"))
			},
		},
		{
			id: "C-ARRAY", area: tools, title: "an answer in an array, where the revision has no batches", since: mcp.Version2025_06_18,
			checks: []check{
				advised("C-RPC-17/ignored", "it is no answer", row("RPC-17")),
				advised("C-RPC-17/next", "the next call works", row("RPC-17")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if text(x.param("name")) == "echo" {
						x.way.stream()
						x.way.send([]byte(`[` + x.answered("batched") + `]`))
						x.hold(50 * time.Millisecond)
					}
					x.good()
				})
				t.do(call("echo", `{"text":"alone"}`).within(2*time.Second), call("write", `{"text":"next"}`))
				t.told("C-RPC-17/ignored", 0, func(l Line) bool { return textOf(l) != "batched" }, "anything but the text of the array")
				t.told("C-RPC-17/next", 1, says("next"), wantsText("next"))
			},
		},
		{
			id: "C-DUPLICATE", area: tools, title: "a call is answered twice, and once more within the next",
			checks: []check{
				advised("C-RPC-18/first", "the first answer is the caller's", row("RPC-18")),
				advised("C-RPC-18/next", "the others harm no other call", row("RPC-18")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.stream()
					if text(x.param("name")) == "echo" {
						x.way.send([]byte(x.answered("first")))
						x.way.send([]byte(x.answered("second")))
						return
					}
					if calls := t.calls("echo"); len(calls) > 0 {
						stale := exchange{message: calls[0]}
						x.way.send([]byte(stale.answered("stale")))
					}
					x.hold(50 * time.Millisecond)
					x.good()
				})
				t.do(call("echo", `{}`), call("write", `{"text":"next"}`))
				t.told("C-RPC-18/first", 0, says("first"), wantsText("first"))
				t.told("C-RPC-18/next", 1, says("next"), wantsText("next"))
			},
		},
	}
}

// answered is the answer to a call with a text, as it is on the wire.
func (x *exchange) answered(said string) string {
	return `{"jsonrpc":"2.0","id":` + x.id() + `,"result":{"resultType":"complete","content":[{"type":"text","text":` + quote(said) + `}]}}`
}
