package clientsuite

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
)

const messagesArea = "messages"

// judged is what a check of all messages found so far.
type judged struct {
	met  int
	at   *trial
	bad  *message
	want string
	got  string
}

// seenIn judges every message of every scenario by one function, and decides the
// check: it passes when at least one message was about it and none was wrong.
// look reports whether the message is about the rule, and what is wrong with it.
func (t *trial) seenIn(all []*trial, id, want string, look func(t *trial, m *message) (about bool, wrong string)) {
	j := judged{want: want}
	for _, other := range all {
		for _, m := range other.tape.all() {
			about, wrong := look(other, m)
			if !about {
				continue
			}
			j.met++
			if wrong != "" && j.bad == nil {
				j.at, j.bad, j.got = other, m, wrong
			}
		}
	}
	t.decideSeen(id, j)
}

func (t *trial) decideSeen(id string, j judged) {
	switch {
	case j.bad != nil:
		status := conformance.Warn
		if t.find(id).Level == conformance.Must {
			status = conformance.Fail
		}
		t.decide(id, conformance.Result{
			Status: status, Expected: j.want, Actual: fmt.Sprintf("%s (in %s)", j.got, j.at.scenario.id), Evidence: evidenceOf(j.bad),
		})
	case j.met > 0:
		t.check(id, true, "", "")
	default:
		t.decide(id, conformance.Result{Status: conformance.Unknown, Detail: "no message of the run was about this"})
	}
}

// evidenceOf is one message as a frame.
func evidenceOf(m *message) []conformance.Frame {
	f := conformance.Frame{At: m.at, Dir: conformance.ToServer, Data: m.data[:min(len(m.data), keptBytes)], Size: len(m.data)}
	if m.verb != "" {
		f.HTTP = &conformance.HTTPInfo{Method: m.verb, ContentType: m.header.Get("Content-Type"), Header: public(m.header)}
	}
	return []conformance.Frame{f}
}

// messageScenarios judge what was sent in all other scenarios.
func messageScenarios() []scenario {
	jsonRPC := spec("basic#messages", "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.")
	id := spec("basic#requests", "Requests MUST include a string or integer ID. Unlike base JSON-RPC, the ID MUST NOT be null.")
	return []scenario{{
		id: "C-MESSAGES", area: messagesArea, title: "every message the client sent",
		checks: []check{
			must("C-RPC-01/json", "every message is one JSON object with jsonrpc 2.0", jsonRPC),
			must("C-RPC-02/id", "ids of requests are strings or integers", id),
			must("C-RPC-12/params", "params, where present, are an object", jsonRPC),
		},
		seen: func(t *trial, all []*trial) {
			t.seenIn(all, "C-RPC-01/json", "a JSON object with jsonrpc 2.0", func(_ *trial, m *message) (bool, string) {
				if len(m.data) == 0 {
					return false, ""
				}
				if m.err != nil {
					return true, m.err.Error()
				}
				if text(m.members["jsonrpc"]) != "2.0" {
					return true, fmt.Sprintf("jsonrpc is %s", orNull(m.members["jsonrpc"]))
				}
				return true, ""
			})
			t.seenIn(all, "C-RPC-02/id", "a string or an integer", func(_ *trial, m *message) (bool, string) {
				if !m.isRequest() {
					return false, ""
				}
				if !isString(m.members["id"]) && !isInteger(m.id()) {
					return true, m.id()
				}
				return true, ""
			})
			t.seenIn(all, "C-RPC-12/params", "an object", func(_ *trial, m *message) (bool, string) {
				if m.members["params"] == nil {
					return false, ""
				}
				if !isObject(m.members["params"]) {
					return true, string(m.members["params"])
				}
				return true, ""
			})
		},
	}}
}

// isInteger reports whether a JSON value is an integer.
func isInteger(raw string) bool {
	if len(raw) > 1 && raw[0] == '-' {
		raw = raw[1:]
	}
	return raw != "" && !slices.ContainsFunc([]byte(raw), func(c byte) bool { return c < '0' || c > '9' })
}
