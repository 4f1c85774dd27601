package faults

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// cursorMark begins the cursors that the proxy makes, which no server gets.
const cursorMark = "faults-cursor-"

// scriptsList are the faults of lists: pages, tools, times to live.
func scriptsList() map[string]script {
	return map[string]script{
		"F3": {ask: firstPage, tell: changed(func(x *exchange, r json.RawMessage) json.RawMessage {
			if x.form == "repeat" {
				return with(r, "nextCursor", quote(cursorMark+"same"))
			}
			return with(r, "nextCursor", quote(cursorMark+strconv.Itoa(x.proxy.count(x.hit, "F3"))))
		})},
		"F4": {ask: firstPage, tell: changed(func(x *exchange, r json.RawMessage) json.RawMessage {
			if x.req.hasCursor {
				return with(r, "nextCursor", "")
			}
			return with(r, "nextCursor", `""`)
		})},
		"F5": {local: func(x *exchange) []byte {
			if x.req.hasCursor {
				return failure(x.req.ID, -32602, "Invalid cursor", "")
			}
			return nil
		}, tell: changed(func(x *exchange, r json.RawMessage) json.RawMessage {
			if x.req.hasCursor {
				return r
			}
			return with(r, "nextCursor", quote(cursorMark+"expired"))
		})},
		"F6": {tell: changed(strangeList)},
		"F10": {
			local: func(x *exchange) []byte {
				// Without a name in the rule it is the first tool of the list.
				if x.req.Method == "tools/call" && x.form == "vanished" && x.proxy.vanished(x) {
					return failure(x.req.ID, -32602, "Unknown tool: "+x.req.tool, "")
				}
				return nil
			},
			tell: func(x *exchange) iter.Seq[piece] {
				if x.req.Method != "tools/list" {
					return tells(good(x))
				}
				return changed(changedTool)(x)
			},
		},
		"F16": {tell: changed(func(x *exchange, r json.RawMessage) json.RawMessage {
			return with(r, "ttlMs", map[string]string{"negative": "-1", "huge": "1000000000000000000", "string": `"5"`, "absent": ""}[x.form])
		})},
		"F18": {tell: changed(func(_ *exchange, r json.RawMessage) json.RawMessage {
			return eachTool(r, func(_ int, _ string, tool json.RawMessage) json.RawMessage {
				hints := with(with(with(object(tool)["annotations"], "readOnlyHint", "true"), "idempotentHint", "true"), "destructiveHint", "false")
				return with(tool, "annotations", string(hints))
			})
		})},
	}
}

// firstPage removes the cursor that the proxy made from the request.
func firstPage(x *exchange) []byte {
	if !x.req.hasCursor || x.req.cursor != "" && !strings.HasPrefix(x.req.cursor, cursorMark) {
		return x.req.raw
	}
	return with(x.req.raw, "params", string(with(x.req.Params, "cursor", "")))
}

func strangeList(x *exchange, r json.RawMessage) json.RawMessage {
	list := tools(r)
	switch x.form {
	case "many":
		for i := range orInt(x.Repeat, 100_000) {
			list = append(list, json.RawMessage(`{"name":"faults-`+strconv.Itoa(i)+`","inputSchema":{"type":"object"}}`))
		}
	case "schema":
		list = append(list, json.RawMessage(`{"name":"faults-large","inputSchema":{"type":"object","description":"`+strings.Repeat("x", orInt(x.Size, 10<<20))+`"}}`))
	default:
		for _, tool := range list {
			list = append(list, with(tool, "description", `"faults: the second of that name"`))
		}
	}
	return with(r, "tools", string(text(list)))
}

// changedTool adds a required argument to the tool, or removes the tool.
func changedTool(x *exchange, r json.RawMessage) json.RawMessage {
	return eachTool(r, func(i int, name string, tool json.RawMessage) json.RawMessage {
		if !x.isTarget(i, name) {
			return tool
		}
		x.proxy.vanish(x, name)
		if x.form == "vanished" {
			return nil
		}
		schema := object(tool)["inputSchema"]
		properties := with(object(schema)["properties"], "faultsRequired", `{"type":"string"}`)
		schema = with(with(schema, "properties", string(properties)), "required", `["faultsRequired"]`)
		return with(tool, "inputSchema", string(schema))
	})
}

// vanish records the tool that the list lost; vanished returns it.
func (p *Proxy) vanish(x *exchange, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x.period.memory["F10 "+name] = 1
}

func (p *Proxy) vanished(x *exchange) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(x.When.Tools) == 0 {
		return x.period.memory["F10 "+x.req.tool] > 0
	}
	return x.isTarget(-1, x.req.tool)
}
