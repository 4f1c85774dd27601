package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The class and the error of each reason of a transport, one per row.
func TestFailures(t *testing.T) {
	t.Parallel()
	const (
		failure = breaker.Failure
		neutral = breaker.Neutral
	)
	status := func(code int) *transport.Failure {
		return &transport.Failure{Reason: transport.ReasonStatus, Err: errors.New("x"), HTTP: &mcperrors.HTTPEvidence{Status: code}}
	}
	of := func(r transport.Reason) *transport.Failure {
		return &transport.Failure{Reason: r, Err: errors.New("x")}
	}
	with := func(r transport.Reason, err error) *transport.Failure { return &transport.Failure{Reason: r, Err: err} }
	program := &mcperrors.ProcessEvidence{Exited: true}
	for _, tt := range []struct {
		name   string
		f      *transport.Failure
		class  resilience.Class
		code   mcperrors.Code
		kind   mcperrors.Kind
		server breaker.Verdict
		text   string
	}{
		{"unreachable", of(transport.ReasonUnavailable), resilience.ClassUnavailable, "E201", mcperrors.KindTransport, failure, "the server cannot be reached: x"},
		{
			"no program", &transport.Failure{Reason: transport.ReasonUnavailable, Err: fs.ErrNotExist, Process: program},
			resilience.ClassUnavailable, "E201", mcperrors.KindTransport, failure, "the program cannot be started: file does not exist; check the command",
		},
		{"no descriptors", with(transport.ReasonUnavailable, syscall.EMFILE), resilience.ClassExhausted, "E201", mcperrors.KindTransport, neutral, "the server cannot be reached: too many open files"},
		{"lost", of(transport.ReasonLost), resilience.ClassLost, "E201", mcperrors.KindTransport, failure, "the connection was lost before the answer: x"},
		{
			"lost before", &transport.Failure{Reason: transport.ReasonLost, NotSent: true, Err: errors.New("x")},
			resilience.ClassLost, "E201", mcperrors.KindTransport, failure, "the connection was lost: x",
		},
		{
			"exited", &transport.Failure{Reason: transport.ReasonLost, Err: errors.New("x"), Process: program},
			resilience.ClassExited, "E201", mcperrors.KindTransport, failure, "the server stopped before it answered",
		},
		{
			"exited for good", &transport.Failure{Reason: transport.ReasonLost, NotSent: true, Err: errors.New("x"), Process: program},
			resilience.ClassExited, "E201", mcperrors.KindTransport, failure, "the server has exited; close this client and connect again",
		},
		{
			"an idle connection that was closed", &transport.Failure{Reason: transport.ReasonLost, Reused: true, Err: errors.New("x")},
			resilience.ClassLost, "E201", mcperrors.KindTransport, neutral, "the connection was lost before the answer: x",
		},
		{"timeout", with(transport.ReasonTimeout, jsonrpc.ErrIdle), resilience.ClassTimeout, "E202", mcperrors.KindTimeout, neutral, "no answer and no progress within 60s; raise Resilience.IdleTimeout, or WithTimeouts for one call"},
		{"maximum", with(transport.ReasonTimeout, jsonrpc.ErrMaxWait), resilience.ClassTimeout, "E202", mcperrors.KindTimeout, neutral, "no answer within 1h0m0s"},
		{"canceled", with(transport.ReasonCanceled, context.Canceled), resilience.ClassCanceled, "", mcperrors.KindCanceled, neutral, ""},
		{"a caller's deadline", with(transport.ReasonCanceled, context.DeadlineExceeded), resilience.ClassCanceled, "E202", mcperrors.KindTimeout, neutral, "no answer"},
		{"closed", of(transport.ReasonClosed), resilience.ClassLocal, "E201", mcperrors.KindClosed, neutral, "the client was closed"},
		{"a transport's panic", of(transport.ReasonCallback), resilience.ClassLocal, "E203", mcperrors.KindApp, neutral, "x"},
		{"session lost", of(transport.ReasonSession), resilience.ClassSessionLost, "E501", mcperrors.KindSessionLost, neutral, "x"},
		{"protocol", of(transport.ReasonProtocol), resilience.ClassBrokenResult, "E203", mcperrors.KindProtocol, failure, "x"},
		{"not MCP at all", of(transport.ReasonNotMCP), resilience.ClassNotMCP, "E203", mcperrors.KindProtocol, neutral, "x"},
		{"too large", of(transport.ReasonTooLarge), resilience.ClassTooLarge, "E209", mcperrors.KindTooLarge, neutral, "x"},
		{"no room", of(transport.ReasonNoRoom), resilience.ClassTooLarge, "E209", mcperrors.KindOverloaded, neutral, "x"},
		{"certificate", of(transport.ReasonConfig), resilience.ClassCertificate, "E201", mcperrors.KindTransport, failure, "x"},
		{
			"redirect", &transport.Failure{Reason: transport.ReasonConfig, Err: errors.New("x"), HTTP: &mcperrors.HTTPEvidence{Status: 302}},
			resilience.ClassRefused, "E201", mcperrors.KindTransport, neutral, "x",
		},
		{"wrong option", of(transport.ReasonOption), resilience.ClassRefused, "E203", mcperrors.KindInvalidArguments, neutral, "x"},
		{"unprocessed", of(transport.ReasonUnprocessed), resilience.ClassUnprocessed, "E201", mcperrors.KindTransport, neutral, "the server did not process the request: x"},
		{"of another version", of(99), resilience.ClassNone, "E203", mcperrors.KindProtocol, neutral, "x"},
		{"400", status(400), resilience.ClassRefused, "E203", mcperrors.KindProtocol, neutral, ""},
		{"401", status(401), resilience.ClassUnauthorized, "E208", mcperrors.KindAuth, neutral, ""},
		{"403", status(403), resilience.ClassForbidden, "E208", mcperrors.KindAuth, neutral, ""},
		{"404", status(404), resilience.ClassNoEndpoint, "E201", mcperrors.KindTransport, failure, ""},
		{"408", status(408), resilience.ClassRequestTimeout, "E202", mcperrors.KindServer, neutral, ""},
		{"410", status(410), resilience.ClassNoEndpoint, "E201", mcperrors.KindTransport, failure, ""},
		{"429", status(429), resilience.ClassThrottled, "E601", mcperrors.KindOverloaded, neutral, ""},
		{"500", status(500), resilience.ClassStatusFailed, "E201", mcperrors.KindServer, failure, ""},
		{"501", status(501), resilience.ClassStatusNever, "E209", mcperrors.KindUnsupported, neutral, ""},
		{"502", status(502), resilience.ClassGateway, "E201", mcperrors.KindServer, failure, ""},
		{"503", status(503), resilience.ClassBusy, "E201", mcperrors.KindServer, failure, ""},
		{"504", status(504), resilience.ClassGateway, "E201", mcperrors.KindServer, failure, ""},
		{"505", status(505), resilience.ClassStatusNever, "E209", mcperrors.KindUnsupported, neutral, ""},
	} {
		s := Sent{Method: "tools/call", Wait: jsonrpc.Wait{Idle: time.Minute, Max: time.Hour}}
		out := OfFailure(&s, tt.f)
		require.Equal(t, tt.class, out.Record.Class, tt.name)
		require.Equal(t, tt.code, out.Err.Code, tt.name)
		require.Equal(t, tt.kind, out.Err.Kind, tt.name)
		require.Equal(t, tt.server, out.Record.Judge(false).Server, tt.name)
		require.Equal(t, out.Err.Delivery, out.Record.Delivery, tt.name)
		require.Equal(t, !out.Err.Retryable, out.Record.Final, tt.name)
		require.Equal(t, tt.f.Process, out.Err.Process, tt.name)
		require.Equal(t, tt.f.HTTP, out.Err.HTTP, tt.name)
		require.False(t, out.Local(), tt.name)
		if tt.text != "" {
			require.Equal(t, tt.text, out.Err.Message, tt.name)
		}
	}
}

