package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// The names of strings in [Options].Fixtures.
//
// # Experimental
const (
	// WrongAudienceToken is an access token that the authorization server of the subject
	// issued for another server.
	WrongAudienceToken = "wrong-audience-token"
	// WeakToken is an access token without a scope that some request needs.
	WeakToken = "weak-token"
)

// Options configure a run. The zero value judges everything that the server permits.
type Options struct {
	// Suites names the parts of the checks that run; "protocol" is the checks of the
	// specification. Empty means that part, what the server declares of the others, and
	// the checks that Only names.
	Suites []string
	// Only and Skip select checks by id, scenario or area; "*" matches any characters. An
	// empty Only selects all. A pattern that matches nothing is an error.
	Only, Skip []string
	// Revisions are judged one after another. Empty means the newest of each era that the
	// server supports.
	Revisions []mcp.Version
	// SideEffects is the permission to call tools. Empty means what the server grants in
	// capabilities.experimental.conformance.sideEffects, else none.
	SideEffects SideEffects
	// AllowTools names tools that may be called regardless of SideEffects.
	AllowTools []string
	// Calls has arguments for them.
	//
	// # Experimental
	Calls Calls
	// Gentle keeps the run from hurting a server in production. It sends at most two messages a
	// second and 200 KB in total, nothing that a careful client would not send, and calls only
	// tools with readOnlyHint. Other checks are skipped.
	//
	// # Experimental
	Gentle bool
	// Timeout bounds one scenario (60 s if zero), Answer the wait for one answer (10 s),
	// and StartTimeout the first start of the subject, which may compile (5 min).
	Timeout, Answer, StartTimeout time.Duration
	// Fixtures has values that some checks need besides the server, by name, such as
	// [WeakToken]. Checks without their fixture are skipped.
	//
	// # Experimental
	Fixtures map[string]any
	// Requirements, when set, is the only revision that is judged, and only the checks of
	// its frozen set count for the verdict.
	Requirements mcp.Version
	// Expected are the known failures.
	Expected Expectations
	// Repeat is the number of runs; the worst outcome of a check counts. Zero means one.
	Repeat int
	// Parallel is the number of scenarios that run at once if the subject is a program: each
	// has programs of its own. Zero means one. The results keep their order.
	//
	// # Experimental
	Parallel int
	// Seed shuffles the scenarios, and chooses among the arguments that a schema allows. Zero
	// keeps the order of the report.
	Seed uint64
	// Strict makes a broken recommendation of the specification fail the run.
	Strict bool
	// OnResult, when set, is called in the run's goroutine with each result when its scenario
	// ends: on a busy machine that may run twice, and the last outcome counts.
	OnResult func(Result)
	// OnProgress, when set, is called in the run's goroutine before each step that may
	// take long. done of total checks of the current revision are decided; total is 0
	// until the server has answered.
	//
	// # Experimental
	OnProgress func(doing string, done, total int)
}

// UnreachableError reports that the subject cannot be judged: a server did not answer
// initialize, or a client sent nothing.
type UnreachableError struct {
	Target Target
	Err    error

	// Stderr is the end of the standard error of a program.
	//
	// # Experimental
	Stderr string
	// Exit is the exit status of a program that exited, else -1.
	//
	// # Experimental
	Exit int
	// Status is the HTTP status of a server that refuses all requests, else 0. With 401 and
	// 403 it wants credentials; with 404, 405 and 5xx it is no MCP server.
	//
	// # Experimental
	Status int
	// Received is the start of what the server sent instead of an answer: lines of its
	// standard output, or the body of an HTTP response. It has at most 4 KiB.
	//
	// # Experimental
	Received []byte
	// Rule is the check that the server fails with this; the zero value if there is none.
	//
	// # Experimental
	Rule Check
}

// Error implements error.
func (e *UnreachableError) Error() string {
	var answered interface{ AnsweredWrongly() }
	var ended interface{ CredentialsEnded() }
	switch {
	case errors.As(e.Err, &ended):
		return fmt.Sprintf("the server does not take the credentials any more (HTTP %d)", e.Status)
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return fmt.Sprintf("the server wants credentials (HTTP %d)", e.Status)
	case e.Status != 0:
		return fmt.Sprintf("there is no MCP server at this address (HTTP %d)", e.Status)
	case e.Target.Role == RoleClient, errors.As(e.Err, &answered):
		return e.Err.Error()
	case e.Exit >= 0:
		return fmt.Sprintf("the server exited with status %d before it answered", e.Exit)
	}
	return fmt.Sprintf("the server does not answer: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// SideEffects is the permission to call the tools of a server.
type SideEffects string

// The permissions.
const (
	// SideEffectsNone allows only the tools in [Options].AllowTools.
	SideEffectsNone SideEffects = "none"
	// SideEffectsReadOnly allows tools with the annotation readOnlyHint.
	SideEffectsReadOnly SideEffects = "read-only"
	// SideEffectsAll allows every tool. It is for servers on test data.
	SideEffectsAll SideEffects = "all"
)

// Listed is a check with its prerequisites. In a plan it also has what a run would do with
// the check.
//
// # Experimental
//
// The fields may still change.
type Listed struct {
	// Check has, in a plan, the level that applies.
	Check
	Role           Role
	Scenario, Area string
	// Suite is the part of the checks, as in [Options].Suites.
	Suite string
	// ProfileLevel is the level for servers that announce error profiles; empty if it is
	// the same.
	ProfileLevel Level
	// Since and Until bound the revisions, both included; empty means no bound.
	Since, Until mcp.Version
	// Transport is the only transport of the check; empty for all.
	Transport TransportKind
	// Capability is a path into the server's capabilities, such as "tools".
	Capability string
	// Tools are the tools that the check calls. SideEffects is the permission it needs.
	Tools       []string
	SideEffects SideEffects
	// Control is control over the subject that no subject offers yet, such as "a clock".
	Control string

	// Revision is set in a plan. Runs is false for a check that would not run, for the
	// Reason and Detail.
	Revision mcp.Version
	Runs     bool
	Reason   SkipReason
	Detail   string
}
