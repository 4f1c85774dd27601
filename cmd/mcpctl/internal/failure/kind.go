package failure

import mcperrors "github.com/mainstay-mcp/mainstay/errors"

// Kind is how a run ended. The names are a closed list: they are the kind of
// the machine-readable error, and each has one exit code.
type Kind string

// The kinds.
const (
	KindOK             Kind = "ok"
	KindNegative       Kind = "negative"
	KindUsage          Kind = "usage"
	KindUnreachable    Kind = "unreachable"
	KindAuth           Kind = "auth"
	KindProtocol       Kind = "protocol"
	KindRPCError       Kind = "rpc-error"
	KindUnknownOutcome Kind = "unknown-outcome"
	KindNotFound       Kind = "not-found"
	KindInputRequired  Kind = "input-required"
	KindIncomplete     Kind = "incomplete"
	KindUnavailable    Kind = "unavailable"
	KindTooLarge       Kind = "too-large"
	KindOutput         Kind = "output"
	KindOutputClosed   Kind = "output-closed"
	KindBug            Kind = "bug"
	KindInterrupted    Kind = "interrupted"
	KindTerminated     Kind = "terminated"
	KindHangup         Kind = "hangup"
)

// ExitCode returns the exit status of a run that ended with k.
func (k Kind) ExitCode() int { return exitCodes[k] }

// exitCodes are stable: scripts depend on them.
var exitCodes = map[Kind]int{
	KindOK: 0, KindNegative: 1, KindUsage: 2, KindUnreachable: 3, KindAuth: 4, KindProtocol: 5, KindRPCError: 6,
	KindUnknownOutcome: 7, KindNotFound: 8, KindInputRequired: 9, KindIncomplete: 10, KindUnavailable: 11, KindTooLarge: 12,
	KindBug: 70, KindOutput: 74, KindInterrupted: 130, KindTerminated: 143, KindHangup: 129,
	// 128 + SIGPIPE: what a shell shows for a program that a closed pipe ended.
	KindOutputClosed: 141,
}

// Of returns the kind of an error of the client. Where several fit, it is the one
// that names the user's next step: correct the line (2) or the address (3), log in
// (4), check before repeating (7), ask a person (9), wait (11). connecting is set
// for an error of the handshake, before the request of the command was sent, and for
// one that changed nothing.
func Of(e *mcperrors.Error, connecting bool) Kind {
	lost := KindUnknownOutcome
	if connecting || e.Delivery == mcperrors.NotSent || e.Delivery == mcperrors.Rejected {
		lost = KindUnreachable
		if e.HTTP != nil && e.HTTP.Status >= 500 {
			lost = KindUnavailable // the address is right
		}
	}
	switch e.Kind {
	case mcperrors.KindCanceled:
		return KindInterrupted // only a signal cancels a run
	case mcperrors.KindTimeout:
		if !connecting && e.Delivery == mcperrors.NotSent {
			return KindUnavailable // the server had answered before the time was over
		}
		return lost
	case mcperrors.KindTransport, mcperrors.KindSessionLost, mcperrors.KindClosed:
		return lost
	case mcperrors.KindServer, mcperrors.KindApp:
		if e.RPC != nil {
			return KindRPCError
		}
		return lost
	case mcperrors.KindUnsupported:
		switch {
		case e.RPC != nil:
			return KindRPCError
		case e.HTTP != nil:
			return KindUnreachable
		}
		return KindNotFound
	case mcperrors.KindInvalidArguments:
		if e.RPC != nil {
			return KindRPCError
		}
		return KindUsage
	case mcperrors.KindOverloaded:
		if lost == KindUnknownOutcome && e.Delivery == mcperrors.Unknown {
			return KindUnknownOutcome
		}
		return KindUnavailable
	case mcperrors.KindAuth:
		return KindAuth
	case mcperrors.KindProtocol, mcperrors.KindVersion:
		return KindProtocol
	case mcperrors.KindNotFound:
		return KindNotFound
	case mcperrors.KindInputRequired:
		return KindInputRequired
	case mcperrors.KindCircuitOpen:
		return KindUnavailable
	case mcperrors.KindTooLarge:
		return KindTooLarge
	case mcperrors.KindTool:
		return KindNegative
	}
	return KindBug
}
