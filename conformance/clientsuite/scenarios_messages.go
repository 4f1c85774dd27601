package clientsuite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

const messagesArea = "messages"

// messageScenarios judge what was sent in all other scenarios.
func messageScenarios() []scenario {
	jsonRPC := spec("basic#messages", "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.")
	return []scenario{
		observed(scenario{id: "C-MESSAGES", area: messagesArea, title: "every message the client sent"}, []seenCheck{
			{
				must("C-RPC-01/json", "every message is one JSON object with jsonrpc 2.0", jsonRPC),
				"a JSON object with jsonrpc 2.0", each(wellFormed),
			},
			{
				must("C-RPC-01/members", "a message has no members that JSON-RPC does not know", jsonRPC),
				"jsonrpc, id, method, params, result, error", each(knownMembers),
			},
			{
				must("C-RPC-02/id", "ids of requests are strings or integers", spec("basic#requests", "Requests MUST include a string or integer ID. Unlike base JSON-RPC, the ID MUST NOT be null.")),
				"a string or an integer", each(func(_ *trial, m *message) (bool, string) {
					if isString(m.members["id"]) || isInteger(m.id()) {
						return m.isRequest(), ""
					}
					return m.isRequest(), m.id()
				}),
			},
			{
				must("C-RPC-03/unique", "no id is used twice", spec("basic#requests", "The request ID MUST NOT have been previously used by the requestor within the same session.")).
					or(spec("basic#requests", "The request ID MUST NOT match the ID of any other request the sender has issued and not yet received a response for")),
				"an id that was not used before", uniqueIDs,
			},
			{
				must("C-RPC-12/params", "params, where present, are an object", jsonRPC),
				"an object", each(func(_ *trial, m *message) (bool, string) {
					params := m.members["params"]
					if params == nil || isObject(params) {
						return params != nil, ""
					}
					return true, string(params)
				}),
			},
			{
				must("C-RPC-11/no-id", "notifications have no id, and requests have one", spec("basic#notifications", "Notifications MUST NOT include an ID.")),
				"no id", each(func(_ *trial, m *message) (bool, string) {
					if strings.HasPrefix(m.method(), "notifications/") == (m.members["id"] != nil) {
						return m.method() != "", m.method() + " with id " + orNull(m.members["id"])
					}
					return m.method() != "", ""
				}),
			},
			{
				must("C-META-01/keys", "keys of _meta have the form that the specification gives them", spec("basic#_meta", "Labels MUST start with a letter and end with a letter or digit; interior characters can be letters, digits, or hyphens (-).")).
					optional("no message had a key in _meta"),
				"a key with a valid prefix and name", each(metaKeys),
			},
			{
				must("C-UTIL-08/token", "progress tokens are strings or integers, no two active ones equal", spec("basic/utilities/progress#progress-flow", "Progress tokens MUST be a string or integer value")).
					or(spec("basic/patterns/progress#progress-flow", "Progress tokens MUST be a string or integer value")).
					optional("no request asked for progress"),
				"a token of its own", progressTokens,
			},
			{
				must("C-UTIL-03/own", "what is cancelled is a request of the client's own", spec("basic/utilities/cancellation#behavior-requirements", "Cancellation notifications MUST only reference requests that: Were previously issued in the same direction, Are believed to still be in-progress")).
					or(spec("basic/patterns/cancellation#behavior-requirements", "Cancellation notifications MUST only reference requests that: Were previously issued by the client")).
					optional("nothing was cancelled"),
				"the id of a request that was sent", canceledOwn,
			},
			{
				must("C-SCHEMA-01/shape", "params of every message have the members their schema requires, of its types", jsonRPC),
				"params as the schema of the method has them", each(shaped),
			},
		}),
		observed(scenario{id: "C-SESSION-MESSAGES", area: messagesArea, title: "every message in the session era", until: mcp.LatestSession}, []seenCheck{
			{
				advised("C-META-10/none", "no request carries the _meta keys of the stateless era", row("META-10")),
				"none of the stateless era's keys", each(func(t *trial, m *message) (bool, string) {
					if !m.isRequest() || t.probing(m) {
						return false, ""
					}
					if v := m.param("_meta", mcp.MetaProtocolVersion); v != nil {
						return true, mcp.MetaProtocolVersion + " " + string(v)
					}
					return true, ""
				}),
			},
			{
				must("C-TASK-01/undeclared", "no call is to be a task of a server that declared none", spec("basic/utilities/tasks#tool-level-negotiation", "If a server's capabilities do not include tasks.requests.tools.call, then clients MUST NOT attempt to use task augmentation on that server's tools")).from(mcp.Version2025_11_25).
					optional("no tool was called"),
				"tools/call without task", each(func(_ *trial, m *message) (bool, string) {
					if task := m.param("task"); m.method() == mcp.MethodToolsCall && task != nil {
						return true, "task " + string(task)
					}
					return m.method() == mcp.MethodToolsCall, ""
				}),
			},
			{
				must("C-RPC-08/error", "errors that the client answers with have an integer code and a message", spec("basic#responses", "Error responses MUST include an error field with a code and message. Error codes MUST be integers.")).
					optional("nothing was answered with an error"),
				"an integer code and a message", each(func(_ *trial, m *message) (bool, string) {
					e := m.members["error"]
					if e == nil {
						return false, ""
					}
					if !isInteger(string(at(e, "code"))) || !isString(at(e, "message")) {
						return true, string(e)
					}
					return true, ""
				}),
			},
		}),
		observed(scenario{id: "C-STATELESS-MESSAGES", area: messagesArea, title: "every message in the stateless era", since: mcp.Version2026_07_28}, statelessChecks()),
	}
}