// The delivery of a request is independent of the reason for no answer.
func TestDelivery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		f    transport.Failure
		want mcperrors.Delivery
	}{
		{transport.Failure{}, mcperrors.Unknown},
		{transport.Failure{NotSent: true, Rejected: true, Answered: true}, mcperrors.NotSent},
		{transport.Failure{Rejected: true}, mcperrors.Rejected},
		{transport.Failure{Answered: true}, mcperrors.Answered},
	} {
		for reason := range transport.Reason(20) {
			tt.f.Reason, tt.f.Err, tt.f.HTTP = reason, errors.New("x"), &mcperrors.HTTPEvidence{Status: 500}
			require.Equal(t, tt.want, ErrorOf(&tt.f).Delivery, "reason %d", reason)
		}
	}
	plain := FailureOf(errors.New("of a transport of somebody else's"))
	require.Equal(t, mcperrors.Unknown, Delivered(plain))
	require.Equal(t, transport.ReasonLost, plain.Reason)
	own := &transport.Failure{Reason: transport.ReasonClosed, Err: errors.New("x")}
	require.Same(t, own, FailureOf(fmt.Errorf("wrapped: %w", own)))
}

// No failure of a transport makes an E209 that is retryable.
func TestE209IsNotRetryable(t *testing.T) {
	t.Parallel()
	seen := 0
	for reason := transport.Reason(0); reason < 50; reason++ {
		for _, f := range []transport.Failure{{}, {NotSent: true}, {Rejected: true}, {Answered: true}, {RetryAfter: 1}} {
			for _, status := range []int{200, 400, 429, 501, 503, 505} {
				f.Reason, f.Err, f.HTTP = reason, errors.New("no"), &mcperrors.HTTPEvidence{Status: status}
				if e := ErrorOf(&f); e.Code == mcperrors.CodeIncompatible {
					seen++
					require.False(t, e.Retryable, "reason %d: %v", reason, e)
				}
			}
		}
	}
	require.Positive(t, seen)
}

