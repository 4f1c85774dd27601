package era

import "github.com/mainstay-mcp/mainstay/client/transport"

// Policy changes how replies to the probe are judged. The zero Policy suits servers that follow
// the protocol.
type Policy struct {
	// FreshProcess opens a session in a restarted program, whatever the first program answered to
	// the probe.
	FreshProcess bool
	// SilenceIsSession chooses the session era for a server that does not answer a probe over
	// HTTP in time.
	SilenceIsSession bool
	// AuthIsSession chooses the session era after 401 and 403.
	AuthIsSession bool
	// AnyRefusal tries the transport's fallback after any 4xx of initialize except 401 and 403.
	AnyRefusal bool
}

// meaning is the meaning of a reply to the probe, independent of the transport.
type meaning uint8

const (
	// meansDiscovered: a result with a list of revisions.
	meansDiscovered meaning = iota + 1
	// meansUnsupported: -32022 with a list of revisions.
	meansUnsupported
	// meansUnsupportedBare: -32022 without one.
	meansUnsupportedBare
	// meansOurFault: -32020 or -32021, which only stateless servers send.
	meansOurFault
	// meansNoMethod: -32601. meansError: any other JSON-RPC error.
	meansNoMethod
	meansError
	// meansElse: a result other than the above.
	meansElse
	// meansRefused: a 4xx without a JSON-RPC error.
	meansRefused
	// meansAuth: 401 or 403, with any body.
	meansAuth
	// meansLater: 408, 425, 429 or 5xx.
	meansLater
	// meansUnreachable: no connection, no TLS, a redirect that is not followed.
	meansUnreachable
	// meansNothing: no answer in time.
	meansNothing
	// meansEnded: the program, stream or connection ended before the answer.
	meansEnded
	// meansStopped: the client gave up, or was configured wrongly.
	meansStopped
)

// shares is which of the listed revisions the client also supports.
type shares uint8

const (
	sharesNothing shares = iota
	sharesSession
	sharesStateless // and possibly one of the session era
)

// act is the step of the client after a reply.
type act uint8

const (
	// actNone: the reply does not occur on this kind of transport.
	actNone act = iota
	// actStateless: the handshake is complete.
	actStateless
	// actResend: probe again with the common revision, once.
	actResend
	// actRetry: probe again with the same revision, once.
	actRetry
	// actSession: initialize, over the connection of the probe.
	actSession
	// actRestart: initialize in a restarted program, whose session never saw a probe.
	actRestart
	// actRefuse: fail with an error that has both lists of revisions.
	actRefuse
	// actFail: fail with the error of the reply, which says nothing about the era.
	actFail
)

// row is one row of the decision table.
type row struct {
	// id names the row in events and tests.
	id     string
	means  meaning
	shares shares
	// only limits the row to a policy; nil means no limit.
	only func(Policy) bool
	// The steps for a program over stdio, for any other byte stream, and over HTTP.
	program, stream, http act
	// overturns is set if the reply disproves a remembered stateless era. After other replies, a
	// connection that relies on a remembered era fails.
	overturns bool
}

// table decides how a reply to the probe is judged. The first row that matches counts.
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

// judge returns the row that matches a reply, and its step for the transport.
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
