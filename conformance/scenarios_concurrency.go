package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// inFlight is how many calls X-WIRE-12 has open at once.
const inFlight = 200

func concurrencyScenarios() []Scenario {
	spec := Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}
	return []Scenario{
		{
			ID: "X-WIRE-12", Area: "concurrency", Title: "200 requests at once",
			Checks: []Check{{ID: "X-WIRE-12/pings", Title: "200 small requests sent at once are each answered once", Level: Must, Spec: spec}},
			run:    runManyPings,
		},
		{
			ID: "X-WIRE-12-CALLS", Area: "concurrency", Title: "200 calls at once",
			Needs: Needs{Capability: "tools", Family: familyArtifact, Tools: []string{toolValidate}, SideEffects: SideEffectsReadOnly},
			Checks: []Check{
				{ID: "X-WIRE-12/calls", Title: "200 calls sent at once are each answered once", Level: Must, Spec: spec},
				{ID: "X-WIRE-12/cross-talk", Title: "each answer belongs to its own call", Level: Must, Spec: spec},
			},
			run: runManyCalls,
		},
	}
}

func runManyPings(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	var ids []string
	for range inFlight {
		id, err := s.post(t.ctx, s.lifeSign(), nil)
		if err != nil {
			t.fail("X-WIRE-12/pings", "200 answers", "request %d: %v", len(ids)+1, err)
			return err
		}
		ids = append(ids, id)
	}
	for i, id := range ids {
		if a, err := s.await(t.ctx, id); err != nil || a.err != nil {
			t.fail("X-WIRE-12/pings", "200 answers", "request %d: %s", i+1, a.orError(err))
			return err
		}
	}
	t.pass("X-WIRE-12/pings")
	return nil
}

// runManyCalls mixes artifacts that pass with ones that do not: an answer at
// the wrong call shows.
func runManyCalls(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	type call struct {
		id   string
		pass bool
	}
	var calls []call
	for i := range inFlight {
		arguments := validateArguments(prd(), idPRD)
		good := i%3 != 0
		if !good {
			arguments["artifact_content"] = prdWithout(prdSection)
		}
		id, err := s.post(t.ctx, mcp.MethodToolsCall, callParams(toolValidate, arguments))
		if err != nil {
			t.fail("X-WIRE-12/calls", "200 answers", "call %d: %v", i+1, err)
			return err
		}
		calls = append(calls, call{id, good})
	}
	mixed := ""
	for i, c := range calls {
		a, err := s.await(t.ctx, c.id)
		if err != nil || a.err != nil {
			t.fail("X-WIRE-12/calls", "200 results", "call %d: %s", i+1, a.orError(err))
			return err
		}
		got, err := a.payload()
		if err != nil {
			return err
		}
		var passed bool
		if json.Unmarshal(got["passed"], &passed) != nil || passed != c.pass {
			mixed = fmt.Sprintf("call %d: passed %s", i+1, orAbsent(got["passed"]))
		}
	}
	t.pass("X-WIRE-12/calls")
	t.check("X-WIRE-12/cross-talk", mixed == "", "the verdict of its own text", mixed)
	return nil
}
