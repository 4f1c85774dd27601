package base

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func requestScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "RPC-12", Run: runWrongParams},
		{ID: "RPC-20", Run: runEnvelopes},
		{ID: "RPC-22", Run: runSizes},
	}
}

func runWrongParams(t *engine.Trial) {
	s := t.Fresh()
	for _, each := range [][2]string{
		{"RPC-12/array", `["a"]`},
		{"RPC-12/string", `"a"`},
		{"RPC-12/number", `7`},
		{"RPC-12/null", `null`},
		{"RPC-12/meta", `{"_meta":7}`},
	} {
		check, params := each[0], each[1]
		t.Step(s)
		id := s.NewID()
		data := wire.EditedMessage(s, id, s.LifeSign(), map[string]json.RawMessage{"params": json.RawMessage(params)})
		a, err := s.Provoke(t.Ctx, id, data)
		if check == "RPC-12/null" {
			t.Check(check, err == nil || turnedAway(a), "an answer", "%s", a.OrError(err))
			continue
		}
		codes := []int64{wire.CodeInvalidParams, wire.CodeInvalidRequest}
		switch {
		case !t.Rev.Stateless():
		case s.Conn.Transport() == conformance.TransportHTTP:
			codes = append(codes, wire.CodeHeader) // the headers say more than the body
		default:
			// What says which revision it is of is missing, too: to a server
			// of both eras it is a method of the other one.
			codes = append(codes, wire.CodeMethodNotFound)
		}
		if t.Rev.Profiled {
			talk.Unserved(t, check, a, err, codes...)
			continue
		}
		// It has an id, so that silence is no answer to it.
		t.Check(check, err == nil && a.Err != nil || turnedAway(a), "an error", "%s", a.OrError(err))
	}
	talk.Alive(t, "RPC-12/alive", s)
}

// turnedAway reports whether an answer is none but for its HTTP status, by which
// what stands before a server refuses a body. 404 would say that the session is
// gone (transports, "Session Management").
func turnedAway(a wire.Answer) bool {
	return a.In.Ended && a.In.HTTP != nil && (a.In.HTTP.Status == http.StatusBadRequest || a.In.HTTP.Status == http.StatusRequestEntityTooLarge)
}

func runEnvelopes(t *engine.Trial) {
	s := t.Fresh()
	method := json.RawMessage(rawjson.Encode(s.LifeSign()))
	id := s.NewID()
	a, err := s.Provoke(t.Ctx, id, wire.EditedMessage(s, id, s.LifeSign(), map[string]json.RawMessage{"x-trace": json.RawMessage(`{"a":1}`), "Params": json.RawMessage(`[]`)}))
	t.Check("RPC-19/members", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))

	t.Step(s)
	id = s.NewID()
	a, err = talk.Refusal(t, s, id, wire.EditedMessage(s, id, s.LifeSign(), map[string]json.RawMessage{"method": nil, "Method": method}))
	talk.Unserved(t, "RPC-20/case", a, err, wire.CodeInvalidRequest)

	t.Step(s)
	id = s.NewID()
	double := bytes.Replace(s.Message(id, s.LifeSign(), nil), []byte(`"jsonrpc"`), fmt.Appendf(nil, `"method":%s,"jsonrpc"`, rawjson.Encode(fixture.NoMethod)), 1)
	a, err = talk.Refusal(t, s, id, double)
	if t.NeedsProfile("RPC-20/twice") { // what it means is not settled, only that it is no good message
		talk.Unserved(t, "RPC-20/twice", a, err, wire.CodeInvalidRequest)
	}

	t.Step(s)
	id = s.NewID()
	a, err = talk.Refusal(t, s, id, wire.EditedMessage(s, id, s.LifeSign(), map[string]json.RawMessage{"result": json.RawMessage(`{}`)}))
	talk.Unserved(t, "RPC-07/result", a, err, wire.CodeInvalidRequest)

	t.Step(s)
	a, err = talk.Refusal(t, s, "", []byte(`{}`))
	talk.Unserved(t, "X-WIRE-01/empty", a, err, wire.CodeInvalidRequest)

	t.Step(s)
	for _, scalar := range []string{`"ping"`, `7`, `true`, `null`} {
		a, err = talk.Refusal(t, s, "", []byte(scalar))
		if t.Rev.Profiled && !a.HasCode(err, wire.CodeInvalidRequest) || err == nil && a.Err == nil {
			t.Fail("X-WIRE-01/scalar", "error -32600", "%s: %s", scalar, a.OrError(err))
		}
	}
	if !t.Decided("X-WIRE-01/scalar") {
		t.Pass("X-WIRE-01/scalar")
	}
	talk.Alive(t, "RPC-20/alive", s)
}

func runSizes(t *engine.Trial) {
	meta := func(value any) map[string]any {
		return map[string]any{"_meta": map[string]any{"com.example/padding": value}}
	}
	ask := func(check, method string, params any, ok func(a wire.Answer, err error) bool, expected string) {
		s := t.Shared()
		id, wait := s.NewID(), s.Timeout
		s.Timeout = 3 * wait // what is large takes its time on a busy machine
		a, err := s.Ask(t.Ctx, id, s.Message(id, method, params))
		s.Timeout = wait
		t.Check(check, ok(a, err), expected, "%s", a.OrError(err))
		if err != nil {
			t.Rev.CloseShared()
		}
	}
	served := func(a wire.Answer, err error) bool { return err == nil && a.Err == nil }
	answered := func(a wire.Answer, err error) bool { return err == nil || turnedAway(a) }
	sign := mcp.MethodPing
	if t.Rev.Stateless() {
		sign = mcp.MethodDiscover
	}
	many := map[string]any{}
	for i := range 20_000 {
		many[fmt.Sprintf("com.example/m%d", i)] = i
	}
	for _, c := range []struct {
		check, method string
		params        any
		ok            func(a wire.Answer, err error) bool
		expected      string
	}{
		{"RPC-22/mebibyte", sign, meta(strings.Repeat("x", 1<<20)), served, "a result"},
		{"RPC-22/large", sign, meta(strings.Repeat("x", t.Rev.Suite.MaxRequest)), answered, "an answer"},
		{"RPC-22/wide", sign, map[string]any{"_meta": many}, answered, "an answer"},
		{"RPC-22/method", "x/" + strings.Repeat("m", 4000), nil, func(a wire.Answer, err error) bool { return a.HasCode(err, wire.CodeMethodNotFound) }, "error -32601"},
		{"RPC-22/digits", sign, meta(json.RawMessage(strings.Repeat("9", 40))), served, "a result"},
	} {
		ask(c.check, c.method, c.params, c.ok, c.expected)
	}
	s := t.Fresh()
	id := string(rawjson.Encode("i-" + strings.Repeat("i", 4000)))
	a, err := s.Ask(t.Ctx, id, s.Message(id, sign, nil))
	t.Check("RPC-22/id", err == nil && a.In.ID() == id, "an answer with that id", "%s", a.OrError(err))

	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	id = s.NewID()
	s.Pending[id] = false                                                                                                     // expect cannot read what is nested so deep
	_, _ = s.Provoke(t.Ctx, id, wire.EditedMessage(s, id, sign, map[string]json.RawMessage{"params": json.RawMessage(deep)})) // any answer will do
	talk.Alive(t, "RPC-22/deep", s)
}
