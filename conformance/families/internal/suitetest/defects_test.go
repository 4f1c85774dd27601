package suitetest

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// broken is a fake server with one defect, and what it takes to see it.
type broken struct {
	defect
	// also are patterns of what else has to run.
	also []string
	// process and http say how the server is reached; else it is a function.
	process, http bool
	// spelling puts exactSpelling before the server.
	spelling bool
}

// defects has, for each check, a server that breaks it.
func defects() map[string]broken {
	all := map[string]broken{}
	for _, part := range []map[string]broken{
		lifecycleDefects(), baseDefects(), idDefects(), notificationDefects(), errorDefects(), observedDefects(),
		toolDefects(), argumentDefects(), stdioDefects(), httpDefects(), validateDefects(), storeDefects(),
	} {
		for id, b := range part {
			if _, twice := all[id]; twice {
				panic("two defects for " + id)
			}
			all[id] = b
		}
	}
	return all
}

// result changes the results of one method.
func result(method string, change func(c *fakeConn, m fakeMessage, result reply)) broken {
	return broken{defect: defect{after: func(c *fakeConn, m fakeMessage, r reply) []any {
		if res, ok := r["result"].(reply); ok && m.method == method {
			change(c, m, res)
		}
		return []any{r}
	}}}
}

// instead answers what when takes with something else; nil is silence.
func instead(when func(c *fakeConn, m fakeMessage) bool, what func(c *fakeConn, m fakeMessage) any) broken {
	return broken{defect: defect{first: func(c *fakeConn, m fakeMessage) ([]any, bool) {
		if !when(c, m) {
			return nil, false
		}
		if out := what(c, m); out != nil {
			return []any{out}, true
		}
		return nil, true
	}}}
}

// onLine answers raw lines that hold a text.
func onLine(part string, what ...any) broken {
	return broken{defect: defect{raw: func(_ *fakeConn, line []byte) ([]any, bool) {
		return what, bytes.Contains(line, []byte(part))
	}}}
}

// dying answers nothing any more after a line that holds a text.
func dying(part string) broken {
	return broken{defect: defect{raw: func(c *fakeConn, line []byte) ([]any, bool) {
		c.dead = c.dead || bytes.Contains(line, []byte(part))
		return nil, c.dead
	}}}
}

func method(name string) func(*fakeConn, fakeMessage) bool {
	return func(_ *fakeConn, m fakeMessage) bool { return m.method == name && m.id != nil }
}

func fine(_ *fakeConn, m fakeMessage) any { return success(m.id, reply{}) }

func refuses(code int64) func(*fakeConn, fakeMessage) any {
	return func(_ *fakeConn, m fakeMessage) any { return failure(m.id, code, "refused", nil) }
}

func lifecycleDefects() map[string]broken {
	version := func(answer func(offered mcp.Version) mcp.Version) broken {
		return result(mcp.MethodInitialize, func(_ *fakeConn, m fakeMessage, r reply) {
			offered, _ := m.params["protocolVersion"].(string)
			r["protocolVersion"] = answer(mcp.Version(offered))
		})
	}
	set := func(name string, value any) broken {
		return result(mcp.MethodInitialize, func(_ *fakeConn, _ fakeMessage, r reply) { r[name] = value })
	}
	early := func(name string) func(*fakeConn, fakeMessage) bool {
		return func(c *fakeConn, m fakeMessage) bool { return m.method == name && m.id != nil && !c.ready }
	}
	second := func(c *fakeConn, m fakeMessage) bool { return m.method == mcp.MethodInitialize && c.opened }
	after := broken{defect: defect{first: func(c *fakeConn, m fakeMessage) ([]any, bool) {
		// The first session works, or nothing would be listed at all.
		if m.method == mcp.MethodInitialize {
			c.mu.Lock()
			c.count++
			c.callCount = c.count
			c.mu.Unlock()
		}
		if m.method == mcp.MethodToolsList && c.ready && c.callCount > 1 {
			return []any{failure(m.id, wire.CodeInternal, "not yet", nil)}, true
		}
		return nil, false
	}}}
	return map[string]broken{
		"LC-01/answered": {defect: defect{first: func(c *fakeConn, m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeInternal, "no", nil)}, m.method == mcp.MethodInitialize
		}}},
		"LC-01/capabilities": set("capabilities", []any{}),
		"LC-01/features":     set("capabilities", reply{"tools": true}),
		"LC-01/server-info":  set("serverInfo", reply{"name": "fake"}),
		"LC-01/instructions": set("instructions", 7),
		"LC-03/dated":        version(func(mcp.Version) mcp.Version { return mcp.Version2026_07_28 }),
		"LC-03/same": version(func(v mcp.Version) mcp.Version {
			if v == mcp.LatestSession {
				return mcp.Version2025_06_18
			}
			return mcp.Version2025_03_26
		}),
		"LC-03/unknown": version(func(v mcp.Version) mcp.Version { return v }),
		"LC-03/latest": version(func(v mcp.Version) mcp.Version {
			if v == fixture.NoVersion {
				return mcp.Version2024_11_05
			}
			return v
		}),
		"UTIL-01/handshake": instead(early(mcp.MethodPing), refuses(wire.CodeInvalidRequest)),
		"UTIL-01/operation": result(mcp.MethodPing, func(_ *fakeConn, _ fakeMessage, r reply) { r["pong"] = true }),
		"X-GATE-01/first": instead(func(c *fakeConn, m fakeMessage) bool {
			return m.method == mcp.MethodToolsList && !c.opened
		}, fine),
		"X-GATE-01/list":     instead(early(mcp.MethodToolsList), fine),
		"X-GATE-01/call":     instead(early(mcp.MethodToolsCall), refuses(wire.CodeInvalidParams)),
		"X-GATE-01/ping":     instead(early(mcp.MethodPing), refuses(wire.CodeInvalidRequest)),
		"X-GATE-01/after":    after,
		"X-GATE-02/answered": instead(second, func(_ *fakeConn, m fakeMessage) any { return success(m.id, reply{}) }),
		"X-GATE-02/alive":    instead(second, func(c *fakeConn, _ fakeMessage) any { c.dead = true; return nil }),
	}
}

