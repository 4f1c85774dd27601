package conformance

import "time"

// Level is how much the rule behind a check binds, from the word the
// specification uses.
type Level string

// The levels. A check of level MUST that does not hold fails; one of level
// SHOULD or MAY warns.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Status is the outcome of one check.
type Status string

// The statuses, a closed list.
const (
	// Pass: the rule was seen to hold.
	Pass Status = "pass"
	// Fail: a MUST or MUST NOT was seen to be broken.
	Fail Status = "fail"
	// Warn: a SHOULD was seen not to be followed.
	Warn Status = "warn"
	// Skip: the check does not apply; the reason says why.
	Skip Status = "skip"
	// Unknown: the check applies and could not be established, because the
	// server was lost or the time was over.
	Unknown Status = "unknown"
	// Error: the suite could not run the check; its fault, not the server's.
	Error Status = "error"
)

// SkipReason says why a check does not apply.
type SkipReason string

// The reasons, a closed list.
const (
	SkipNotDeclared   SkipReason = "not-declared"    // the optional feature was not declared
	SkipNotInRevision SkipReason = "not-in-revision" // the rule is not part of the negotiated revision
	SkipNoFixture     SkipReason = "no-fixture"      // the tools it needs are not offered
	SkipSideEffects   SkipReason = "side-effects"    // no leave to call the tools it needs
	SkipTransport     SkipReason = "transport"       // a rule of another transport
	SkipExcluded      SkipReason = "excluded"        // not selected, or selected against
	SkipControl       SkipReason = "control"         // needs a clock, fault or file switch the subject does not offer
	SkipPrerequisite  SkipReason = "prerequisite"    // something it builds on does not work
)

// Check is one thing that must hold.
type Check struct {
	// ID never changes and is the same whatever the outcome.
	ID string
	// Title says in one clause what holds when the check passes.
	Title string
	// Level is the level for every server.
	Level Level
	// House, when set, is the level for servers that announce the error
	// profiles of this project (tools.md 1.2): they promise more than the
	// specification asks for.
	House Level
	// Spec is where the rule stands.
	Spec Spec
}

// Spec names the source of a rule.
type Spec struct {
	// Section is the page and anchor below the specification's revision, such
	// as "basic/lifecycle#initialization"; empty for a rule of a seed.
	Section string
	// Quote is the sentence, at most 200 characters.
	Quote string
	// Seed is the requirement of the seed documents behind a rule the
	// specification does not have, such as "S0-VAL-01".
	Seed string
}

// Result is the outcome of one check against one subject.
type Result struct {
	Check
	// Scenario and Area place the check.
	Scenario, Area string
	// Level is the level that applied to this subject.
	Level  Level
	Status Status
	// Reason is set when Status is [Skip].
	Reason SkipReason
	// Detail explains a skip, an unknown or an error.
	Detail string
	// Expected and Actual are set when the rule was broken.
	Expected, Actual string
	// Duration is the time since the check before it in the same scenario.
	Duration time.Duration
	// Evidence is the traffic behind an outcome that is not a pass.
	Evidence []Frame
}
