package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// askingTools are the tools of the fake in the mode asking. model is only there for clients that
// have one.
const askingTools = `{"name":"form","inputSchema":{"type":"object"}},
{"name":"choose","inputSchema":{"type":"object"}},
{"name":"mail","inputSchema":{"type":"object"}},
{"name":"page","inputSchema":{"type":"object"}},
{"name":"folders","inputSchema":{"type":"object"}},
{"name":"wipe","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},
{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
{"name":"quits","inputSchema":{"type":"object"}},
{"name":"logs","inputSchema":{"type":"object"}},
{"name":"double","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"unit":{"type":"string"}},"required":["n"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`

// asking is what the fake answers in the mode asking, where its tools ask the client, run as tasks,
// and log.
func (f *fake) asking(frame []byte, r fakeRequest, result func(string) []string, failed func(int, string, string) []string) []string {
	if f.mode != "asking" {
		return nil
	}
	ask := func(method, params string) []string {
		f.waits = r.ID
		return []string{`{"jsonrpc":"2.0","id":"q","method":"` + method + `","params":` + params + `}`}
	}
	switch r.Method {
	case "": // the client's answer to what a tool asked
		text, _ := json.Marshal(string(frame))
		return []string{`{"jsonrpc":"2.0","id":` + string(f.waits) + `,"result":{"content":[{"type":"text","text":` + string(text) + `}]}}`}
	case "initialize":
		f.declared = r.Params.Declares
		return result(`{"protocolVersion":"` + r.Params.Version + `","capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true,"listChanged":true},` +
			`"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"fake","version":"1.0"}}`)
	case "tools/list":
		tools := strings.ReplaceAll(askingTools, "\n", "")
		if strings.Contains(string(f.declared), `"sampling"`) {
			tools += `,{"name":"model","inputSchema":{"type":"object"}}`
		}
		return result(`{"tools":[` + tools + `]}`)
	case "logging/setLevel", "resources/unsubscribe":
		return result(`{}`)
	case "resources/subscribe":
		return append(result(`{}`),
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"fake","data":"watching"}}`,
			`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"`+r.Params.URI+`"}}`,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case "tasks/list":
		return result(`{"tasks":[` + fakeTask("working") + `]}`)
	case "tasks/get":
		if r.Params.TaskID != "t1" {
			return failed(-32602, "no such task", "null")
		}
		return result(fakeTask("completed"))
	case "tasks/result":
		return result(`{"content":[{"type":"text","text":"slow is done"}]}`)
	case "tasks/cancel":
		return result(fakeTask("cancelled"))
	case "tools/call":
		return f.ask(r, ask, result, failed)
	}
	return nil
}

// ask answers calls of the tools of the mode asking.
func (f *fake) ask(r fakeRequest, ask func(string, string) []string, result func(string) []string, failed func(int, string, string) []string) []string {
	switch r.Params.Name {
	case "form":
		return ask("elicitation/create", `{"message":"Who\u001b are you?","requestedSchema":{"type":"object","properties":{`+
			`"name":{"type":"string","title":"Your name","description":"as on the card","minLength":2},"age":{"type":"integer","minimum":0},`+
			`"news":{"type":"boolean","default":true}},"required":["name"]}}`)
	case "choose":
		return ask("elicitation/create", `{"message":"What do you want?","requestedSchema":{"type":"object","properties":{`+
			`"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},`+
			`"extras":{"type":"array","items":{"type":"string","enum":["milk","sugar"]}}},"required":["color"]}}`)
	case "mail":
		return ask("elicitation/create", `{"message":"Where?","requestedSchema":{"type":"object","properties":{"to":{"type":"string","format":"email"}}}}`)
	case "page":
		return ask("elicitation/create", `{"mode":"url","message":"Pay here","url":"https://pay.example/1","elicitationId":"e1"}`)
	case "folders":
		return ask("roots/list", `{}`)
	case "model":
		return ask("sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10}`)
	case "quits": // the program exits after this answer
		return result(`{"content":[]}`)
	case "wipe":
		return result(`{"content":[{"type":"text","text":"wiped"}]}`)
	case "slow":
		if r.Params.Task == nil {
			return failed(-32601, "slow runs only as a task", "null")
		}
		return result(`{"task":` + fakeTask("working") + `}`)
	case "logs":
		return append([]string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"deep inside"}}`}, result(`{"content":[]}`)...)
	case "double":
		var args struct{ N int }
		_ = json.Unmarshal(r.Params.Arguments, &args)
		if args.N == 13 {
			return result(`{"content":[{"type":"text","text":"bad luck"}],"isError":true}`)
		}
		if args.N == 99 {
			return failed(-32050, "too many", "null")
		}
		return result(fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, 2*args.N))
	}
	return failed(-32602, "Unknown tool", "null")
}

func fakeTask(status string) string {
	return `{"taskId":"t1","status":"` + status + `","statusMessage":"half way","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000,"pollInterval":1}`
}
