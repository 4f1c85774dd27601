package stateless

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/lists"
	"github.com/mainstay-mcp/mainstay/conformance/internal/message"
	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessStateScenarios are about what a server must not keep from one
// request to the next, and what it may tell of one.
func statelessStateScenarios() []conformance.Scenario {
	const (
		stateless = "basic#statelessness"
		prior     = "Servers MUST NOT rely on prior requests over the same connection to establish context (e.g., capabilities, protocol version, client identity)."
		needed    = "the server MUST return a MissingRequiredClientCapabilityError (-32021) whose data.requiredCapabilities lists the missing capabilities."
		level     = "The server MUST NOT emit notifications/message for a request that does not include this field."
		logging   = "server/utilities/logging#requesting-log-messages"
		// What stands in the request itself may change it: credentials, capabilities.
		listOfRequest = "This set … MUST NOT vary per-connection or as a side effect of other requests on the connection. The set MAY vary by the authorization presented … since credentials are per-request input"
	)
	return []conformance.Scenario{
		{
			ID: "DISC-08", Area: "errors", Title: "a capability the client did not declare", Since: mcp.Version2026_07_28, Needs: conformance.Needs{Tools: []string{official.ToolMissing}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "DISC-08/code", "what needs it is refused with -32021", "basic#meta", needed),
				rule.Quoted(conformance.Must, "DISC-08/data", "data.requiredCapabilities is an object with sampling as an object", "basic#meta", needed),
				rule.Quoted(conformance.Must, "DISC-08/status", "over HTTP the status is 400", "basic#meta", "On HTTP, the response status MUST be 400 Bad Request."),
				rule.Quoted(conformance.Must, "DISC-08/declared", "a client that declares it is served", "basic#meta", "A server MUST NOT rely on capabilities the client has not declared."),
				rule.Quoted(conformance.Must, "DISC-11/capabilities", "the capabilities of one request are not those of the next", stateless, prior),
				rule.Quoted(conformance.Must, "DISC-11/interleaved", "nor of one that is under way at the same time", stateless, prior),
			},
			Run: runMissingCapability,
		},
		{
			ID: "DISC-11", Area: "lifecycle", Title: "no state between requests", Since: mcp.Version2026_07_28, Needs: conformance.Needs{Capability: "tools"},
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "DISC-11/first", "the first request on a connection may be any", "basic/versioning#protocol-version-negotiation", "a client is free to invoke any RPC inline and handle UnsupportedProtocolVersionError if its preferred version is not supported."),
				rule.Quoted(conformance.Must, "DISC-11/list", "the list of tools is the same on every connection", "server/tools#capabilities", listOfRequest),
				rule.Quoted(conformance.Must, "DISC-11/declared", "and what a request before it declared does not change it", "server/tools#capabilities", listOfRequest),
				rule.Quoted(conformance.Should, "TOOL-02/order", "it has the same order each time", "server/tools#capabilities", "Servers SHOULD return tools in a deterministic order (i.e., the same ordering across requests when the underlying set of tools has not changed)."),
			},
			Run: runNoState,
		},
		{
			ID: "LOG-02", Area: "logging", Title: "log messages of one request", Since: mcp.Version2026_07_28, Needs: conformance.Needs{Tools: []string{official.ToolLogsOnce}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "LOG-02/silent", "a request without a log level gets none", logging, level),
				rule.Quoted(conformance.May, "LOG-02/sent", "a request with level debug gets some before its response", logging, "When the field is present, the server MAY send notifications/message notifications at or above the requested level on the response stream of that request, before the final response."),
				rule.Quoted(conformance.Must, "LOG-02/threshold", "a request with level emergency gets none below", logging, "notifications/message notifications at or above the requested level on the response stream of that request"),
				rule.Quoted(conformance.Should, "LOG-02/unknown", "an unknown level is refused with -32602", "server/utilities/logging#error-handling", "is not a recognized log level, the server SHOULD reject that request with a standard JSON-RPC error: Invalid log level: -32602 (Invalid params)"),
				rule.Quoted(conformance.Must, "LOG-02/leak", "the level of one request is not that of the next", logging, level),
				rule.Quoted(conformance.Must, "LOG-02/stream", "over HTTP they come on the stream of their request", logging, "the server MUST NOT deliver it on … any stream other than the one carrying the response to the request that set the log level."),
			},
			Run: runLogLevel,
		},
	}
}

