package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
)

// observedScenarios judge every message the subject sent in the whole run.
func observedScenarios() []engine.Scenario {
	base := engine.Scenario{ID: "SEEN-BASE"}
	requests := engine.Scenario{ID: "SEEN-REQUESTS"}
	results := engine.Scenario{ID: "SEEN-CALLS", Needs: engine.Needs{Capability: "tools"}}
	stdio := engine.Scenario{ID: "SEEN-STDIO", Needs: engine.Needs{Transport: conformance.TransportStdio}}
	http := engine.Scenario{ID: "SEEN-HTTP", Needs: engine.Needs{Transport: conformance.TransportHTTP}}
	asked := engine.Scenario{ID: "SEEN-ASKED"}
	all := []engine.Scenario{base, requests, results, stdio, http, asked}
	for i := range all {
		all[i].Gentle, all[i].Last, all[i].Run = true, true, Judge
	}
	return append(all, engine.Scenario{ID: "SEEN-THERE", Gentle: true, Last: true, Needs: engine.Needs{Transport: conformance.TransportHTTP}, Run: runThere})
}

// runThere looks whether a server that was lost is there again.
func runThere(t *engine.Trial) {
	scenario, frames := t.Gone()
	if scenario == "" {
		t.Pass("HTTP-28/there")
		return
	}
	t.FailBy("HTTP-28/there", frames, "an answer to each message", "the server closed the connection after these messages of "+scenario+", and nobody listens there any more")
}

// Judge decides each check by what was seen. What no message was an
// occasion for is inconclusive where every server gives one, and does not
// apply elsewhere.
func Judge(t *engine.Trial) {
	for _, c := range t.Scenario.Checks {
		looked, broken := t.Rev.Seen.Outcome(c.ID)
		switch {
		case len(broken) > 0:
			status := conformance.Fail
			if t.Level(t.Find(c.ID)) != conformance.Must {
				status = conformance.Warn
			}
			var frames []conformance.Frame
			for _, v := range broken {
				frames = append(frames, v.Frames...)
			}
			t.Decide(c.ID, status, conformance.Result{Expected: "that of all", Actual: broken[0].Fault, Evidence: frames})
		case looked > 0:
			t.Pass(c.ID)
		case t.Scenario.ID == "SEEN-REQUESTS" || t.Scenario.ID == "SEEN-ASKED" || c.ID == observe.SeenInputAsked:
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server sent none")
		case c.ID == observe.SeenOne || c.ID == observe.SeenEvent || c.ID == observe.SeenEventID:
			t.Skip(c.ID, conformance.SkipNotDeclared, "no answer had this form")
		case t.Scenario.ID == "SEEN-CALLS":
			t.Skip(c.ID, conformance.SkipNoFixture, "no call gave an occasion")
		case t.SkipUnseen(c.ID): // nothing was provoked
		default:
			t.Decide(c.ID, conformance.Inconclusive, conformance.Result{Detail: "no message gave an occasion"})
		}
	}
}
