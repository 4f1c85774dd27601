package client

import (
	"net/http"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// The verdicts below say what an attempt tells about the server's health
// (resilience.md 3.2, with the tool level not built yet: what would open a
// tool's circuit opens the server's, decisions 15).

// settle tells the breaker how an attempt went. With CountAll every error
// counts, the seed's literal rule, but for what says nothing about a server:
// the caller gave up, or the client was closed.
func (c *Client) settle(permit breaker.Permit, v verdict, failed bool) {
	switch {
	case v == ownDoing:
		permit.Release()
	case failed && c.res.Breaker != nil && c.res.Breaker.CountAll():
		permit.Settle(breaker.Failure)
	default:
		permit.Settle(v)
	}
}

// verdict is a breaker's, or ownDoing.
type verdict = breaker.Verdict

// ownDoing is the verdict on what this side did: it never counts.
const ownDoing verdict = 255

// failureVerdict judges an attempt without an answer.
func (c *Client) failureVerdict(cl *call, f *transport.Failure) verdict {
	if f.Reason == transport.ReasonTimeout && cl.opts.timesSet && !cl.liveness && c.shorter(cl.opts) {
		// Impatience of one caller must not close the server to all.
		return breaker.Neutral
	}
	if c.countedEnd(cl.link, f) {
		return breaker.Neutral
	}
	switch f.Reason {
	case transport.ReasonUnavailable, transport.ReasonLost, transport.ReasonTimeout, transport.ReasonTooLarge, transport.ReasonProtocol:
		return breaker.Failure
	case transport.ReasonConfig:
		if f.HTTP == nil { // a certificate, not a redirect
			return breaker.Failure
		}
	case transport.ReasonStatus:
		return statusVerdict(f.HTTP.Status)
	case transport.ReasonCanceled, transport.ReasonClosed:
		return ownDoing
	case transport.ReasonSession, transport.ReasonOption, transport.ReasonNotMCP:
	}
	return breaker.Neutral
}

// shorter reports whether a call's own times are shorter than the client's.
func (c *Client) shorter(o callOptions) bool {
	less := func(own, general int64) bool { return own > 0 && (general == 0 || own < general) }
	return less(int64(o.idle), int64(c.res.IdleTimeout)) || less(int64(o.max), int64(c.res.MaxTime))
}

// answerVerdict judges an answer that is an error, by what it means in the
// server's profile: the same -32001 is a timeout to one family and a missing
// resource to another.
func answerVerdict(e *mcperrors.Error) verdict {
	if e.HTTP != nil && statusDecides(e.HTTP.Status) && !definedCode(e.RPC.Code) {
		return statusVerdict(e.HTTP.Status)
	}
	if e.RPC.Code == jsonrpc.CodeParseError {
		return breaker.Neutral
	}
	switch e.Kind {
	case mcperrors.KindOverloaded:
		return breaker.Neutral
	case mcperrors.KindTimeout:
		return breaker.Failure
	case mcperrors.KindServer:
		// E3xx is the server's word on one document. Codes that MCP reserves
		// and has not given a meaning have none (ERR-05).
		if reserved := e.RPC.Code >= -32099 && e.RPC.Code <= -32020; e.Code == mcperrors.E201 && !reserved {
			return breaker.Failure
		}
	default: // alive, and it said no
	}
	return breaker.Success
}

func statusVerdict(status int) verdict {
	switch {
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported:
		return breaker.Neutral
	case status >= 500, status == http.StatusNotFound, status == http.StatusGone:
		return breaker.Failure
	}
	return breaker.Neutral
}
