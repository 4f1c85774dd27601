package checks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// rule, advice and promised make a check of that level; a promised one binds
// the servers that announce our error profiles.
func rule(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Must, Spec: spec}
}

func recommended(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Should, Spec: spec}
}

func advised(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Advice, Spec: spec}
}

func promised(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Should, House: conformance.Must, Spec: spec}
}

// houseRule is advice to most servers, and a rule for those that announce the
// error profiles of this project.
func houseRule(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Advice, House: conformance.Must, Spec: spec}
}

func requestScenarios() []conformance.Scenario {
	jsonRPC := conformance.Spec{Section: "basic#messages", Quote: "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."}
	ids := conformance.Spec{Section: "basic#requests", Quote: "Requests MUST include a string or integer ID."}
	null := conformance.Spec{Section: "basic#requests", Quote: "Unlike base JSON-RPC, the ID MUST NOT be null."}
	schema := conformance.Spec{Section: "schema#jsonrpcrequest", Quote: "A request that expects a response."}
	bounds := conformance.Spec{Seed: "RPC-22"}
	return []conformance.Scenario{
		{
			ID: "RPC-02", Area: "base", Title: "ids that no request may have",
			Checks: []conformance.Check{
				houseRule("RPC-02/null", "a request with the id null is not served", null),
				houseRule("RPC-02/fraction", "a request with a fraction for an id is not served", ids),
				houseRule("RPC-02/boolean", "a request with a boolean for an id is not served", ids),
				houseRule("RPC-02/object", "a request with an object for an id is not served", ids),
				houseRule("RPC-02/array", "a request with an array for an id is not served", ids),
				houseRule("RPC-02/alive", "the next valid request is answered", jsonRPC),
			},
			Run: runWrongIDs,
		},
		{
			ID: "RPC-12", Area: "base", Title: "params that are no object",
			Checks: []conformance.Check{
				houseRule("RPC-12/array", "params in an array are refused", schema),
				houseRule("RPC-12/string", "a text for params is refused", schema),
				houseRule("RPC-12/number", "a number for params is refused", schema),
				houseRule("RPC-12/null", "a request with params null is answered", jsonRPC),
				houseRule("RPC-12/meta", "a _meta that is no object is refused", conformance.Spec{Section: "basic#_meta", Quote: "The _meta property/parameter is reserved by MCP to allow clients and servers to attach additional metadata to their interactions."}),
				houseRule("RPC-12/alive", "the next valid request is answered", jsonRPC),
			},
			Run: runWrongParams,
		},
		{
			ID: "RPC-20", Area: "base", Title: "members of the envelope",
			Checks: []conformance.Check{
				houseRule("RPC-19/members", "members nobody knows beside method and params are passed over", conformance.Spec{Seed: "RPC-19"}),
				houseRule("RPC-20/case", "names of members have a case: Method is not method", conformance.Spec{Seed: "RPC-20"}),
				promised("RPC-20/twice", "a message with the same member twice is not served", conformance.Spec{Seed: "RPC-20 (RFC 8259, 4)"}),
				houseRule("RPC-07/result", "a message with a method and a result is not served", conformance.Spec{Section: "basic#responses", Quote: "Responses are sent in reply to requests, containing either the result or error of the operation."}),
				houseRule("X-WIRE-01/empty", "an empty object is answered with -32600, or not at all", jsonRPC),
				houseRule("X-WIRE-01/scalar", "a message that is a text, a number, true or null is not served", jsonRPC),
				houseRule("RPC-20/alive", "the next valid request is answered", jsonRPC),
			},
			Run: runEnvelopes,
		},
		{
			ID: "RPC-22", Area: "base", Title: "messages of unusual size",
			Checks: []conformance.Check{
				houseRule("RPC-22/mebibyte", "a request of 1 MiB is served", bounds),
				houseRule("RPC-22/large", "a request of 8 MiB is served or refused, and not ignored", bounds),
				houseRule("RPC-22/deep", "a message nested 10,000 deep does not end the session", bounds),
				houseRule("RPC-22/wide", "a request with 20,000 members in _meta is answered", bounds),
				rule("RPC-22/method", "a method of 4,000 letters is answered with -32601", jsonRPC),
				houseRule("RPC-22/id", "an id of 4,000 letters comes back as it was", ids),
				houseRule("RPC-22/digits", "a number of 40 digits in _meta does not disturb", bounds),
			},
			Run: runSizes,
		},
	}
}

