package clientsuite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/login"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// scenario is one run of the client and the checks it decides.
type scenario struct {
	id, area, title string
	// since and until bound the revisions, both included; empty means no bound.
	since, until mcp.Version
	// transport is the only one the scenario is about; empty for all.
	transport conformance.TransportKind
	checks    []check
	// play arranges the server, runs the client and judges. One of seen and play
	// is set.
	play func(t *trial)
	// seen judges what was sent in all other scenarios, after them.
	seen func(t *trial, all []*trial)
}

// check is a check, and where its rule stands in the stateless era, when that is
// another place.
type check struct {
	conformance.Check
	modern conformance.Spec
	// advice is where the rule stands for HTTP, when it is only advice there.
	advice conformance.Spec
	// unused says that no message was about the rule, where no client has to send
	// such a message: empty where each must.
	unused string
}

// spec is a sentence of the specification.
func spec(section, quote string) conformance.Spec {
	return conformance.Spec{Section: section, Quote: quote}
}

// row is a requirement of this project's dossiers, for what the specification
// leaves open.
func row(id string) conformance.Spec { return conformance.Spec{Seed: id} }

func must(id, title string, s conformance.Spec) check {
	return check{Check: conformance.Check{ID: id, Title: title, Level: conformance.Must, Spec: s}}
}

func should(id, title string, s conformance.Spec) check {
	return check{Check: conformance.Check{ID: id, Title: title, Level: conformance.Should, Spec: s}}
}

// advised is what this suite advises, and no sentence of the specification asks
// clients for.
func advised(id, title string, s conformance.Spec) check {
	return check{Check: conformance.Check{ID: id, Title: title, Level: conformance.Advice, Spec: s}}
}

// or says where the rule stands in the stateless era.
func (c check) or(s conformance.Spec) check {
	c.modern = s
	return c
}

// advisedOverHTTP says where the rule is one of HTTP, and only advice.
func (c check) advisedOverHTTP(s conformance.Spec) check {
	c.advice = s
	return c
}

// optional marks a rule about what a client may do without: where it did, the
// check is skipped and says unused.
func (c check) optional(unused string) check {
	c.unused = unused
	return c
}

// from is the first revision that has the rule.
func (c check) from(v mcp.Version) check {
	c.Since = v
	return c
}

// official names scenarios of the official suite that look at the same rule.
func (c check) official(names ...string) check {
	c.Official = names
	return c
}

// trial is one scenario being run. It belongs to one goroutine.
type trial struct {
	*run
	scenario *scenario
	results  []conformance.Result
	last     time.Time
	// seenLogin is what came of a scenario of the area auth.
	seenLogin *login.View
	// because says why what is left undecided was not looked at.
	because string
}

// check decides a check: ok passes it, else it fails or warns by its level.
func (t *trial) check(id string, ok bool, expected, actual string, args ...any) {
	if ok {
		t.decide(id, conformance.Result{Status: conformance.Pass})
		return
	}
	if len(args) > 0 {
		actual = fmt.Sprintf(actual, args...)
	}
	status := conformance.Warn
	if t.level(t.find(id)) == conformance.Must {
		status = conformance.Fail
	}
	t.decide(id, conformance.Result{Status: status, Expected: expected, Actual: actual, Evidence: t.evidence()})
}

func (t *trial) skip(id string, reason conformance.SkipReason, detail string) {
	t.decide(id, conformance.Result{Status: conformance.Skip, Reason: reason, Detail: detail})
}

// needs reports ok, and where it is not so says why what is left is unknown.
func (t *trial) needs(ok bool, detail string) bool {
	if !ok && t.because == "" {
		t.because = detail
	}
	return ok
}

// told decides a check by what the client reported of its ith step of this
// scenario, from 0, not counting connect.
func (t *trial) told(id string, i int, ok func(Line) bool, expected string) {
	lines := t.reported(i)
	if len(lines) == 0 {
		t.silent(id)
		return
	}
	for _, l := range lines {
		if l.Outcome == OutcomeUnsupported {
			t.skip(id, conformance.SkipNotDeclared, "the client says that it does not have this")
			return
		}
		if !ok(l) {
			t.check(id, false, expected, "%s", l.String())
			return
		}
	}
	t.check(id, true, "", "")
}

// silent leaves a check undecided for which the client did not report.
func (t *trial) silent(id string) {
	switch {
	case t.rev.tells && t.over == 0 && t.err == nil:
		t.check(id, false, "a report of this step", "none until the client was killed, after %s", t.rev.opts.Timeout)
		return
	case t.rev.tells:
		t.decide(id, conformance.Result{Status: conformance.Inconclusive, Detail: "the client reported nothing of this step" + t.how()})
		return
	}
	t.skip(id, conformance.SkipNotDeclared, "the client does not report what it concludes")
}

// String is the line for people.
func (l Line) String() string {
	out := "reported " + string(l.Outcome)
	if l.Code != 0 {
		out += fmt.Sprintf(" %d", l.Code)
	}
	if l.Message != "" {
		out += ": " + l.Message
	} else if len(l.Result) > 0 {
		out += " " + string(l.Result)
	}
	if len(out) > 200 {
		out = strings.ToValidUTF8(out[:200], "") + "…"
	}
	return out
}

// cut takes back what was decided while the run was ended: it may be the end that
// was seen, not the client.
func (t *trial) cut() {
	t.results = slices.DeleteFunc(t.results, func(r conformance.Result) bool { return r.Status != conformance.Skip })
	t.because = "the run ended before this was judged"
}

func (t *trial) find(id string) *check {
	for i := range t.scenario.checks {
		if t.scenario.checks[i].ID == id {
			return &t.scenario.checks[i]
		}
	}
	panic("clientsuite: scenario " + t.scenario.id + " has no check " + id) //nolint:forbidigo // a bug in a scenario, which its own test meets
}

// level is the level of a check where the client is.
func (t *trial) level(c *check) conformance.Level {
	if t.rev.opts.Transport == conformance.TransportHTTP && c.advice != (conformance.Spec{}) {
		return conformance.Should
	}
	return c.Level
}

// decide records an outcome. The first of a check stands.
func (t *trial) decide(id string, r conformance.Result) {
	c := t.find(id)
	if slices.ContainsFunc(t.results, func(r conformance.Result) bool { return r.ID == id }) {
		return
	}
	r.Check, r.Level = c.Check, t.level(c)
	if r.Level != c.Level {
		r.Spec = c.advice
	}
	if t.rev.stateless() && c.modern != (conformance.Spec{}) {
		r.Spec = c.modern
	}
	r.Scenario, r.Area, r.Revision = t.scenario.id, t.scenario.area, t.rev.revision
	if r.Status != conformance.Skip {
		r.Attempts = 1
		if r.Status != conformance.Pass {
			r.Bad = 1
		}
	}
	now := time.Now()
	r.Duration, t.last = now.Sub(t.last), now
	t.results = append(t.results, r)
}

// finish decides what the scenario left open.
func (t *trial) finish() {
	unsupported := slices.ContainsFunc(t.lines, func(l Line) bool { return l.Outcome == OutcomeUnsupported })
	for _, c := range t.scenario.checks {
		if unsupported {
			t.skip(c.ID, conformance.SkipNotDeclared, "the client says that it does not have this")
			continue
		}
		detail := t.because
		if detail == "" {
			detail = "not reached"
		}
		t.decide(c.ID, conformance.Result{Status: conformance.Inconclusive, Detail: detail + t.how(), Evidence: t.evidence()})
	}
}