func baseDefects() map[string]broken {
	notFound := func(part string) broken {
		return broken{defect: defect{raw: func(_ *fakeConn, line []byte) ([]any, bool) {
			return []any{failure(wire.Received(line, nil).Members["id"], wire.CodeMethodNotFound, "no", nil)}, bytes.Contains(line, []byte(part))
		}}}
	}
	pings, verdicts := 0, 0
	return map[string]broken{
		"RPC-01/escapes":    notFound(`p\u0069ng`),
		"RPC-01/whitespace": notFound("\t"),
		"RPC-01/order":      notFound(`{"params"`),
		"RPC-19/meta":       notFound("com.example/unknown"),
		"X-WIRE-12/pings": instead(func(_ *fakeConn, m fakeMessage) bool {
			if m.method == mcp.MethodPing {
				pings++
			}
			return pings == 150
		}, func(*fakeConn, fakeMessage) any { return nil }),
		"X-WIRE-12/calls": instead(func(c *fakeConn, m fakeMessage) bool { return m.call != "" && c.callCount == 150 },
			refuses(wire.CodeInternal)),
		"X-WIRE-12/cross-talk": {defect: defect{verdict: func(_, payload map[string]any) {
			verdicts++
			if verdicts%50 == 0 {
				payload["passed"] = payload["passed"] != true
			}
		}}},
	}
}

func idDefects() map[string]broken {
	as := func(sent, got string) broken {
		return broken{defect: defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any {
			if string(m.id) == sent {
				r["id"] = json.RawMessage(got)
			}
			return []any{r}
		}}}
	}
	return map[string]broken{
		"X-WIRE-04/string":   as(`"7"`, `7`),
		"X-WIRE-04/integer":  as(`7`, `"7"`),
		"X-WIRE-04/uuid":     as(`"0b6c2f5e-6a3d-4c43-9f7e-2a1d8c5b9e04"`, `"0B6C2F5E-6A3D-4C43-9F7E-2A1D8C5B9E04"`),
		"X-WIRE-04/case":     as(`"AbC-dEf-1"`, `"abc-def-1"`),
		"X-WIRE-04/zero":     as(`0`, `null`),
		"X-WIRE-04/negative": as(`-3`, `3`),
		"X-WIRE-04/large":    as(`9007199254740991`, `9007199254740992`),
		"X-WIRE-04/unicode":  as(`"größe-\"\\\u0001-日本-🦊"`, `"gr??e"`),
		"X-WIRE-04/error":    as(`"e-1"`, `null`),
	}
}

