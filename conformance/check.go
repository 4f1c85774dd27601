package conformance

import (
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Level is how much the rule behind a check binds, from the word the
// specification uses.
type Level string

// The levels: the word of the specification's sentence, or [Advice] where it has
// none for this. A check of level MUST that does not hold fails, every other
// warns.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
	// Advice is this suite's own: no sentence of the specification asks servers
	// for it. What is not followed is a warning, in a strict run, too.
	Advice Level = "advice"
)

// Status is the outcome of one check.
type Status string

// The statuses, a closed list.
const (
	// Pass: the rule was seen to hold.
	Pass Status = "pass"
	// Fail: a MUST or MUST NOT was seen to be broken.
	Fail Status = "fail"
	// Warn: a SHOULD, or advice, was seen not to be followed.
	Warn Status = "warn"
	// Skip: the check does not apply; the reason says why.
	Skip Status = "skip"
	// Inconclusive: the check applies and could not be decided, because the
	// server was lost or the time was over.
	Inconclusive Status = "inconclusive"
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
	SkipSideEffects   SkipReason = "side-effects"    // no permission to call the tools it needs
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
	// Spec is the source of the rule.
	Spec Spec
	// Official names the checks of the official suite that judge the same rule
	// of the same answers, as its files of expected failures do: scenario:check,
	// or the scenario alone, for all of it. official.txt has those of servers.
	Official []string
}

// Spec names the source of a rule.
type Spec struct {
	// Section is the page and anchor below the specification's revision, such
	// as "basic/lifecycle#initialization"; empty for a rule of a seed.
	Section string
	// Quote is the sentence, at most 200 characters.
	Quote string
	// Seed is the requirement behind a rule that the specification does not have. It
	// names a requirement of this project's own tools.
	Requirement string
}

// Result is the outcome of one check against one subject.
type Result struct {
	Check
	// Scenario and Area place the check; Revision is that of the revision run it ran in.
	Scenario, Area string
	Revision       mcp.Version
	// Level is the level that applied to this subject.
	Level  Level
	Status Status
	// Reason is set when Status is [Skip].
	Reason SkipReason
	// Detail explains a skip, an inconclusive check or an error.
	Detail string
	// Expected and Actual are set when the rule was broken.
	Expected, Actual string
	// Baseline is what the files of known outcomes say of this one.
	Baseline Baseline
	// BaselineReason is what the file says why.
	BaselineReason string
	// Unscored: the check is not in the frozen set of requirements that was
	// asked for; its outcome is shown and has no part in the verdict.
	Unscored bool
	// Attempts is how often the check ran, and Bad how often it did not hold;
	// more than one attempt only where the run repeats. Zero for a skip.
	Attempts, Bad int
	// Duration is the time since the check before it in the same scenario.
	Duration time.Duration
	// Evidence is the traffic behind an outcome that is not a pass.
	Evidence []Frame
}

// Baseline compares an outcome with the baseline files.
type Baseline string

// The values, a closed list.
const (
	// BaselineNone: no file names the check, or there is no file.
	BaselineNone Baseline = ""
	// BaselineKnown: a failure that a file expects. It does not fail the run.
	BaselineKnown Baseline = "known"
	// BaselineFlaky: an outcome that a file says comes and goes.
	BaselineFlaky Baseline = "flaky"
	// BaselineStale: a pass that a file says fails. It fails the run until the
	// entry is removed.
	BaselineStale Baseline = "stale"
)
