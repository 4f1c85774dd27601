package resilience_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const call = mcp.MethodToolsCall

// answered is the record of a request that the server answered with an error, mapped as in the
// client.
func answered(method string, p mcperrors.Profile, code int64, data string) resilience.Attempt {
	e, counts := errormap.ReadRPC(jsonrpc.NewError(code, "m", json.RawMessage(data)), errormap.Options{Method: method, Profile: p})
	a := resilience.FromError(method, e)
	a.Counts = counts
	return a
}

// store is a profile of an application: 1001 means that the call did not run, 1002 counts as a
// failure, 1003 and 1004 are known.
var store = mcperrors.ProfileFunc(func(r mcperrors.Report) mcperrors.Meaning {
	var code int64
	if r.RPC != nil {
		code = r.RPC.Code
	}
	switch code {
	case 0, 1001: // 0 is the result of a tool
		return mcperrors.Meaning{Code: mcperrors.CodeDatabaseUnavailable, Rejected: true, RetryAfter: 2 * time.Second}
	case 1002:
		return mcperrors.Meaning{Code: mcperrors.CodeDatabaseTimeout, Counts: true}
	case 1003:
		return mcperrors.Meaning{Code: mcperrors.CodeResourceNotFound}
	case 1004:
		return mcperrors.Meaning{Code: mcperrors.CodeConflict}
	case 1005:
		return mcperrors.Meaning{Code: mcperrors.CodeUnavailable, Kind: mcperrors.KindServer}
	}
	return mcperrors.Meaning{}
})

// both is such an answer with an HTTP status.
func both(code int64, status int) resilience.Attempt {
	e := errormap.FromRPC(jsonrpc.NewError(code, "m", nil), errormap.Options{Method: call})
	e.HTTP = &mcperrors.HTTPEvidence{Status: status}
	return resilience.FromError(call, e)
}

// overruled is one whose code has no defined meaning, so the status decides.
func overruled(code int64, status int) resilience.Attempt {
	e := errormap.FromHTTP(mcperrors.HTTPEvidence{Status: status}, 0)
	e.RPC = jsonrpc.NewError(code, "m", nil)
	return resilience.FromError(call, e)
}

// status is the record of a request with a bare HTTP status.
func status(code int, after time.Duration) resilience.Attempt {
	return resilience.FromError(call, errormap.FromHTTP(mcperrors.HTTPEvidence{Status: code}, after))
}

func result(c resilience.Class) resilience.Attempt {
	return resilience.Attempt{Method: call, Class: c, Delivery: mcperrors.Answered}
}

func unanswered(c resilience.Class, d mcperrors.Delivery, change ...func(*resilience.Attempt)) resilience.Attempt {
	a := resilience.Attempt{Method: call, Class: c, Delivery: d}
	for _, f := range change {
		f(&a)
	}
	return a
}

func reused(a *resilience.Attempt)    { a.Reused = true }
func repeated(a *resilience.Attempt)  { a.Repeated = true }
func alive(a *resilience.Attempt)     { a.Alive = true }
func ownTimer(a *resilience.Attempt)  { a.OwnTimer = true }
func notCalled(a *resilience.Attempt) { a.Method = mcp.MethodToolsList }

// line is one row of the table of attempts.
type line struct {
	name         string
	a            resilience.Attempt
	class        resilience.Class
	server, tool breaker.Verdict // with a tool level
	off          breaker.Verdict // for the server without one
	hold         time.Duration
	later        bool // a later attempt may succeed
	safe, unsafe bool // retried, for an idempotent call and another one
}

const (
	n = breaker.Neutral
	s = breaker.Success
	f = breaker.Failure
)

