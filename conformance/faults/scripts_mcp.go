package faults

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scriptsMCP are the faults of MCP (part F).
func scriptsMCP() map[string]script {
	all := map[string]script{
		"F1": {local: otherEra, tell: changed(func(x *exchange, r json.RawMessage) json.RawMessage {
			r = with(r, "protocolVersion", quote(orText(x.Text, "1999-01-01")))
			if object(r)["supportedVersions"] != nil {
				r = with(r, "supportedVersions", `[`+quote(orText(x.Text, "1999-01-01"))+`]`)
			}
			return r
		})},
		"F2": {
			local: func(x *exchange) []byte {
				if strings.HasPrefix(x.req.Method, "tools/") {
					return notFound(x)
				}
				return nil
			},
			tell: changed(func(_ *exchange, r json.RawMessage) json.RawMessage {
				return with(r, "capabilities", string(with(object(r)["capabilities"], "tools", "")))
			}),
		},
		"F7": {tell: func(x *exchange) iter.Seq[piece] {
			return x.repeated(orInt(x.Repeat, 10_000), time.Duration(x.Every), func(int) []byte { return listChanged() })
		}},
		"F8": {tell: func(x *exchange) iter.Seq[piece] { return tells(bad(listChanged()), good(x)) }},
		"F9": {tell: func(x *exchange) iter.Seq[piece] {
			return func(yield func(piece) bool) {
				if x.hold(x.ctx, x.For.or(time.Second)) {
					yield(good(x))
				}
			}
		}},
		"F11": {tell: changed(func(_ *exchange, r json.RawMessage) json.RawMessage {
			return with(r, "structuredContent", `["not what the schema says"]`)
		})},
		"F12": {local: func(x *exchange) []byte { return inputRequired(x, x.proxy.count(x.hit, "F12")) }},
		"F13": {
			local: func(x *exchange) []byte {
				if x.req.state == "" {
					return inputRequired(x, 1)
				}
				return nil
			},
			ask: func(x *exchange) []byte {
				params := with(with(x.req.Params, "requestState", ""), "inputResponses", "")
				return with(x.req.raw, "params", string(params))
			},
			tell: func(x *exchange) iter.Seq[piece] {
				if x.req.state == "" {
					return tells(good(x))
				}
				return tells(piece{kind: lost})
			},
		},
		"F14": {tell: wrongProgress},
		"F15": {tell: late},
		"F17": {local: locked},
		"F19": {local: endlessTask},
	}
	maps.Copy(all, scriptsList())
	return all
}

// changed answers with another result.
func changed(change func(x *exchange, result json.RawMessage) json.RawMessage) func(*exchange) iter.Seq[piece] {
	return func(x *exchange) iter.Seq[piece] {
		return tells(bad(withResult(x.answer, func(r json.RawMessage) json.RawMessage { return change(x, r) })))
	}
}

func notFound(x *exchange) []byte { return failure(x.req.ID, -32601, "Method not found", "") }

func listChanged() []byte { return notification("notifications/tools/list_changed", `{}`) }

// otherEra refuses like a server of another version or era.
func otherEra(x *exchange) []byte {
	switch x.form {
	case "unsupported":
		return failure(x.req.ID, -32022, "Unsupported protocol version", `{"supported":[`+quote(orText(x.Text, "1999-01-01"))+`]}`)
	case "era":
		return notFound(x)
	default:
		return nil
	}
}

// inputRequired asks for another answer of the user.
func inputRequired(x *exchange, round int) []byte {
	n := strconv.Itoa(round)
	return response(x.req.ID, `{"resultType":"input_required","inputRequests":{"round`+n+`":{"method":"elicitation/create","params":{"mode":"form",`+
		`"message":"round `+n+`","requestedSchema":{"type":"object","properties":{"more":{"type":"string"}}}}}},"requestState":"faults-`+n+`"}`)
}

func wrongProgress(x *exchange) iter.Seq[piece] {
	switch x.form {
	case "foreign":
		return tells(bad(progress(unknownID, "1")), good(x))
	case "after":
		return tells(good(x), bad(progress(x.req.token, "1")))
	default:
		return tells(bad(progress(x.req.token, "5")), bad(progress(x.req.token, "3")), good(x))
	}
}

// locked refuses like a server whose store is busy, without any effect.
func locked(x *exchange) []byte {
	after := map[string]string{"2": "2", "negative": "-1", "huge": "1000000000", "nan": `"NaN"`, "result": "2"}[x.form]
	data := `{"error":{"code":"DB_LOCKED","message":"database is locked","retryable":true,"retry_after_seconds":` + after + `}}`
	if x.form == "result" {
		return response(x.req.ID, `{"isError":true,"content":[{"type":"text","text":`+quote(data)+`}],"structuredContent":`+data+`}`)
	}
	return failure(x.req.ID, -32603, "database is locked", data)
}

// endlessTask answers a call with a task of the tasks extension. Every task is reported as
// working, even if it was canceled.
func endlessTask(x *exchange) []byte {
	poll := strconv.FormatInt(x.Every.or(time.Millisecond).Milliseconds(), 10)
	kind, task := "complete", x.req.task
	if x.req.Method == "tools/call" {
		kind, task = "task", "faults-task-"+strconv.Itoa(x.proxy.count(x.hit, "F19"))
	}
	now := quote(time.Now().UTC().Format(time.RFC3339))
	state := `"taskId":` + quote(task) + `,"status":"working","createdAt":` + now + `,"lastUpdatedAt":` + now +
		`,"ttl":null,"ttlMs":null,"pollInterval":` + poll + `,"pollIntervalMs":` + poll
	if kind == "task" && object(x.req.Params)["task"] != nil { // the tasks of the stateful era are asked for
		return response(x.req.ID, `{"task":{`+state+`}}`)
	}
	return response(x.req.ID, `{"resultType":`+quote(kind)+`,`+state+`}`)
}

// tools returns the tools of a result.
func tools(result json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(object(result)["tools"], &list) != nil {
		return nil
	}
	return list
}

// eachTool returns the result with every tool changed; nil removes one.
func eachTool(result json.RawMessage, change func(i int, name string, tool json.RawMessage) json.RawMessage) json.RawMessage {
	list := []json.RawMessage{}
	for i, tool := range tools(result) {
		var name string
		if json.Unmarshal(object(tool)["name"], &name) != nil {
			name = ""
		}
		if out := change(i, name, tool); out != nil {
			list = append(list, out)
		}
	}
	return with(result, "tools", string(text(list)))
}

// isTarget reports whether F10 changes this tool.
func (x *exchange) isTarget(i int, name string) bool {
	if len(x.When.Tools) == 0 {
		return i == 0
	}
	return slices.Contains(x.When.Tools, name)
}
