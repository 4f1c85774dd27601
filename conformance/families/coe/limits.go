package coe

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// admit asks the rate limits for a call (tools.md §3.5).
func (s *server) admit(_ context.Context, fc *family.Call) family.Quota {
	return s.limits.Take(fc.Origin.Agent, time.Now())
}

// refuse answers a call over the limit in the form of the tool's version.
func (s *server) refuse(ctx context.Context, fc *family.Call, q family.Quota) (any, error) {
	c := newCall(fc)
	v := version{form: numeric}
	for _, t := range s.tools {
		if t.name == fc.Tool {
			if picked, err := t.pick(c); err == nil {
				v = picked
			}
		}
	}
	data := map[string]any{
		"limit": s.opts.Rates.Of(q.Scope).Calls, "remaining": 0, "reset": q.Reset.Unix(),
		"retry_after_seconds": envelope.Seconds(q.RetryAfter), "scope": q.Scope,
	}
	if v.form != enveloped {
		return nil, envelope.Numeric(envelope.TooManyRequests, "", data)
	}
	return c.fail(ctx, v, envelope.New(envelope.RateLimit, "Too Many Requests").Again(q.RetryAfter).Details(data))
}
