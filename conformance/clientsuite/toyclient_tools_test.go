package clientsuite_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// list walks a list to its end.
func (c *toyClient) list(ctx context.Context, method string) (any, error) {
	name, _, _ := strings.Cut(method, "/")
	all := []json.RawMessage{}
	seen := map[string]bool{}
	params := members{}
	for {
		result, err := c.call(ctx, method, params, step{})
		if err != nil {
			return nil, err
		}
		var items []json.RawMessage
		_ = json.Unmarshal(object(result)[name], &items)
		for _, item := range items {
			if name != "tools" || c.keep(ctx, object(item)) {
				all = append(all, item)
			}
		}
		cursor := object(result)["nextCursor"]
		if cursor == nil || string(cursor) == "null" || c.is("one-page") || string(cursor) == `""` && c.is("empty-ends") {
			break
		}
		if seen[string(cursor)] && !c.is("endless-lists") {
			if c.is("hangs-on-repeat") {
				<-ctx.Done()
			}
			break
		}
		seen[string(cursor)] = true
		if c.is("trims-cursors") {
			cursor = str(strings.ReplaceAll(text(cursor), " ", ""))
		}
		params = members{"cursor": cursor}
	}
	if c.is("reversed") {
		slices.Reverse(all)
	}
	return map[string]any{name: all}, nil
}

// keep remembers a tool and reports whether the caller is to get it.
func (c *toyClient) keep(ctx context.Context, tool members) bool {
	schema := tool["inputSchema"]
	c.mu.Lock()
	c.tools[text(tool["name"])], c.outputs[text(tool["name"])] = schema, tool["outputSchema"]
	c.mu.Unlock()
	if c.is("fetches-refs") {
		if _, after, ok := strings.Cut(string(schema), `"$ref":"http://`); ok {
			address, _, _ := strings.Cut(after, `"`)
			if h, ok := c.way.(*httpWay); ok {
				if req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil); err == nil {
					if resp, err := h.client.Do(req); err == nil {
						_ = resp.Body.Close()
					}
				}
			}
		}
	}
	if !c.stateless || c.task.Transport == "stdio" || c.is("keeps-invalid") {
		return true
	}
	if c.is("drops-annotated") && strings.Contains(string(schema), "x-mcp-header") {
		return false
	}
	return len(c.annotations(schema, nil, true)) == c.annotated(schema) || c.is("any-place") && len(c.annotations(schema, nil, true)) == 0
}

// annotated counts the annotations of a schema, wherever they are: not parameters
// of that name, nor what is a value.
func (c *toyClient) annotated(schema json.RawMessage) int {
	n := 0
	for key, raw := range object(schema) {
		var list []json.RawMessage
		switch {
		case key == "x-mcp-header":
			n++
		case key == "const", key == "enum", key == "default", key == "examples":
			if c.is("annotated-values") {
				n += c.annotated(raw)
			}
		case key == "properties", key == "$defs":
			for name, property := range object(raw) {
				if name == "x-mcp-header" && c.is("annotated-values") {
					n++
				}
				n += c.annotated(property)
			}
		case json.Unmarshal(raw, &list) == nil:
			for _, item := range list {
				n += c.annotated(item)
			}
		default:
			n += c.annotated(raw)
		}
	}
	return n
}

// annotation is a parameter that is mirrored.
type annotation struct {
	header string
	path   []string
}

// annotations are the valid ones of a schema.
func (c *toyClient) annotations(schema json.RawMessage, path []string, deep bool) []annotation {
	var out []annotation
	names := map[string]bool{}
	for name, raw := range object(object(schema)["properties"]) {
		property := object(raw)
		here := append(slices.Clone(path), name)
		if raw := property["x-mcp-header"]; raw != nil {
			header := text(raw)
			kind := string(property["type"])
			primitive := strings.Contains(kind, "string") || kind == `"integer"` || kind == `"boolean"`
			if header != "" && (c.is("any-token") || !strings.ContainsFunc(header, noToken)) && primitive && !names[strings.ToLower(header)] {
				names[strings.ToLower(header)] = true
				out = append(out, annotation{header, here})
			}
		}
		if deep {
			out = append(out, c.annotations(raw, here, true)...)
		}
	}
	return out
}

