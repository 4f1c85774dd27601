package clientsuite

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// promptScenarios are prompts, the completion of their arguments, and log levels.
func promptScenarios() []scenario {
	get := spec("server/prompts#getting-a-prompt", "To retrieve a specific prompt, clients send a prompts/get request.")
	complete := spec("server/utilities/completion#requesting-completions", "To get completion suggestions, clients send a completion/complete request specifying what is being completed through a reference type")
	chosen := spec("server/utilities/completion#requesting-completions", "For prompts or URI templates with multiple arguments, clients should include previous completions in the context.arguments object to provide context for subsequent requests.")
	level := spec("server/utilities/logging#setting-log-level", "To configure the minimum log level, clients MAY send a logging/setLevel request")
	stamped := spec("server/utilities/logging#per-request-log-level", "To receive log messages for a specific request, include io.modelcontextprotocol/logLevel in the request's _meta.")
	const completing = `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"},"context":{"arguments":{"language":"en"}}}`
	return []scenario{
		{
			id: "C-PROMPT", area: features, title: "a prompt is asked for, and one that the server does not have",
			checks: []check{
				must("C-PRM-01/params", "prompts/get has the name and the arguments as they were given", get),
				must("C-PRM-01/result", "the caller gets its messages", get),
				advised("C-PRM-01/error", "the caller gets the server's code", row("PRM-01")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodPromptsGet, func(x *exchange) {
					if text(x.param("name")) != "greet" {
						x.fail(jsonrpc.CodeInvalidParams, "Unknown prompt", "")
						return
					}
					x.good()
				})
				t.do(Step{Call: mcp.MethodPromptsGet, Name: "greet", Arguments: json.RawMessage(`{"who":"Ada & Bob","n":"7"}`)}, Step{Call: mcp.MethodPromptsGet, Name: "nothing"})
				if sent := t.sent(mcp.MethodPromptsGet); t.needs(len(sent) > 0, "prompts/get was not sent") {
					args := sent[0].param("arguments")
					same := text(sent[0].param("name")) == "greet" && text(at(args, "who")) == "Ada & Bob" && text(at(args, "n")) == "7"
					t.check("C-PRM-01/params", same, `greet with {"who":"Ada & Bob","n":"7"}`, "%s", sent[0].members["params"])
				}
				t.told("C-PRM-01/result", 0, func(l Line) bool {
					return l.Outcome == OutcomeResult && strings.Contains(string(at(l.Result, "messages")), `"hello"`)
				}, "the messages of the prompt")
				t.told("C-PRM-01/error", 1, func(l Line) bool { return l.Outcome == OutcomeError && l.Code == jsonrpc.CodeInvalidParams }, "error -32602")
			},
		},
		{
			id: "C-COMPLETE", area: features, title: "an argument is completed",
			checks: []check{
				must("C-CMP-01/params", "completion/complete has the reference and the argument", complete),
				should("C-CMP-01/context", "and the arguments that are set already", chosen).from(mcp.Version2025_06_18),
				must("C-CMP-01/result", "the caller gets the values", complete),
			},
			play: func(t *trial) {
				t.peer.capabilities = `{"prompts":{},"completions":{}}`
				t.on(mcp.MethodCompletionComplete, func(x *exchange) { x.result(`"completion":{"values":["Ada","Anna"],"hasMore":true}`) })
				t.do(Step{Call: mcp.MethodCompletionComplete, Params: json.RawMessage(completing)})
				if sent := t.sent(mcp.MethodCompletionComplete); t.needs(len(sent) > 0, "completion/complete was not sent") {
					m := sent[0]
					same := text(m.param("ref", "type")) == "ref/prompt" && text(m.param("ref", "name")) == "greet" &&
						text(m.param("argument", "name")) == "who" && text(m.param("argument", "value")) == "A"
					t.check("C-CMP-01/params", same, `ref/prompt greet, who "A"`, "%s", m.members["params"])
					if t.rev.revision.AtLeast(mcp.Version2025_06_18) {
						t.check("C-CMP-01/context", text(m.param("context", "arguments", "language")) == "en", `context {"arguments":{"language":"en"}}`, "%s", orNull(m.param("context")))
					}
				}
				t.told("C-CMP-01/result", 0, func(l Line) bool {
					return l.Outcome == OutcomeResult && strings.Contains(string(l.Result), `"Anna"`)
				}, "Ada and Anna")
			},
		},
		{
			id: "C-LOG-LEVEL", area: features, title: "the caller sets the log level", until: mcp.LatestSession,
			checks: []check{must("C-LOG-01/level", "logging/setLevel has it", level)},
			play: func(t *trial) {
				t.peer.capabilities = `{"tools":{},"logging":{}}`
				t.on(mcp.MethodLoggingSetLevel, func(x *exchange) { x.result("") })
				t.do(Step{Call: mcp.MethodLoggingSetLevel, Params: json.RawMessage(`{"level":"warning"}`)})
				if sent := t.sent(mcp.MethodLoggingSetLevel); t.needs(len(sent) > 0, "logging/setLevel was not sent") {
					t.check("C-LOG-01/level", text(sent[0].param("level")) == "warning", "warning", "%s", sent[0].members["params"])
				}
			},
		},
		{
			id: "C-LOG-STAMP", area: stateless, title: "the caller sets the log level, of every request from then on", since: mcp.Version2026_07_28,
			checks: []check{
				should("C-LOG-04/stamped", "a call says it in _meta", stamped),
			},
			play: func(t *trial) {
				t.peer.capabilities = `{"tools":{},"logging":{}}`
				t.do(Step{Call: mcp.MethodLoggingSetLevel, Params: json.RawMessage(`{"level":"warning"}`)}, call("write", `{}`))
				after := t.calls("write")
				if t.needs(len(after) > 0, "the tool was not called") {
					got := after[0].param("_meta", mcp.MetaLogLevel)
					if got == nil && len(t.reported(0)) == 0 {
						t.silent("C-LOG-04/stamped") // it knows nothing of the step
						return
					}
					for _, l := range t.reported(0) {
						if l.Outcome == OutcomeUnsupported {
							return
						}
					}
					t.check("C-LOG-04/stamped", text(got) == "warning", "warning", "%s", orNull(got))
				}
			},
		},
	}
}