func lines() []line {
	const (
		notSent  = mcperrors.NotSent
		rejected = mcperrors.Rejected
		unknown  = mcperrors.Unknown
	)
	locked := answered(call, store, 1001, "")
	toolLocked := resilience.FromError(call, errormap.FromTool("locked", nil, errormap.Options{Method: call, Profile: store}))
	toolError := resilience.FromError(call, errormap.FromTool("no", nil, errormap.Options{Method: call}))
	unknownTool := resilience.FromError(call, errormap.FromRPC(jsonrpc.NewError(-32602, "Unknown tool: x", nil), errormap.Options{Method: call, Tool: "x"}))
	return []line{
		// Results.
		{"complete", result(resilience.ClassComplete), resilience.ClassComplete, s, s, s, 0, false, false, false},
		{"isError", result(resilience.ClassToolError), resilience.ClassToolError, s, s, s, 0, false, false, false},
		{"isError, mapped", toolError, resilience.ClassToolError, s, s, s, 0, false, false, false},
		{"input_required", result(resilience.ClassInputRequired), resilience.ClassInputRequired, s, n, s, 0, false, false, false},
		{"task", result(resilience.ClassTask), resilience.ClassTask, s, s, s, 0, false, false, false},

		// Answers that are errors.
		{"refused for now", locked, resilience.ClassThrottled, n, n, n, 0, true, true, true},
		{"refused for now in a tool's result", toolLocked, resilience.ClassThrottled, n, n, n, 0, true, true, true},
		{"1002, which counts", answered(call, store, 1002, ""), resilience.ClassApp, n, f, f, 0, false, false, false},
		{"1002 of a list, which counts", answered(mcp.MethodToolsList, store, 1002, ""), resilience.ClassApp, n, n, n, 0, false, false, false},
		{"-32600", answered(call, nil, -32600, ""), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"-32601", answered(call, nil, -32601, ""), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"-32602", answered(call, nil, -32602, ""), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"unknown tool", unknownTool, resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"-32002 of resources/read", answered(mcp.MethodResourcesRead, nil, -32002, ""), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"-32042", answered(call, nil, -32042, ""), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"-32020", answered(call, nil, -32020, ""), resilience.ClassHeaderMismatch, s, n, s, 0, true, false, false},
		{"-32021", answered(call, nil, -32021, ""), resilience.ClassUnsupported, s, n, s, 0, false, false, false},
		{"-32022", answered(call, nil, -32022, ""), resilience.ClassUnsupported, s, n, s, 0, false, false, false},
		{"-32700", answered(call, nil, -32700, ""), resilience.ClassUnreadable, n, n, n, 0, false, false, false},
		{"-32700, the third", unanswered(resilience.ClassUnreadable, rejected, repeated), resilience.ClassUnreadable, f, n, f, 0, false, false, false},
		{"-32603 of tools/call", answered(call, nil, -32603, ""), resilience.ClassInternal, s, s, s, 0, true, true, false},
		{"-32603 of a list", answered(mcp.MethodToolsList, nil, -32603, ""), resilience.ClassInternal, n, n, n, 0, true, false, false},
		{"-32000 of a read", answered(mcp.MethodResourcesRead, nil, -32000, ""), resilience.ClassServerError, n, n, n, 0, true, true, false},
		{"-32603 of initialize", answered(mcp.MethodInitialize, nil, -32603, ""), resilience.ClassInternal, f, n, f, 0, true, false, false},
		{"-32603 of ping", answered(mcp.MethodPing, nil, -32603, ""), resilience.ClassInternal, f, n, f, 0, true, false, false},
		{"-32603 of a method of its own", answered("acme/query", nil, -32603, ""), resilience.ClassInternal, s, n, s, 0, true, false, false},
		{"-32603, retryable: false", answered(call, nil, -32603, `{"retryable":false}`), resilience.ClassInternal, s, s, s, 0, true, false, false},
		{"-32000", answered(call, nil, -32000, ""), resilience.ClassServerError, s, s, s, 0, true, true, false},
		{"-32603 of tools/call, which counts", answered(call, mcperrors.Docling, -32603, ""), resilience.ClassInternal, n, f, f, 0, true, true, false},
		{"-32603 of a list, which counts", answered(mcp.MethodToolsList, mcperrors.Docling, -32603, ""), resilience.ClassInternal, n, n, n, 0, true, false, false},
		{"-32603 of a method of its own, which counts", answered("acme/query", mcperrors.Docling, -32603, ""), resilience.ClassInternal, f, n, f, 0, true, false, false},
		{"-32000, which counts", answered(call, mcperrors.Docling, -32000, ""), resilience.ClassServerError, n, f, f, 0, true, true, false},
		{"-32010 of a profile that counts others", answered(call, mcperrors.Docling, -32010, ""), resilience.ClassServerError, s, s, s, 0, true, true, false},
		{"-32001 for a timeout", answered(call, mcperrors.Docling, -32001, ""), resilience.ClassServerError, n, f, f, 0, true, true, false},
		{"1003 for what is not there", answered(call, store, 1003, ""), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"-32002 for a conversion", answered(call, mcperrors.Docling, -32002, ""), resilience.ClassApp, s, n, s, 0, false, false, false},
		{"-32003 for an export", answered(call, mcperrors.Docling, -32003, ""), resilience.ClassApp, s, n, s, 0, false, false, false},
		{"-32002 for whatever", answered(call, nil, -32002, ""), resilience.ClassServerError, s, s, s, 0, true, true, false},
		{"-32010", answered(call, nil, -32010, ""), resilience.ClassServerError, s, s, s, 0, true, true, false},
		{"-32050, reserved", answered(call, nil, -32050, ""), resilience.ClassApp, s, n, s, 0, false, false, false},
		{"an approval that is due", answered(call, store, 1004, ""), resilience.ClassApp, s, n, s, 0, false, false, false},
		{"an application's 500", answered(call, nil, 500, ""), resilience.ClassApp, s, n, s, 0, false, false, false},
		{"an application's failure", answered(call, store, 1005, ""), resilience.ClassServerError, s, s, s, 0, true, true, false},
		{"no result of the protocol", unanswered(resilience.ClassBrokenResult, unknown), resilience.ClassBrokenResult, n, f, f, 0, false, false, false},

		// No answer.
		{"unreachable", unanswered(resilience.ClassUnavailable, notSent), resilience.ClassUnavailable, f, n, f, 0, true, true, true},
		{"out of descriptors", unanswered(resilience.ClassExhausted, notSent), resilience.ClassExhausted, n, n, n, 0, true, true, true},
		{"certificate", unanswered(resilience.ClassCertificate, notSent), resilience.ClassCertificate, f, n, f, 0, false, false, false},
		{"not processed", unanswered(resilience.ClassUnprocessed, notSent), resilience.ClassUnprocessed, n, n, n, 0, true, true, true},
		{"lost", unanswered(resilience.ClassLost, unknown), resilience.ClassLost, f, n, f, 0, true, true, false},
		{"lost before it was sent", unanswered(resilience.ClassLost, notSent), resilience.ClassLost, f, n, f, 0, true, true, true},
		{"EOF when reused", unanswered(resilience.ClassLost, unknown, reused), resilience.ClassLost, n, n, n, 0, true, true, false},
		{"EOF when reused, again", unanswered(resilience.ClassLost, unknown, reused, repeated), resilience.ClassLost, f, n, f, 0, true, true, false},
		{"truncated", unanswered(resilience.ClassTruncated, unknown, alive), resilience.ClassTruncated, f, n, f, 0, true, true, false},
		{"timeout, silent", unanswered(resilience.ClassTimeout, unknown, ownTimer), resilience.ClassTimeout, f, f, f, 0, true, true, false},
		{"timeout, alive", unanswered(resilience.ClassTimeout, unknown, ownTimer, alive), resilience.ClassTimeout, n, f, f, 0, true, true, false},
		{"timeout of one impatient caller", unanswered(resilience.ClassTimeout, unknown), resilience.ClassTimeout, n, n, n, 0, true, true, false},
		{"cancelled", unanswered(resilience.ClassCanceled, unknown), resilience.ClassCanceled, n, n, n, 0, false, false, false},
		{"cancelled before it was sent", unanswered(resilience.ClassCanceled, notSent), resilience.ClassCanceled, n, n, n, 0, false, false, false},
		{"too large", unanswered(resilience.ClassTooLarge, unknown), resilience.ClassTooLarge, n, n, n, 0, false, false, false},
		{"too large, of a list", unanswered(resilience.ClassTooLarge, unknown, notCalled), resilience.ClassTooLarge, n, n, n, 0, false, false, false},
		{"the program ended", unanswered(resilience.ClassExited, unknown), resilience.ClassExited, f, n, f, 0, true, true, false},
		{"EPIPE", unanswered(resilience.ClassExited, notSent), resilience.ClassExited, f, n, f, 0, true, true, true},
		{"the program ended under it twice", unanswered(resilience.ClassExited, unknown, repeated), resilience.ClassExited, f, f, f, 0, true, false, false},

		// HTTP.
		{"500", status(500, 0), resilience.ClassStatusFailed, f, f, f, 0, true, true, false},
		{"500 with -32603", both(-32603, 500), resilience.ClassInternal, s, s, s, 0, true, true, false},
		{"501", status(501, 0), resilience.ClassStatusNever, n, n, n, 0, false, false, false},
		{"505", status(505, 0), resilience.ClassStatusNever, n, n, n, 0, false, false, false},
		{"502", status(502, 0), resilience.ClassGateway, f, n, f, 0, true, true, false},
		{"504", status(504, 0), resilience.ClassGateway, f, n, f, 0, true, true, false},
		{"503", status(503, 0), resilience.ClassBusy, f, n, f, 0, true, true, false},
		{"503 + Retry-After", status(503, 120*time.Second), resilience.ClassBusy, f, n, f, 120 * time.Second, true, true, false},
		{"503 + endless Retry-After", status(503, time.Hour), resilience.ClassBusy, f, n, f, resilience.MaxThrottle, true, false, false},
		{"503 with a code without meaning", overruled(-32000, 503), resilience.ClassBusy, f, n, f, 0, true, true, false},
		{"507", status(507, 0), resilience.ClassStatusFailed, f, f, f, 0, true, true, false},
		{"429", status(429, 0), resilience.ClassThrottled, n, n, n, time.Second, true, true, true},
		{"429 + Retry-After", status(429, 7*time.Second), resilience.ClassThrottled, n, n, n, 7 * time.Second, true, true, true},
		{"429 with a code without meaning", overruled(-32000, 429), resilience.ClassThrottled, n, n, n, time.Second, true, true, true},
		{"408", status(408, 0), resilience.ClassRequestTimeout, n, n, n, 0, true, true, false},
		{"425", status(425, 0), resilience.ClassTooEarly, n, n, n, 0, true, true, true},
		{"401", status(401, 0), resilience.ClassUnauthorized, n, n, n, 0, false, false, false},
		{"401 with a code without meaning", overruled(-32001, 401), resilience.ClassUnauthorized, n, n, n, 0, false, false, false},
		{"401 with -32602", both(-32602, 401), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"403", status(403, 0), resilience.ClassForbidden, n, n, n, 0, false, false, false},
		{"404 with -32601", both(-32601, 404), resilience.ClassInvalid, s, n, s, 0, false, false, false},
		{"404 on a session", unanswered(resilience.ClassSessionLost, rejected), resilience.ClassSessionLost, n, n, n, 0, true, false, false},
		{"404 on a session, again", unanswered(resilience.ClassSessionLost, rejected, repeated), resilience.ClassSessionLost, f, n, f, 0, true, false, false},
		{"404", status(404, 0), resilience.ClassNoEndpoint, f, n, f, 0, false, false, false},
		{"405", status(405, 0), resilience.ClassNoEndpoint, n, n, n, 0, false, false, false},
		{"410", status(410, 0), resilience.ClassNoEndpoint, f, n, f, 0, false, false, false},
		{"421", status(421, 0), resilience.ClassNoEndpoint, n, n, n, 0, false, false, false},
		{"400", status(400, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"406", status(406, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"409", status(409, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"412", status(412, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"413", status(413, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"415", status(415, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"422", status(422, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"302", status(302, 0), resilience.ClassRefused, n, n, n, 0, false, false, false},
		{"200 with a web page", unanswered(resilience.ClassNotMCP, unknown), resilience.ClassNotMCP, n, n, n, 0, false, false, false},
		{"204", status(204, 0), resilience.ClassNotMCP, n, n, n, 0, false, false, false},

		// The client.
		{"refused here", unanswered(resilience.ClassLocal, notSent), resilience.ClassLocal, n, n, n, 0, false, false, false},
		{"panic", unanswered(resilience.ClassPanic, unknown), resilience.ClassPanic, n, n, n, 0, false, false, false},
		{"nobody classed it", resilience.Attempt{}, resilience.ClassNone, n, n, n, 0, false, false, false},
	}
}

// Every row of the table: verdicts, throttle, and retries.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[resilience.Class]bool{}
	for _, tt := range lines() {
		seen[tt.class] = true
		require.Equal(t, tt.class, tt.a.Class, tt.name)

		on := tt.a.Judge(true)
		require.Equal(t, tt.server, on.Server, "%s: server", tt.name)
		require.Equal(t, tt.tool, on.Tool, "%s: tool", tt.name)
		require.Equal(t, tt.hold, on.Throttle, "%s: throttle", tt.name)
		off := tt.a.Judge(false)
		require.Equal(t, tt.off, off.Server, "%s: server, without tool level", tt.name)
		require.Equal(t, n, off.Tool, "%s: no tool level", tt.name)
		own := tt.class == resilience.ClassCanceled || tt.class == resilience.ClassLocal || tt.class == resilience.ClassPanic
		require.Equal(t, own, on.OwnDoing, tt.name)

		require.Equal(t, tt.later, tt.a.Class.Retryable(), "%s: retryable", tt.name)
		for _, repeat := range []resilience.Repeat{resilience.Unsafe, resilience.Repeatable, resilience.Keyed} {
			want := tt.safe
			if repeat == resilience.Unsafe {
				want = tt.unsafe
			}
			d := resilience.Decide(tt.a, resilience.State{Repeat: repeat, Remaining: unbounded, Random: 0.5})
			require.Equal(t, want, d.Again, "%s, repeat %d: %s", tt.name, repeat, d.Why)
			require.NotEmpty(t, d.Why, tt.name)
			if d.Again {
				require.Equal(t, tt.class == resilience.ClassUnprocessed, d.Charge == resilience.ChargeNone, tt.name)
				require.GreaterOrEqual(t, d.Wait, tt.a.RetryAfter, tt.name)
			} else {
				require.Equal(t, resilience.Decision{Denied: d.Denied, Why: d.Why}, d, tt.name)
			}
			never := resilience.Decide(tt.a, resilience.State{Repeat: repeat, Remaining: unbounded, Policy: resilience.Never})
			require.Equal(t, tt.class == resilience.ClassUnprocessed, never.Again, tt.name)
		}
	}
	for c := resilience.ClassNone; c.String() != "unknown"; c++ {
		require.True(t, seen[c], "no row for %s", c)
	}
}

// Retryable classes match the Retryable of their errors, if only the class decides.
func TestRetryableAsTheErrorsSay(t *testing.T) {
	t.Parallel()
	for code := 300; code < 600; code++ {
		e := errormap.FromHTTP(mcperrors.HTTPEvidence{Status: code}, 0)
		require.Equal(t, e.Retryable, resilience.OfStatus(code).Retryable(), "status %d", code)
	}
	for code := int64(-32768); code < -31999; code++ {
		a := answered(call, nil, code, "")
		e := errormap.FromRPC(jsonrpc.NewError(code, "m", nil), errormap.Options{Method: call})
		if e.Retryable && a.Class != resilience.ClassApp {
			require.True(t, a.Class.Retryable(), "code %d", code)
		}
		if a.Class.Retryable() && !a.Class.Corrected() {
			require.True(t, e.Retryable, "code %d", code)
		}
	}
}

// A probe that did not call the tool proves little.
func TestTentativeProbe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method string
		class  resilience.Class
		probe  bool
		want   breaker.Verdict
	}{
		{call, resilience.ClassComplete, true, s},
		{call, resilience.ClassUnavailable, true, f},
		{mcp.MethodPing, resilience.ClassComplete, false, s},
		{mcp.MethodPing, resilience.ClassComplete, true, breaker.Tentative},
		{mcp.MethodPing, resilience.ClassInvalid, true, breaker.Tentative}, // -32601: the server works
		{mcp.MethodToolsList, resilience.ClassComplete, true, breaker.Tentative},
		{mcp.MethodDiscover, resilience.ClassTimeout, true, n},
		{mcp.MethodDiscover, resilience.ClassInternal, true, f},
	} {
		a := resilience.Attempt{Method: tt.method, Class: tt.class, Probe: tt.probe}
		require.Equal(t, tt.want, a.Judge(true).Server, "%s %s %v", tt.method, tt.class, tt.probe)
	}
}

func TestClassNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for c := range resilience.ClassPanic + 1 {
		require.NotEmpty(t, c.String(), "class %d", c)
		require.False(t, names[c.String()], c)
		names[c.String()] = true
	}
	require.Equal(t, "unknown", (resilience.ClassPanic + 1).String())
}
