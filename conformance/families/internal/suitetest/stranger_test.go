package suitetest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// strangerRequest is a message of the suite.
type strangerRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI, Level string
		Arguments        reply
		RequestID        json.RawMessage `json:"requestId"`
		Argument         struct{ Name string }
		Capabilities     reply
		Notifications    reply
		Meta             struct {
			ProgressToken json.RawMessage `json:"progressToken"`
			Level         string          `json:"io.modelcontextprotocol/logLevel"`
		} `json:"_meta"`
	}
}

// strangerServer is a server with tools of its own. Its members are its defects; a nil one is none.
type strangerServer struct {
	// list changes the definitions of the tools.
	list func(tools []reply)
	// capabilities changes what initialize declares.
	capabilities func(reply)
	// answer changes the answer to a strangerRequest; nil drops it.
	answer func(r strangerRequest, a reply) reply
	// before and after are sent before and after the answer to a call.
	before, after func(c *strangerTalk, r strangerRequest)
	// dies: the server ends with this strangerRequest.
	dies func(r strangerRequest) bool
	// mixes: calls that come together get each other's answers.
	mixes bool
	// drops: of calls that come together one has no answer.
	drops bool
	// stateless: it speaks 2026-07-28 and nothing else. untagged: its news name no subscription.
	stateless, untagged bool
	// latest: all progress has the token of the latest call.
	latest bool
	// oneLevel is the log level of all sessions; nil if each has its own.
	oneLevel *atomic.Value
	// stubborn: a slow call goes on when it is cancelled, and is answered.
	stubborn bool
	// blocks: nothing else is answered while a call runs.
	blocks bool
	// quiet: no news of resources, and of lists.
	quiet bool
	// grows: each call of add adds to the lists.
	grows bool
	// asks is what say asks of a client that declares the capability, and of others as well if
	// it is bold. It hangs when the client has done as hangs says.
	asks  *strangerQuestion
	bold  bool
	hangs string
}

// strangerQuestion is a request of the server.
type strangerQuestion struct {
	method, capability string
	params             reply
}

// strangerTalk is one start of the server.
type strangerTalk struct {
	*strangerServer
	mu         sync.Mutex
	out        io.Writer
	level      string
	subscribed map[string]bool
	cancelled  map[string]bool
	added      int             // to each list
	oldest     json.RawMessage // the first progress token
	newest     json.RawMessage // the latest one
	calls      sync.WaitGroup
	first      *reply
	declared   reply                 // by the client
	listens    json.RawMessage       // the id of the subscription
	questions  map[string]chan reply // by id, for the answers of the client
}

func (s *strangerServer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &strangerTalk{strangerServer: s, out: out, level: "info", subscribed: map[string]bool{}, cancelled: map[string]bool{}, questions: map[string]chan reply{}}
	defer c.calls.Wait()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r strangerRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			c.write(reply{"jsonrpc": "2.0", "id": nil, "error": reply{"code": -32700, "message": "parse error"}})
			continue
		}
		if r.Method == "" {
			c.answered(lines.Bytes())
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
			c.calls.Go(func() { c.reply(ctx, r) })
			if s.blocks {
				c.calls.Wait()
			}
			continue
		}
		c.reply(ctx, r)
	}
	return lines.Err()
}

// answered takes what the client says to a question.
func (c *strangerTalk) answered(line []byte) {
	var a struct {
		ID     string
		Result reply
	}
	_ = json.Unmarshal(line, &a)
	c.mu.Lock()
	defer c.mu.Unlock()
	if waits := c.questions[a.ID]; waits != nil {
		waits <- a.Result
	}
}

// ask asks the client, and waits until the time is over.
func (c *strangerTalk) ask(ctx context.Context, q *strangerQuestion) (answer reply) {
	c.mu.Lock()
	id, waits := fmt.Sprintf("q-%d", len(c.questions)), make(chan reply, 1)
	c.questions[id] = waits
	c.mu.Unlock()
	c.write(reply{"jsonrpc": "2.0", "id": id, "method": q.method, "params": q.params})
	select {
	case answer = <-waits:
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
	return answer
}

func (c *strangerTalk) write(message reply) {
	data, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(data, '\n'))
}

func (c *strangerTalk) notify(method string, params reply) {
	c.write(reply{"jsonrpc": "2.0", "method": method, "params": params})
}