// The meaning of an error answer, by profile and HTTP status.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		profile mcperrors.Profile
		code    int64
		status  int
		want    breaker.Verdict
		kind    mcperrors.Kind
	}{
		{"parse error", nil, -32700, 0, breaker.Neutral, mcperrors.KindProtocol},
		{"invalid request", nil, -32600, 0, breaker.Success, mcperrors.KindProtocol},
		{"method not found", nil, -32601, 0, breaker.Success, mcperrors.KindUnsupported},
		{"invalid params", nil, -32602, 0, breaker.Success, mcperrors.KindInvalidArguments},
		{"internal error", nil, -32603, 0, breaker.Success, mcperrors.KindServer},
		{"internal error that counts", mcperrors.Docling, -32603, 0, breaker.Failure, mcperrors.KindServer},
		{"internal error by 500", nil, -32603, 500, breaker.Success, mcperrors.KindServer},
		{"unavailable", nil, -32000, 0, breaker.Success, mcperrors.KindServer},
		{"timeout", mcperrors.Docling, -32001, 0, breaker.Failure, mcperrors.KindTimeout},
		{"conversion", mcperrors.Docling, -32002, 0, breaker.Success, mcperrors.KindServer},
		{"conversion, stateless era", mcperrors.Docling, -31002, 0, breaker.Success, mcperrors.KindServer},
		{"export", mcperrors.Docling, -32003, 0, breaker.Success, mcperrors.KindServer},
		{"a server's own", nil, -32010, 0, breaker.Success, mcperrors.KindServer},
		{"reserved", nil, -32050, 0, breaker.Success, mcperrors.KindServer},
		{"an application's 500", nil, 500, 0, breaker.Success, mcperrors.KindApp},
		{"not now, and nothing was done", shop, 1001, 0, breaker.Neutral, mcperrors.KindServer},
		{"a failure of the shop", shop, 1002, 0, breaker.Failure, mcperrors.KindApp},
		{"a failure of the shop under a status that says more", shop, 1002, 503, breaker.Success, mcperrors.KindServer},
		{"no opinion", shop, -32603, 0, breaker.Success, mcperrors.KindServer},
		{"401 with a code without meaning", nil, -32001, 401, breaker.Neutral, mcperrors.KindAuth},
		{"403 with a code without meaning", nil, -32000, 403, breaker.Neutral, mcperrors.KindAuth},
		{"429 with a code without meaning", nil, -32000, 429, breaker.Neutral, mcperrors.KindOverloaded},
		{"503 with a code without meaning", nil, -32000, 503, breaker.Success, mcperrors.KindServer},
		{"401 with invalid params", nil, -32602, 401, breaker.Success, mcperrors.KindInvalidArguments},
		{"404 with method not found", nil, -32601, 404, breaker.Success, mcperrors.KindUnsupported},
	} {
		s := Sent{Method: mcp.MethodToolsCall, Tool: "x", Profile: tt.profile}
		answer := transport.Answer{Response: jsonrpc.Response{Error: jsonrpc.NewError(tt.code, "m", nil)}, RetryAfter: 7 * time.Second}
		if tt.status != 0 {
			answer.HTTP = &mcperrors.HTTPEvidence{Status: tt.status}
		}
		out := Of(&s, answer, nil)
		require.Equal(t, tt.kind, out.Err.Kind, tt.name)
		require.Equal(t, tt.want, out.Record.Judge(false).Server, tt.name)
		require.Equal(t, tt.code, *out.Err.OriginalMCPCode, tt.name)
		require.Equal(t, 7*time.Second, out.Record.RetryAfter, tt.name)
		require.Nil(t, out.Failure, tt.name)
		if tt.status == 429 {
			require.Equal(t, 7*time.Second, out.Err.RetryAfter)
			require.Equal(t, mcperrors.Answered, out.Err.Delivery, "a server that answers by the id has read it")
		}
	}
}