func runMissingCapability(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	call := func(declared map[string]any) map[string]any {
		params := conformance.CallParams(official.ToolMissing, struct{}{})
		params["_meta"] = map[string]any{mcp.MetaClientCapabilities: declared}
		return params
	}
	none, sampling := map[string]any{}, map[string]any{"sampling": map[string]any{}}
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, call(none))
	const missing = mcp.CodeMissingRequiredClientCapability
	t.Check("DISC-08/code", a.HasCode(err, missing), "error -32021", a.OrError(err))
	data, _ := rawjson.Object(a.ErrorData())
	required, _ := rawjson.Object(data["requiredCapabilities"])
	t.Check("DISC-08/data", rawjson.IsObject(required["sampling"]), `{"sampling":{}}`, "data.requiredCapabilities is %s", rawjson.OrAbsent(data["requiredCapabilities"]))
	if _, overHTTP := s.Conn.(*wire.HTTPConn); overHTTP {
		t.Check("DISC-08/status", a.Status() == 400, "400", "HTTP %d", a.Status())
	} else {
		t.Skip("DISC-08/status", conformance.SkipTransport, "a rule of http")
	}
	t.Step(s)
	a, err = s.Request(t.Ctx, mcp.MethodToolsCall, call(sampling))
	t.Check("DISC-08/declared", err == nil && a.Err == nil, "a result", a.OrError(err))
	a, err = s.Request(t.Ctx, mcp.MethodToolsCall, call(none))
	t.Check("DISC-11/capabilities", a.HasCode(err, missing), "error -32021", a.OrError(err))

	t.Step(s)
	var ids []string
	for i := range 6 {
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, call([]map[string]any{none, sampling}[i%2]))
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	mixed := ""
	for i, id := range ids {
		a, err := s.Await(t.Ctx, id)
		if err != nil {
			return err
		}
		if refused := a.HasCode(nil, missing); refused != (i%2 == 0) {
			mixed = fmt.Sprintf("request %d of 6: %s", i+1, a.Describe())
		}
	}
	t.Check("DISC-11/interleaved", mixed == "", "-32021 for those that do not declare it, a result for the others", "%s", mixed)
	return nil
}

func runNoState(t *conformance.Trial) error {
	first, err := t.Raw()
	if err != nil {
		return err
	}
	a, err := first.Request(t.Ctx, mcp.MethodToolsList, nil)
	t.Check("DISC-11/first", err == nil && a.Result != nil, "a result", a.OrError(err))
	three := make([][]string, 3)
	for i := range three {
		s, err := t.Raw()
		if err != nil {
			return err
		}
		if i == 2 {
			s.Declares = map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}}
			if _, err := lists.Walk(t.Ctx, s, lists.ToolList); err != nil {
				return err
			}
			s.Declares = nil
		}
		tools, err := lists.Walk(t.Ctx, s, lists.ToolList)
		if err != nil {
			return err
		}
		three[i] = tools.Keys(lists.ToolList)
	}
	t.Check("TOOL-02/order", slices.Equal(three[0], three[1]), "the same order", "%s, then %s", firstDifference(three[0], three[1]), firstDifference(three[1], three[0]))
	for _, names := range three {
		slices.Sort(names)
	}
	t.Check("DISC-11/list", slices.Equal(three[0], three[1]), "the same tools", "%d tools, then %d", len(three[0]), len(three[1]))
	t.Check("DISC-11/declared", slices.Equal(three[1], three[2]), "the same tools", "%d tools, then %d", len(three[1]), len(three[2]))
	return nil
}

// firstDifference returns the first name of a that b has not in its place.
func firstDifference(a, b []string) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("%d: %q", i+1, a[i])
		}
	}
	return "nothing more"
}

func runLogLevel(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	call := func(level any) (wire.Answer, []wire.Inbound, error) {
		t.Step(s)
		params := conformance.CallParams(official.ToolLogsOnce, struct{}{})
		if level != nil {
			params["_meta"] = map[string]any{mcp.MetaLogLevel: level}
		}
		had := len(s.Noted(mcp.MethodMessage))
		a, err := s.Request(t.Ctx, mcp.MethodToolsCall, params)
		return a, s.Noted(mcp.MethodMessage)[had:], err
	}
	_, none, err := call(nil)
	if err != nil {
		return err
	}
	t.Check("LOG-02/silent", len(none) == 0, "no notifications/message", "%d of them", len(none))
	a, some, err := call("debug")
	if err != nil {
		return err
	}
	t.Check("LOG-02/sent", len(some) > 0, "notifications/message", "%s", a.Describe())
	_, leaked, err := call(nil)
	if err != nil {
		return err
	}
	t.Check("LOG-02/leak", len(leaked) == 0, "no notifications/message", "%d of them", len(leaked))
	_, low, err := call("emergency")
	if err != nil {
		return err
	}
	below := slices.ContainsFunc(low, func(in wire.Inbound) bool { return rawjson.Text(message.Param(in, "level")) != "emergency" })
	t.Check("LOG-02/threshold", !below, "none below emergency", "%d messages", len(low))
	a, _, err = call("loud")
	t.Check("LOG-02/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	return logStreams(t, s)
}

// logStreams makes two calls at once, of which one wants log messages.
func logStreams(t *conformance.Trial, s *wire.Session) error {
	if _, overHTTP := s.Conn.(*wire.HTTPConn); !overHTTP {
		t.Skip("LOG-02/stream", conformance.SkipTransport, "a rule of http")
		return nil
	}
	t.Step(s)
	had := len(s.Noted(mcp.MethodMessage))
	var ids []string
	for _, level := range []any{"debug", nil} {
		params := conformance.CallParams(official.ToolLogsOnce, struct{}{})
		params["_meta"] = map[string]any{mcp.MetaLogLevel: level}
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, params)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if _, err := s.Await(t.Ctx, id); err != nil {
			return err
		}
	}
	strange := slices.ContainsFunc(s.Noted(mcp.MethodMessage)[had:], func(in wire.Inbound) bool { return in.To != ids[0] })
	t.Check("LOG-02/stream", !strange, "messages on the stream of the first call", "one on the stream of the other")
	return nil
}
