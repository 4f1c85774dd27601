package run

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The step of a call after each possible outcome.
func TestDecide(t *testing.T) {
	t.Parallel()
	const call, list = mcp.MethodToolsCall, mcp.MethodToolsList
	session := &link.Link{Agreed: &link.Agreement{Era: mcp.EraSession}}
	stdio := &link.Link{Agreed: &link.Agreement{Era: mcp.EraStateless}}
	http := &link.Link{Agreed: stdio.Agreed, Traits: transport.Traits{Exchanges: true}}
	result := func(kind mcp.ResultType) outcome.Outcome {
		return outcome.Outcome{Result: []byte(`{}`), Kind: kind, Typed: kind != ""}
	}
	answer := func(code int64, d mcperrors.Delivery) outcome.Outcome {
		e := mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindApp, d, "no", nil)
		e.RPC = jsonrpc.NewError(code, "no", nil)
		e.Cause = e.RPC
		return outcome.Outcome{Err: e}
	}
	failed := func(f transport.Failure) outcome.Outcome {
		f.Err = errors.New("x")
		return outcome.OfFailure(&outcome.Sent{Restarts: true}, &f)
	}
	refused := func(kind mcperrors.Kind) outcome.Outcome {
		return outcome.Refused(mcperrors.New(mcperrors.CodeUnavailable, kind, mcperrors.NotSent, "no", nil))
	}
	lost := transport.Failure{Reason: transport.ReasonLost}
	unsent := transport.Failure{Reason: transport.ReasonLost, NotSent: true}
	gone := transport.Failure{Reason: transport.ReasonSession, Rejected: true}
	goneLate := transport.Failure{Reason: transport.ReasonSession}
	for _, tt := range []struct {
		name string
		out  outcome.Outcome
		f    Facts
		want Step
	}{
		{"a session's result", result(""), Facts{Method: call, Link: session}, End},
		{"a session's result that names a type", result("task"), Facts{Method: call, Link: session}, End},
		{"a complete result", result(mcp.ResultComplete), Facts{Method: call, Link: http}, End},
		{"a result without a type", result(""), Facts{Method: call, Link: http}, Untyped},
		{"a question", result(mcp.ResultInputRequired), Facts{Method: call, Link: http}, Round},
		{"a task", result(mcp.ResultTask), Facts{Method: call, Link: stdio}, Task},
		{"a result of another type", result("other"), Facts{Method: call, Link: stdio}, Misplaced},

		{"headers refused", answer(-32020, mcperrors.Rejected), Facts{Method: call, Link: http}, Headers},
		{"headers refused twice", answer(-32020, mcperrors.Rejected), Facts{Method: call, Link: http, Had: Listed}, Retry},
		{"headers refused, and perhaps executed", answer(-32020, mcperrors.Answered), Facts{Method: call, Link: http}, Retry},
		{"headers of a list", answer(-32020, mcperrors.Rejected), Facts{Method: list, Link: http}, Retry},
		{"headers without HTTP", answer(-32020, mcperrors.Rejected), Facts{Method: call, Link: stdio}, Retry},
		{"the revision refused", answer(-32022, mcperrors.Rejected), Facts{Method: call, Link: http}, Version},
		{"the revision refused twice", answer(-32022, mcperrors.Rejected), Facts{Method: call, Link: http, Had: Revised}, Version},
		{"a session's own -32022", answer(-32022, mcperrors.Answered), Facts{Method: call, Link: session}, Retry},
		{"a capability missing", answer(-32021, mcperrors.Rejected), Facts{Method: call, Link: http}, Missing},
		{"URLs to visit", answer(-32042, mcperrors.Answered), Facts{Method: call, Link: session, Visits: true}, Visit},
		{"URLs that were visited", answer(-32042, mcperrors.Answered), Facts{Method: call, Link: session, Visits: true, Had: Visited}, Retry},
		{"URLs that nobody shows", answer(-32042, mcperrors.Answered), Facts{Method: call, Link: session}, Retry},
		{"an internal error", answer(-32603, mcperrors.Answered), Facts{Method: call, Link: http}, Retry},

		{"an open circuit", refused(mcperrors.KindCircuitOpen), Facts{Method: call}, Refused},
		{"an open circuit after an attempt", refused(mcperrors.KindCircuitOpen), Facts{Method: call, Link: http}, Refused},
		{"too many in flight", refused(mcperrors.KindOverloaded), Facts{Method: call}, Retry},
		{"closed", refused(mcperrors.KindClosed), Facts{Method: call, Link: session}, Retry},

		{"a program that ended before", failed(unsent), Facts{Method: call, Link: stdio, Restarts: true}, Relink},
		{"it is not restarted", failed(unsent), Facts{Method: call, Link: stdio}, Retry},
		{"a program that ended meanwhile", failed(lost), Facts{Method: call, Link: stdio, Restarts: true}, Retry},
		{"under a handshake", failed(unsent), Facts{Method: call, Link: stdio, Restarts: true, Purpose: link.Handshake}, Retry},
		{"while a session is restored", failed(unsent), Facts{Method: call, Link: session, Restarts: true, Purpose: link.Restore}, Retry},
		{"under a question for life", failed(unsent), Facts{Method: call, Link: stdio, Restarts: true, Purpose: link.Liveness}, Relink},

		// Only the loss of the program is waited for: a refusal of the client is no evidence
		// about the program, and must not end it.
		{"a refusal of this side", refused(mcperrors.KindOverloaded), Facts{Method: call, Link: stdio, Restarts: true}, Retry},
		{"another era", refused(mcperrors.KindUnsupported), Facts{Method: call, Link: stdio, Restarts: true}, Retry},
		{"closed by this side", failed(transport.Failure{Reason: transport.ReasonClosed, NotSent: true}), Facts{Method: call, Link: stdio, Restarts: true}, Retry},

		{"a session lost", failed(gone), Facts{Method: call, Link: session}, Renew},
		{"a session lost twice", failed(gone), Facts{Method: call, Link: session, Had: Renewed}, Lost},
		{"a session lost, and perhaps executed", failed(goneLate), Facts{Method: call, Link: session}, Lost},
		{"a session lost under its handshake", failed(gone), Facts{Method: call, Link: session, Purpose: link.Handshake}, Retry},
		{"a session lost before there was a link", refused(mcperrors.KindSessionLost), Facts{Method: call}, Retry},
		{"a session lost by the probe of a circuit", refused(mcperrors.KindSessionLost), Facts{Method: call, Link: session}, Renew},
		{"no session in the stateless era", failed(gone), Facts{Method: call, Link: http}, Retry},
		{"a timeout", failed(transport.Failure{Reason: transport.ReasonTimeout}), Facts{Method: call, Link: http}, Retry},
	} {
		require.Equal(t, tt.want, Decide(&tt.out, &tt.f), tt.name)
	}
}
