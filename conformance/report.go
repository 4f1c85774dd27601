package conformance

import (
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Verdict is the outcome of a run.
type Verdict string

// The verdicts.
const (
	Passed              Verdict = "passed"
	Failed              Verdict = "failed"
	VerdictInconclusive Verdict = "inconclusive"
)

// The exit codes of a run.
const (
	exitPassed       = 0
	exitFailed       = 1
	exitInconclusive = 10
)

// Report has the results of a run. Package report writes it in every format.
type Report struct {
	StartedAt time.Time
	Duration  time.Duration
	Target    Target
	// Policy has the settings of the run.
	//
	// # Experimental
	Policy Policy
	// Tool is the program that judged; the zero value means this program.
	//
	// # Experimental
	Tool Tool
	// Again is the command line that repeats the run, without the command of the subject;
	// empty if the run was no command line. It has no secrets.
	//
	// # Experimental
	Again []string
	// CI is the CI job of the run, if it was one.
	//
	// # Experimental
	CI CI
	// Revisions are the revision runs, newest first.
	Revisions []RevisionReport
	// Results are in fixed order, by area and then by id, so that the reports
	// of two runs can be compared line by line.
	Results []Result
}

// Tool is the program that made a report.
//
// # Experimental
//
// The fields may still change.
type Tool struct {
	Name, Version, Commit, OS, Arch string
}

// CI names a job of a CI system. Commit and Ref were checked out; URL shows the job.
//
// # Experimental
//
// The fields may still change.
type CI struct {
	Provider, Commit, Ref, URL string
	// File is the file of the repository at which SARIF shows the findings; "" is the first
	// baseline file.
	File string
}

// Role is the side of the protocol that was judged.
type Role string

// The roles.
const (
	RoleServer Role = "server"
	RoleClient Role = "client"
)

// RevisionReport describes the subject in one revision.
type RevisionReport struct {
	Revision mcp.Version
	// Name and Version are those that the subject reports.
	Name, Version string
	// Capabilities is the object of the subject, unchanged.
	Capabilities json.RawMessage
	// Tools is the number of tools; -1 if it is not known.
	Tools int
	// Called are the tools that were called with arguments that their schemas allow,
	// WithExamples those of them with examples of [Options].Calls. ReadOnly is how many have
	// the annotation readOnlyHint.
	//
	// # Experimental
	Called, WithExamples, ReadOnly int
}

// Target describes the subject, as far as it is known.
type Target struct {
	Role      Role
	Transport TransportKind
	// Argv is the program of a command subject.
	Argv []string
	// URL is the endpoint of a URL subject, without credentials and query.
	URL string
	// Name and Version are those that the server reports.
	Name, Version string
	// Revision is the newest revision that was judged. Offered are the revisions that the
	// subject says it supports, if it does.
	Revision string
	Offered  []string
	// Capabilities is the object of the server, unchanged.
	Capabilities json.RawMessage
	// Tools is the number of tools; -1 if it is not known.
	Tools int
}

// Policy has the settings of a run, as reports show them.
//
// # Experimental
//
// The fields may still change.
type Policy struct {
	// Revisions repeats [Options].Revisions; empty means the newest of each era that the
	// subject speaks.
	Revisions []mcp.Version
	// Suites are those of the options; empty means what the subject declares.
	Suites []string
	// Set names the frozen set of requirements that scores; empty for all.
	Set string
	// Baselines are the names of the baseline files.
	Baselines []string
	// Repeat is the number of runs.
	Repeat int
	// Seed decided the order of the scenarios; 0 means the order of the report.
	Seed uint64
	// Strict: a broken recommendation fails the run.
	Strict bool
	// Gentle repeats [Options].Gentle.
	Gentle bool
	// SideEffects is the permission to call tools: none, read-only or all.
	SideEffects string
	// Granted is true when the permission came from the server itself.
	Granted    bool
	AllowTools []string
	// NoTools are the tools of AllowTools that the subject lists in no revision; nil if its
	// tools are not known. Report files omit it.
	NoTools    []string
	Only, Skip []string
}