func (c *strangerTalk) log(level string) {
	if c.oneLevel != nil {
		c.level, _ = c.oneLevel.Load().(string)
	}
	if strings.Index("debug info emergency nothing", level) >= strings.Index("debug info emergency nothing", c.level) {
		c.notify("notifications/message", reply{"level": level, "data": "called"})
	}
}

func (c *strangerTalk) reply(ctx context.Context, r strangerRequest) {
	a := reply{"jsonrpc": "2.0", "id": r.ID}
	if c.before != nil && r.Method == "tools/call" {
		c.before(c, r)
	}
	result, err := c.result(ctx, r)
	switch {
	case err != nil:
		a["error"] = err
	case result == nil:
		return // cancelled
	default:
		a["result"] = result
	}
	if c.answer != nil {
		if a = c.answer(r, a); a == nil {
			return
		}
	}
	if (c.mixes || c.drops) && r.Method == "tools/call" {
		c.swap(a)
		return
	}
	c.write(a)
	if c.after != nil && r.Method == "tools/call" {
		c.after(c, r)
	}
}

// swap gives two calls that come within a moment each other's results.
func (c *strangerTalk) swap(a reply) {
	c.mu.Lock()
	one := c.first
	if one == nil {
		c.first = &a
		c.mu.Unlock()
		<-time.After(10 * time.Millisecond)
		c.mu.Lock()
		if alone := c.first == &a; alone {
			c.first = nil
			c.mu.Unlock()
			c.write(a)
			return
		}
		c.mu.Unlock()
		return
	}
	c.first = nil
	c.mu.Unlock()
	if c.drops {
		c.write(a)
		return
	}
	(*one)["result"], a["result"] = a["result"], (*one)["result"]
	c.write(*one)
	c.write(a)
}

func (c *strangerTalk) result(ctx context.Context, r strangerRequest) (result, err reply) {
	switch r.Method {
	case "initialize":
		if c.stateless {
			return nil, reply{"code": -32601, "message": "method not found"}
		}
		c.declared = r.Params.Capabilities
		return reply{"protocolVersion": "2025-11-25", "capabilities": c.offered(), "serverInfo": reply{"name": "stranger", "version": "1"}}, nil
	case "server/discover":
		if !c.stateless {
			return nil, reply{"code": -32601, "message": "method not found"}
		}
		return reply{"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": c.offered(), "ttlMs": 0, "cacheScope": "public"}, nil
	case "subscriptions/listen":
		c.listens = r.ID
		c.subscribed["sum://all"] = true
		c.news(mcp.MethodSubscriptionsAcknowledged, reply{"notifications": r.Params.Notifications})
		return nil, nil
	case "ping", "resources/unsubscribe":
		return reply{}, nil
	case "logging/setLevel":
		c.level = r.Params.Level
		if c.oneLevel != nil {
			c.oneLevel.Store(c.level)
		}
		return reply{}, nil
	case "resources/subscribe":
		c.subscribed[r.Params.URI] = true
		return reply{}, nil
	case "tools/list":
		return reply{"tools": append(c.tools(), c.more(reply{"inputSchema": reply{"type": "object"}})...)}, nil
	case "tools/call":
		return c.call(ctx, r)
	case "resources/list":
		return reply{"resources": append([]reply{{"uri": "sum://all", "name": "all"}}, c.more(reply{})...)}, nil
	case "resources/templates/list":
		return reply{"resourceTemplates": []reply{{"uriTemplate": "sum://{name}", "name": "one"}}}, nil
	case "resources/read":
		if r.Params.URI == "sum://nothing" || strings.Contains(r.Params.URI, "no-such") {
			if c.stateless {
				return nil, reply{"code": -32602, "message": "no such sum"}
			}
			return nil, reply{"code": -32002, "message": "no such sum"}
		}
		return reply{"contents": []reply{{"uri": r.Params.URI, "text": "3"}}}, nil
	case "prompts/list":
		return reply{"prompts": append([]reply{{"name": "greet", "arguments": []reply{{"name": "city", "required": true}}}}, c.more(reply{})...)}, nil
	case "prompts/get":
		return reply{"messages": []reply{{"role": "user", "content": reply{"type": "text", "text": fmt.Sprint(r.Params.Arguments["city"])}}}}, nil
	case "completion/complete":
		return reply{"completion": reply{"values": []string{"Oslo"}, "total": 1}}, nil
	}
	return nil, reply{"code": -32601, "message": "method not found"}
}

