package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// reply is what came of a probe.
type reply struct {
	says   says
	shares shares
	// listed are the revisions the server named; stateless and session are the
	// newest of each era that this client speaks too, "" for none.
	listed             []string
	stateless, session mcp.Version
	raw                json.RawMessage // of a DiscoverResult
	// err is the error of the request, nil when it was answered with a result.
	err  *mcperrors.Error
	took time.Duration
	// permit waits for what the reply means for the server's health, verdict
	// is what it means if it ends the attempt to connect.
	permit  breaker.Permit
	verdict verdict
}

// settle tells the breaker what follows from the reply. What only opens the way
// to a session says nothing: the session will.
func (r *reply) settle(c *Client, o conclusion) {
	switch o {
	case outcomeStateless, outcomeResend, outcomeVersion:
		c.settlePermit(r.permit, breaker.Success, false)
	case outcomeFail:
		c.settlePermit(r.permit, r.verdict, true)
	case outcomeNone, outcomeRetry, outcomeSession, outcomeFresh:
		r.permit.Release()
	}
}

// probeCall is a server/discover that is about to be sent.
type probeCall struct {
	cl    *call
	reply *reply
}

// newProbe prepares a probe. It is not a call of the application: nothing is sent
// when it is given up (NEG-16), and whoever judges the reply settles it. The error
// is one of this side.
func (c *Client) newProbe(version mcp.Version, wait jsonrpc.Wait) (*probeCall, error) {
	meta, err := c.requestMeta(version)
	if err != nil {
		return nil, badOption(err)
	}
	r := &reply{}
	if b := c.breaker(true); b != nil {
		if r.permit, err = b.Acquire(); err != nil {
			return nil, c.local(err, mcp.MethodDiscover)
		}
	}
	cl := &call{request: request{
		method: mcp.MethodDiscover, opts: callOptions{timesSet: true, idle: wait.Idle, max: wait.Max},
	}}
	cl.begin(c.live.Newest().With(&link.Agreement{Version: version, Era: mcp.EraStateless, Meta: meta}), c.cfg.nextID())
	return &probeCall{reply: r, cl: cl}, nil
}

// sendProbe sends a probe and reads what comes of it.
func (c *Client) sendProbe(ctx context.Context, q *probeCall) *reply {
	cl, r := q.cl, q.reply
	began := time.Now()
	req := cl.frame()
	req.Wait = c.wait(cl.opts)
	req.Wait.NullID = true // a server that cannot read it has no id to answer with
	out := c.exchange(ctx, cl, req)
	r.took, r.err = time.Since(began), out.Err
	switch {
	case out.Failure != nil:
		r.says, r.verdict = saidByFailure(out.Failure), breaker.Neutral
		if !c.countedEnd(cl.link, out.Failure) {
			r.verdict = serverVerdict(out.Record)
		}
	case out.Err != nil:
		r.says, r.listed = saidByError(out.Err.RPC, out.Err.HTTP)
		r.verdict = serverVerdict(out.Record)
	default:
		r.says, r.raw = saysElse, out.Result
		if listed, ok := discovered(out.Result); ok {
			r.says, r.listed = saysDiscovered, listed
		}
	}
	r.compare()
	return r
}

// compare finds what both sides speak.
func (r *reply) compare() {
	r.stateless, _ = mcp.Newest(r.listed, mcp.EraStateless)
	r.session, _ = mcp.Newest(r.listed, mcp.EraSession)
	switch {
	case r.stateless != "":
		r.shares = sharesStateless
	case r.session != "":
		r.shares = sharesSession
	}
}

// discovered reads the list of revisions in a DiscoverResult, and tells one
// from any other result (NEG-08).
func discovered(raw json.RawMessage) ([]string, bool) {
	var result struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	err := jsonrpc.Unmarshal(raw, &result)
	return result.SupportedVersions, err == nil && result.SupportedVersions != nil
}

