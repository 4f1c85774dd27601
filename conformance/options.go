package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// The fixtures of the protocol's checks, which are texts.
const (
	// WrongAudienceToken is an access token that the authorization server of the subject
	// issued for another server.
	WrongAudienceToken = "wrong-audience-token"
	// WeakToken is an access token without a scope that some request needs.
	WeakToken = "weak-token"
)

// Options are the choices of a run. The zero value judges everything the
// server permits.
type Options struct {
	// Suites names the parts of the checks that run; "protocol" is the checks of the
	// specification. Empty means that part, what the server declares of the others, and
	// the checks that Only names.
	Suites []string
	// Only and Skip select checks by id, scenario or area; "*" stands for any
	// characters. An empty Only selects all. A pattern that matches nothing is
	// an error.
	Only, Skip []string
	// Revisions are judged one after another; empty means the newest of each era
	// that the server speaks.
	Revisions []mcp.Version
	// SideEffects is the permission to call tools. Empty means what the server
	// grants in capabilities.experimental.conformance.sideEffects, else none.
	SideEffects SideEffects
	// AllowTools may be called whatever SideEffects says.
	AllowTools []string
	// Timeout bounds one scenario, Answer the wait for one answer,
	// StartTimeout the first start of the subject, which may have to compile.
	// Zero means the defaults: 60 s, 10 s, 5 min.
	Timeout, Answer, StartTimeout time.Duration
	// Fixtures holds what some checks need besides the server, by the names that the
	// packages of these checks define, such as [WeakToken]. Checks without their fixture
	// are skipped.
	Fixtures map[string]any
	// Requirements, when set, judges this revision, and only the frozen set of
	// checks it has scores.
	Requirements mcp.Version
	// Expected are the outcomes that are known before the run.
	Expected Expectations
	// Repeat is how often everything runs; the worst outcome of a check counts.
	// Zero means once.
	Repeat int
	// Seed decides the order of the scenarios, which is else that of the report.
	Seed uint64
	// Strict makes a broken recommendation of the specification fail the run.
	Strict bool
	// OnResult, when set, is called in the run's goroutine as each check ends.
	OnResult func(Result)
	// OnProgress, when set, is called in the run's goroutine before each step that may
	// take long. done of total checks of the current revision are decided; total is 0
	// until the server has answered.
	OnProgress func(doing string, done, total int)
}

// UnreachableError says that there is nothing to judge: the subject did not answer,
// or nothing that it sent is the answer to initialize. A client sent nothing.
type UnreachableError struct {
	Target Target
	// Stderr is the end of what a program wrote to its standard error.
	Stderr string
	// Exit is the exit status of a program that ended, else -1.
	Exit int
	// Status is the HTTP status of a server that keeps everybody out, else 0: 401
	// and 403 want credentials, 404, 405 and those from 500 on are no MCP server's.
	Status int
	// Received is the start of what the server sent in place of an answer: the
	// lines of a program's standard output, or the body of an HTTP answer. At most 4 KiB.
	Received []byte
	// Rule is the check whose rule that breaks; the zero value for a server that
	// could not be asked.
	Rule Check
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	var answered interface{ AnsweredWrongly() }
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return fmt.Sprintf("the server wants credentials (HTTP %d)", e.Status)
	case e.Status != 0:
		return fmt.Sprintf("there is no MCP server at this address (HTTP %d)", e.Status)
	case e.Target.Role == RoleClient, errors.As(e.Err, &answered):
		return e.Err.Error()
	case e.Exit >= 0:
		return fmt.Sprintf("the server ended with status %d before it answered", e.Exit)
	}
	return fmt.Sprintf("the server does not answer: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// SideEffects is how much the suite may do to a server by calling its tools.
type SideEffects string

// The grants, from least to most.
const (
	// SideEffectsNone: no tool is called but those in Options.AllowTools.
	SideEffectsNone SideEffects = "none"
	// SideEffectsReadOnly: tools whose annotations say readOnlyHint are called.
	SideEffectsReadOnly SideEffects = "read-only"
	// SideEffectsAll: every tool may be called. For servers on test data.
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
	// Tools are the tools called, by name. SideEffects is what calling them does.
	Tools       []string
	SideEffects SideEffects
	// Control is a switch that no subject offers yet, such as "a clock".
	Control string

	// Revision is set in a plan. Runs is false for a check that would not run; Reason and
	// Detail say why.
	Revision mcp.Version
	Runs     bool
	Reason   SkipReason
	Detail   string
}
