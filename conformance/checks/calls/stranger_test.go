package calls_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// object is a JSON object.
type object = map[string]any

// request is a message of the suite.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI, Level string
		Arguments        object
		RequestID        json.RawMessage `json:"requestId"`
		Argument         struct{ Name string }
		Meta             struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
}

// stranger is a server with tools of its own. Its members are its defects; a nil one is none.
type stranger struct {
	// list changes the definitions of the tools.
	list func(tools []object)
	// capabilities changes what initialize declares.
	capabilities func(object)
	// answer changes the answer to a request; nil drops it.
	answer func(r request, reply object) object
	// before and after are sent before and after the answer to a call.
	before, after func(c *conversation, r request)
	// dies: the server ends with this request.
	dies func(r request) bool
	// mixes: calls that come together get each other's answers.
	mixes bool
	// unpaused: a slow call goes on when it is cancelled, and is answered.
	stubborn bool
	// quiet: no news of resources.
	quiet bool
}

// conversation is one start of the server.
type conversation struct {
	*stranger
	mu         sync.Mutex
	out        io.Writer
	level      string
	subscribed map[string]bool
	cancelled  map[string]bool
	calls      sync.WaitGroup
	first      *object
}

func (s *stranger) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &conversation{stranger: s, out: out, level: "info", subscribed: map[string]bool{}, cancelled: map[string]bool{}}
	defer c.calls.Wait()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			c.write(object{"jsonrpc": "2.0", "id": nil, "error": object{"code": -32700, "message": "parse error"}})
			continue
		}
		if s.dies != nil && s.dies(r) {
			return fmt.Errorf("panic: %s", r.Params.Name)
		}
		if r.Method == "notifications/cancelled" {
			c.mu.Lock()
			c.cancelled[string(r.Params.RequestID)] = true
			c.mu.Unlock()
		}
		if r.ID == nil {
			continue
		}
		if r.Method == "tools/call" {
			c.calls.Add(1)
			go func() {
				defer c.calls.Done()
				c.reply(ctx, r)
			}()
			continue
		}
		c.reply(ctx, r)
	}
	return lines.Err()
}

func (c *conversation) write(message object) {
	data, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(data, '\n'))
}

func (c *conversation) notify(method string, params object) {
	c.write(object{"jsonrpc": "2.0", "method": method, "params": params})
}

func (c *conversation) log(level string) {
	if strings.Index("debug info emergency", level) >= strings.Index("debug info emergency", c.level) {
		c.notify("notifications/message", object{"level": level, "data": "called"})
	}
}

func (c *conversation) reply(ctx context.Context, r request) {
	reply := object{"jsonrpc": "2.0", "id": r.ID}
	if c.before != nil && r.Method == "tools/call" {
		c.before(c, r)
	}
	result, err := c.result(ctx, r)
	switch {
	case err != nil:
		reply["error"] = err
	case result == nil:
		return // cancelled
	default:
		reply["result"] = result
	}
	if c.answer != nil {
		if reply = c.answer(r, reply); reply == nil {
			return
		}
	}
	if c.mixes && r.Method == "tools/call" {
		c.swap(reply)
		return
	}
	c.write(reply)
	if c.after != nil && r.Method == "tools/call" {
		c.after(c, r)
	}
}

// swap gives two calls that come within a moment each other's results.
func (c *conversation) swap(reply object) {
	c.mu.Lock()
	one := c.first
	if one == nil {
		c.first = &reply
		c.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		c.mu.Lock()
		if alone := c.first == &reply; alone {
			c.first = nil
			c.mu.Unlock()
			c.write(reply)
			return
		}
		c.mu.Unlock()
		return
	}
	c.first = nil
	c.mu.Unlock()
	(*one)["result"], reply["result"] = reply["result"], (*one)["result"]
	c.write(*one)
	c.write(reply)
}