// -32020 to -32022 reject a request only if they can be true for it.
func TestRefusalsThatHold(t *testing.T) {
	t.Parallel()
	bare := &mcperrors.HTTPEvidence{Status: 400}
	for _, tt := range []struct {
		name  string
		era   mcp.Era
		http  bool
		code  int64
		data  string
		h     *mcperrors.HTTPEvidence
		holds bool
	}{
		{"a session has no such codes", mcp.EraSession, true, -32020, ``, bare, false},
		{"headers", mcp.EraStateless, true, -32020, ``, bare, true},
		{"headers in a stream", mcp.EraStateless, true, -32020, ``, &mcperrors.HTTPEvidence{Status: 400, ContentType: "Text/Event-Stream"}, false},
		{"headers with 200", mcp.EraStateless, true, -32020, ``, nil, false},
		{"headers without HTTP", mcp.EraStateless, false, -32020, ``, nil, false},
		{"a capability that is missing", mcp.EraStateless, false, -32021, `{"requiredCapabilities":{"sampling":{}}}`, nil, true},
		{"a capability that was declared", mcp.EraStateless, false, -32021, `{"requiredCapabilities":{"elicitation":{"form":{}}}}`, nil, false},
		{"another revision", mcp.EraStateless, false, -32022, `{"supported":["2099-01-01"]}`, nil, true},
		{"the same revision", mcp.EraStateless, false, -32022, `{"supported":["2026-07-28"]}`, nil, false},
		{"of another request", mcp.EraStateless, false, -32022, `{"supported":["2099-01-01"],"requested":"2098-01-01"}`, nil, false},
		{"no list", mcp.EraStateless, false, -32022, `{}`, nil, false},
		{"another code", mcp.EraStateless, true, -32602, ``, bare, false},
	} {
		s := Sent{
			Method: mcp.MethodToolsCall, Version: mcp.Version2026_07_28, Era: tt.era, Exchanges: tt.http,
			Declared: func(mcp.Version) mcp.ClientCapabilities {
				return mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
			},
		}
		answer := transport.Answer{Response: jsonrpc.Response{Error: jsonrpc.NewError(tt.code, "m", json.RawMessage(tt.data))}, HTTP: tt.h}
		require.Equal(t, tt.holds, s.refusalHolds(answer), tt.name)
	}
}