// offered are the capabilities.
func (c *strangerTalk) offered() reply {
	capabilities := reply{"tools": reply{}, "prompts": reply{}, "resources": reply{"subscribe": true}, "completions": reply{}, "logging": reply{}}
	if c.grows {
		announced := reply{"listChanged": true}
		capabilities["tools"], capabilities["prompts"], capabilities["resources"] = announced, announced, reply{"listChanged": true, "subscribe": true}
	}
	if c.capabilities != nil {
		c.capabilities(capabilities)
	}
	return capabilities
}

// news sends what belongs to a subscription of the stateless era, or to none.
func (c *strangerTalk) news(method string, params reply) {
	if c.stateless && (!c.untagged || method == mcp.MethodSubscriptionsAcknowledged) {
		params["_meta"] = reply{mcp.MetaSubscriptionID: c.listens}
	}
	c.notify(method, params)
}

// more are the items that calls have added to a list, with these members.
func (c *strangerTalk) more(members reply) []reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	items := make([]reply, c.added)
	for i := range items {
		items[i] = maps.Clone(members)
		items[i]["name"], items[i]["uri"] = fmt.Sprintf("added-%d", i), fmt.Sprintf("sum://added-%d", i)
	}
	return items
}

// grow adds to each list, and sends the news.
func (c *strangerTalk) grow() {
	c.mu.Lock()
	c.added++
	c.mu.Unlock()
	for _, method := range []string{mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged, mcp.MethodResourcesListChanged} {
		if !c.quiet {
			c.news(method, reply{})
		}
	}
}

func (c *strangerTalk) tools() []reply {
	number := reply{"type": "number"}
	tools := []reply{
		{
			"name": "add", "inputSchema": reply{"type": "object", "properties": reply{"a": number, "b": number}, "required": []string{"a", "b"}},
			"outputSchema": reply{"type": "object", "properties": reply{"sum": number}, "required": []string{"sum"}},
		},
		{"name": "say", "inputSchema": reply{"type": "object", "properties": reply{"text": reply{"type": "string"}}, "required": []string{"text"}}},
		{"name": "long", "inputSchema": reply{"type": "object"}},
		{"name": "find", "inputSchema": reply{"type": "object", "properties": reply{"id": reply{"type": "string"}}, "required": []string{"id"}}},
	}
	for _, tool := range tools {
		tool["annotations"] = reply{"readOnlyHint": true}
	}
	if c.list != nil {
		c.list(tools)
	}
	return tools
}

func (c *strangerTalk) call(ctx context.Context, r strangerRequest) (result, err reply) {
	text := func(s string) reply { return reply{"content": []reply{{"type": "text", "text": s}}} }
	switch arguments := r.Params.Arguments; r.Params.Name {
	case "add":
		a, _ := arguments["a"].(float64)
		b, _ := arguments["b"].(float64)
		data, err := json.Marshal(reply{"sum": a + b})
		if err != nil {
			panic(err)
		}
		result = text(string(data))
		result["structuredContent"] = json.RawMessage(data)
		if c.stateless {
			c.level = cmp.Or(r.Params.Meta.Level, "nothing")
		}
		c.log("info")
		if c.grows {
			c.grow()
		}
		if c.subscribed["sum://all"] && !c.quiet {
			c.news(mcp.MethodResourcesUpdated, reply{"uri": "sum://all"})
		}
		return result, nil
	case "say":
		if c.asks != nil && (c.bold || c.declared[c.asks.capability] != nil) {
			action, _ := c.ask(ctx, c.asks)["action"].(string)
			if action != "" && action == c.hangs {
				return nil, nil
			}
		}
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
	return nil, reply{"code": -32602, "message": "unknown tool"}
}

// long takes a while and reports progress; nil if it was cancelled.
func (c *strangerTalk) long(ctx context.Context, r strangerRequest) reply {
	c.mu.Lock()
	c.newest = r.Params.Meta.ProgressToken
	c.mu.Unlock()
	for i := range 3 {
		c.mu.Lock()
		cancelled, newest := c.cancelled[string(r.ID)], c.newest
		c.mu.Unlock()
		if ctx.Err() != nil || cancelled && !c.stubborn {
			return nil
		}
		if token := r.Params.Meta.ProgressToken; token != nil {
			if c.latest {
				token = newest
			}
			c.notify("notifications/progress", reply{"progressToken": token, "progress": i + 1, "total": 3})
		}
		<-time.After(300 * time.Millisecond)
	}
	return reply{"content": []reply{{"type": "text", "text": "done"}}}
}