func (c *conversation) result(ctx context.Context, r request) (result, err object) {
	switch r.Method {
	case "initialize":
		capabilities := object{"tools": object{}, "prompts": object{}, "resources": object{"subscribe": true}, "completions": object{}, "logging": object{}}
		if c.capabilities != nil {
			c.capabilities(capabilities)
		}
		return object{"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": object{"name": "stranger", "version": "1"}}, nil
	case "ping", "resources/unsubscribe":
		return object{}, nil
	case "logging/setLevel":
		c.level = r.Params.Level
		return object{}, nil
	case "resources/subscribe":
		c.subscribed[r.Params.URI] = true
		return object{}, nil
	case "tools/list":
		return object{"tools": c.tools()}, nil
	case "tools/call":
		return c.call(ctx, r)
	case "resources/list":
		return object{"resources": []object{{"uri": "sum://all", "name": "all"}}}, nil
	case "resources/templates/list":
		return object{"resourceTemplates": []object{{"uriTemplate": "sum://{name}", "name": "one"}}}, nil
	case "resources/read":
		if r.Params.URI == "sum://nothing" {
			return nil, object{"code": -32002, "message": "no such sum"}
		}
		return object{"contents": []object{{"uri": r.Params.URI, "text": "3"}}}, nil
	case "prompts/list":
		return object{"prompts": []object{{"name": "greet", "arguments": []object{{"name": "city", "required": true}}}}}, nil
	case "prompts/get":
		return object{"messages": []object{{"role": "user", "content": object{"type": "text", "text": fmt.Sprint(r.Params.Arguments["city"])}}}}, nil
	case "completion/complete":
		return object{"completion": object{"values": []string{"Oslo"}, "total": 1}}, nil
	}
	return nil, object{"code": -32601, "message": "method not found"}
}

func (c *conversation) tools() []object {
	number := object{"type": "number"}
	tools := []object{
		{
			"name": "add", "inputSchema": object{"type": "object", "properties": object{"a": number, "b": number}, "required": []string{"a", "b"}},
			"outputSchema": object{"type": "object", "properties": object{"sum": number}, "required": []string{"sum"}},
		},
		{"name": "say", "inputSchema": object{"type": "object", "properties": object{"text": object{"type": "string"}}, "required": []string{"text"}}},
		{"name": "long", "inputSchema": object{"type": "object"}},
		{"name": "find", "inputSchema": object{"type": "object", "properties": object{"id": object{"type": "string"}}, "required": []string{"id"}}},
	}
	for _, tool := range tools {
		tool["annotations"] = object{"readOnlyHint": true}
	}
	if c.list != nil {
		c.list(tools)
	}
	return tools
}

func (c *conversation) call(ctx context.Context, r request) (result, err object) {
	text := func(s string) object { return object{"content": []object{{"type": "text", "text": s}}} }
	switch arguments := r.Params.Arguments; r.Params.Name {
	case "add":
		a, _ := arguments["a"].(float64)
		b, _ := arguments["b"].(float64)
		data, err := json.Marshal(object{"sum": a + b})
		if err != nil {
			panic(err)
		}
		result = text(string(data))
		result["structuredContent"] = json.RawMessage(data)
		c.log("info")
		if c.subscribed["sum://all"] && !c.quiet {
			c.notify("notifications/resources/updated", object{"uri": "sum://all"})
		}
		return result, nil
	case "say":
		return text(fmt.Sprint(arguments["text"])), nil
	case "long":
		return c.long(ctx, r), nil
	case "find":
		if arguments["id"] == "7" {
			return text("found"), nil
		}
		result = text("nothing has this id")
		result["isError"] = true
		return result, nil
	}
	return nil, object{"code": -32602, "message": "unknown tool"}
}

// long takes a while and reports progress; nil if it was cancelled.
func (c *conversation) long(ctx context.Context, r request) object {
	for i := range 3 {
		c.mu.Lock()
		cancelled := c.cancelled[string(r.ID)]
		c.mu.Unlock()
		if ctx.Err() != nil || cancelled && !c.stubborn {
			return nil
		}
		if token := r.Params.Meta.ProgressToken; token != nil {
			c.notify("notifications/progress", object{"progressToken": token, "progress": i + 1, "total": 3})
		}
		time.Sleep(100 * time.Millisecond)
	}
	return object{"content": []object{{"type": "text", "text": "done"}}}
}
