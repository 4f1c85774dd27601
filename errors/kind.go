package mcperrors

// Kind is what happened, from a closed list (decisions 14).
type Kind uint8

const (
	// KindServer: the server failed to do it (-32603, -32000, HTTP 5xx).
	KindServer Kind = iota + 1
	// KindCanceled: the caller gave up.
	KindCanceled
	// KindTimeout: a deadline passed, the caller's or ours.
	KindTimeout
	// KindTransport: the way to the server broke or never opened.
	KindTransport
	// KindAuth: HTTP 401 or 403, or a permission the server denies.
	KindAuth
	// KindProtocol: the peer broke the protocol.
	KindProtocol
	// KindVersion: no common protocol revision.
	KindVersion
	// KindUnsupported: the method or capability is not there.
	KindUnsupported
	// KindNotFound: no such tool, prompt or resource.
	KindNotFound
	// KindInvalidArguments: the arguments do not fit.
	KindInvalidArguments
	// KindInputRequired: an answer from a person or an application is needed.
	KindInputRequired
	// KindSessionLost: the session the call belonged to is gone.
	KindSessionLost
	// KindCircuitOpen: our own breaker refused the call.
	KindCircuitOpen
	// KindOverloaded: a limit refused the call, ours or the server's.
	KindOverloaded
	// KindClosed: the client was closed.
	KindClosed
	// KindTool: the tool ran and reported an error.
	KindTool
	// KindApp: an application code outside the reserved ranges, or a function that
	// this application gave the client panicked.
	KindApp
	// KindTooLarge: the answer is over a limit of this side. The message names the
	// limit; the server has most often executed the request (see Delivery).
	KindTooLarge
)

// String returns the name used in JSON, in kebab case; "unknown" for a number
// that is no kind.
func (k Kind) String() string {
	switch k {
	case KindServer:
		return "server"
	case KindCanceled:
		return "canceled"
	case KindTimeout:
		return "timeout"
	case KindTransport:
		return "transport"
	case KindAuth:
		return "auth"
	case KindProtocol:
		return "protocol"
	case KindVersion:
		return "version"
	case KindUnsupported:
		return "unsupported"
	case KindNotFound:
		return "not-found"
	case KindInvalidArguments:
		return "invalid-arguments"
	case KindInputRequired:
		return "input-required"
	case KindSessionLost:
		return "session-lost"
	case KindCircuitOpen:
		return "circuit-open"
	case KindOverloaded:
		return "overloaded"
	case KindClosed:
		return "closed"
	case KindTool:
		return "tool"
	case KindApp:
		return "app"
	case KindTooLarge:
		return "too-large"
	default:
		return "unknown"
	}
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