func notificationDefects() map[string]broken {
	return map[string]broken{
		"X-WIRE-05/unknown":        onLine("notifications/com.example", failure(json.RawMessage("null"), wire.CodeMethodNotFound, "what?", nil)),
		"X-WIRE-05/request-method": onLine(`{"jsonrpc":"2.0","method":"ping"}`, success(json.RawMessage("null"), reply{})),
		"X-WIRE-05/bad-params":     onLine(`"not"`, failure(json.RawMessage("null"), wire.CodeInvalidParams, "what?", nil)),
		"X-WIRE-05/cancelled":      onLine(`"never-sent"`, success(json.RawMessage(`"never-sent"`), reply{})),
		"X-WIRE-05/alive": {defect: defect{raw: func(c *fakeConn, line []byte) ([]any, bool) {
			// The two pings that settle the last notification are answered yet.
			if bytes.Contains(line, []byte(`"not"`)) {
				c.callCount = 1
			} else if c.callCount > 0 {
				c.callCount++
			}
			return nil, c.callCount > 3
		}}},
	}
}

func errorDefects() map[string]broken {
	unknown := func(_ *fakeConn, m fakeMessage) bool { return m.call == fixture.NoTool }
	undeclared := func(m string) broken {
		b := instead(method(m), fine)
		b.features = []string{"no-resources", "no-tools"}
		return b
	}
	return map[string]broken{
		"X-WIRE-01/missing": onLine(`"w-1"`),
		"X-WIRE-01/other":   onLine(`"w-2"`, success(json.RawMessage(`"w-2"`), reply{})),
		"X-WIRE-01/method":  onLine(`"w-3"`, failure(json.RawMessage(`"w-3"`), wire.CodeInternal, "no", nil)),
		// The pings that tell silence from loss are answered yet.
		"X-WIRE-01/alive": {defect: defect{raw: func(c *fakeConn, line []byte) ([]any, bool) {
			if bytes.Contains(line, []byte(`"w-3"`)) {
				c.callCount = 1
			} else if c.callCount > 0 {
				c.callCount++
			}
			return nil, c.callCount > 3
		}}},
		"X-WIRE-02/parse":     onLine("this is not JSON"),
		"X-WIRE-02/truncated": onLine(`"w-4"`, failure(nil, wire.CodeInvalidRequest, "no", nil)),
		"X-WIRE-02/alive":     dying("this is not JSON"),
		"X-WIRE-03/method":    instead(method(fixture.NoMethod), refuses(wire.CodeInternal)),
		"X-WIRE-03/case":      instead(method("Ping"), fine),
		"X-WIRE-03/tool": instead(unknown, func(_ *fakeConn, m fakeMessage) any {
			return success(m.id, reply{"content": []any{}, "isError": true})
		}),
		"X-WIRE-03/tool-data": instead(unknown, refuses(wire.CodeInvalidParams)),
		"LC-11/resources":     undeclared(mcp.MethodResourcesList),
		"LC-11/prompts":       undeclared(mcp.MethodPromptsList),
		"LC-11/tools":         undeclared(mcp.MethodToolsList),
		"LC-11/call":          undeclared(mcp.MethodToolsCall),
		"LC-11/templates":     undeclared(mcp.MethodResourceTemplatesList),
		"LC-11/read":          undeclared(mcp.MethodResourcesRead),
	}
}

func observedDefects() map[string]broken {
	pings := func(change func(r reply) []any) broken {
		return broken{
			defect: defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any {
				if m.method == mcp.MethodPing {
					return change(r)
				}
				return []any{r}
			}},
			also: []string{"UTIL-01"},
		}
	}
	errors := pings(nil)
	errors.also = []string{"X-WIRE-03/method"}
	errors.after = func(_ *fakeConn, m fakeMessage, r reply) []any {
		if e, ok := r["error"].(reply); ok {
			e["code"] = "E42"
		}
		return []any{r}
	}
	asks := func(request reply) broken {
		return broken{defect: defect{features: []string{"asks"}, first: func(c *fakeConn, m fakeMessage) ([]any, bool) {
			c.ready = c.ready || m.method == mcp.MethodInitialized
			return []any{request}, m.method == mcp.MethodInitialized
		}}}
	}
	calls := func(change func(r reply)) broken {
		b := result(mcp.MethodToolsCall, func(_ *fakeConn, _ fakeMessage, r reply) { change(r) })
		b.also = []string{"S0-VAL-01/passed"}
		return b
	}
	return map[string]broken{
		observe.SeenVersion:   pings(func(r reply) []any { r["jsonrpc"] = "1.0"; return []any{r} }),
		observe.SeenExclusive: pings(func(r reply) []any { r["error"] = nil; return []any{r} }),
		observe.SeenKnown:     pings(func(r reply) []any { return []any{r, success(json.RawMessage(`"ghost"`), reply{})} }),
		observe.SeenOnce:      pings(func(r reply) []any { return []any{r, r} }),
		observe.SeenBatch:     pings(func(r reply) []any { return []any{[]any{r}, r} }),
		observe.SeenError:     errors,
		observe.SeenRequestID: asks(reply{"jsonrpc": "2.0", "id": nil, "method": "ping"}),
		observe.SeenParams:    asks(reply{"jsonrpc": "2.0", "id": "s-1", "method": "ping", "params": []any{}}),
		observe.SeenContent:   calls(func(r reply) { r["content"] = []any{reply{"type": "text"}} }),
		observe.SeenIsError:   calls(func(r reply) { r["isError"] = "no" }),
		observe.SeenStructure: calls(func(r reply) { r["structuredContent"] = []any{} }),
		observe.SeenProfile: {
			defect: defect{after: func(_ *fakeConn, _ fakeMessage, r reply) []any {
				if e, ok := r["error"].(reply); ok {
					delete(e, "data")
				}
				return []any{r}
			}},
			also: []string{"S0-VAL-09"},
		},
	}
}

