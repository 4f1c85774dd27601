package resilience

import (
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Judgement is what an attempt tells of the server and of the tool.
type Judgement struct {
	// Server and Tool are for the two breakers. Tool is Neutral for a method
	// without a tool, and without a tool level.
	Server, Tool breaker.Verdict
	// OwnDoing: what ended the attempt happened on this side. It never counts,
	// with a breaker that counts every error either: the permit is released.
	OwnDoing bool
	// Hold is how long the server asked not to be asked, for the hold gate: at
	// most [MaxHold], 0 for not at all.
	Hold time.Duration
}

// MaxHold bounds how long a peer may close the gate to itself.
const MaxHold = 5 * time.Minute

// throttledHold is the hold after a 429 that does not say how long.
const throttledHold = time.Second

// Judge returns what an attempt says of the server and of the tool. toolLevel says that tools
// have breakers of their own: without them, and for a method that has no tool,
// what would open a tool's circuit counts against the server, but
// for an error that a read was answered with.
func (a Attempt) Judge(toolLevel bool) Judgement {
	j := a.levels()
	if !toolLevel || a.Method != mcp.MethodToolsCall {
		if j.Server == breaker.Neutral && j.Tool == breaker.Failure && !a.failedRead() {
			j.Server = breaker.Failure
		}
		j.Tool = breaker.Neutral
	}
	if a.Probe && Shallow(a.Method) && j.Server == breaker.Success {
		j.Server = breaker.Tentative // it lives; whether its tools do is not known
	}
	j.Hold = a.hold()
	return j
}

// failedRead reports whether a server answered a list, a read or the like with an
// error of its own. The server is there, and its tools may work.
func (a Attempt) failedRead() bool {
	if a.Class != ClassInternal && a.Class != ClassServerError && !a.Counts {
		return false
	}
	return !opens(a.Method) && RepeatOf(Request{Method: a.Method, Policy: Proof}) == Repeatable
}

// opens reports whether a method only shows whether a server can be used. A server that
// answers it with an error of its own cannot.
func opens(method string) bool {
	switch method {
	case mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing:
		return true
	}
	return false
}

// Shallow reports whether the success of a method shows only that the server lives. Such
// a request is harmless, so it may be the probe of a circuit at any time.
func Shallow(method string) bool {
	switch method {
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodPromptsList:
		return true
	}
	return opens(method)
}

// levels are the two columns of the table.
func (a Attempt) levels() Judgement {
	const (
		n = breaker.Neutral
		s = breaker.Success
		f = breaker.Failure
	)
	if a.Counts {
		return Judgement{Server: n, Tool: f} // of a read, Judge makes it neutral
	}
	switch a.Class {
	case ClassComplete, ClassToolError, ClassTask:
		return Judgement{Server: s, Tool: s}
	case ClassInputRequired, ClassInvalid, ClassHeaderMismatch, ClassUnsupported, ClassApp:
		return Judgement{Server: s, Tool: n}
	case ClassInternal, ClassServerError:
		if opens(a.Method) || a.failedRead() {
			return Judgement{Server: n, Tool: f} // of a read, Judge makes it neutral
		}
		return Judgement{Server: s, Tool: s} // an answer is the result of its call
	case ClassBrokenResult:
		return Judgement{Server: n, Tool: f}
	case ClassBusy:
		if a.Delivery == mcperrors.Answered { // the JSON-RPC error of the call, which has no meaning of its own
			return Judgement{Server: s, Tool: s}
		}
		return Judgement{Server: f, Tool: n}
	case ClassUnavailable, ClassCertificate, ClassTruncated, ClassGateway:
		return Judgement{Server: f, Tool: n}
	case ClassStatusFailed:
		return Judgement{Server: f, Tool: f}
	case ClassLost:
		if a.Reused && !a.Repeated {
			return Judgement{Server: n, Tool: n} // the server may have closed it for being idle
		}
		return Judgement{Server: f, Tool: n}
	case ClassExited:
		if a.Repeated {
			return Judgement{Server: f, Tool: f} // poison: this request ends the program
		}
		return Judgement{Server: f, Tool: n}
	case ClassTimeout:
		switch {
		case !a.OwnTimer: // impatience of one caller must not close the server to all
			return Judgement{Server: n, Tool: n}
		case a.Alive:
			return Judgement{Server: n, Tool: f}
		}
		return Judgement{Server: f, Tool: f}
	case ClassUnreadable, ClassSessionLost:
		if a.Repeated {
			return Judgement{Server: f, Tool: n}
		}
	case ClassNoEndpoint:
		if a.Status == http.StatusNotFound || a.Status == http.StatusGone {
			return Judgement{Server: f, Tool: n}
		}
	case ClassCanceled, ClassLocal, ClassPanic:
		return Judgement{Server: n, Tool: n, OwnDoing: true}
	case ClassNone, ClassExhausted, ClassUnprocessed, ClassStatusNever, ClassThrottled, ClassRequestTimeout, ClassTooEarly,
		ClassUnauthorized, ClassForbidden, ClassRefused, ClassNotMCP,
		ClassTooLarge: // the server did what it was asked, and our limit is no fault of its
	}
	return Judgement{Server: n, Tool: n}
}

// hold returns how long HTTP asks to leave the whole server alone. A limit in a JSON-RPC
// error is about one request.
func (a Attempt) hold() time.Duration {
	wish := min(max(a.RetryAfter, 0), MaxHold)
	switch a.Status {
	case http.StatusTooManyRequests:
		if wish == 0 && a.Class == ClassThrottled {
			return throttledHold
		}
		return wish
	case http.StatusServiceUnavailable:
		return wish
	}
	return 0
}
