package resilience

import (
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Judgement is what an attempt proves about the server and the tool.
type Judgement struct {
	// Server and Tool are the verdicts for the two circuits. Tool is Neutral for a method without
	// a tool, and without circuits of tools.
	Server, Tool breaker.Verdict
	// OwnDoing is set if the client caused the end of the attempt. It never counts, even in a
	// circuit that counts every error: the permit is released.
	OwnDoing bool
	// Throttle is the pause that the server requested, at most [MaxThrottle], 0 for none.
	Throttle time.Duration
}

// MaxThrottle limits how long a server can throttle its client.
const MaxThrottle = 5 * time.Minute

// defaultThrottle is the pause after a 429 without Retry-After.
const defaultThrottle = time.Second

// Judge returns the judgement of an attempt. toolLevel is set if tools have circuits of their
// own. Without them, and for a method without a tool, a failure of the tool counts against the
// server, unless it is an error answer to a read.
func (a Attempt) Judge(toolLevel bool) Judgement {
	j := a.levels()
	if !toolLevel || a.Method != mcp.MethodToolsCall {
		if j.Server == breaker.Neutral && j.Tool == breaker.Failure && !a.failedRead() {
			j.Server = breaker.Failure
		}
		j.Tool = breaker.Neutral
	}
	if a.Probe && ProvesOnlyLiveness(a.Method) && j.Server == breaker.Success {
		j.Server = breaker.Tentative // the server works, but its tools may not
	}
	j.Throttle = a.throttle()
	return j
}

// failedRead reports whether a server answered a list, a read or the like with an error of its
// own. The server is reachable, and its tools may work.
func (a Attempt) failedRead() bool {
	if a.Class != ClassInternal && a.Class != ClassServerError && !a.Counts {
		return false
	}
	return !opens(a.Method) && RepeatOf(Request{Method: a.Method, Policy: Proof}) == Repeatable
}

// opens reports whether a method only tests whether a server can be used. If the server answers
// it with an error of its own, it cannot.
func opens(method string) bool {
	switch method {
	case mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing:
		return true
	}
	return false
}

// ProvesOnlyLiveness reports whether the success of a method proves only that the server is
// alive. Such a request is harmless, so it may be the probe of a circuit at any time.
func ProvesOnlyLiveness(method string) bool {
	switch method {
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodPromptsList:
		return true
	}
	return opens(method)
}

// levels returns the two columns of the table.
func (a Attempt) levels() Judgement {
	const (
		n = breaker.Neutral
		s = breaker.Success
		f = breaker.Failure
	)
	if a.Counts {
		return Judgement{Server: n, Tool: f} // Judge makes it neutral for a read
	}
	switch a.Class {
	case ClassComplete, ClassToolError, ClassTask:
		return Judgement{Server: s, Tool: s}
	case ClassInputRequired, ClassInvalid, ClassHeaderMismatch, ClassUnsupported, ClassApp:
		return Judgement{Server: s, Tool: n}
	case ClassInternal, ClassServerError:
		if opens(a.Method) || a.failedRead() {
			return Judgement{Server: n, Tool: f} // Judge makes it neutral for a read
		}
		return Judgement{Server: s, Tool: s} // an answer is the result of its call
	case ClassBrokenResult:
		return Judgement{Server: n, Tool: f}
	case ClassBusy:
		if a.Delivery == mcperrors.Answered { // a JSON-RPC error of the call whose code has no defined meaning
			return Judgement{Server: s, Tool: s}
		}
		return Judgement{Server: f, Tool: n}
	case ClassUnavailable, ClassCertificate, ClassTruncated, ClassGateway:
		return Judgement{Server: f, Tool: n}
	case ClassStatusFailed:
		return Judgement{Server: f, Tool: f}
	case ClassLost:
		if a.Reused && !a.Repeated {
			return Judgement{Server: n, Tool: n} // the server may have closed an idle connection
		}
		return Judgement{Server: f, Tool: n}
	case ClassExited:
		if a.Repeated {
			return Judgement{Server: f, Tool: f} // poison: this request crashes the program
		}
		return Judgement{Server: f, Tool: n}
	case ClassTimeout:
		switch {
		case !a.OwnTimer: // the short timeout of one caller must not open the circuit for all
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
		ClassTooLarge: // the server answered, and the limit is the client's
	}
	return Judgement{Server: n, Tool: n}
}

// throttle returns the pause that an HTTP status requests for the whole server. A limit in a
// JSON-RPC error applies to one request.
func (a Attempt) throttle() time.Duration {
	pause := min(max(a.RetryAfter, 0), MaxThrottle)
	switch a.Status {
	case http.StatusTooManyRequests:
		if pause == 0 && a.Class == ClassThrottled {
			return defaultThrottle
		}
		return pause
	case http.StatusServiceUnavailable:
		return pause
	}
	return 0
}
