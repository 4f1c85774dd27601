package base

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

func idScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "X-WIRE-04", Gentle: true, Run: runIDs}}
}

func runIDs(t *engine.Trial) {
	s := t.Shared()
	for _, each := range [][2]string{
		{"X-WIRE-04/string", `"7"`},
		{"X-WIRE-04/integer", `7`},
		{"X-WIRE-04/uuid", `"0b6c2f5e-6a3d-4c43-9f7e-2a1d8c5b9e04"`},
		{"X-WIRE-04/case", `"AbC-dEf-1"`},
		{"X-WIRE-04/zero", `0`},
		{"X-WIRE-04/negative", `-3`},
		{"X-WIRE-04/large", `9007199254740991`},
		{"X-WIRE-04/unicode", `"größe-\"\\\u0001-日本-🦊"`},
		{"X-WIRE-04/error", `"e-1"`},
	} {
		check, id := each[0], each[1]
		method := s.LifeSign()
		if check == "X-WIRE-04/error" {
			if !t.MayProvoke() {
				return
			}
			method = fixture.NoMethod
		}
		t.Step(s)
		_, err := s.Send(t.Ctx, s.Message(id, method, nil))
		t.NoError(err)
		in, err := firstAnswer(t, s, id)
		if err != nil {
			t.Fail(check, "a response with id "+id, err.Error())
			t.Stop(err)
		}
		t.Check(check, wire.SameID(in.Members["id"], id), "id "+id, "id %s", rawjson.OrAbsent(in.Members["id"]))
	}
}

// firstAnswer returns the first response that comes: one with another id is what is looked for. Those with
// the id of an earlier request may be second answers to that, which another check judges: the right one
// may follow.
func firstAnswer(t *engine.Trial, s *wire.Session, id string) (wire.Inbound, error) {
	wait := s.Timeout
	defer func() { s.Timeout = wait }()
	var again *wire.Inbound
	for {
		in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
			return in.IsResponse() && (in.To == "" || in.To == id) || in.Ended && in.To == id
		})
		if err != nil && again != nil {
			s.Doubt = nil
			return *again, nil
		}
		_, earlier := s.Pending[in.ID()]
		if err != nil || !earlier || wire.SameID(in.Members["id"], id) {
			return in, err
		}
		if again == nil {
			again, s.Timeout = &in, min(wait, wire.Lag)
		}
	}
}
