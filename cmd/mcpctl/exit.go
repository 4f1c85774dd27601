package main

import mcperrors "github.com/mainstay-mcp/mainstay/errors"

// kind is how a run ended. The names are a closed list: they are the kind of
// the machine-readable error, and each has one exit code.
type kind string

const (
	kindOK             kind = "ok"
	kindNegative       kind = "negative"
	kindUsage          kind = "usage"
	kindUnreachable    kind = "unreachable"
	kindAuth           kind = "auth"
	kindProtocol       kind = "protocol"
	kindRPCError       kind = "rpc-error"
	kindUnknownOutcome kind = "unknown-outcome"
	kindNotFound       kind = "not-found"
	kindInputRequired  kind = "input-required"
	kindIncomplete     kind = "incomplete"
	kindUnavailable    kind = "unavailable"
	kindTooLarge       kind = "too-large"
	kindOutput         kind = "output"
	kindOutputClosed   kind = "output-closed"
	kindBug            kind = "bug"
	kindInterrupted    kind = "interrupted"
	kindTerminated     kind = "terminated"
	kindHangup         kind = "hangup"
)

// exitCodes are stable: scripts depend on them.
var exitCodes = map[kind]int{
	kindOK: 0, kindNegative: 1, kindUsage: 2, kindUnreachable: 3, kindAuth: 4, kindProtocol: 5, kindRPCError: 6,
	kindUnknownOutcome: 7, kindNotFound: 8, kindInputRequired: 9, kindIncomplete: 10, kindUnavailable: 11, kindTooLarge: 12,
	kindBug: 70, kindOutput: 74, kindInterrupted: 130, kindTerminated: 143, kindHangup: 129,
	// 128 + SIGPIPE, what a shell shows for a program that a closed pipe ended.
	kindOutputClosed: 141,
}

// kindOf maps an error of the client. What decides ties is what the caller of
// mcpctl must do next: correct the line (2), the place (3), log in (4), look
// before repeating (7), ask a person (9), wait (11). connecting says that the
// error ended the handshake: nothing had been asked of the server yet.
func kindOf(e *mcperrors.Error, connecting bool) kind {
	lost := kindUnknownOutcome
	if connecting || e.Delivery == mcperrors.NotSent || e.Delivery == mcperrors.Rejected {
		lost = kindUnreachable
	}
	switch e.Kind {
	case mcperrors.KindCanceled:
		return kindInterrupted // the only one who cancels is a signal
	case mcperrors.KindTimeout, mcperrors.KindTransport, mcperrors.KindSessionLost, mcperrors.KindClosed:
		return lost
	case mcperrors.KindServer, mcperrors.KindApp:
		if e.RPC != nil {
			return kindRPCError
		}
		return lost
	case mcperrors.KindUnsupported:
		switch {
		case e.RPC != nil:
			return kindRPCError
		case e.HTTP != nil:
			return kindUnreachable
		}
		return kindNotFound
	case mcperrors.KindInvalidArguments:
		if e.RPC != nil {
			return kindRPCError
		}
		return kindUsage
	case mcperrors.KindOverloaded:
		if lost == kindUnknownOutcome && e.Delivery == mcperrors.Unknown {
			return kindUnknownOutcome
		}
		return kindUnavailable
	case mcperrors.KindAuth:
		return kindAuth
	case mcperrors.KindProtocol, mcperrors.KindVersion:
		return kindProtocol
	case mcperrors.KindNotFound:
		return kindNotFound
	case mcperrors.KindInputRequired:
		return kindInputRequired
	case mcperrors.KindCircuitOpen:
		return kindUnavailable
	case mcperrors.KindTooLarge:
		return kindTooLarge
	case mcperrors.KindTool:
		return kindNegative
	}
	return kindBug
}