// edited returns a request as the revision has it, with other members: nil
// removes one.
func edited(s *wire.Session, id, method string, members map[string]json.RawMessage) []byte {
	all := wire.Received(s.Message(id, method, nil), nil).Members
	for name, value := range members {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return rawjson.Encode(all)
}

// checkUnserved decides that a message that is no request was not taken for
// one: an error, for servers that promise more one of the codes, or silence.
func checkUnserved(t *conformance.Trial, id string, a wire.Answer, err error, codes ...int64) {
	if t.Rev.House {
		t.Check(id, a.HasCode(err, codes...), fmt.Sprintf("error %d", codes[0]), "%s", a.OrError(err))
		return
	}
	t.Check(id, err != nil || a.Err != nil, "an error, or no answer", "%s", a.OrError(err))
}

func runWrongIDs(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	for check, id := range pairs("RPC-02/null", "null", "RPC-02/fraction", "1.5", "RPC-02/boolean", "true", "RPC-02/object", `{"a":1}`, "RPC-02/array", `[1]`) {
		t.Step(s)
		data := edited(s, `"x"`, s.LifeSign(), map[string]json.RawMessage{"id": json.RawMessage(id)})
		a, err := refusalOf(t, s, id, data)
		checkUnserved(t, check, a, err, wire.CodeInvalidRequest)
	}
	return alive(t, "RPC-02/alive", s)
}

// refusalOf sends a message that no server need answer and returns what it says:
// with the id of the message or with null, for both are right for one whose id
// is no id.
func refusalOf(t *conformance.Trial, s *wire.Session, id string, data []byte) (wire.Answer, error) {
	sent, err := s.Send(t.Ctx, data)
	if err != nil {
		return wire.Answer{}, err
	}
	wait := s.Wait
	if sent == nil {
		if _, err := s.Settle(t.Ctx); err != nil {
			return wire.Answer{}, fmt.Errorf("the ping after it: %w", err)
		}
		s.Wait = min(wait, wire.Lag)
	}
	in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
		if sent != nil {
			return in.To == sent.Token && (in.Ended || in.IsResponse())
		}
		got := in.ID()
		return in.IsResponse() && (got == "" || got == "null" || got == id)
	})
	s.Wait = wait
	delete(s.Pending, id)
	switch {
	case err == nil && in.Ended:
		err = s.Unanswered(in)
	case sent == nil && errors.Is(err, wire.ErrNoAnswer):
		s.Doubt = nil // the ping after it was answered
	}
	return wire.ToAnswer(in), err
}

func runWrongParams(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	for check, params := range pairs("RPC-12/array", `["a"]`, "RPC-12/string", `"a"`, "RPC-12/number", `7`, "RPC-12/null", `null`, "RPC-12/meta", `{"_meta":7}`) {
		t.Step(s)
		id := s.NewID()
		data := edited(s, id, s.LifeSign(), map[string]json.RawMessage{"params": json.RawMessage(params)})
		a, err := s.Provoke(t.Ctx, id, data)
		if check == "RPC-12/null" {
			t.Check(check, err == nil || turnedAway(a), "an answer", "%s", a.OrError(err))
			continue
		}
		codes := []int64{wire.CodeInvalidParams, wire.CodeInvalidRequest}
		switch {
		case !t.Rev.Stateless():
		case s.Conn.Transport() == wire.TransportHTTP:
			codes = append(codes, wire.CodeHeader) // the headers say more than the body
		default:
			// What says which revision it is of is missing, too: to a server
			// of both eras it is a method of the other one.
			codes = append(codes, wire.CodeMethodNotFound)
		}
		if t.Rev.House {
			checkUnserved(t, check, a, err, codes...)
			continue
		}
		// It has an id, so that silence is no answer to it.
		t.Check(check, err == nil && a.Err != nil || turnedAway(a), "an error", "%s", a.OrError(err))
	}
	return alive(t, "RPC-12/alive", s)
}

// turnedAway reports whether an answer is none but for its HTTP status, by which
// what stands before a server refuses a body. 404 would say that the session is
// gone (transports, "Session Management").
func turnedAway(a wire.Answer) bool {
	return a.In.Ended && a.In.HTTP != nil && (a.In.HTTP.Status == http.StatusBadRequest || a.In.HTTP.Status == http.StatusRequestEntityTooLarge)
}

