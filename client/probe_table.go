package client

import (
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// says is what a reply to the probe says, whatever carried it.
type says uint8

const (
	// saysDiscovered: a result with a list of revisions (NEG-08).
	saysDiscovered says = iota + 1
	// saysUnsupported: -32022 with a list of revisions (DISC-06).
	saysUnsupported
	// saysUnsupportedBare: -32022 without one (NEG-07).
	saysUnsupportedBare
	// saysOurFault: -32020 or -32021, which only a stateless server knows.
	saysOurFault
	// saysNoMethod: -32601. saysError: any other JSON-RPC error.
	saysNoMethod
	saysError
	// saysElse: a success that is nothing of the above.
	saysElse
	// saysRefused: a 4xx without a JSON-RPC error.
	saysRefused
	// saysAuth: 401 or 403, whatever the body (NEG-14).
	saysAuth
	// saysLater: 408, 425, 429 or 5xx (NEG-15).
	saysLater
	// saysUnreachable: no connection, no TLS, a redirect that is not followed.
	saysUnreachable
	// saysNothing: no answer in time.
	saysNothing
	// saysEnded: the program, stream or connection ended before the answer.
	saysEnded
	// saysStopped: this side gave up, or was told something wrong.
	saysStopped
)

// shares is which revisions of the list in a reply this client speaks too.
type shares uint8

const (
	sharesNothing shares = iota
	sharesSession
	sharesStateless // and maybe one of the session era
)

// conclusion is what follows from a reply.
type conclusion uint8

const (
	// outcomeNone: the reply does not occur on this kind of transport.
	outcomeNone conclusion = iota
	// outcomeStateless: the conversation is open.
	outcomeStateless
	// outcomeResend: probe again with the revision in common, once.
	outcomeResend
	// outcomeRetry: probe again the same way, once.
	outcomeRetry
	// outcomeSession: initialize, where the probe was sent.
	outcomeSession
	// outcomeFresh: initialize in a program started anew, so that its session
	// never saw a probe.
	outcomeFresh
	// outcomeVersion: fail, naming both lists of revisions.
	outcomeVersion
	// outcomeFail: fail with the error as it is. It says nothing about the era.
	outcomeFail
)

// probeRow is one row of the decision table (protocol.md 4.2).
type probeRow struct {
	// id names the row in events and tests.
	id     string
	says   says
	shares shares
	// if limits the row to a policy; nil is always.
	only func(ProbePolicy) bool
	// What follows from a program over stdio, from any other byte stream and
	// over HTTP.
	program, stream, http conclusion
	// demotes says that the reply may overturn a remembered verdict for the
	// stateless era (NEG-12). Others fail the connection that believed it.
	demotes bool
}

// probeTable is how a reply to the probe is judged; the first row that fits
// counts.
//
//nolint:gochecknoglobals // a table
var probeTable = []probeRow{
	{id: "discovered", says: saysDiscovered, shares: sharesStateless, program: outcomeStateless, stream: outcomeStateless, http: outcomeStateless, demotes: true},
	{id: "discovered-session-only", says: saysDiscovered, shares: sharesSession, program: outcomeSession, stream: outcomeSession, http: outcomeSession, demotes: true},
	{id: "discovered-nothing-shared", says: saysDiscovered, shares: sharesNothing, program: outcomeVersion, stream: outcomeVersion, http: outcomeVersion, demotes: true},
	{id: "unsupported-shared", says: saysUnsupported, shares: sharesStateless, program: outcomeResend, stream: outcomeResend, http: outcomeResend, demotes: true},
	{id: "unsupported-session-only", says: saysUnsupported, shares: sharesSession, program: outcomeSession, stream: outcomeSession, http: outcomeSession, demotes: true},
	{id: "unsupported-nothing-shared", says: saysUnsupported, shares: sharesNothing, program: outcomeVersion, stream: outcomeVersion, http: outcomeVersion, demotes: true},
	{id: "unsupported-without-list", says: saysUnsupportedBare, program: outcomeSession, stream: outcomeSession, http: outcomeSession, demotes: true},
	{id: "request-refused-as-stateless", says: saysOurFault, program: outcomeFail, stream: outcomeFail, http: outcomeFail},
	{id: "method-not-found", says: saysNoMethod, program: outcomeSession, stream: outcomeSession, http: outcomeSession, demotes: true},
	{id: "other-error", says: saysError, program: outcomeSession, stream: outcomeSession, http: outcomeSession},
	{id: "other-result", says: saysElse, program: outcomeSession, stream: outcomeSession, http: outcomeSession},
	{id: "refused", says: saysRefused, http: outcomeSession, demotes: true},
	{id: "credentials-as-session", says: saysAuth, only: func(p ProbePolicy) bool { return p.AuthIsSession }, http: outcomeSession},
	{id: "credentials", says: saysAuth, http: outcomeFail},
	{id: "outage", says: saysLater, http: outcomeFail},
	{id: "unreachable", says: saysUnreachable, program: outcomeFail, stream: outcomeFail, http: outcomeFail},
	{id: "silence-as-session", says: saysNothing, only: func(p ProbePolicy) bool { return p.SilenceIsSession }, program: outcomeSession, stream: outcomeSession, http: outcomeSession},
	{id: "silence", says: saysNothing, program: outcomeSession, stream: outcomeSession, http: outcomeFail},
	{id: "ended", says: saysEnded, program: outcomeFresh, stream: outcomeFail, http: outcomeRetry},
	{id: "stopped", says: saysStopped, program: outcomeFail, stream: outcomeFail, http: outcomeFail},
}

// judge returns the row that fits a reply, and what follows from it there.
func judge(r *reply, traits transport.Traits, policy ProbePolicy) (*probeRow, conclusion) {
	for i := range probeTable {
		row := &probeTable[i]
		if row.says != r.says || row.shares != r.shares || row.only != nil && !row.only(policy) {
			continue
		}
		switch {
		case traits.Exchanges:
			return row, row.http
		case !traits.Process:
			return row, row.stream
		case row.program == outcomeSession && policy.FreshProcess:
			return row, outcomeFresh
		}
		return row, row.program
	}
	return &probeRow{id: "unknown"}, outcomeFail
}
