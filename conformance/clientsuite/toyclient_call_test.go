package clientsuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaInfo         = "io.modelcontextprotocol/clientInfo"
)

// call makes a request and follows what its answers ask for: another version,
// another round.
func (c *toyClient) call(ctx context.Context, method string, params members, s step) (json.RawMessage, error) {
	again, refused := 0, 0
	id := c.newID()
	caps := c.capabilities()
	for {
		result, err := c.once(ctx, id, method, params, caps, s)
		if !c.is("same-id") {
			id = c.newID()
		}
		var rpc *rpcError
		if errors.As(err, &rpc) {
			switch {
			case rpc.code == -32022 && c.stateless && (refused == 0 && !c.is("no-second-try") && !c.is("initializes-refused") || c.is("tries-forever") && refused < 30):
				refused++
				continue
			case rpc.code == -32021 && c.is("widens") && refused == 0:
				refused++
				caps = json.RawMessage(`{"sampling":{}}`)
				continue
			case c.is("resends-errors") && refused == 0:
				refused++
				continue
			}
		}
		if err != nil || !c.stateless {
			return result, err
		}
		switch kind := object(result)["resultType"]; text(kind) {
		case "complete":
			return result, nil
		case "input_required":
			if c.is("interim-results") {
				return result, nil
			}
			if (method == "tools/list" || method == "server/discover") && !c.is("rounds-on-lists") {
				return nil, errors.New("input required by " + method)
			}
			limit := 10
			if c.is("endless-rounds") {
				limit = 100
			}
			if again++; again > limit {
				return nil, errors.New("too many rounds")
			}
			if params, err = c.round(params, object(result)); err != nil {
				return nil, err
			}
		case "task":
			if c.task.Tasks && (method == "tools/call" && !c.is("no-tasks") || c.is("tasks-of-lists")) {
				return c.drive(ctx, object(result))
			}
			return nil, errors.New("a task that nobody wanted")
		default:
			if kind == nil && !c.is("needs-result-type") || kind != nil && c.is("takes-weird") {
				return result, nil
			}
			return nil, errors.New("resultType " + string(kind))
		}
	}
}

// round is the params of the next round.
func (c *toyClient) round(params, result members) (members, error) {
	next := members{}
	for name, v := range params {
		if name != "requestState" && name != "inputResponses" {
			next[name] = v
		}
	}
	if s := result["requestState"]; s != nil {
		if c.is("trims-state") {
			s = str(strings.TrimSpace(strings.ReplaceAll(text(s), "\u2028", " ")))
		}
		next["requestState"] = s
		c.mu.Lock()
		c.leaked = s
		c.mu.Unlock()
	} else if c.is("always-state") {
		next["requestState"] = str("")
	}
	if c.is("changes-arguments") {
		next["arguments"] = json.RawMessage("{}")
	}
	responses := members{}
	for key, raw := range object(result["inputRequests"]) {
		ask := object(raw)
		answer, err := c.answer(text(ask["method"]), ask["params"])
		if err != nil && !c.is("claims-undeclared") {
			return nil, err
		}
		if err != nil {
			answer = json.RawMessage("{}")
		}
		if c.is("wrong-keys") {
			key = "response"
		}
		if c.is("wraps-answers") {
			answer = members{"jsonrpc": str("2.0"), "id": number(1), "result": answer}.raw()
		}
		responses[key] = answer
	}
	if len(responses) > 0 {
		next["inputResponses"] = responses.raw()
	}
	return next, nil
}

func (c *toyClient) newID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is("reuses-ids") || c.lastID == 0 {
		c.lastID++
	}
	return c.lastID
}

// once makes one request and waits for its answer.
func (c *toyClient) once(ctx context.Context, id int, method string, params members, caps json.RawMessage, s step) (json.RawMessage, error) {
	if c.dead {
		return nil, errClosed
	}
	m := c.message(id, method, params, caps, s)
	key := string(m["id"])
	came := make(chan members, 4)
	c.mu.Lock()
	c.waiting[key] = came
	c.queue = append(c.queue, key)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, key)
		c.queue = slices.DeleteFunc(c.queue, func(k string) bool { return k == key })
	}()
	inner, cancel := context.WithCancel(ctx)
	if c.is("silent-cancel") {
		inner, cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	defer func() {
		if !c.is("silent-cancel") {
			cancel()
		}
	}()
	sent := make(chan error, 1)
	go func() { sent <- c.way.send(inner, m) }()
	for {
		select {
		case answer := <-came:
			if c.is("last-answer") {
				<-time.After(20 * time.Millisecond)
				for len(came) > 0 {
					answer = <-came
				}
			}
			return c.conclude(answer)
		case err := <-sent:
			select {
			case answer := <-came:
				return c.conclude(answer)
			default:
			}
			if err != nil {
				return nil, err
			}
			if c.task.Transport != "stdio" {
				return nil, errClosed
			}
			sent = nil
		case <-ctx.Done():
			c.giveUp(m, method)
			return nil, ctx.Err()
		}
	}
}

