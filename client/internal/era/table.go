package era

import "github.com/mainstay-mcp/mainstay/client/transport"

// Policy changes how replies to the probe are judged. The zero Policy is right
// for servers that keep to the protocol.
type Policy struct {
	// FreshProcess opens a session in a restarted program, whatever the first one
	// answered to the probe.
	FreshProcess bool
	// SilenceIsSession takes a server that does not answer a probe over HTTP in
	// time for one of the session era.
	SilenceIsSession bool
	// AuthIsSession takes 401 and 403 for the session era.
	AuthIsSession bool
	// AnyRefusal tries the transport's fallback after any 4xx to initialize but 401
	// and 403.
	AnyRefusal bool
}

// meaning is what a reply to the probe says, whatever carried it.
type meaning uint8

const (
	// meansDiscovered: a result with a list of revisions.
	meansDiscovered meaning = iota + 1
	// meansUnsupported: -32022 with a list of revisions.
	meansUnsupported
	// meansUnsupportedBare: -32022 without one.
	meansUnsupportedBare
	// meansOurFault: -32020 or -32021, which only a stateless server knows.
	meansOurFault
	// meansNoMethod: -32601. meansError: any other JSON-RPC error.
	meansNoMethod
	meansError
	// meansElse: a success that is nothing of the above.
	meansElse
	// meansRefused: a 4xx without a JSON-RPC error.
	meansRefused
	// meansAuth: 401 or 403, whatever the body.
	meansAuth
	// meansLater: 408, 425, 429 or 5xx.
	meansLater
	// meansUnreachable: no connection, no TLS, a redirect that is not followed.
	meansUnreachable
	// meansNothing: no answer in time.
	meansNothing
	// meansEnded: the program, stream or connection ended before the answer.
	meansEnded
	// meansStopped: this side gave up, or was set up wrong.
	meansStopped
)

// shares is which of the listed revisions this client speaks too.
type shares uint8

const (
	sharesNothing shares = iota
	sharesSession
	sharesStateless // and maybe one of the session era
)

// act is what the client does because of a reply.
type act uint8

const (
	// actNone: the reply does not occur on this kind of transport.
	actNone act = iota
	// actStateless: the conversation is open.
	actStateless
	// actResend: probe again with the revision in common, once.
	actResend
	// actRetry: probe again the same way, once.
	actRetry
	// actSession: initialize, where the probe was sent.
	actSession
	// actRestart: initialize in a restarted program, so that its session never saw
	// a probe.
	actRestart
	// actRefuse: fail, naming both lists of revisions.
	actRefuse
	// actFail: fail with the error as it is. It says nothing about the era.
	actFail
)

// row is one row of the decision table.
type row struct {
	// id names the row in events and tests.
	id     string
	means  meaning
	shares shares
	// only limits the row to a policy; nil is always.
	only func(Policy) bool
	// What follows from a program over stdio, from any other byte stream and
	// over HTTP.
	program, stream, http act
	// overturns says that the reply disproves what is remembered of a stateless
	// server. Other replies fail the connection that relied on it.
	overturns bool
}

// table is how a reply to the probe is judged. The first row that fits counts.
//
//nolint:gochecknoglobals // a table
var table = []row{
	{id: "discovered", means: meansDiscovered, shares: sharesStateless, program: actStateless, stream: actStateless, http: actStateless, overturns: true},
	{id: "discovered-session-only", means: meansDiscovered, shares: sharesSession, program: actSession, stream: actSession, http: actSession, overturns: true},
	{id: "discovered-nothing-shared", means: meansDiscovered, shares: sharesNothing, program: actRefuse, stream: actRefuse, http: actRefuse, overturns: true},
	{id: "unsupported-shared", means: meansUnsupported, shares: sharesStateless, program: actResend, stream: actResend, http: actResend, overturns: true},
	{id: "unsupported-session-only", means: meansUnsupported, shares: sharesSession, program: actSession, stream: actSession, http: actSession, overturns: true},
	{id: "unsupported-nothing-shared", means: meansUnsupported, shares: sharesNothing, program: actRefuse, stream: actRefuse, http: actRefuse, overturns: true},
	{id: "unsupported-without-list", means: meansUnsupportedBare, program: actSession, stream: actSession, http: actSession, overturns: true},
	{id: "request-refused-as-stateless", means: meansOurFault, program: actFail, stream: actFail, http: actFail},
	{id: "method-not-found", means: meansNoMethod, program: actSession, stream: actSession, http: actSession, overturns: true},
	{id: "other-error", means: meansError, program: actSession, stream: actSession, http: actSession},
	{id: "other-result", means: meansElse, program: actSession, stream: actSession, http: actSession},
	{id: "refused", means: meansRefused, http: actSession, overturns: true},
	{id: "credentials-as-session", means: meansAuth, only: func(p Policy) bool { return p.AuthIsSession }, http: actSession},
	{id: "credentials", means: meansAuth, http: actFail},
	{id: "outage", means: meansLater, http: actFail},
	{id: "unreachable", means: meansUnreachable, program: actFail, stream: actFail, http: actFail},
	{id: "silence-as-session", means: meansNothing, only: func(p Policy) bool { return p.SilenceIsSession }, program: actSession, stream: actSession, http: actSession},
	{id: "silence", means: meansNothing, program: actSession, stream: actSession, http: actFail},
	{id: "ended", means: meansEnded, program: actRestart, stream: actFail, http: actRetry},
	{id: "stopped", means: meansStopped, program: actFail, stream: actFail, http: actFail},
}

// judge returns the row that fits a reply, and what follows from it there.
func judge(r *reply, traits transport.Traits, policy Policy) (*row, act) {
	for i := range table {
		fits := &table[i]
		if fits.means != r.means || fits.shares != r.shares || fits.only != nil && !fits.only(policy) {
			continue
		}
		switch {
		case traits.Exchanges:
			return fits, fits.http
		case !traits.Process:
			return fits, fits.stream
		case fits.program == actSession && policy.FreshProcess:
			return fits, actRestart
		}
		return fits, fits.program
	}
	return &row{id: "unknown"}, actFail
}
