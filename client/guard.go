package client

import (
	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// settle tells the breaker how an attempt went. With CountAll every error
// counts, the seed's literal rule, but for what says nothing about a server:
// the caller gave up, or the client was closed.
func (c *Client) settle(permit breaker.Permit, answer transport.Answer, err error) {
	if c.res.Breaker == nil {
		return
	}
	verdict := verdictOf(answer, err)
	if c.res.Breaker.CountAll() {
		switch {
		case err != nil && (failureOf(err).Reason == transport.ReasonCanceled || failureOf(err).Reason == transport.ReasonClosed):
			permit.Release()
			return
		case err != nil || answer.Error != nil:
			verdict = breaker.Failure
		}
	}
	permit.Settle(verdict)
}

// verdictOf says what an attempt tells about the server's health
// (resilience.md 3.2, with the tool level not built yet: what would open a
// tool's circuit opens the server's, decisions 15). It is a pure function.
func verdictOf(answer transport.Answer, err error) breaker.Verdict {
	if err != nil {
		return failureVerdict(failureOf(err))
	}
	if answer.Error == nil {
		return breaker.Success // isError too: the server works
	}
	switch code := answer.Error.Code; {
	case code == jsonrpc.CodeParseError:
		return breaker.Neutral
	case code == jsonrpc.CodeInternalError:
		return breaker.Failure
	case code == codeRequestTimeout || code == codeServerError:
		return breaker.Failure
	case code == codeTooManyRequests:
		return breaker.Neutral
	case code == codeUnavailable || code == codeAppInternal:
		return breaker.Failure
	}
	return breaker.Success // alive, and it said no
}

// Codes of servers that say the server is not well. -32002 and -32003 are the
// server's word on one document, -32004 and on have no meaning (ERR-05).
const (
	codeServerError     = -32000
	codeRequestTimeout  = -32001
	codeTooManyRequests = 429
	codeAppInternal     = 500
	codeUnavailable     = 503
)

func failureVerdict(f *transport.Failure) breaker.Verdict {
	switch f.Reason {
	case transport.ReasonUnavailable, transport.ReasonLost, transport.ReasonTimeout:
		return breaker.Failure
	case transport.ReasonConfig:
		if f.HTTP == nil { // a certificate, not a redirect
			return breaker.Failure
		}
		return breaker.Neutral
	case transport.ReasonStatus:
		return statusVerdict(f.HTTP.Status)
	case transport.ReasonTooLarge:
		return breaker.Failure
	case transport.ReasonProtocol:
		if f.HTTP != nil && f.HTTP.ContentType != "application/json" {
			return breaker.Neutral // a portal or a wrong URL, not this server
		}
		return breaker.Failure
	case transport.ReasonCanceled, transport.ReasonClosed, transport.ReasonSession, transport.ReasonOption:
	}
	return breaker.Neutral
}

func statusVerdict(status int) breaker.Verdict {
	switch {
	case status == 501 || status == 505:
		return breaker.Neutral
	case status >= 500, status == 404, status == 410:
		return breaker.Failure
	}
	return breaker.Neutral
}
