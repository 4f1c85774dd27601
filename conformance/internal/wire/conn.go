package wire

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Limits of what a subject may send.
const (
	// MaxFrame bounds one message from the subject, in bytes.
	MaxFrame = 16 << 20
	// keptFrames and keptBytes bound the evidence of one check.
	keptFrames = 24
	KeptBytes  = 4 << 10
)

// Conn is one open connection to a subject. It sends any bytes and delivers all answers.
type Conn interface {
	// Send writes one message. Over HTTP it returns with the status of the response; the
	// messages of the response go to the inbox.
	Send(ctx context.Context, data []byte) (*HTTPAnswer, error)
	// inbox delivers what arrives; it is closed after the last.
	inbox() *inbox
	// Close ends the conversation in order, within a time limit, and reports how the
	// subject ended. It is idempotent.
	Close() Ending
	// Stderr returns what a program wrote to its standard error so far.
	Stderr() string
	// Transport returns the kind of the connection.
	Transport() conformance.TransportKind
}

// Ending describes how a subject ended after its input was closed.
type Ending struct {
	// Prompt: it ended before it had to be stopped.
	Prompt bool
	took   time.Duration
	// Exit is the exit status of a program, -1 if there is none.
	Exit int
	Err  error
}
