package breaker_test

import (
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// spec is the breaker in its plainest form: one goroutine, a number as the clock,
// no engine. A test compares the breaker with it step by step. A planted fault
// shows that the comparison finds faults.
type spec struct {
	set   breaker.Settings
	fault fault

	now        time.Duration
	state      breaker.State
	gen, run   int
	probation  bool
	probe      int // the permit that is the probe, 0 when its place is free
	lease      time.Duration
	mode       breaker.Mode
	hold       time.Duration
	suspect    time.Duration
	until      time.Duration // OPEN refuses up to and including this time
	begun, len time.Duration // the cooldown: when it began, how long it is
	level      int           // cooldowns in a row that ended with a failed probe

	told []breaker.Transition // not yet compared
	seen *coverage
}

// fault is a bug that can be planted in a spec.
type fault string

const (
	none               fault = ""
	threshold6         fault = "threshold 6"
	noLease            fault = "no lease"
	holdIgnored        fault = "hold ignored"
	settleTwice        fault = "settle twice"
	neutralFails       fault = "neutral fails"
	neutralSucceeds    fault = "neutral succeeds"
	cooldown29         fault = "cooldown 29"
	twoProbes          fault = "two probes"
	probationIgnored   fault = "probation ignored"
	fatalIsOne         fault = "fatal is one"
	lateSuccess        fault = "late success"
	holdShrinks        fault = "hold shrinks"
	openEndsAtCooldown fault = "open ends at cooldown"
	tentativeEndsRun   fault = "tentative ends run"
	tentativeIsProof   fault = "tentative is proof"
	suspectIgnored     fault = "suspect ignored"
	forceIgnored       fault = "force ignored"
	bypassCounts       fault = "bypass counts"
	bypassIgnoresHold  fault = "bypass ignores hold"
	tripIgnored        fault = "trip ignored"
	retractIgnored     fault = "retract ignored"
	retractLate        fault = "retract of an older generation"
	retractAnyOpen     fault = "retract of what others opened"
	retractIsProof     fault = "retract is proof"
	earlyRestarts      fault = "early restarts"
	probationShortens  fault = "probation shortens"
	growthStays        fault = "growth stays"
	neutralKeepsPlace  fault = "neutral keeps place"
	readMoves          fault = "read moves"
	renewalIgnored     fault = "renewal ignored"
	renewalIsProof     fault = "renewal is proof"
	renewalLiftsHold   fault = "renewal lifts the hold"
	renewalKeepsProbe  fault = "renewal leaves a probe alone"
)

var allFaults = []fault{
	threshold6,
	noLease,
	holdIgnored,
	settleTwice,
	neutralFails,
	neutralSucceeds,
	cooldown29,
	twoProbes,
	probationIgnored,
	fatalIsOne,
	lateSuccess,
	holdShrinks,
	openEndsAtCooldown,
	tentativeEndsRun,
	tentativeIsProof,
	suspectIgnored,
	forceIgnored,
	bypassCounts,
	bypassIgnoresHold,
	tripIgnored,
	retractIgnored,
	retractLate,
	retractAnyOpen,
	retractIsProof,
	earlyRestarts,
	growthStays,
	probationShortens,
	neutralKeepsPlace,
	readMoves,
	renewalIgnored,
	renewalIsProof,
	renewalLiftsHold,
	renewalKeepsProbe,
}

// coverage counts the events of a walk: a walk without the end of a lease does not test
// leases.
type coverage struct {
	opens, closes, leases, holds, probations, late, twice, early, grown, forced, trips, neutralProbes, retracted, stale, renewed int
}

func (m *spec) enter(to breaker.State) {
	m.gen++
	tr := breaker.Transition{From: m.state, To: to, Generation: uint64(m.gen), ConsecutiveFailures: m.run}
	if to == breaker.Open {
		tr.OpenFor = m.until - m.now
	}
	m.state, m.probe = to, 0
	m.told = append(m.told, tr)
}

// nextProbe returns the end of the current part of the cooldown, false after it.
func (m *spec) nextProbe() bool {
	for _, d := range m.set.EarlyProbe {
		if d < m.len && m.begun+d > m.now {
			m.until = m.begun + d
			return true
		}
	}
	m.until = m.begun + m.len
	return m.until > m.now
}

func (m *spec) open() {
	m.seen.opens++
	if m.state == breaker.HalfOpen && m.fault != earlyRestarts && m.nextProbe() {
		m.seen.early++
	} else {
		switch {
		case m.state == breaker.HalfOpen, m.probation && m.fault != probationShortens:
			m.level++
		case m.fault != growthStays:
			m.level = 0
		}
		m.begun, m.len = m.now, m.set.Cooldown
		if m.fault == cooldown29 {
			m.len -= time.Second
		}
		for range m.level {
			if m.set.MaxCooldown > m.len {
				m.seen.grown++
				m.len = min(2*m.len, m.set.MaxCooldown)
			}
		}
		m.nextProbe()
	}
	m.probation = false
	m.enter(breaker.Open)
}

func (m *spec) fail(fatal bool) {
	m.run++
	threshold := m.set.FailureThreshold
	if m.fault == threshold6 {
		threshold++
	}
	switch {
	case m.state == breaker.HalfOpen, m.run >= threshold,
		m.probation && m.fault != probationIgnored,
		fatal && m.fault != fatalIsOne,
		m.now < m.suspect && m.fault != suspectIgnored:
		m.open()
	}
}

// advance moves the clock, and ends the probe's lease on the way.
func (m *spec) advance(d time.Duration) {
	end := m.now + d
	if m.state == breaker.HalfOpen && m.probe != 0 && m.lease <= end && m.fault != noLease {
		m.seen.leases++
		m.now = m.lease
		m.fail(false)
	}
	m.now = end
	if m.fault == readMoves && m.state == breaker.Open && m.now > m.until {
		m.enter(breaker.HalfOpen)
	}
}

// refusal returns why a call is refused now, if it is.
func (m *spec) refusal() (no, held, forced bool) {
	if m.mode == breaker.ForcedOpen && m.fault != forceIgnored {
		return true, false, true
	}
	bypass := m.mode == breaker.Bypass
	if m.now < m.hold && m.fault != holdIgnored && (!bypass || m.fault != bypassIgnoresHold) {
		m.seen.holds++
		return true, true, false
	}
	switch {
	case bypass:
		return false, false, false
	case m.state == breaker.Open && m.fault == openEndsAtCooldown:
		return m.now < m.until, false, false
	case m.state == breaker.Open:
		return m.now <= m.until, false, false
	case m.state == breaker.HalfOpen:
		return m.probe != 0 && m.fault != twoProbes, false, false
	default:
		return false, false, false
	}
}

// retryAfter returns how long calls are still refused.
func (m *spec) retryAfter() time.Duration {
	left := m.hold - m.now
	if m.state == breaker.Open {
		left = max(left, m.until-m.now)
	}
	return max(0, left)
}

// acquire gives permit i, which refusal allows, and returns its generation, 0 for a permit of
// mode Bypass.
func (m *spec) acquire(i int) int {
	if m.mode == breaker.Bypass {
		if m.fault == bypassCounts {
			return m.gen
		}
		return 0
	}
	if m.state == breaker.Open {
		m.enter(breaker.HalfOpen)
	}
	if m.state == breaker.HalfOpen {
		m.probe, m.lease = i, m.now+m.set.ProbeLease
	}
	return m.gen
}

// settle applies a verdict.
func (m *spec) settle(gen int, v breaker.Verdict, again bool) {
	if again {
		if m.seen.twice++; m.fault != settleTwice {
			return
		}
	}
	if gen != m.gen {
		if m.seen.late++; m.fault != lateSuccess || v != breaker.Success || gen == 0 {
			return
		}
	}
	if v == breaker.Neutral {
		switch {
		case m.fault == neutralFails:
			v = breaker.Failure
		case m.fault == neutralSucceeds:
			v = breaker.Success
		}
	}
	switch v {
	case breaker.Neutral:
		if m.state == breaker.HalfOpen && m.fault != neutralKeepsPlace {
			m.seen.neutralProbes++
			m.probe = 0
		}
	case breaker.Failure, breaker.Fatal:
		m.fail(v == breaker.Fatal)
	case breaker.Success, breaker.Tentative:
		m.succeed(v == breaker.Success || m.fault == tentativeIsProof)
	}
}

func (m *spec) succeed(proof bool) {
	if m.state != breaker.Closed {
		m.seen.closes++
		if m.run = 0; !proof {
			m.seen.probations++
		}
		m.probation = !proof
		m.enter(breaker.Closed)
	} else if proof || m.fault == tentativeEndsRun {
		m.run = 0
		m.probation = m.probation && !proof
	}
}

// trip opens the breaker, and returns the generation that began, 0 for none.
func (m *spec) trip() int {
	if m.state == breaker.Open || m.fault == tripIgnored {
		return 0
	}
	m.seen.trips++
	m.fail(true)
	return m.gen
}

// retract takes back the trip that began gen. Like a verdict, it counts in its generation
// only. It reports whether the state changed.
func (m *spec) retract(gen int) bool {
	stale := m.state != breaker.Open || gen != m.gen
	switch m.fault {
	case retractIgnored:
		stale = true
	case retractLate:
		stale = m.state == breaker.Closed || gen == 0
	case retractAnyOpen:
		stale = m.state != breaker.Open
	}
	if stale {
		m.seen.stale++
		return false
	}
	m.seen.retracted++
	m.run, m.probation = 0, m.fault != retractIsProof
	m.enter(breaker.Closed)
	return true
}

// renew handles a peer that was replaced. The verdict of a probe of the old peer no longer
// counts. It reports whether the state changed.
func (m *spec) renew() bool {
	if m.state == breaker.Closed || m.fault == renewalIgnored || (m.fault == renewalKeepsProbe && m.probe != 0) {
		return false
	}
	if m.seen.renewed++; m.fault == renewalLiftsHold {
		m.hold = m.now
	}
	m.run, m.probation = 0, m.fault != renewalIsProof
	m.enter(breaker.Closed)
	return true
}

func (m *spec) holdFor(d time.Duration) {
	if m.hold = max(m.hold, m.now+d); m.fault == holdShrinks {
		m.hold = m.now + d
	}
}