// toolField changes a member of the tool on the last page.
func toolField(name string, value any) broken {
	return result(mcp.MethodToolsList, func(_ *fakeConn, _ fakeMessage, r reply) {
		tool := maps.Clone(r["tools"].([]any)[0].(reply))
		if tool["name"] != "limits" {
			return
		}
		tool[name] = value
		if value == nil && name == "description" {
			delete(tool, name)
		}
		r["tools"] = []any{tool}
	})
}

func toolDefects() map[string]broken {
	calls := func(part string, what func(*fakeConn, fakeMessage) any) broken {
		return instead(func(_ *fakeConn, m fakeMessage) bool {
			return m.method == mcp.MethodToolsCall && bytes.Contains(m.raw, []byte(part))
		}, what)
	}
	return map[string]broken{
		"TOOL-01/list": result(mcp.MethodToolsList, func(_ *fakeConn, _ fakeMessage, r reply) { r["tools"] = reply{} }),
		"TOOL-01/params": {defect: defect{first: func(_ *fakeConn, m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeInvalidParams, "params?", nil)}, m.method == mcp.MethodToolsList && m.params == nil
		}}},
		"TOOL-03/output":        toolField("outputSchema", reply{"type": "object", "pattern": "("}),
		"TOOL-04/annotations":   toolField("annotations", reply{"readOnlyHint": "yes"}),
		"TOOL-05/characters":    toolField("name", "no such name!"),
		"TOOL-06/object":        toolField("inputSchema", nil),
		"TOOL-07/root":          toolField("inputSchema", reply{"type": "string"}),
		"X-WIRE-07/compiles":    toolField("inputSchema", reply{"type": "object", "properties": reply{"a": reply{"pattern": "("}}}),
		"X-WIRE-07/names":       toolField("name", 7),
		"X-WIRE-07/unique":      toolField("name", artifact.ToolStore),
		"X-WIRE-07/description": toolField("description", nil),
		"UTIL-14/ends": result(mcp.MethodToolsList, func(_ *fakeConn, _ fakeMessage, r reply) {
			r["nextCursor"] = "1"
		}),
		"UTIL-14/disjoint": toolField("name", artifact.ToolStore),
		"UTIL-15/bad-cursor": instead(func(_ *fakeConn, m fakeMessage) bool {
			return m.method == mcp.MethodToolsList && m.params["cursor"] == "mainstay-no-such-cursor"
		}, func(_ *fakeConn, m fakeMessage) any { return success(m.id, reply{"tools": []any{}}) }),
		"TOOL-10/no-name":     calls(`{"arguments":{}}`, refuses(wire.CodeInternal)),
		"TOOL-10/name-type":   calls(`"name":7`, fine),
		"TOOL-10/params-type": onLine(`"params":["`, success(json.RawMessage(`"c-0"`), reply{})),
		"TOOL-10/alive": {defect: defect{raw: func(c *fakeConn, line []byte) ([]any, bool) {
			if bytes.Contains(line, []byte(`"params":["`)) {
				c.callCount = 1
			} else if c.callCount > 0 {
				c.callCount++
			}
			return nil, c.callCount > 3
		}}},
		"X-WIRE-13": result(mcp.MethodToolsCall, func(_ *fakeConn, _ fakeMessage, r reply) { r["structuredContent"] = reply{} }),
	}
}