// noToken reports whether a name of a header must not hold r.
func noToken(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// callTool calls a tool; a schema that has changed is fetched again.
func (c *toyClient) callTool(ctx context.Context, s step) (any, error) {
	if len(c.caps) > 0 && c.caps["tools"] == nil {
		return nil, errors.New("the server has no tools")
	}
	arguments := s.Arguments
	switch {
	case c.is("float-arguments"):
		var v any
		_ = json.Unmarshal(arguments, &v)
		arguments, _ = json.Marshal(v)
	case c.is("no-arguments"):
		arguments = nil
	case c.is("text-arguments"):
		arguments = str(string(arguments))
	}
	params := members{"name": str(s.Name)}
	if c.is("always-tasks") {
		params["task"] = json.RawMessage("{}")
	}
	if arguments != nil {
		params["arguments"] = arguments
	}
	result, err := c.call(ctx, "tools/call", params, s)
	var rpc *rpcError
	for again := 0; errors.As(err, &rpc) && rpc.code == -32020 && !c.is("no-refresh") && (again == 0 || c.is("refreshes-forever") && again < 20); again++ {
		if _, err := c.list(ctx, "tools/list"); err != nil {
			return nil, err
		}
		result, err = c.call(ctx, "tools/call", params, s)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	schema := c.outputs[s.Name]
	c.mu.Unlock()
	if schema != nil && !c.is("no-output-check") && !fits(schema, object(result)["structuredContent"]) {
		return nil, errors.New("structured content breaks the schema")
	}
	return result, nil
}

// fits judges integers, which is as much as one tool of the suite needs.
func fits(schema, value json.RawMessage) bool {
	for name, raw := range object(object(schema)["properties"]) {
		v := object(value)[name]
		if string(object(raw)["type"]) == `"integer"` && (v == nil || strings.ContainsAny(string(v), `".[{`)) {
			return false
		}
	}
	return true
}

// mirror adds the headers of the stateless era.
func (c *toyClient) mirror(h http.Header, m members) {
	method, params := text(m["method"]), object(m["params"])
	if !c.is("no-mcp-method") {
		h.Set("Mcp-Method", method)
	}
	name := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId"}[method]
	if name != "" && !c.is("no-mcp-name") && !(name == "taskId" && c.is("unnamed-tasks")) {
		h.Set("Mcp-Name", c.encoded(text(params[name]), "raw-name"))
	}
	if method != "tools/call" || c.is("no-param-headers") {
		return
	}
	c.mu.Lock()
	schema := c.tools[text(params["name"])]
	c.mu.Unlock()
	for _, a := range c.annotations(schema, nil, !c.is("flat-headers")) {
		value := params["arguments"]
		for _, step := range a.path {
			value = object(value)[step]
		}
		if (value == nil || string(value) == "null") && !c.is("null-headers") {
			continue
		}
		plain := string(value)
		if strings.HasPrefix(plain, `"`) {
			plain = c.encoded(text(value), "raw-headers")
		} else if c.is("quoted-headers") {
			plain = `"` + plain + `"`
		}
		h["Mcp-Param-"+a.header] = []string{plain}
	}
	if c.is("all-headers") {
		h.Set("Mcp-Param-Text", text(object(params["arguments"])["text"]))
	}
}

// encoded is a header value; a defect leaves it unencoded.
func (c *toyClient) encoded(s, defect string) string {
	plain := strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	marked := strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?=") && !c.is("no-marker")
	if plain && !marked {
		return s
	}
	if c.is(defect) {
		return strings.Map(func(r rune) rune { // what net/http lets through
			if r < ' ' {
				return -1
			}
			return r
		}, s)
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