// supportedIn reads the list of revisions in an error's data (DISC-06, LC-06).
func supportedIn(rpc *jsonrpc.Error) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if jsonrpc.Unmarshal(rpc.Data, &data) != nil {
		return nil
	}
	return data.Supported
}

// saidByError classes an answer that is an error: who asks comes first, then
// what only stateless servers say, then whether the status is an outage's.
func saidByError(rpc *jsonrpc.Error, h *mcperrors.HTTPEvidence) (says, []string) {
	status := 0
	if h != nil {
		status = h.Status
	}
	byStatus := saidByStatus(status)
	switch {
	case byStatus == saysAuth:
		return saysAuth, nil
	case rpc.Code == mcp.CodeUnsupportedProtocolVersion:
		if listed := supportedIn(rpc); len(listed) > 0 {
			return saysUnsupported, listed
		}
		return saysUnsupportedBare, nil
	case statelessOnly(rpc.Code):
		return saysOurFault, nil
	case byStatus == saysLater:
		return saysLater, nil
	case rpc.Code == jsonrpc.CodeMethodNotFound:
		return saysNoMethod, nil
	}
	return saysError, nil
}

// statelessOnly reports the codes that only servers of the stateless era know
// ("recognized stateless error" in protocol.md 4).
func statelessOnly(code int64) bool {
	switch code {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// saidByStatus classes a status that is not 2xx.
func saidByStatus(status int) says {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return saysAuth
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return saysLater
	}
	switch {
	case status >= 500:
		return saysLater
	case status >= 400:
		return saysRefused
	}
	return saysElse
}

// saidByFailure classes a probe without an answer.
func saidByFailure(f *transport.Failure) says {
	switch f.Reason {
	case transport.ReasonTimeout:
		return saysNothing
	case transport.ReasonLost:
		return saysEnded
	case transport.ReasonStatus, transport.ReasonSession:
		return saidByStatus(f.HTTP.Status)
	case transport.ReasonProtocol, transport.ReasonNotMCP, transport.ReasonTooLarge, transport.ReasonNoRoom:
		return saysElse
	case transport.ReasonUnavailable, transport.ReasonUnprocessed, transport.ReasonConfig:
		return saysUnreachable
	case transport.ReasonCanceled, transport.ReasonClosed, transport.ReasonOption, transport.ReasonCallback:
	}
	return saysStopped
}

// mutePatience is how long a probe over HTTP has the server for itself. There an
// answer takes a round trip, not the start of a program.
const mutePatience = 2 * time.Second

// headStart is how long a probe is waited for before initialize is sent beside it.
func (c *Client) headStart(ctx context.Context, traits transport.Traits) time.Duration {
	if traits.Exchanges {
		return c.probeBound(ctx, mutePatience)
	}
	return c.probeBound(ctx, DefaultProbeTimeout)
}

// probeWait bounds a probe that nothing is sent beside.
func (c *Client) probeWait(ctx context.Context, traits transport.Traits) jsonrpc.Wait {
	if traits.Exchanges && c.cfg.era.timeout == 0 {
		return c.wait(callOptions{})
	}
	return jsonrpc.Wait{Max: c.probeBound(ctx, DefaultProbeTimeout)}
}

// probeBound is the time of a probe: usual, or what the options say, but no more
// than half of the caller's, so that the rest suffices for a session.
func (c *Client) probeBound(ctx context.Context, usual time.Duration) time.Duration {
	bound, general := orElse(c.cfg.era.timeout, usual), c.wait(callOptions{})
	if end, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(end)/2)
	}
	for _, d := range []time.Duration{general.Idle, general.Max} {
		if d > 0 {
			bound = min(bound, d)
		}
	}
	return max(time.Millisecond, bound.Truncate(time.Millisecond))
}

// rpcOf returns the server's JSON-RPC error in err, nil when there is none.
func rpcOf(err error) *jsonrpc.Error {
	var rpc *jsonrpc.Error
	errors.As(err, &rpc)
	return rpc
}