func argumentDefects() map[string]broken {
	lax := func(keywords ...string) broken { return broken{defect: defect{schema: keywords}} }
	code := broken{defect: defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any {
		if e, ok := r["error"].(reply); ok && m.call == artifact.ToolStore {
			e["code"] = wire.CodeInternal
		}
		return []any{r}
	}}}
	return map[string]broken{
		"X-WIRE-08":            lax("required"),
		"X-WIRE-08/code":       code,
		"X-WIRE-09":            lax("type", "minimum", "maximum", "minLength", "maxLength", "enum"),
		"X-WIRE-09/code":       code,
		"X-WIRE-09/true":       lax("type", "minimum", "maximum"),
		"X-WIRE-10/length":     lax("minLength", "maxLength"),
		"X-WIRE-10/pattern":    lax("pattern"),
		"X-WIRE-10/enum":       lax("enum"),
		"X-WIRE-10/range":      lax("minimum", "maximum"),
		"X-WIRE-10/additional": lax("additionalProperties"),
		"X-WIRE-09/arguments": instead(func(_ *fakeConn, m fakeMessage) bool {
			_, list := m.params["arguments"].([]any)
			return list
		}, func(_ *fakeConn, m fakeMessage) any {
			return success(m.id, reply{"content": []any{}})
		}),
		"X-WIRE-10/boundary": instead(func(_ *fakeConn, m fakeMessage) bool {
			task, _ := m.arguments["task_id"].(string)
			return len(task) > 128
		}, refuses(wire.CodeInvalidParams)),
	}
}

func stdioDefects() map[string]broken {
	process := func(d defect) broken { return broken{defect: d, process: true} }
	return map[string]broken{
		observe.SeenClean: {defect: defect{features: []string{"banner"}}},
		"STDIO-02/large":  {defect: defect{raw: func(_ *fakeConn, line []byte) ([]any, bool) { return nil, len(line) > 1<<16 }}},
		"STDIO-02/crlf":   {defect: defect{raw: func(_ *fakeConn, line []byte) ([]any, bool) { return nil, bytes.HasSuffix(line, []byte("\r")) }}},
		"STDIO-02/blank":  {defect: defect{features: []string{"blank-ends"}}},
		"STDIO-02/pieces": {defect: defect{chunks: true, raw: func(_ *fakeConn, line []byte) ([]any, bool) {
			return nil, !json.Valid(line)
		}}},
		"STDIO-02/together":  {defect: defect{chunks: true}},
		"STDIO-06/term":      process(defect{features: []string{"ignores-term"}}),
		"STDIO-08/ends":      process(defect{stays: "always"}),
		"STDIO-08/handshake": {defect: defect{stays: "handshake"}},
		"STDIO-08/before":    {defect: defect{stays: "always"}},
		"STDIO-08/busy":      {defect: defect{stays: "always"}},
		"STDIO-08/status":    process(defect{status: 3}),
		"X-SHUT-01": {defect: defect{after: func(c *fakeConn, m fakeMessage, r reply) []any {
			// Each answer waits for the next request, the last one forever.
			if !c.ready {
				return []any{r}
			}
			out := c.held
			c.held = []any{r}
			return out
		}}},
	}
}

func httpDefects() map[string]broken {
	all := map[string]broken{}
	for id, fault := range map[string]string{
		"HTTP-03/media-type": "media-type", "HTTP-04/accepted": "status-200", "HTTP-04/no-body": "body",
		"HTTP-03/request": "status", "HTTP-03/parameters": "charset", "HTTP-19/get": "get",
		"HTTP-15/invalid": "any-version", "HTTP-15/missing": "needs-version",
		"X-SEC-02/foreign": "any-origin", "X-SEC-02/none": "needs-origin",
		"HTTP-12/visible": "invisible-id", "HTTP-12/distinct": "one-id", "HTTP-12/required": "no-id-needed",
		"HTTP-16/unknown": "any-id", "HTTP-18/delete": "delete", "HTTP-16/ended": "ends-nothing", "HTTP-16/others": "ends-all",
		"HTTP-11/case": "",
	} {
		all[id] = broken{defect: defect{http: fakeHTTPDefect{fault}}, http: true, spelling: fault == ""}
	}
	return all
}

// criterionOf returns the first result of a verdict with a validation type.
func criterionOf(payload map[string]any, kind string) map[string]any {
	for _, r := range payload["results"].([]any) {
		if m := r.(map[string]any); m["validation_type"] == kind {
			return m
		}
	}
	return map[string]any{}
}

func contains(arguments map[string]any, part string) bool {
	content, _ := arguments["artifact_content"].(string)
	return strings.Contains(content, part)
}
