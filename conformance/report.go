package conformance

import (
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Verdict is the outcome of a run. No percentage is one.
type Verdict string

// The verdicts.
const (
	Passed              Verdict = "passed"
	Failed              Verdict = "failed"
	VerdictInconclusive Verdict = "inconclusive"
)

// The exit codes of a run, as the command line has them.
const (
	exitPassed       = 0
	exitFailed       = 1
	exitInconclusive = 10
)

// Report is everything one run found. Every format is a rendering of it.
type Report struct {
	StartedAt time.Time
	Duration  time.Duration
	Target    Target
	Policy    Policy
	// Tool is what judged; the zero value means the program at hand.
	Tool Tool
	// Again is the command line that repeats the run, up to the program that
	// was judged; empty when the run was no command line. It holds no secrets.
	Again []string
	// CI is where the run took place, when that was a CI job.
	CI CI
	// Revisions are the revision runs, newest first.
	Revisions []RevisionReport
	// Results are in fixed order, by area and then by id, so that the reports
	// of two runs can be compared line by line.
	Results []Result
}

// Tool is the program that made a report.
type Tool struct {
	Name, Version, Commit, OS, Arch string
}

// CI names a job of a CI system. Commit and Ref are those that were checked
// out; URL shows the job.
type CI struct {
	Provider, Commit, Ref, URL string
}

// Role is the side of the protocol that was judged.
type Role string

// The roles.
const (
	RoleServer Role = "server"
	RoleClient Role = "client"
)

// RevisionReport is the part of a run that judged one revision, and what the subject said
// of itself in it.
type RevisionReport struct {
	Revision mcp.Version
	// Name and Version are what the subject calls itself.
	Name, Version string
	// Capabilities is the subject's own object, as received.
	Capabilities json.RawMessage
	// Tools is how many tools it lists; -1 when that was not learned.
	Tools int
}

// Target is what was judged, as far as it introduced itself.
type Target struct {
	Role      Role
	Transport TransportKind
	// Argv is the program of a command subject.
	Argv []string
	// URL is the endpoint of a URL subject, without credentials and query.
	URL string
	// Name and Version are what the server says of itself.
	Name, Version string
	// Revision is the newest protocol revision that was judged; Offered are
	// those the subject said it speaks, where it said so.
	Revision string
	Offered  []string
	// Capabilities is the server's own object, as received.
	Capabilities json.RawMessage
	// Tools is how many tools it lists; -1 when that was not learned.
	Tools int
}

// Policy is what the run was allowed and asked to do.
type Policy struct {
	// Revisions are those asked for; empty means the newest of each era that
	// the subject speaks.
	Revisions []mcp.Version
	// Suites are those asked for; empty means what the subject declares.
	Suites []string
	// Set names the frozen set of requirements that scores; empty for all.
	Set string
	// Baselines are the files of known outcomes.
	Baselines []string
	// Repeat is how often each check ran.
	Repeat int
	// Seed decided the order in which the scenarios ran; 0 is that of the
	// report.
	Seed uint64
	// Strict: a broken recommendation fails the run, too.
	Strict bool
	// SideEffects is the permission to call tools: none, read-only or all.
	SideEffects string
	// Granted is true when the permission came from the server itself.
	Granted    bool
	AllowTools []string
	// NoTools are those of AllowTools that the subject does not list in any
	// revision; nil where its tools were not learned. Files of reports leave it out.
	NoTools    []string
	Only, Skip []string
}
