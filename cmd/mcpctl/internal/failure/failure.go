// Package failure is the one error of mcpctl: what happened, the delivery of the
// request, and what to do next. Its kind decides the exit code, and it has two
// forms, one for people and one for programs.
package failure

import (
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// Causes that end the context of a run.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrTerminated  = errors.New("terminated")
	ErrHangup      = errors.New("terminal closed")
)

// Failure is the error of a run: the cause first, then evidence, then what to
// do. Only New makes one.
type Failure struct {
	Kind Kind
	// Delivery is that of the request of the command.
	Delivery mcperrors.Delivery
	Message  string
	// Method and Tool name the request, where one was sent.
	Method, Tool string
	// Evidence are the lines below the message, each with a short label.
	Evidence []Fact
	// Findings are the problems of arguments, shown with the Signature.
	Findings  []schema.Finding
	Signature string
	// Try lists commands that may help; Note is a last remark.
	Try  []string
	Note string
	// LoginURL is the page where a person can log in, "" for none.
	LoginURL string
	// From is the error of the client, nil where mcpctl found the problem.
	From *mcperrors.Error
	// Silent is set when the command has already printed its outcome.
	Silent bool
	// Reads is set for a request that changes nothing, so that it can be repeated.
	Reads bool
}

// Fact is one line of evidence.
type Fact struct{ Label, Text string }

// Notes on the delivery of a call.
const (
	NoteNothingSent = "nothing was sent"
	NoteNotCalled   = "the tool was not called"
	NoteMayRun      = "it was sent and may have run: check whether it ran before repeating it"
	NoteReads       = "it was sent, and only reads: it can be repeated"
	NoteRan         = "the tool was called and answered: check what it did before calling it again"
	NoteRepeat      = "the tool was called and answered: do not call it again for its output"
)

func (f *Failure) Error() string { return f.Message }

// New returns a failure. delivery is that of the request of the command,
// which only the caller knows.
func New(k Kind, delivery mcperrors.Delivery, format string, args ...any) *Failure {
	return &Failure{Kind: k, Delivery: delivery, Message: fmt.Sprintf(format, args...)}
}

// Usage returns the failure of a wrong command line, found before the request is
// sent.
func Usage(format string, args ...any) *Failure {
	return New(KindUsage, mcperrors.NotSent, format, args...)
}

// Unsent is [Usage] with a note that nothing was sent.
func Unsent(format string, args ...any) *Failure {
	f := Usage(format, args...)
	f.Note = NoteNothingSent
	return f
}

// Shown returns the failure of a run whose outcome is already printed.
func Shown(k Kind) *Failure {
	f := New(k, mcperrors.Answered, "%s", k)
	f.Silent = true
	return f
}

// Add adds a line of evidence.
func (f *Failure) Add(label, format string, args ...any) {
	f.Evidence = append(f.Evidence, Fact{label, fmt.Sprintf(format, args...)})
}

// Has reports whether there is evidence with a label.
func (f *Failure) Has(label string) bool {
	for _, e := range f.Evidence {
		if e.Label == label {
			return true
		}
	}
	return false
}

// AddNote adds a remark to the note.
func (f *Failure) AddNote(note string) {
	if f.Note != "" {
		f.Note += "; "
	}
	f.Note += note
}

// Print prints the failure on standard error, in the form that the output format
// asks for. events is set for commands that print a stream of events: the failure
// ends that stream too.
func (f *Failure) Print(c *console.Console, events bool) {
	if f.Silent {
		return
	}
	if c.Format == console.JSON || c.Format == console.NDJSON {
		line := f.Machine()
		if c.ErrTerminal {
			line = visible.Line(line)
		}
		c.Note(line)
		if events && c.Format == console.NDJSON {
			_ = c.PrintEvent("error", f.Object()) // Lost reports a broken pipe
		}
		return
	}
	width := console.Unlimited
	if c.ErrTerminal {
		width = c.Width
	}
	_, _ = c.Err.Write([]byte(f.Human(c.ErrStyle(), width)))
}

// RootCause returns the text of the innermost error.
func RootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
				err = many.Unwrap()[0]
				continue
			}
			return err.Error()
		}
		err = next
	}
}
