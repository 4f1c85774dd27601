// Package messages judges every message that the client sent in any scenario.
package messages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Scenarios returns the scenarios of the area messages.
func Scenarios() []trial.Scenario {
	return []trial.Scenario{
		trial.Passive("C-MESSAGES",
			trial.Rule{ID: "C-RPC-01/json", Want: "a JSON object with jsonrpc 2.0", Each: wellFormed},
			trial.Rule{ID: "C-RPC-01/members", Want: "jsonrpc, id, method, params, result, error", Each: knownMembers},
			trial.Rule{ID: "C-RPC-02/id", Want: "a string or an integer", Each: validID},
			trial.Rule{ID: "C-RPC-03/unique", Want: "an id that was not used before", Look: uniqueIDs},
			trial.Rule{ID: "C-RPC-12/params", Want: "an object", Each: objectParams},
			trial.Rule{ID: "C-RPC-11/no-id", Want: "no id", Each: notificationID},
			trial.Rule{ID: "C-META-01/keys", Want: "a key with a valid prefix and name", Each: metaKeys, Unused: "no message had a key in _meta"},
			trial.Rule{ID: "C-UTIL-08/token", Want: "a token of its own", Look: progressTokens, Unused: "no request asked for progress"},
			trial.Rule{ID: "C-UTIL-03/own", Want: "the id of a request that was sent", Look: cancelsOwn, Unused: "nothing was cancelled"},
			trial.Rule{ID: "C-SCHEMA-01/shape", Want: "params as the schema of the method has them", Each: shaped},
		),
		trial.Passive("C-SESSION-MESSAGES",
			trial.Rule{ID: "C-META-10/none", Want: "none of the stateless era's keys", Each: noStatelessMeta},
			trial.Rule{ID: "C-TASK-01/undeclared", Want: "tools/call without task", Each: noTask, Unused: "no tool was called"},
			trial.Rule{ID: "C-RPC-08/error", Want: "an integer code and a message", Each: errorMembers, Unused: "nothing was answered with an error"},
		),
		trial.Passive("C-STATELESS-MESSAGES",
			requestMeta("C-META-04/version", mcp.MetaProtocolVersion, "", rawjson.IsString),
			requestMeta("C-META-04/capabilities", mcp.MetaClientCapabilities, ", an object", isObjectOfObjects),
			requestMeta("C-META-05/info", mcp.MetaClientInfo, " with name and version", func(raw json.RawMessage) bool {
				return rawjson.IsString(peer.At(raw, "name")) && rawjson.IsString(peer.At(raw, "version"))
			}),
			trial.Rule{ID: "C-RPC-14/no-responses", Want: "requests and notifications", Each: func(_ *trial.Trial, m *peer.Message) (bool, string) {
				if m.IsResponse() {
					return true, "a response"
				}
				return m.Method() != "", ""
			}},
			trial.Rule{ID: "C-DISC-18/gone", Want: "a method of this revision", Each: func(t *trial.Trial, m *peer.Message) (bool, string) {
				if slices.Contains(removed, m.Method()) {
					return true, m.Method()
				}
				return m.Method() != "" && !t.IsProbe(m), ""
			}},
		),
	}
}

// removed are the methods that the stateless era does not have.
var removed = []string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "notifications/roots/list_changed", "tasks/list", "tasks/result"}

// requestMeta is the rule of a required key of _meta.
func requestMeta(id, key, form string, good func(raw json.RawMessage) bool) trial.Rule {
	return trial.Rule{ID: id, Want: key + form, Each: func(t *trial.Trial, m *peer.Message) (bool, string) {
		if !m.IsRequest() || t.IsProbe(m) {
			return false, ""
		}
		if raw := m.Param("_meta", key); raw == nil || !good(raw) {
			return true, m.Method() + " has " + peer.OrNull(raw)
		}
		return true, ""
	}}
}

func wellFormed(_ *trial.Trial, m *peer.Message) (bool, string) {
	switch {
	case len(m.Data) == 0 && m.Verb != "POST":
		return false, ""
	case m.Err != nil:
		return true, m.Err.Error()
	case rawjson.Text(m.Members["jsonrpc"]) != "2.0":
		return true, "jsonrpc is " + peer.OrNull(m.Members["jsonrpc"])
	}
	return true, ""
}

func knownMembers(_ *trial.Trial, m *peer.Message) (bool, string) {
	for name := range m.Members {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
			return true, "member " + peer.Quote(name)
		}
	}
	return m.Members != nil, ""
}

