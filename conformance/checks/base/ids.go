package base

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/message"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

func idScenarios() []conformance.Scenario {
	spec := conformance.Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}
	return []conformance.Scenario{{
		ID: "X-WIRE-04", Area: "base", Title: "ids come back with the same value and JSON type",
		Checks: []conformance.Check{
			{ID: "X-WIRE-04/string", Title: "a string id that looks like a number stays a string", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/integer", Title: "an integer id stays an integer", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/uuid", Title: "a UUID comes back as it was", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/zero", Title: "the id 0 is an id", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/negative", Title: "a negative id comes back as it was", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/large", Title: "the largest integer every JSON reader keeps comes back exactly", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/unicode", Title: "an id beyond ASCII comes back as it was", Level: conformance.Must, Spec: spec},
			{ID: "X-WIRE-04/error", Title: "an error answer has the id of its request, too", Level: conformance.Must, Spec: spec},
		},
		Run: runIDs,
	}}
}

func runIDs(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	for check, id := range rule.Pairs(
		"X-WIRE-04/string", `"7"`,
		"X-WIRE-04/integer", `7`,
		"X-WIRE-04/uuid", `"0b6c2f5e-6a3d-4c43-9f7e-2a1d8c5b9e04"`,
		"X-WIRE-04/zero", `0`,
		"X-WIRE-04/negative", `-3`,
		"X-WIRE-04/large", `9007199254740991`,
		"X-WIRE-04/unicode", `"größe-\"\\\u0001-日本-🦊"`,
		"X-WIRE-04/error", `"e-1"`,
	) {
		method := s.LifeSign()
		if check == "X-WIRE-04/error" {
			method = nosuch.Method
		}
		t.Step(s)
		// Any response counts, for one with another id is what is looked for.
		_, err := s.Send(t.Ctx, s.Message(id, method, nil))
		if err != nil {
			return err
		}
		in, err := s.Next(t.Ctx, func(in wire.Inbound) bool { return in.IsResponse() || in.Ended && in.To == id })
		if err != nil {
			t.Fail(check, "a response with id "+id, err.Error())
			return err
		}
		t.Check(check, message.SameID(in.Members["id"], id), "id "+id, "id %s", rawjson.OrAbsent(in.Members["id"]))
	}
	return nil
}
