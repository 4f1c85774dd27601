package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Kind is what a record is about.
type Kind string

// The kinds of records; their ids count separately.
const (
	// Report is what reportTaskDone, reportTaskStatus or reportTaskCompleted was told.
	Report Kind = "task_report"
	// Verification holds the arguments of reportVerificationResult.
	Verification Kind = "verification"
	// TestFailure holds the arguments of reportTestFailure.
	TestFailure Kind = "test_failure"
	// Observation holds the arguments of reportObservation, or one observation of a report.
	Observation Kind = "observation"
	// Issue holds the arguments of reportIssue, or a failed item of a verification.
	Issue Kind = "issue"
	// Question is what askQuestion or getImmediateAnswer was asked, and its answer.
	Question Kind = "question"
)

// prefixes begin the ids of records, such as OBS-001.
var prefixes = map[Kind]string{
	Report: "REPORT", Verification: "VERIF", TestFailure: "TF", Observation: "OBS", Issue: "ISSUE", Question: "QUESTION",
}

// A Record is all that one call reported. It never changes.
type Record struct {
	Kind Kind
	// ID is given when the record is written.
	ID string
	// Version is the form of Body; 0 is that of releases that kept a part only.
	Version int
	// Tool is the tool that was called, such as reportTaskDone; empty in version 0.
	Tool string
	// TaskID is the task it is about, or empty.
	TaskID string
	// Agent is who reported.
	Agent string
	// Rank is 1 to 3, the most urgent first: only for sorting.
	Rank int
	// Body is a JSON object with the arguments by their names.
	Body    json.RawMessage
	Created time.Time
}

// The bounds of what a ledger keeps.
const (
	// MaxRecord bounds the body of a record, in bytes.
	MaxRecord = 1 << 20
	// MaxRecords bounds the records of a file. A ledger in memory drops its oldest
	// records instead.
	MaxRecords = 1_000_000
)

// What a record may be refused with.
var (
	// ErrTooLarge is a record longer than [MaxRecord].
	ErrTooLarge = errors.New("the report is too large")
	// ErrFull is a record too many.
	ErrFull = errors.New("the ledger is full")
)

// check returns an error for a record that cannot be kept.
func (r *Record) check() error {
	if len(r.Body) > MaxRecord {
		return fmt.Errorf("%w: it takes %d bytes, and at most %d are kept", ErrTooLarge, len(r.Body), MaxRecord)
	}
	return nil
}

// A RecordQuery says which records to read. Empty members choose nothing; of
// several the first in this order counts: ID, TaskIDs, Kind.
type RecordQuery struct {
	ID      string
	TaskIDs []string
	Kind    Kind
	// Most bounds how many are returned, and Bytes the length of their bodies
	// together; the oldest are left out. 0 is no bound.
	Most, Bytes int
}

// A TicketQuery says which tickets to read: those of a task, or the one of a
// number, or all.
type TicketQuery struct {
	TaskID string
	Number int
}
