package trial

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Rule is a check of all traffic, of every scenario.
type Rule struct {
	ID string
	// Want is what the rule expects of a message.
	Want string
	// Each judges one message: whether the rule is about it, and what is wrong with it,
	// "" for nothing. Look is set instead when the rule compares messages: it calls about
	// for each.
	Each func(t *Trial, m *peer.Message) (about bool, wrong string)
	Look func(t *Trial, about func(m *peer.Message, wrong string))
	// Unused is the reason of the skip when no message was about the rule. It is empty
	// where each client must send such a message: then the check is inconclusive.
	Unused string
}

// Passive returns the scenario that judges the traffic of all others by rules.
func Passive(id string, rules ...Rule) Scenario {
	return Scenario{ID: id, Judge: func(t *Trial, all []*Trial) {
		for _, r := range rules {
			t.apply(r, all)
		}
	}}
}

// apply decides a check: it passes if at least one message was about the rule, and none
// was wrong.
func (t *Trial) apply(rule Rule, all []*Trial) {
	met := 0
	var in *Trial
	var bad *peer.Message
	var got string
	for _, other := range all {
		if in != nil {
			break
		}
		rule.look(other, func(m *peer.Message, wrong string) {
			met++
			if wrong != "" && in == nil {
				in, bad, got = other, m, wrong
			}
		})
	}
	switch {
	case in != nil:
		t.decide(rule.ID, conformance.Result{
			Status: t.broken(rule.ID), Expected: rule.Want, Actual: fmt.Sprintf("%s, in %s", got, in.Scenario.ID), Evidence: []conformance.Frame{bad.Evidence()},
		})
	case met > 0:
		t.Check(rule.ID, true, "", "")
	case rule.Unused != "":
		t.Skip(rule.ID, rule.Unused)
	default:
		t.decide(rule.ID, conformance.Result{Status: conformance.Inconclusive, Detail: "no message of the run was about this"})
	}
}

func (rule *Rule) look(t *Trial, about func(m *peer.Message, wrong string)) {
	if rule.Look != nil {
		rule.Look(t, about)
		return
	}
	for _, m := range t.Tape.Messages() {
		if is, wrong := rule.Each(t, m); is {
			about(m, wrong)
		}
	}
}

// IsProbe reports whether m looks for a server of the other era. Clients of both eras send
// it, so the rules of this era do not apply to it.
func (t *Trial) IsProbe(m *peer.Message) bool {
	if t.Stateless() {
		return m.Method() == mcp.MethodInitialize || m.Method() == mcp.MethodInitialized
	}
	return m.Method() == mcp.MethodDiscover
}