func validID(_ *trial.Trial, m *peer.Message) (bool, string) {
	if id := m.Members["id"]; m.IsRequest() && !rawjson.IsString(id) && !peer.IsInteger(id) {
		return true, m.ID()
	}
	return m.IsRequest(), ""
}

func objectParams(_ *trial.Trial, m *peer.Message) (bool, string) {
	params := m.Members["params"]
	if params == nil || rawjson.IsObject(params) {
		return params != nil, ""
	}
	return true, string(params)
}

func notificationID(_ *trial.Trial, m *peer.Message) (bool, string) {
	if strings.HasPrefix(m.Method(), "notifications/") == (m.Members["id"] != nil) {
		return m.Method() != "", m.Method() + " with id " + peer.OrNull(m.Members["id"])
	}
	return m.Method() != "", ""
}

func noStatelessMeta(t *trial.Trial, m *peer.Message) (bool, string) {
	if !m.IsRequest() || t.IsProbe(m) {
		return false, ""
	}
	if v := m.Param("_meta", mcp.MetaProtocolVersion); v != nil {
		return true, mcp.MetaProtocolVersion + " " + string(v)
	}
	return true, ""
}

func noTask(_ *trial.Trial, m *peer.Message) (bool, string) {
	if task := m.Param("task"); m.Method() == mcp.MethodToolsCall && task != nil {
		return true, "task " + string(task)
	}
	return m.Method() == mcp.MethodToolsCall, ""
}

func errorMembers(_ *trial.Trial, m *peer.Message) (bool, string) {
	e := m.Members["error"]
	if e != nil && (!peer.IsInteger(peer.At(e, "code")) || !rawjson.IsString(peer.At(e, "message"))) {
		return true, string(e)
	}
	return e != nil, ""
}

// uniqueIDs finds ids that are used again: in the same process over stdio, in the same
// session over HTTP.
func uniqueIDs(t *trial.Trial, about func(*peer.Message, string)) {
	seen := map[string]*peer.Message{}
	for _, m := range t.Messages((*peer.Message).IsRequest) {
		key := fmt.Sprint(m.Process, " ", m.Header.Get(peer.SessionHeader), " ", m.ID())
		first := seen[key]
		again := first != nil && (!t.Stateless() || first.Answered == 0 || first.Answered > m.Seq)
		about(m, map[bool]string{true: "id " + m.ID() + " again, for " + m.Method()}[again])
		seen[key] = m
	}
}

// metaName is the name of a key of _meta, metaPrefix the prefix before it.
var (
	metaName   = lazyregexp.New(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
	metaPrefix = lazyregexp.New(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
)

func metaKeys(_ *trial.Trial, m *peer.Message) (bool, string) {
	meta := peer.Members(m.Param("_meta"))
	for key := range meta {
		prefix, name, hasPrefix := cutLast(key)
		if hasPrefix && !metaPrefix.MatchString(prefix) || !metaName.MatchString(name) {
			return true, peer.Quote(key)
		}
	}
	return len(meta) > 0, ""
}

// cutLast cuts a key at its last slash.
func cutLast(key string) (prefix, name string, found bool) {
	i := strings.LastIndexByte(key, '/')
	return key[:max(i, 0)], key[i+1:], i >= 0
}

// progressTokens compares the tokens of requests in flight.
func progressTokens(t *trial.Trial, about func(*peer.Message, string)) {
	var open []*peer.Message
	for _, m := range t.Messages((*peer.Message).IsRequest) {
		token := m.Param("_meta", mcp.MetaProgressToken)
		if token == nil {
			continue
		}
		wrong := ""
		if !rawjson.IsString(token) && !peer.IsInteger(token) {
			wrong = string(token)
		}
		for _, other := range open {
			active := other.Answered == 0 || other.Answered > m.Seq
			if active && other.Left == 0 && other.Process == m.Process && string(other.Param("_meta", mcp.MetaProgressToken)) == string(token) {
				wrong = string(token) + " is that of another request"
			}
		}
		open = append(open, m)
		about(m, wrong)
	}
}

func cancelsOwn(t *trial.Trial, about func(*peer.Message, string)) {
	all := t.Tape.Messages()
	for _, m := range all {
		if m.IsRequest() && m.Left != 0 {
			about(m, "") // it canceled its own request by closing the stream
		}
		if m.Method() != mcp.MethodCancelled {
			continue
		}
		id := string(m.Param("requestId"))
		own := slices.ContainsFunc(all, func(o *peer.Message) bool { return o.IsRequest() && o.Seq < m.Seq && o.ID() == id })
		about(m, map[bool]string{false: "requestId " + id}[own])
	}
}
