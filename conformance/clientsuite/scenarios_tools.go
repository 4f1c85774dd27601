package clientsuite

import (
	"github.com/mainstay-mcp/mainstay/mcp"
)

const tools = "tools"

// toolScenarios are the calls of tools.
func toolScenarios() []scenario {
	return []scenario{
		{
			id: "C-CALL", area: tools, title: "a tool is called",
			checks: []check{
				must("C-TOOL-10/params", "tools/call has the name and the arguments as they were given", spec("server/tools#calling-tools", "To invoke a tool, clients send a tools/call request")).official("tools_call"),
				advised("C-RPC-21/exact", "a large integer among the arguments is sent to its last digit", row("RPC-21")),
				must("C-TOOL-12/result", "the caller gets the result", spec("basic#responses", "Result responses MUST include the same ID as the request they correspond to.")),
				must("C-TOOL-12/is-error", "a result that says isError reaches the caller as one", spec("server/tools#error-handling", "Tool Execution Errors: Reported in tool results with isError: true")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if text(x.param("name")) == "write" {
						x.result(`"content":[{"type":"text","text":"disk full"}],"isError":true`)
						return
					}
					x.good()
				})
				t.do(call("echo", `{"text":"grüße \u0000 <&>","n":9007199254740993}`), call("write", `{"text":"x"}`))
				calls, echoed := t.calls("echo"), "n 9007199254740993"
				if t.needs(len(calls) > 0, "echo was not called") {
					got := calls[0].param("arguments")
					same := text(at(got, "text")) == "grüße \u0000 <&>" && at(got, "n") != nil
					t.check("C-TOOL-10/params", same, `{"text":"grüße \u0000 <&>","n":9007199254740993}`, "%s", got)
					echoed = "n " + string(at(got, "n")) // the digits that JavaScript loses are no part of the answer
					t.check("C-RPC-21/exact", string(at(got, "n")) == "9007199254740993", "9007199254740993", "%s", at(got, "n"))
				}
				t.told("C-TOOL-12/result", 0, says(echoed), wantsText(echoed))
				t.told("C-TOOL-12/is-error", 1, func(l Line) bool { return l.Outcome == OutcomeToolError }, "tool-error")
			},
		},
	}
}