func statelessChecks() []seenCheck {
	required := spec("basic#_meta", "fields marked as required MUST be included on every request.")
	request := func(path string, good func(raw []byte) bool) func(*trial, func(*message, string)) {
		return each(func(t *trial, m *message) (bool, string) {
			if !m.isRequest() || t.probing(m) {
				return false, ""
			}
			if raw := m.param("_meta", path); raw == nil || !good(raw) {
				return true, m.method() + " has " + orNull(raw)
			}
			return true, ""
		})
	}
	return []seenCheck{
		{
			must("C-META-04/version", "every request names its revision in _meta", required).official("request-metadata"),
			mcp.MetaProtocolVersion, request(mcp.MetaProtocolVersion, func(raw []byte) bool { return isString(raw) }),
		},
		{
			must("C-META-04/capabilities", "every request states the client's capabilities in _meta, as an object of objects", required).official("request-metadata"),
			mcp.MetaClientCapabilities + ", an object", request(mcp.MetaClientCapabilities, objects),
		},
		{
			should("C-META-05/info", "every request names the client in _meta, with name and version", spec("basic#_meta", "Clients SHOULD include io.modelcontextprotocol/clientInfo on every request")).official("request-metadata"),
			mcp.MetaClientInfo + " with name and version", request(mcp.MetaClientInfo, func(raw []byte) bool { return isString(at(raw, "name")) && isString(at(raw, "version")) }),
		},
		{
			must("C-RPC-14/no-responses", "no response is sent: servers ask nothing in this era", spec("basic/transports/streamable-http#sending-messages", "The client MUST NOT send JSON-RPC responses.")),
			"requests and notifications", each(func(_ *trial, m *message) (bool, string) {
				if m.isResponse() {
					return true, "a response"
				}
				return m.method() != "", ""
			}),
		},
		{
			must("C-DISC-18/gone", "no method is sent that this era does not have", row("DISC-18")),
			"a method of this revision", each(func(t *trial, m *message) (bool, string) {
				if m.method() == "" || t.probing(m) {
					return false, ""
				}
				if slices.Contains([]string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "notifications/roots/list_changed", "tasks/list", "tasks/result"}, m.method()) {
					return true, m.method()
				}
				return true, ""
			}),
		},
	}
}

func wellFormed(_ *trial, m *message) (bool, string) {
	switch {
	case len(m.data) == 0 && m.verb != "POST":
		return false, ""
	case m.err != nil:
		return true, m.err.Error()
	case text(m.members["jsonrpc"]) != "2.0":
		return true, "jsonrpc is " + orNull(m.members["jsonrpc"])
	}
	return true, ""
}

func knownMembers(_ *trial, m *message) (bool, string) {
	for name := range m.members {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
			return true, "member " + quote(name)
		}
	}
	return m.members != nil, ""
}

// uniqueIDs looks for ids that come again: in the same process over stdio, in the
// same session over HTTP.
func uniqueIDs(t *trial, about func(*message, string)) {
	seen := map[string]*message{}
	for _, m := range t.tape.all() {
		if !m.isRequest() {
			continue
		}
		key := fmt.Sprint(m.life, " ", m.header.Get(sessionHeader), " ", m.id())
		first := seen[key]
		again := first != nil && (!t.rev.stateless() || first.answered == 0 || first.answered > m.seq)
		about(m, map[bool]string{true: "id " + m.id() + " again, for " + m.method()}[again])
		seen[key] = m
	}
}

// metaName is a name of a key of _meta, metaPrefix the prefix before it.
var (
	metaName   = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
	metaPrefix = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
)

func metaKeys(_ *trial, m *message) (bool, string) {
	meta := members(m.param("_meta"))
	for key := range meta {
		name := key
		if i := strings.LastIndexByte(key, '/'); i >= 0 {
			if !metaPrefix.MatchString(key[:i]) {
				return true, quote(key)
			}
			name = key[i+1:]
		}
		if !metaName.MatchString(name) {
			return true, quote(key)
		}
	}
	return len(meta) > 0, ""
}

// progressTokens looks at tokens: those of requests without an answer are active.
func progressTokens(t *trial, about func(*message, string)) {
	var open []*message
	for _, m := range t.tape.all() {
		token := m.param("_meta", mcp.MetaProgressToken)
		if !m.isRequest() || token == nil {
			continue
		}
		wrong := ""
		if !isString(token) && !isInteger(string(token)) {
			wrong = string(token)
		}
		for _, other := range open {
			active := other.answered == 0 || other.answered > m.seq
			if active && other.left == 0 && other.life == m.life && string(other.param("_meta", mcp.MetaProgressToken)) == string(token) {
				wrong = string(token) + " is that of another request"
			}
		}
		open = append(open, m)
		about(m, wrong)
	}
}

func canceledOwn(t *trial, about func(*message, string)) {
	all := t.tape.all()
	for _, m := range all {
		if m.isRequest() && m.left != 0 {
			about(m, "") // the end of its stream is its own
		}
		if m.method() != mcp.MethodCancelled {
			continue
		}
		id := string(m.param("requestId"))
		own := slices.ContainsFunc(all, func(o *message) bool { return o.isRequest() && o.seq < m.seq && o.id() == id })
		about(m, map[bool]string{false: "requestId " + id}[own])
	}
}