func runEnvelopes(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	method := json.RawMessage(rawjson.Encode(s.LifeSign()))
	id := s.NewID()
	a, err := s.Provoke(t.Ctx, id, edited(s, id, s.LifeSign(), map[string]json.RawMessage{"x-trace": json.RawMessage(`{"a":1}`), "Params": json.RawMessage(`[]`)}))
	t.Check("RPC-19/members", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))

	t.Step(s)
	id = s.NewID()
	a, err = refusalOf(t, s, id, edited(s, id, s.LifeSign(), map[string]json.RawMessage{"method": nil, "Method": method}))
	checkUnserved(t, "RPC-20/case", a, err, wire.CodeInvalidRequest)

	t.Step(s)
	id = s.NewID()
	double := bytes.Replace(s.Message(id, s.LifeSign(), nil), []byte(`"jsonrpc"`), fmt.Appendf(nil, `"method":%s,"jsonrpc"`, rawjson.Encode(unknownMethod)), 1)
	a, err = refusalOf(t, s, id, double)
	if t.ForHouse("RPC-20/twice") { // what it means is not settled, only that it is no good message
		checkUnserved(t, "RPC-20/twice", a, err, wire.CodeInvalidRequest)
	}

	t.Step(s)
	id = s.NewID()
	a, err = refusalOf(t, s, id, edited(s, id, s.LifeSign(), map[string]json.RawMessage{"result": json.RawMessage(`{}`)}))
	checkUnserved(t, "RPC-07/result", a, err, wire.CodeInvalidRequest)

	t.Step(s)
	a, err = refusalOf(t, s, "", []byte(`{}`))
	checkUnserved(t, "X-WIRE-01/empty", a, err, wire.CodeInvalidRequest)

	t.Step(s)
	for _, scalar := range []string{`"ping"`, `7`, `true`, `null`} {
		a, err = refusalOf(t, s, "", []byte(scalar))
		if t.Rev.House && !a.HasCode(err, wire.CodeInvalidRequest) || err == nil && a.Err == nil {
			t.Fail("X-WIRE-01/scalar", "error -32600", "%s: %s", scalar, a.OrError(err))
		}
	}
	if !t.Decided("X-WIRE-01/scalar") {
		t.Pass("X-WIRE-01/scalar")
	}
	return alive(t, "RPC-20/alive", s)
}

func runSizes(t *conformance.Trial) error {
	meta := func(value any) map[string]any {
		return map[string]any{"_meta": map[string]any{"com.example/padding": value}}
	}
	ask := func(check, method string, params any, ok func(a wire.Answer, err error) bool, expected string) error {
		s, err := t.Shared()
		if err != nil {
			return err
		}
		id, wait := s.NewID(), s.Wait
		s.Wait = 3 * wait // what is large takes its time on a busy machine
		a, err := s.Ask(t.Ctx, id, s.Message(id, method, params))
		s.Wait = wait
		t.Check(check, ok(a, err), expected, "%s", a.OrError(err))
		if err != nil {
			t.Rev.CloseShared()
		}
		return nil
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
		{"RPC-22/large", sign, meta(strings.Repeat("x", t.Rev.Opts.Largest)), answered, "an answer"},
		{"RPC-22/wide", sign, map[string]any{"_meta": many}, answered, "an answer"},
		{"RPC-22/method", "x/" + strings.Repeat("m", 4000), nil, func(a wire.Answer, err error) bool { return a.HasCode(err, wire.CodeMethodNotFound) }, "error -32601"},
		{"RPC-22/digits", sign, meta(json.RawMessage(strings.Repeat("9", 40))), served, "a result"},
	} {
		if err := ask(c.check, c.method, c.params, c.ok, c.expected); err != nil {
			return err
		}
	}
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	id := string(rawjson.Encode("i-" + strings.Repeat("i", 4000)))
	a, err := s.Ask(t.Ctx, id, s.Message(id, sign, nil))
	t.Check("RPC-22/id", err == nil && a.In.ID() == id, "an answer with that id", "%s", a.OrError(err))

	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	id = s.NewID()
	s.Pending[id] = false                                                                                         // expect cannot read what is nested so deep
	_, _ = s.Provoke(t.Ctx, id, edited(s, id, sign, map[string]json.RawMessage{"params": json.RawMessage(deep)})) // any answer will do
	return alive(t, "RPC-22/deep", s)
}
