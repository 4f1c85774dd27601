package era

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// reply is the outcome of a probe.
type reply struct {
	means  meaning
	shares shares
	// listed are the revisions that the server listed; stateless and session are the newest of
	// each era that the client also supports, "" for none.
	listed             []string
	stateless, session mcp.Version
	raw                json.RawMessage // of a DiscoverResult
	// err is the error of the request, nil if the answer is a result.
	err  *mcperrors.Error
	took time.Duration
	// permit is settled once it is clear what the reply means for the circuit: with verdict, if
	// the reply ends Connect. own is set if the failure is the client's own, which is no evidence
	// about the server.
	permit  breaker.Permit
	verdict breaker.Verdict
	own     bool
}

// settle settles the permit of a reply. A reply that leads to a session is no evidence: the
// session will be.
func (n *Finder) settle(r *reply, next act) {
	switch next {
	case actStateless, actResend, actRefuse:
		r.permit.Settle(breaker.Success)
	case actFail:
		switch {
		case r.own:
			r.permit.Release()
		case n.CountAll:
			r.permit.Settle(breaker.Failure)
		default:
			r.permit.Settle(r.verdict)
		}
	case actNone, actRetry, actSession, actRestart:
		r.permit.Release()
	}
}

// question is a probe before it is sent.
type question struct {
	link   *link.Link
	wait   jsonrpc.Wait
	permit breaker.Permit
}

// newQuestion prepares a probe. A probe is not a call of the application: abandoning it sends no
// notification, and the caller that judges the reply settles its permit. An error is the client's
// own.
func (n *Finder) newQuestion(version mcp.Version, wait jsonrpc.Wait) (*question, error) {
	meta, err := n.Self.Meta(version, n.Host.Level())
	if err != nil {
		return nil, invalid(err)
	}
	permit, err := n.Host.Admit()
	if err != nil {
		return nil, n.About(outcome.Subject{Method: mcp.MethodDiscover}, errormap.From(err, mcperrors.NotSent))
	}
	wait.NullID = true // a server that cannot parse the request answers without an id
	on := n.Links.Newest().With(&link.Agreement{Version: version, Era: mcp.EraStateless, Meta: meta})
	return &question{link: on, wait: wait, permit: permit}, nil
}

// ask sends a probe and records the outcome. Other messages that arrive meanwhile are dropped
// unread.
func (n *Finder) ask(ctx context.Context, version mcp.Version, wait jsonrpc.Wait) (*reply, error) {
	q, err := n.newQuestion(version, wait)
	if err != nil {
		return nil, err
	}
	n.Probing.Store(true)
	r := n.send(ctx, q)
	n.note(mcp.MethodDiscover, version, r.text(), r.took)
	return r, nil
}

// send sends a probe and classifies the outcome.
func (n *Finder) send(ctx context.Context, q *question) *reply {
	began := time.Now()
	out, counted := n.Host.Discover(ctx, q.link, q.wait)
	r := &reply{took: time.Since(began), err: out.Err, permit: q.permit}
	switch {
	case out.Failure != nil:
		r.means = failureMeans(out.Failure)
	case out.Err != nil:
		r.means, r.listed = errorMeans(out.Err)
	default:
		r.means, r.raw = meansElse, out.Result
		if listed, ok := discovered(out.Result); ok {
			r.means, r.listed = meansDiscovered, listed
		}
	}
	switch {
	case counted:
		r.verdict = breaker.Neutral
	case out.Err != nil:
		judged := out.Record.Judge(false)
		r.verdict, r.own = judged.Server, judged.OwnDoing
	}
	r.compare()
	return r
}

// compare finds the revisions that both sides support.
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

// discovered returns the revisions in a DiscoverResult. It returns false for any other result.
func discovered(raw json.RawMessage) ([]string, bool) {
	var result struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	err := jsonrpc.Unmarshal(raw, &result)
	return result.SupportedVersions, err == nil && result.SupportedVersions != nil
}

// supportedIn returns the revisions in the data of an error.
func supportedIn(rpc *jsonrpc.Error) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if jsonrpc.Unmarshal(rpc.Data, &data) != nil {
		return nil
	}
	return data.Supported
}

// errorMeans classifies an error answer: missing credentials first, then errors that only
// stateless servers send, then outages by the HTTP status.
func errorMeans(e *mcperrors.Error) (meaning, []string) {
	status := 0
	if e.HTTP != nil {
		status = e.HTTP.Status
	}
	byStatus := statusMeans(status)
	switch {
	case byStatus == meansAuth:
		return meansAuth, nil
	case e.RPC.Code == mcp.CodeUnsupportedProtocolVersion:
		if listed := supportedIn(e.RPC); len(listed) > 0 {
			return meansUnsupported, listed
		}
		return meansUnsupportedBare, nil
	case statelessOnly(e.RPC.Code):
		return meansOurFault, nil
	case byStatus == meansLater:
		return meansLater, nil
	case e.RPC.Code == jsonrpc.CodeMethodNotFound:
		return meansNoMethod, nil
	}
	return meansError, nil
}

// statelessOnly reports whether only servers of the stateless era send the error code.
func statelessOnly(code int64) bool {
	switch code {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// statusMeans classifies a status other than 2xx.
func statusMeans(status int) meaning {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return meansAuth
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return meansLater
	}
	switch {
	case status >= 500:
		return meansLater
	case status >= 400:
		return meansRefused
	}
	return meansElse
}

// failureMeans classifies a probe without an answer.
func failureMeans(f *transport.Failure) meaning {
	switch f.Reason {
	case transport.ReasonTimeout:
		return meansNothing
	case transport.ReasonLost:
		return meansEnded
	case transport.ReasonStatus, transport.ReasonSession:
		return statusMeans(f.HTTP.Status)
	case transport.ReasonProtocol, transport.ReasonNotMCP, transport.ReasonTooLarge, transport.ReasonNoRoom:
		return meansElse
	case transport.ReasonUnavailable, transport.ReasonUnprocessed, transport.ReasonConfig:
		return meansUnreachable
	case transport.ReasonCanceled, transport.ReasonClosed, transport.ReasonOption, transport.ReasonCallback,
		transport.ReasonAuthorization: // nobody is asked again to log in
	}
	return meansStopped
}
