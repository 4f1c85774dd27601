package client

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// One row for each line of resilience.md 3.2 that exists: what an attempt
// without an answer says about the server.
func TestFailureVerdicts(t *testing.T) {
	t.Parallel()
	status := func(code int) *transport.Failure {
		return &transport.Failure{Reason: transport.ReasonStatus, HTTP: &mcperrors.HTTPEvidence{Status: code}}
	}
	of := func(r transport.Reason) *transport.Failure {
		return &transport.Failure{Reason: r, Err: errors.New("x")}
	}
	redirect := of(transport.ReasonConfig)
	redirect.HTTP = &mcperrors.HTTPEvidence{Status: 302}
	c := &Client{res: &Resilience{IdleTimeout: time.Minute, MaxTime: time.Hour}}
	for _, tt := range []struct {
		name string
		f    *transport.Failure
		opts callOptions
		want breaker.Verdict
	}{
		{"unreachable", of(transport.ReasonUnavailable), callOptions{}, breaker.Failure},
		{"lost", of(transport.ReasonLost), callOptions{}, breaker.Failure},
		{"timeout", of(transport.ReasonTimeout), callOptions{}, breaker.Failure},
		{"a longer timeout", of(transport.ReasonTimeout), callOptions{timesSet: true, idle: time.Hour, max: 2 * time.Hour}, breaker.Failure},
		{"an impatient caller's timeout", of(transport.ReasonTimeout), callOptions{timesSet: true, idle: time.Second}, breaker.Neutral},
		{"an impatient caller's maximum", of(transport.ReasonTimeout), callOptions{timesSet: true, max: time.Second}, breaker.Neutral},
		{"too large", of(transport.ReasonTooLarge), callOptions{}, breaker.Neutral},
		{"protocol", of(transport.ReasonProtocol), callOptions{}, breaker.Failure},
		{"not MCP at all", of(transport.ReasonNotMCP), callOptions{}, breaker.Neutral},
		{"certificate", of(transport.ReasonConfig), callOptions{}, breaker.Failure},
		{"redirect", redirect, callOptions{}, breaker.Neutral},
		{"session lost", of(transport.ReasonSession), callOptions{}, breaker.Neutral},
		{"wrong option", of(transport.ReasonOption), callOptions{}, breaker.Neutral},
		{"cancelled", of(transport.ReasonCanceled), callOptions{}, ownDoing},
		{"closed", of(transport.ReasonClosed), callOptions{}, ownDoing},
		{"400", status(400), callOptions{}, breaker.Neutral},
		{"401", status(401), callOptions{}, breaker.Neutral},
		{"403", status(403), callOptions{}, breaker.Neutral},
		{"404", status(404), callOptions{}, breaker.Failure},
		{"408", status(408), callOptions{}, breaker.Neutral},
		{"410", status(410), callOptions{}, breaker.Failure},
		{"429", status(429), callOptions{}, breaker.Neutral},
		{"500", status(500), callOptions{}, breaker.Failure},
		{"501", status(501), callOptions{}, breaker.Neutral},
		{"502", status(502), callOptions{}, breaker.Failure},
		{"503", status(503), callOptions{}, breaker.Failure},
		{"504", status(504), callOptions{}, breaker.Failure},
		{"505", status(505), callOptions{}, breaker.Neutral},
	} {
		if tt.f.Err == nil {
			tt.f.Err = errors.New("x")
		}
		cl := &call{opts: tt.opts, link: &link.Link{Agreed: link.Nothing}}
		require.Equal(t, tt.want, serverVerdict(c.unanswered(cl, tt.f, fromFailure(tt.f))), tt.name)
	}
}

