package clientsuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// receive takes one message of the server. raw is what came, ctx that of what it
// came within.
func (c *toyClient) receive(ctx context.Context, raw []byte) {
	var m members
	var batch []json.RawMessage
	if json.Unmarshal(raw, &batch) == nil && len(batch) > 0 {
		c.batch(ctx, batch)
		return
	}
	if json.Unmarshal(raw, &m) != nil {
		if c.is("dies-of-noise") {
			c.fail()
		}
		return
	}
	switch {
	case m["method"] == nil:
		c.answered(m)
	case m["id"] != nil:
		c.asked(ctx, m)
	default:
		c.notified(ctx, m)
	}
}

// batch takes an array of messages, where the revision has those.
func (c *toyClient) batch(ctx context.Context, all []json.RawMessage) {
	theirs := c.version >= "2025-03" && c.version < "2025-06" && !c.is("no-batches")
	if c.is("dies-of-arrays") {
		c.dead = true
	}
	for _, raw := range all {
		if theirs || c.is("any-batches") {
			c.receive(ctx, raw)
		}
	}
}

// fail ends every call that waits.
func (c *toyClient) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.waiting {
		select {
		case w <- members{"error": json.RawMessage(`{"code":0,"message":"gave up"}`)}:
		default:
		}
	}
}

func (c *toyClient) answered(m members) {
	if c.is("strict-content") && strings.Contains(string(m["result"]), "hologram") {
		m = members{"id": m["id"], "error": json.RawMessage(`{"code":0,"message":"unknown content"}`)}
	}
	if m["result"] == nil && m["error"] == nil && m["RESULT"] != nil && !c.is("any-case") {
		return // no answer at all
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := string(m["id"])
	if c.is("takes-any-id") && len(c.queue) > 0 {
		key = c.queue[len(c.queue)-1]
	}
	if c.is("first-come") && len(c.queue) > 0 {
		key = c.queue[0]
		c.queue = c.queue[1:]
	}
	w := c.waiting[key]
	if w == nil && c.is("dies-of-strangers") {
		go c.fail()
	}
	if w != nil {
		select {
		case w <- m:
		default:
		}
	}
}

func (c *toyClient) notified(ctx context.Context, m members) {
	c.changed(m)
	switch {
	case c.is("dies-of-notifications"), c.is("dies-of-progress") && text(m["method"]) == "notifications/progress":
		c.fail()
	case c.is("answers-notifications"):
		_ = c.way.send(ctx, members{"jsonrpc": str("2.0"), "id": json.RawMessage("null"), "error": json.RawMessage(`{"code":-32601,"message":"what?"}`)})
	}
}

// asked answers a request of the server.
func (c *toyClient) asked(ctx context.Context, m members) {
	if c.is("dies-of-requests") {
		c.fail()
		return
	}
	if c.stateless && !c.is("answers-requests") || c.is("no-pong") && text(m["method"]) == "ping" {
		return
	}
	out := members{"jsonrpc": str("2.0"), "id": m["id"]}
	if c.is("string-ids") {
		out["id"] = str(strings.Trim(string(m["id"]), `"`))
	}
	if c.is("number-ids") && string(m["id"]) == `"4712"` {
		out["id"] = json.RawMessage("4712")
	}
	result, err := c.answer(text(m["method"]), m["params"])
	switch {
	case err == nil:
		out["result"] = result
	case c.is("says-yes"):
		out["result"] = json.RawMessage("{}")
	default:
		e := members{"code": json.RawMessage("-32601"), "message": str(err.Error())}
		var refused *rpcError
		if errors.As(err, &refused) && !c.is("one-error") {
			e["code"] = json.RawMessage(strconv.FormatInt(refused.code, 10))
		}
		if c.is("no-error-message") {
			delete(e, "message")
		}
		out["error"] = e.raw()
	}
	go func() { _ = c.way.send(ctx, out) }()
}

// answer is what the task says the user answers.
func (c *toyClient) answer(method string, params json.RawMessage) (json.RawMessage, error) {
	a := c.task.Answers
	switch {
	case method == "ping":
		return json.RawMessage("{}"), nil
	case method == "elicitation/create" && text(object(params)["mode"]) == "url":
		return c.visit(object(params))
	case method == "sampling/createMessage" && object(params)["tools"] != nil && !c.is("samples-tools"):
		return nil, &rpcError{code: -32602, text: "no tools in sampling"}
	case method == "elicitation/create" && a.Elicit != nil:
		return c.elicit(object(params), object(a.Elicit)), nil
	case method == "sampling/createMessage" && a.Sample != nil:
		result := object(a.Sample)
		if c.is("sample-without-role") {
			delete(result, "role")
		}
		return result.raw(), nil
	case method == "roots/list" && a.Roots != nil:
		var roots []json.RawMessage
		for _, uri := range a.Roots {
			if c.is("web-roots") {
				uri = "https://example.com"
			}
			roots = append(roots, members{"uri": str(uri)}.raw())
		}
		list, _ := json.Marshal(roots)
		return members{"roots": list}.raw(), nil
	}
	return nil, errors.New("no such method")
}

func (c *toyClient) elicit(params, answer members) json.RawMessage {
	if text(answer["action"]) != "accept" {
		if c.is("content-with-decline") {
			answer["content"] = json.RawMessage("{}")
		}
		return answer.raw()
	}
	content := object(answer["content"])
	for name, raw := range object(object(params["requestedSchema"])["properties"]) {
		if d := object(raw)["default"]; d != nil && content[name] == nil && !c.is("no-defaults") {
			content[name] = d
		}
	}
	if c.is("bad-content") {
		content["size"] = str("seven")
	}
	answer["content"] = content.raw()
	if c.is("bad-action") {
		answer["action"] = str("yes")
	}
	return answer.raw()
}

// visit is where the user is sent to a page, which the client never reads.
func (c *toyClient) visit(params members) (json.RawMessage, error) {
	action := c.task.Answers.ElicitURL
	if action == "" {
		return nil, &rpcError{code: -32602, text: "no such mode"}
	}
	if h, ok := c.way.(*httpWay); ok && c.is("fetches-pages") {
		if resp, err := h.client.Get(text(params["url"])); err == nil {
			_ = resp.Body.Close()
		}
	}
	if c.is("bad-action") {
		action = "ok"
	}
	return members{"action": str(action)}.raw(), nil
}