// giveUp tells the server that nobody waits any more.
func (c *toyClient) giveUp(m members, method string) {
	if c.is("dead-after-cancel") {
		c.dead = true
	}
	byStream := c.stateless && c.task.Transport != "stdio"
	if c.is("silent-cancel") || method == "server/discover" || method == "initialize" && !c.is("cancels-initialize") || byStream && !c.is("cancels-twice") {
		return
	}
	id := m["id"]
	if c.is("cancels-others") {
		id = number(12345)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) //nolint:forbidigo // the caller's has ended
	defer cancel()
	_ = c.way.send(ctx, c.stamped(members{"jsonrpc": str("2.0"), "method": str("notifications/cancelled"), "params": members{"requestId": id}.raw()}))
}

// stamped adds what the stateless era wants of a notification over HTTP.
func (c *toyClient) stamped(m members) members {
	if c.stateless {
		params := object(m["params"])
		params["_meta"] = members{metaVersion: str(c.version)}.raw()
		m["params"] = params.raw()
	}
	return m
}

// message is a request as the revision has it.
func (c *toyClient) message(id int, method string, params members, caps json.RawMessage, s step) members {
	m := members{"jsonrpc": str("2.0"), "id": number(id), "method": str(method)}
	meta := members{}
	if s.Progress {
		meta["progressToken"] = m["id"]
		if c.is("float-tokens") {
			meta["progressToken"] = json.RawMessage("1.5")
		}
	}
	if c.stateless || c.is("stateless-meta") && method != "initialize" {
		meta[metaVersion], meta[metaCapabilities] = str(c.version), caps
		meta[metaInfo] = members{"name": str("toy"), "version": str("1")}.raw()
		if c.stateless {
			c.stamp(meta)
		}
	}
	for defect, key := range map[string]string{"no-meta-version": metaVersion, "no-meta-capabilities": metaCapabilities, "no-meta-info": metaInfo} {
		if c.is(defect) {
			delete(meta, key)
		}
	}
	if c.is("bad-meta-keys") {
		meta["-bad-/"] = number(1)
	}
	out := members{}
	for name, v := range params {
		out[name] = v
	}
	c.mu.Lock()
	if c.is("leaks-state") && c.leaked != nil && out["requestState"] == nil {
		out["requestState"] = c.leaked
	}
	c.mu.Unlock()
	if len(meta) > 0 {
		out["_meta"] = meta.raw()
	}
	if params != nil || len(meta) > 0 {
		m["params"] = out.raw()
	}
	switch {
	case c.is("array-params") && method == "tools/list" && !c.stateless:
		m["params"] = json.RawMessage("[]")
	case c.is("float-ids"):
		m["id"] = json.RawMessage(string(m["id"]) + ".5")
	case c.is("no-jsonrpc"):
		delete(m, "jsonrpc")
	case c.is("extra-members"):
		m["token"] = str("x")
	}
	return m
}

// conclude reads the answer to a request.
func (c *toyClient) conclude(answer members) (json.RawMessage, error) {
	result, failed := answer["result"], answer["error"]
	if c.is("any-case") && result == nil {
		result = answer["RESULT"]
	}
	if (result == nil) == (failed == nil) && !(c.is("takes-both") && result != nil) {
		if c.is("dies-of-bad-answers") {
			c.dead = true
		}
		return nil, errors.New("neither result nor error, or both")
	}
	if failed != nil && result == nil {
		var e struct {
			Code    int64
			Message string
			Data    json.RawMessage
		}
		_ = json.Unmarshal(failed, &e)
		return nil, &rpcError{e.Code, e.Message, e.Data}
	}
	return result, nil
}
