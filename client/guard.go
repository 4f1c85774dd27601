package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Hooks implements [guard.Host].
func (s *callSupport) Hooks() *guard.Hooks {
	c := s.client()
	h := &guard.Hooks{
		Core: &c.core, Keeper: &c.calls.Keeper, Ping: c.calls.Ping,
	}
	if meter := c.cfg.meter; meter != nil {
		h.Signal = func(s guard.Signal) {
			meter.Observe(Signal{
				Kind: signalKinds[s.Kind], Server: c.core.Server, Method: s.Method, Tool: s.Tool, Wait: s.Wait, Reason: s.Reason,
				Denied: retryDenials[s.Denied], Count: s.Count,
			})
		}
		h.Ended = func(r guard.Request, l *link.Link, a resilience.Attempt, j resilience.Judgement) {
			meter.AttemptEnded(AttemptRecord{
				Server: c.core.Server, Method: r.Method, Tool: r.Tool, Version: l.Agreed.Version, Number: r.Attempts,
				Class: a.Class.String(), Delivery: a.Delivery, OnServer: j.Server, OnTool: j.Tool,
				Status: a.Status, RPCCode: a.Code, Elapsed: a.Elapsed,
			})
		}
	}
	return h
}

// signalKinds maps the signals of the guard to those of this package.
var signalKinds = [...]SignalKind{
	guard.RefusedOpen: RefusedOpen, guard.RefusedToolOpen: RefusedToolOpen, guard.RefusedThrottled: RefusedThrottled,
	guard.RefusedFull: RefusedFull, guard.RefusedRate: RefusedRate, guard.Queued: Queued,
	guard.ThrottledServer: ThrottledServer, guard.ThrottledCredentials: ThrottledCredentials,
	guard.Probed: Probed, guard.SilenceProbed: SilenceProbed, guard.Silent: Silent, guard.LateAnswers: LateAnswers,
	guard.Retried: Retried, guard.RetryDenied: RetryDenied, guard.Hedged: Hedged, guard.HedgeWon: HedgeWon,
}

// retryDenials maps the denials of package resilience to those of this package.
var retryDenials = [...]RetryDenial{
	resilience.DeniedBudget: DeniedByBudget, resilience.DeniedTime: DeniedByTime, resilience.DeniedAttempts: DeniedByAttempts,
}
