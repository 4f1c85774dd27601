package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func batchScenarios() []Scenario {
	receive := Spec{Section: "basic#batching", Quote: "MCP implementations MAY support sending JSON-RPC batches, but MUST support receiving JSON-RPC batches."}
	return []Scenario{
		{
			ID: "RPC-15", Area: "base", Title: "batches, in the one revision that has them", Since: mcp.Version2025_03_26, Until: mcp.Version2025_03_26,
			Checks: []Check{
				rule("RPC-15/requests", "each request of a batch is answered once", receive),
				rule("RPC-15/mixed", "a notification in a batch is not answered", receive),
				rule("RPC-15/notifications", "a batch of notifications is not answered", receive),
				promised("RPC-15/empty", "an empty batch is refused with -32600", Spec{Seed: "RPC-15 (JSON-RPC 2.0, 6)"}),
				promised("RPC-15/part", "what is no message in a batch does not keep the rest from its answers", Spec{Seed: "RPC-15 (JSON-RPC 2.0, 6)"}),
				rule("RPC-15/errors", "errors of a batch go to the requests they are about", receive),
				rule("RPC-15/alive", "the session works after batches", receive),
			},
			run: runBatches,
		},
		{
			ID: "RPC-17", Area: "base", Title: "batches, where there are none", Since: mcp.Version2025_06_18, Until: mcp.LatestSession,
			Checks: []Check{
				houseRule("RPC-17/refused", "a batch is refused, and nothing in it is served", Spec{Section: "changelog", Quote: "Remove support for JSON-RPC batching"}),
				houseRule("RPC-17/alive", "the session works after it", Spec{Section: "basic#messages", Quote: "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."}),
			},
			run: runNoBatches,
		},
	}
}

// batch writes messages as an array.
func batch(messages ...[]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(messages, []byte(",")), []byte("]"))
}

// batched sends a batch and returns the responses that came for it and for
// nothing else, with those without an id.
func (t *trial) batched(s *session, ids []string, messages ...[]byte) ([]inbound, error) {
	for _, id := range ids {
		s.pending[id] = false
	}
	sent, err := s.send(t.ctx, batch(messages...))
	if err != nil {
		return nil, err
	}
	var got []inbound
	due := len(ids)
	if sent == nil && due == 0 {
		return s.settle(t.ctx)
	}
	_, err = s.next1(t.ctx, func(in inbound) bool {
		if in.isResponse() && (sent == nil && !isOurs(in) || sent != nil && in.to == sent.token) {
			got = append(got, in)
			due--
		}
		return sent != nil && in.ended && in.to == sent.token || sent == nil && due == 0
	})
	if err == nil && sent == nil { // more than was due would follow soon
		var stray []inbound
		stray, err = s.settle(t.ctx)
		got = append(got, stray...)
	}
	s.stash = nil
	return got, err
}

// isOurs reports whether a response answers a sign of life.
func isOurs(in inbound) bool { return bytes.HasPrefix(in.members["id"], []byte(`"c-`)) }

func runBatches(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	ping := func(id string) []byte { return message(id, mcp.MethodPing, nil) }
	note := message("", "notifications/com.example/unknown", nil)
	for _, c := range []struct {
		check    string
		ids      []string
		messages [][]byte
		errors   []string // the ids that get an error
	}{
		{"RPC-15/requests", []string{`"b-1"`, `"b-2"`, `3`}, [][]byte{ping(`"b-1"`), ping(`"b-2"`), ping(`3`)}, nil},
		{"RPC-15/mixed", []string{`"b-4"`}, [][]byte{note, ping(`"b-4"`), note}, nil},
		{"RPC-15/notifications", nil, [][]byte{note, note}, nil},
		{"RPC-15/errors", []string{`"b-5"`, `"b-6"`}, [][]byte{ping(`"b-5"`), message(`"b-6"`, unknownMethod, nil)}, []string{`"b-6"`}},
	} {
		t.step(s)
		got, err := t.batched(s, c.ids, c.messages...)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		answered := map[string]int{}
		for _, in := range got {
			answered[in.id()]++
			if failed := toAnswer(in).err != nil; failed != slices.Contains(c.errors, in.id()) {
				fault = toAnswer(in).describe() + " to " + in.id()
			}
		}
		for _, id := range c.ids {
			if answered[id] != 1 {
				fault = "not one answer to " + id
			}
		}
		if len(answered) > len(c.ids) {
			fault = "an answer nobody asked for"
		}
		t.check(c.check, fault == "", "one answer to each request", "%s", fault)
	}
	t.step(s)
	a, err := t.refusal(s, "", []byte("[]"))
	t.checkUnserved("RPC-15/empty", a, err, codeInvalidRequest)
	t.step(s)
	got, err := t.batched(s, []string{`"b-7"`, "null"}, []byte(`1`), ping(`"b-7"`))
	served := slices.ContainsFunc(got, func(in inbound) bool { return in.id() == `"b-7"` && toAnswer(in).err == nil })
	t.check("RPC-15/part", served, "a result for the request in it", "%d answers, %v", len(got), err)
	delete(s.pending, "null")
	return t.alive("RPC-15/alive", s)
}

func runNoBatches(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	const id = `"batched-1"`
	s.pending[id] = false
	a, err := t.refusal(s, id, batch(s.message(id, s.lifeSign(), nil)))
	if a.in.http != nil && a.in.http.Status >= http.StatusInternalServerError {
		t.fail("RPC-17/refused", "error -32600", "HTTP %d", a.in.http.Status)
	}
	if isArray(a.in.data) { // a batch of answers
		t.fail("RPC-17/refused", "error -32600", "%s", clip(string(a.in.data), 160))
	}
	t.checkUnserved("RPC-17/refused", a, err, codeInvalidRequest, codeParse, codeHeader)
	return t.alive("RPC-17/alive", s)
}

// parts returns the messages of an array, each as if it had come alone.
func (in inbound) parts() []inbound {
	var raw []json.RawMessage
	if !isArray(in.data) || json.Unmarshal(in.data, &raw) != nil {
		return nil
	}
	var out []inbound
	for _, data := range raw {
		part := received(data, in.http)
		part.to, part.event = in.to, in.event
		out = append(out, part)
	}
	return out
}
