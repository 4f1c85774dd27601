package mcperrors

// Kind is the class of a failure. The list is closed.
type Kind uint8

const (
	// KindServer: the server failed (-32603, -32000, or HTTP 5xx).
	KindServer Kind = iota + 1
	// KindCanceled: the caller canceled the call.
	KindCanceled
	// KindTimeout: a deadline of the caller or a timeout of the client passed.
	KindTimeout
	// KindTransport: the connection to the server broke or never opened.
	KindTransport
	// KindAuth: HTTP 401 or 403, or the server denies permission.
	KindAuth
	// KindProtocol: the server violated the protocol.
	KindProtocol
	// KindVersion: client and server share no protocol revision.
	KindVersion
	// KindUnsupported: the server does not have the method or the capability.
	KindUnsupported
	// KindNotFound: the server does not have the tool, prompt or resource.
	KindNotFound
	// KindInvalidArguments: the arguments are not valid.
	KindInvalidArguments
	// KindInputRequired: the server needs an answer from a person or an
	// application.
	KindInputRequired
	// KindSessionLost: the session of the call no longer exists.
	KindSessionLost
	// KindCircuitOpen: the client's circuit breaker refused the call.
	KindCircuitOpen
	// KindOverloaded: a rate or concurrency limit of the client or the server
	// refused the call.
	KindOverloaded
	// KindClosed: the client is closed.
	KindClosed
	// KindTool: the tool ran and reported an error.
	KindTool
	// KindApp: the server sent a code outside the reserved ranges, or a function
	// that the application passed to the client panicked.
	KindApp
	// KindTooLarge: the answer exceeds a limit of the client, which the message
	// names. In most cases the server has run the request; see Delivery.
	KindTooLarge
)

// String returns the name used in JSON, in kebab case. It returns "unknown" for
// a value that is not a Kind.
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

// MarshalText implements [encoding.TextMarshaler]. It returns the same name as
// String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