// And what an answer that is an error says, by the server's profile and the
// HTTP status.
func TestAnswerVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		profile mcperrors.Profile
		code    int64
		status  int
		want    breaker.Verdict
		kind    mcperrors.Kind
	}{
		{"parse error", "", -32700, 0, breaker.Neutral, mcperrors.KindProtocol},
		{"invalid request", "", -32600, 0, breaker.Success, mcperrors.KindProtocol},
		{"method not found", "", -32601, 0, breaker.Success, mcperrors.KindUnsupported},
		{"invalid params", "", -32602, 0, breaker.Success, mcperrors.KindInvalidArguments},
		{"internal error", "", -32603, 0, breaker.Failure, mcperrors.KindServer},
		{"internal error by 500", "", -32603, 500, breaker.Failure, mcperrors.KindServer},
		{"unavailable", "", -32000, 0, breaker.Failure, mcperrors.KindServer},
		{"timeout", mcperrors.Docling, -32001, 0, breaker.Failure, mcperrors.KindTimeout},
		{"conversion", mcperrors.Docling, -32002, 0, breaker.Success, mcperrors.KindServer},
		{"conversion, stateless era", mcperrors.Docling, -31002, 0, breaker.Success, mcperrors.KindServer},
		{"export", mcperrors.Docling, -32003, 0, breaker.Success, mcperrors.KindServer},
		{"a server's own", "", -32010, 0, breaker.Failure, mcperrors.KindServer},
		{"reserved", "", -32050, 0, breaker.Success, mcperrors.KindServer},
		{"an application's 500", "", 500, 0, breaker.Success, mcperrors.KindApp},
		{"a missing artifact", mcperrors.Artifact, -32001, 0, breaker.Success, mcperrors.KindNotFound},
		{"an approval that is due", mcperrors.Artifact, -32000, 0, breaker.Success, mcperrors.KindApp},
		{"COE 429", mcperrors.COE, 429, 0, breaker.Neutral, mcperrors.KindOverloaded},
		{"COE 500", mcperrors.COE, 500, 0, breaker.Failure, mcperrors.KindServer},
		{"COE 404", mcperrors.COE, 404, 0, breaker.Success, mcperrors.KindNotFound},
		{"401 with a code without meaning", "", -32001, 401, breaker.Neutral, mcperrors.KindAuth},
		{"403 with a code without meaning", "", -32000, 403, breaker.Neutral, mcperrors.KindAuth},
		{"429 with a code without meaning", "", -32000, 429, breaker.Neutral, mcperrors.KindOverloaded},
		{"503 with a code without meaning", "", -32000, 503, breaker.Failure, mcperrors.KindServer},
		{"401 with invalid params", "", -32602, 401, breaker.Success, mcperrors.KindInvalidArguments},
		{"404 with method not found", "", -32601, 404, breaker.Success, mcperrors.KindUnsupported},
	} {
		cfg, err := newConfig([]Option{WithErrorProfile(tt.profile)})
		require.NoError(t, err)
		c := newClient(cfg, &transport.Stream{})
		answer := transport.Answer{Response: jsonrpc.Response{Error: jsonrpc.NewError(tt.code, "m", nil)}, RetryAfter: 7 * time.Second}
		if tt.status != 0 {
			answer.HTTP = &mcperrors.HTTPEvidence{Status: tt.status}
		}
		cl := &call{method: mcp.MethodToolsCall, tool: "x", link: &link.Link{Agreed: link.Nothing}}
		e := c.refusedBy(cl, answer)
		require.Equal(t, tt.kind, e.Kind, tt.name)
		require.Equal(t, tt.want, serverVerdict(refused(cl, answer, e)), tt.name)
		require.Equal(t, tt.code, *e.OriginalMCPCode, tt.name)
		if tt.status == 429 {
			require.Equal(t, 7*time.Second, e.RetryAfter)
			require.Equal(t, mcperrors.Answered, e.Delivery, "who answers by the id has read it")
		}
		require.NoError(t, c.Close())
	}
}

// No failure of a transport makes an E209 that is retryable.
func TestE209IsNotRetryable(t *testing.T) {
	t.Parallel()
	seen := 0
	for reason := transport.Reason(0); reason < 50; reason++ {
		for _, f := range []transport.Failure{{}, {NotSent: true}, {Rejected: true}, {Answered: true}, {RetryAfter: 1}} {
			for _, status := range []int{200, 400, 429, 501, 503, 505} {
				f.Reason, f.Err, f.HTTP = reason, errors.New("no"), &mcperrors.HTTPEvidence{Status: status}
				if e := fromFailure(&f); e.Code == mcperrors.E209 {
					seen++
					require.False(t, e.Retryable, "reason %d: %v", reason, e)
				}
			}
		}
	}
	require.Positive(t, seen)
}
