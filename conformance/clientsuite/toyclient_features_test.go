package clientsuite_test

import (
	"context"
	"encoding/json"
	"strings"
)

// declared reports whether the server declared what a call needs.
func (c *toyClient) declared(call string) bool {
	family, _, _ := strings.Cut(call, "/")
	switch {
	case len(c.caps) == 0:
		return true // nothing is known of it
	case call == "resources/subscribe":
		return string(object(c.caps["resources"])["subscribe"]) == "true"
	case family == "resources", family == "prompts", family == "logging":
		return c.caps[family] != nil
	case family == "completion":
		return c.caps["completions"] != nil || c.task.Revision < "2025-03"
	}
	return true
}

// capabilities are those that the task has answers for.
func (c *toyClient) capabilities() json.RawMessage {
	a := c.task.Answers
	out := members{}
	for name, there := range map[string]bool{"elicitation": a.Elicit != nil, "sampling": a.Sample != nil, "roots": a.Roots != nil} {
		if there {
			out[name] = json.RawMessage("{}")
		}
	}
	if c.task.Tasks && c.stateless {
		out["extensions"] = json.RawMessage(`{"io.modelcontextprotocol/tasks":{}}`)
	}
	if a.ElicitURL != "" {
		out["elicitation"] = json.RawMessage(`{"url":{}}`)
	}
	return out.raw()
}

// prompt gets a prompt.
func (c *toyClient) prompt(ctx context.Context, s step) (any, error) {
	params := members{"name": str(s.Name)}
	if s.Arguments != nil && !c.is("no-arguments") {
		params["arguments"] = s.Arguments
	}
	return c.call(ctx, s.Call, params, s)
}

// complete asks for values of an argument.
func (c *toyClient) complete(ctx context.Context, s step) (any, error) {
	params := object(s.Params)
	if c.task.Revision < "2025-06" || c.is("no-context") {
		delete(params, "context")
	}
	if c.is("swapped-argument") {
		params["ref"], params["argument"] = params["argument"], params["ref"]
	}
	return c.call(ctx, s.Call, params, s)
}

// setLevel sets the level of log messages: the session era tells the server, the
// stateless era every request.
func (c *toyClient) setLevel(ctx context.Context, s step) (any, error) {
	if c.stateless {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.level = text(object(s.Params)["level"])
		return nil, nil
	}
	params := object(s.Params)
	if c.is("numbers-levels") {
		params["level"] = number(4)
	}
	return c.call(ctx, s.Call, params, s)
}

// stamp adds the level to what a request carries.
func (c *toyClient) stamp(meta members) {
	c.mu.Lock()
	defer c.mu.Unlock()
	level := c.level
	switch {
	case c.is("forgets-level"):
		level = ""
	case c.is("always-logs"):
		level = "debug"
	}
	if level != "" {
		meta["io.modelcontextprotocol/logLevel"] = str(level)
	}
}
