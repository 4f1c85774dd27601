package wire

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Everything a subject may do to the suite is bounded.
const (
	// MaxFrame bounds one message from the subject, in bytes.
	MaxFrame = 16 << 20
	// keptFrames and keptBytes bound the evidence of one check.
	keptFrames = 24
	KeptBytes  = 4 << 10
)

// Conn is one open way to a subject. It sends any bytes and delivers whatever
// comes back.
type Conn interface {
	// Send puts one message on the wire. On HTTP it returns when the status
	// of the answer is there, and the answer's messages follow in the inbox.
	Send(ctx context.Context, data []byte) (*HTTPAnswer, error)
	// inbox delivers what arrives; it is closed after the last.
	inbox() *inbox
	// Close ends the conversation in the orderly way, within bounds, and
	// reports how the subject ended. It may be called again.
	Close() Ending
	// Stderr returns what a program wrote to its standard error so far.
	Stderr() string
	// Transport returns the kind of the connection.
	Transport() conformance.TransportKind
}

// Ending is how a subject ended after its input was closed.
type Ending struct {
	// Prompt is true when it ended before it had to be stopped.
	Prompt bool
	took   time.Duration
	// Exit is the exit status of a program, -1 when it has none.
	Exit int
	Err  error
}
