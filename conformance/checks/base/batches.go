package base

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func batchScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "RPC-15", Run: runBatches},
		{ID: "RPC-17", Run: runNoBatches},
	}
}

// batch writes messages as an array.
func batch(messages ...[]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(messages, []byte(",")), []byte("]"))
}

// batched sends a batch and returns the responses that came for it and for
// nothing else, with those without an id.
func batched(t *engine.Trial, s *wire.Session, ids []string, messages ...[]byte) ([]wire.Inbound, error) {
	for _, id := range ids {
		s.Pending[id] = false
	}
	sent, err := s.Send(t.Ctx, batch(messages...))
	if err != nil {
		return nil, err
	}
	var got []wire.Inbound
	due := len(ids)
	if sent == nil && due == 0 {
		return s.Settle(t.Ctx)
	}
	_, err = s.Next(t.Ctx, func(in wire.Inbound) bool {
		if in.IsResponse() && (sent == nil && !isOurs(in) || sent != nil && in.To == sent.Token) {
			got = append(got, in)
			due--
		}
		return sent != nil && in.Ended && in.To == sent.Token || sent == nil && due == 0
	})
	if err == nil && sent == nil { // more than was due would follow soon
		var stray []wire.Inbound
		stray, err = s.Settle(t.Ctx)
		got = append(got, stray...)
	}
	s.Unclaimed = nil
	return got, err
}

// isOurs reports whether a response answers a sign of life.
func isOurs(in wire.Inbound) bool { return bytes.HasPrefix(in.Members["id"], []byte(`"c-`)) }

func runBatches(t *engine.Trial) {
	s := t.Fresh()
	ping := func(id string) []byte { return wire.Message(id, mcp.MethodPing, nil) }
	note := wire.Message("", "notifications/com.example/unknown", nil)
	for _, c := range []struct {
		check    string
		ids      []string
		messages [][]byte
		errors   []string // the ids that get an error
	}{
		{"RPC-15/requests", []string{`"b-1"`, `"b-2"`, `3`}, [][]byte{ping(`"b-1"`), ping(`"b-2"`), ping(`3`)}, nil},
		{"RPC-15/mixed", []string{`"b-4"`}, [][]byte{note, ping(`"b-4"`), note}, nil},
		{"RPC-15/notifications", nil, [][]byte{note, note}, nil},
		{"RPC-15/errors", []string{`"b-5"`, `"b-6"`}, [][]byte{ping(`"b-5"`), wire.Message(`"b-6"`, fixture.NoMethod, nil)}, []string{`"b-6"`}},
	} {
		t.Step(s)
		got, err := batched(t, s, c.ids, c.messages...)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		answered := map[string]int{}
		for _, in := range got {
			answered[in.ID()]++
			if failed := wire.ToAnswer(in).Err != nil; failed != slices.Contains(c.errors, in.ID()) {
				fault = wire.ToAnswer(in).Describe() + " to " + in.ID()
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
		t.Check(c.check, fault == "", "one answer to each request", "%s", fault)
	}
	t.Step(s)
	a, err := talk.Refusal(t, s, "", []byte("[]"))
	talk.Unserved(t, "RPC-15/empty", a, err, wire.CodeInvalidRequest)
	t.Step(s)
	got, err := batched(t, s, []string{`"b-7"`, "null"}, []byte(`1`), ping(`"b-7"`))
	served := slices.ContainsFunc(got, func(in wire.Inbound) bool { return in.ID() == `"b-7"` && wire.ToAnswer(in).Err == nil })
	t.Check("RPC-15/part", served, "a result for the request in it", "%d answers, %v", len(got), err)
	delete(s.Pending, "null")
	talk.Alive(t, "RPC-15/alive", s)
}

func runNoBatches(t *engine.Trial) {
	s := t.Fresh()
	const id = `"batched-1"`
	s.Pending[id] = false
	a, err := talk.Refusal(t, s, id, batch(s.Message(id, s.LifeSign(), nil)))
	if a.In.HTTP != nil && a.In.HTTP.Status >= http.StatusInternalServerError {
		t.Fail("RPC-17/refused", "error -32600", "HTTP %d", a.In.HTTP.Status)
	}
	if rawjson.IsArray(a.In.Data) { // a batch of answers
		t.Fail("RPC-17/refused", "error -32600", "%s", rawjson.Clip(string(a.In.Data), 160))
	}
	talk.Unserved(t, "RPC-17/refused", a, err, wire.CodeInvalidRequest, wire.CodeParse, wire.CodeHeader)
	talk.Alive(t, "RPC-17/alive", s)
}
