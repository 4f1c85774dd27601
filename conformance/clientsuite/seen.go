package clientsuite

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// seenCheck is a check of all that was sent, whatever the scenario.
type seenCheck struct {
	check
	// want is what is expected of a message.
	want string
	// look calls about for each message of a trial that the rule is about; wrong
	// says what is not as it should be, or is empty.
	look func(t *trial, about func(m *message, wrong string))
}

// each is a look at one message at a time.
func each(look func(t *trial, m *message) (about bool, wrong string)) func(*trial, func(*message, string)) {
	return func(t *trial, yield func(*message, string)) {
		for _, m := range t.tape.all() {
			if about, wrong := look(t, m); about {
				yield(m, wrong)
			}
		}
	}
}

// observed is a scenario of such checks: one passes when at least one message was
// about it and none was wrong. Where none was, the check is unknown, or skipped
// when it is about something optional.
func observed(sc scenario, checks []seenCheck) scenario {
	for _, c := range checks {
		sc.checks = append(sc.checks, c.check)
	}
	sc.seen = func(t *trial, all []*trial) {
		for _, c := range checks {
			t.observe(c, all)
		}
	}
	return sc
}

func (t *trial) observe(c seenCheck, all []*trial) {
	met := 0
	var in *trial
	var bad *message
	var got string
	for _, other := range all {
		if in != nil {
			break
		}
		c.look(other, func(m *message, wrong string) {
			met++
			if wrong != "" && in == nil {
				in, bad, got = other, m, wrong
			}
		})
	}
	switch {
	case in != nil:
		status := conformance.Warn
		if c.Level == conformance.Must {
			status = conformance.Fail
		}
		t.decide(c.ID, conformance.Result{
			Status: status, Expected: c.want, Actual: fmt.Sprintf("%s, in %s", got, in.scenario.id), Evidence: bad.evidence(),
		})
	case met > 0:
		t.check(c.ID, true, "", "")
	case c.unused != "":
		t.skip(c.ID, conformance.SkipNotDeclared, c.unused)
	default:
		t.decide(c.ID, conformance.Result{Status: conformance.Inconclusive, Detail: "no message of the run was about this"})
	}
}

// evidence is the message as a frame.
func (m *message) evidence() []conformance.Frame {
	f := conformance.Frame{At: m.at, Dir: conformance.ToServer, Data: m.data[:min(len(m.data), keptBytes)], Size: len(m.data)}
	if m.verb != "" {
		f.HTTP = &conformance.HTTPInfo{Method: m.verb, ContentType: m.header.Get("Content-Type"), Header: public(m.header)}
	}
	return []conformance.Frame{f}
}

// probing reports whether m is how a client of both eras finds out the era:
// before a server of one it may speak as to one of the other.
func (t *trial) probing(m *message) bool {
	if t.rev.stateless() {
		return m.method() == mcp.MethodInitialize || m.method() == mcp.MethodInitialized
	}
	return m.method() == mcp.MethodDiscover
}