// The classes of results.
func TestResults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, raw string
		era       mcp.Era
		profile   mcperrors.Profile
		class     resilience.Class
		kind      mcp.ResultType
		typed     bool
		failed    bool
	}{
		{"a session's", `{"resultType":"task"}`, mcp.EraSession, nil, resilience.ClassComplete, "", false, false},
		{"untyped", `{}`, mcp.EraStateless, nil, resilience.ClassComplete, "", false, false},
		{"complete", `{"resultType":"complete"}`, mcp.EraStateless, nil, resilience.ClassComplete, mcp.ResultComplete, true, false},
		{"a question", `{"resultType":"input_required"}`, mcp.EraStateless, nil, resilience.ClassInputRequired, mcp.ResultInputRequired, true, false},
		{"a task", `{"resultType":"task"}`, mcp.EraStateless, nil, resilience.ClassTask, mcp.ResultTask, true, false},
		{"something else", `{"resultType":"other"}`, mcp.EraStateless, nil, resilience.ClassBrokenResult, "other", true, false},
		{"not now, and nothing was done", busy, mcp.EraSession, shop, resilience.ClassThrottled, "", false, true},
		{"another error", `{"isError":true,"content":[]}`, mcp.EraSession, shop, resilience.ClassComplete, "", false, false},
		{"a text about an error", `{"content":[{"type":"text","text":"\"isError\":true"}]}`, mcp.EraSession, shop, resilience.ClassComplete, "", false, false},
		{"not decodable", `{"isError":true,"content":"busy"}`, mcp.EraSession, shop, resilience.ClassComplete, "", false, false},
		{"busy, without a promise", busy, mcp.EraSession, nil, resilience.ClassComplete, "", false, false},
	} {
		s := Sent{Method: mcp.MethodToolsCall, Era: tt.era, Profile: tt.profile}
		out := Of(&s, transport.Answer{Response: jsonrpc.Response{Result: json.RawMessage(tt.raw)}}, nil)
		require.Equal(t, tt.raw, string(out.Result), tt.name)
		require.Equal(t, tt.class, out.Record.Class, tt.name)
		require.Equal(t, tt.kind, out.Kind, tt.name)
		require.Equal(t, tt.typed, out.Typed, tt.name)
		require.Equal(t, tt.failed, out.Error() != nil, tt.name)
	}
}

const busy = `{"isError":true,"content":[{"type":"text","text":"busy"}]}`

// shop is the profile of an application.
var shop = mcperrors.ProfileFunc(func(r mcperrors.Report) mcperrors.Meaning {
	switch {
	case r.RPC == nil && r.Text == "broken", r.RPC != nil && r.RPC.Code == 1002:
		return mcperrors.Meaning{Code: mcperrors.CodeConflict, Counts: true}
	case r.RPC == nil && r.Text == "busy", r.RPC != nil && r.RPC.Code == 1001:
		return mcperrors.Meaning{Code: mcperrors.CodeDatabaseUnavailable, Rejected: true, RetryAfter: time.Second}
	}
	return mcperrors.Meaning{}
})

// A tool's result that the profile counts is a result, and a failure of the tool.
func TestResultThatCounts(t *testing.T) {
	t.Parallel()
	s := Sent{Method: mcp.MethodToolsCall, Profile: shop}
	raw := json.RawMessage(`{"isError":true,"content":[{"type":"text","text":"broken"}]}`)
	out := Of(&s, transport.Answer{Response: jsonrpc.Response{Result: raw}}, nil)
	require.NoError(t, out.Error())
	require.Equal(t, breaker.Failure, out.Record.Judge(true).Tool)
	require.Equal(t, breaker.Neutral, out.Record.Judge(true).Server)
}

// A request that the client refuses was not sent.
func TestRefused(t *testing.T) {
	t.Parallel()
	out := Refused(errors.New("x"))
	require.True(t, out.Local())
	require.Equal(t, mcperrors.NotSent, out.Err.Delivery)
}

// A server that was just killed refuses or resets connections, whichever comes first: its
// circuit is probed early after both. A request that may have been sent says nothing of the kind.
func TestAbsent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		f    transport.Failure
		want bool
	}{
		"refused":           {transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: syscall.ECONNREFUSED}, true},
		"reset":             {transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: fmt.Errorf("dial: %w", syscall.ECONNRESET)}, true},
		"broken pipe":       {transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: syscall.EPIPE}, true},
		"reset, maybe sent": {transport.Failure{Reason: transport.ReasonUnavailable, Err: syscall.ECONNRESET}, false},
		"no such host":      {transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errors.New("no such host")}, false},
		"lost":              {transport.Failure{Reason: transport.ReasonLost, NotSent: true, Err: syscall.ECONNRESET}, false},
	} {
		require.Equal(t, tt.want, absent(&tt.f), name)
	}
}
