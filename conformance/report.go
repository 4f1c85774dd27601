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
	Passed     Verdict = "passed"
	Failed     Verdict = "failed"
	Incomplete Verdict = "incomplete"
)

// The exit codes of a run, as the command line has them.
const (
	exitPassed     = 0
	exitFailed     = 1
	exitIncomplete = 10
)

// Report is everything one run found. Every format is a rendering of it.
type Report struct {
	StartedAt time.Time
	Duration  time.Duration
	Target    Target
	Policy    Policy
	// Legs are the parts of the run, one for each revision, newest first.
	Legs []Leg
	// Results are in fixed order, by area and then by id, so that the reports
	// of two runs can be compared line by line.
	Results []Result
}

// Role is the side of the protocol that was judged.
type Role string

// The roles.
const (
	RoleServer Role = "server"
	RoleClient Role = "client"
)

// Leg is the part of a run that judged one revision, and what the subject said
// of itself in it.
type Leg struct {
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
	// Set names the frozen set of requirements that scores; empty for all.
	Set string
	// Baselines are the files of known outcomes.
	Baselines []string
	// Repeat is how often each check ran.
	Repeat      int
	Seed        uint64
	SideEffects SideEffects
	// Granted is true when the leave came from the server itself.
	Granted    bool
	AllowTools []string
	Only, Skip []string
}

// Summary counts the results of a report.
type Summary struct {
	Must, Should Tally
	// Skipped counts checks that do not apply, of every level.
	Skipped int
	// SkippedAreas are the areas in which nothing ran although the run did
	// not exclude them.
	SkippedAreas []string
}

// Tally counts outcomes. Skips are not in it.
type Tally struct {
	Pass, Fail, Warn, Unknown, Error int
}

// Summary counts the results.
func (r *Report) Summary() Summary {
	var s Summary
	ran := map[string]bool{}
	var areas []string
	for _, res := range r.Results {
		if _, seen := ran[res.Area]; !seen {
			ran[res.Area] = false
			areas = append(areas, res.Area)
		}
		if res.Status == Skip {
			s.Skipped++
			if res.Reason == SkipExcluded || res.Reason == SkipTransport || res.Reason == SkipNotInRevision {
				ran[res.Area] = true // asked for, or a rule for others
			}
			continue
		}
		ran[res.Area] = true
		tally := &s.Must
		if res.Level != Must {
			tally = &s.Should
		}
		tally.add(res.Status)
	}
	for _, area := range areas {
		if !ran[area] {
			s.SkippedAreas = append(s.SkippedAreas, area)
		}
	}
	return s
}

func (t *Tally) add(s Status) {
	switch s {
	case Pass:
		t.Pass++
	case Fail:
		t.Fail++
	case Warn:
		t.Warn++
	case Unknown:
		t.Unknown++
	case Error:
		t.Error++
	case Skip:
	}
}

// Verdict is Failed when a check failed; else Incomplete when a required check
// could not be established, or when nothing was; else Passed.
func (r *Report) Verdict() Verdict {
	open, decided := false, false
	for _, res := range r.Results {
		switch {
		case res.Status == Fail:
			return Failed
		case res.Level != Must:
		case res.Status == Unknown, res.Status == Error, res.Reason == SkipPrerequisite:
			open = true
		}
		decided = decided || res.Status == Pass || res.Status == Warn
	}
	if open || !decided {
		return Incomplete
	}
	return Passed
}

// ExitCode is 0, 1 or 10 for passed, failed and incomplete.
func (r *Report) ExitCode() int {
	switch r.Verdict() {
	case Passed:
		return exitPassed
	case Failed:
		return exitFailed
	default:
		return exitIncomplete
	}
}
