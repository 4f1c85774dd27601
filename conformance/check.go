package conformance

import (
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Level is the strength of a rule: the word of the specification's sentence.
type Level string

// The levels. A broken rule of level MUST fails, every other warns.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
	// Advice is a recommendation of this suite, not of the specification. It only warns,
	// in a strict run, too.
	Advice Level = "advice"
)

// Status is the outcome of one check.
type Status string

// The statuses, a closed list.
const (
	// Pass: the subject follows the rule.
	Pass Status = "pass"
	// Fail: the subject breaks a MUST or MUST NOT.
	Fail Status = "fail"
	// Warn: the subject does not follow a SHOULD or advice.
	Warn Status = "warn"
	// Skip: the check does not apply; the reason says why.
	Skip Status = "skip"
	// Inconclusive: the check applies and could not be decided, because the connection was
	// lost or the time was over.
	Inconclusive Status = "inconclusive"
	// Error: the suite itself failed.
	Error Status = "error"
)

// SkipReason says why a check does not apply.
type SkipReason string

// The reasons, a closed list.
const (
	SkipNotDeclared   SkipReason = "not-declared"    // the optional feature was not declared
	SkipNotInRevision SkipReason = "not-in-revision" // the rule is not part of the negotiated revision
	SkipNoFixture     SkipReason = "no-fixture"      // the server lacks the tools it needs
	SkipSideEffects   SkipReason = "side-effects"    // no permission to call the tools it needs
	SkipTransport     SkipReason = "transport"       // a rule of another transport
	SkipExcluded      SkipReason = "excluded"        // not selected by the options
	SkipControl       SkipReason = "control"         // needs control over the subject, such as its clock or files
	SkipPrerequisite  SkipReason = "prerequisite"    // a prerequisite failed
	// SkipGentle: a gentle run does not do what it needs.
	//
	// # Experimental
	SkipGentle SkipReason = "gentle"
)

// Check is one rule that a run judges.
type Check struct {
	// ID never changes.
	ID string
	// Title is the rule, as a clause that is true if the check passes.
	Title string
	// Level is the level for every server.
	Level Level
	// Spec is the source of the rule.
	Spec Spec
	// Official names the checks of the official suite for the same rule, in the form of
	// its files of expected failures: scenario:check, or a whole scenario.
	//
	// # Experimental
	Official []string
}

// Spec names the source of a rule.
type Spec struct {
	// Section is the page and anchor below the specification's revision, such as
	// "basic/lifecycle#initialization", or "jsonrpc#response_object" for a rule of JSON-RPC
	// 2.0, which MCP requires; empty for other rules.
	Section string
	// Quote is the sentence, at most 200 characters.
	Quote string
	// Requirement names the source of a rule that is not in the specification.
	Requirement string
}

// Result is the outcome of one check against one subject.
type Result struct {
	Check
	// Scenario and Area are the groups of the check. Revision is the one it ran in.
	Scenario, Area string
	Revision       mcp.Version
	// Level is the level for this subject.
	Level  Level
	Status Status
	// Reason is set when Status is [Skip].
	Reason SkipReason
	// Detail explains a skip, an inconclusive check or an error.
	Detail string
	// Expected and Actual are set when the rule was broken.
	Expected, Actual string
	// Baseline compares the outcome with the baseline files.
	Baseline Baseline
	// BaselineReason is the reason that the baseline file gives for the check.
	BaselineReason string
	// Unscored: the check is not in the frozen set of requirements of the options. It does
	// not count for the verdict.
	Unscored bool
	// Attempts is how often the check ran, and Bad how often it did not pass. Both are zero
	// for a skip.
	Attempts, Bad int
	// Duration is the time since the check before in the same scenario.
	Duration time.Duration
	// Evidence is the traffic that shows an outcome other than a pass.
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
	// BaselineFlaky: a file says that the check may pass or fail.
	BaselineFlaky Baseline = "flaky"
	// BaselineStale: a file expects a failure, and the check passes. It fails the run until
	// the entry is removed.
	BaselineStale Baseline = "stale"
)
