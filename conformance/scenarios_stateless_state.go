package conformance

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessStateScenarios are about what a server must not keep from one
// request to the next, and what it may tell of one.
func statelessStateScenarios() []Scenario {
	const (
		stateless = "basic#statelessness"
		prior     = "Servers MUST NOT rely on prior requests over the same connection to establish context (e.g., capabilities, protocol version, client identity)."
		needed    = "the server MUST return a MissingRequiredClientCapabilityError (-32021) whose data.requiredCapabilities lists the missing capabilities."
		level     = "The server MUST NOT emit notifications/message for a request that does not include this field."
		logging   = "server/utilities/logging#requesting-log-messages"
		// What stands in the request itself may change it: credentials, capabilities.
		listOfRequest = "This set … MUST NOT vary per-connection or as a side effect of other requests on the connection. The set MAY vary by the authorization presented … since credentials are per-request input"
	)
	return []Scenario{
		{
			ID: "DISC-08", Area: "errors", Title: "a capability the client did not declare", Since: mcp.Version2026_07_28, Needs: Needs{Tools: []string{toolMissing}, SideEffects: SideEffectsReadOnly},
			Checks: []Check{
				quoted(Must, "DISC-08/code", "what needs it is refused with -32021", "basic#meta", needed),
				quoted(Must, "DISC-08/data", "data.requiredCapabilities is an object with sampling as an object", "basic#meta", needed),
				quoted(Must, "DISC-08/status", "over HTTP the status is 400", "basic#meta", "On HTTP, the response status MUST be 400 Bad Request."),
				quoted(Must, "DISC-08/declared", "a client that declares it is served", "basic#meta", "A server MUST NOT rely on capabilities the client has not declared."),
				quoted(Must, "DISC-11/capabilities", "the capabilities of one request are not those of the next", stateless, prior),
				quoted(Must, "DISC-11/interleaved", "nor of one that is under way at the same time", stateless, prior),
			},
			run: runMissingCapability,
		},
		{
			ID: "DISC-11", Area: "lifecycle", Title: "no state between requests", Since: mcp.Version2026_07_28, Needs: Needs{Capability: "tools"},
			Checks: []Check{
				quoted(Must, "DISC-11/first", "the first request on a connection may be any", "basic/versioning#protocol-version-negotiation", "a client is free to invoke any RPC inline and handle UnsupportedProtocolVersionError if its preferred version is not supported."),
				quoted(Must, "DISC-11/list", "the list of tools is the same on every connection", "server/tools#capabilities", listOfRequest),
				quoted(Must, "DISC-11/declared", "and what a request before it declared does not change it", "server/tools#capabilities", listOfRequest),
				quoted(Should, "TOOL-02/order", "it has the same order each time", "server/tools#capabilities", "Servers SHOULD return tools in a deterministic order (i.e., the same ordering across requests when the underlying set of tools has not changed)."),
			},
			run: runNoState,
		},
		{
			ID: "LOG-02", Area: "logging", Title: "log messages of one request", Since: mcp.Version2026_07_28, Needs: Needs{Tools: []string{toolLogsOnce}, SideEffects: SideEffectsReadOnly},
			Checks: []Check{
				quoted(Must, "LOG-02/silent", "a request without a log level gets none", logging, level),
				quoted(May, "LOG-02/sent", "a request with level debug gets some before its response", logging, "When the field is present, the server MAY send notifications/message notifications at or above the requested level on the response stream of that request, before the final response."),
				quoted(Must, "LOG-02/threshold", "a request with level emergency gets none below", logging, "notifications/message notifications at or above the requested level on the response stream of that request"),
				quoted(Should, "LOG-02/unknown", "an unknown level is refused with -32602", "server/utilities/logging#error-handling", "is not a recognized log level, the server SHOULD reject that request with a standard JSON-RPC error: Invalid log level: -32602 (Invalid params)"),
				quoted(Must, "LOG-02/leak", "the level of one request is not that of the next", logging, level),
				quoted(Must, "LOG-02/stream", "over HTTP they come on the stream of their request", logging, "the server MUST NOT deliver it on … any stream other than the one carrying the response to the request that set the log level."),
			},
			run: runLogLevel,
		},
	}
}

func runMissingCapability(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	call := func(declared map[string]any) map[string]any {
		params := callParams(toolMissing, struct{}{})
		params["_meta"] = map[string]any{mcp.MetaClientCapabilities: declared}
		return params
	}
	none, sampling := map[string]any{}, map[string]any{"sampling": map[string]any{}}
	a, err := s.Request(t.ctx, mcp.MethodToolsCall, call(none))
	const missing = mcp.CodeMissingRequiredClientCapability
	t.check("DISC-08/code", a.HasCode(err, missing), "error -32021", a.OrError(err))
	data, _ := rawjson.Object(a.ErrorData())
	required, _ := rawjson.Object(data["requiredCapabilities"])
	t.check("DISC-08/data", rawjson.IsObject(required["sampling"]), `{"sampling":{}}`, "data.requiredCapabilities is %s", rawjson.OrAbsent(data["requiredCapabilities"]))
	if _, overHTTP := s.Conn.(*wire.HTTPConn); overHTTP {
		t.check("DISC-08/status", a.Status() == 400, "400", "HTTP %d", a.Status())
	} else {
		t.skip("DISC-08/status", SkipTransport, "a rule of http")
	}
	t.step(s)
	a, err = s.Request(t.ctx, mcp.MethodToolsCall, call(sampling))
	t.check("DISC-08/declared", err == nil && a.Err == nil, "a result", a.OrError(err))
	a, err = s.Request(t.ctx, mcp.MethodToolsCall, call(none))
	t.check("DISC-11/capabilities", a.HasCode(err, missing), "error -32021", a.OrError(err))

	t.step(s)
	var ids []string
	for i := range 6 {
		id, err := s.Post(t.ctx, mcp.MethodToolsCall, call([]map[string]any{none, sampling}[i%2]))
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	mixed := ""
	for i, id := range ids {
		a, err := s.Await(t.ctx, id)
		if err != nil {
			return err
		}
		if refused := a.HasCode(nil, missing); refused != (i%2 == 0) {
			mixed = fmt.Sprintf("request %d of 6: %s", i+1, a.Describe())
		}
	}
	t.check("DISC-11/interleaved", mixed == "", "-32021 for those that do not declare it, a result for the others", "%s", mixed)
	return nil
}

func runNoState(t *trial) error {
	first, err := t.raw()
	if err != nil {
		return err
	}
	a, err := first.Request(t.ctx, mcp.MethodToolsList, nil)
	t.check("DISC-11/first", err == nil && a.Result != nil, "a result", a.OrError(err))
	lists := make([][]string, 3)
	for i := range lists {
		s, err := t.raw()
		if err != nil {
			return err
		}
		if i == 2 {
			s.Declares = map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}}
			if _, err := walk(t.ctx, s, toolKind); err != nil {
				return err
			}
			s.Declares = nil
		}
		tools, err := walk(t.ctx, s, toolKind)
		if err != nil {
			return err
		}
		lists[i] = tools.keys(toolKind)
	}
	t.check("TOOL-02/order", slices.Equal(lists[0], lists[1]), "the same order", "%s, then %s", firstDifference(lists[0], lists[1]), firstDifference(lists[1], lists[0]))
	for _, names := range lists {
		slices.Sort(names)
	}
	t.check("DISC-11/list", slices.Equal(lists[0], lists[1]), "the same tools", "%d tools, then %d", len(lists[0]), len(lists[1]))
	t.check("DISC-11/declared", slices.Equal(lists[1], lists[2]), "the same tools", "%d tools, then %d", len(lists[1]), len(lists[2]))
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

func runLogLevel(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	call := func(level any) (wire.Answer, []wire.Inbound, error) {
		t.step(s)
		params := callParams(toolLogsOnce, struct{}{})
		if level != nil {
			params["_meta"] = map[string]any{mcp.MetaLogLevel: level}
		}
		had := len(s.Noted(mcp.MethodMessage))
		a, err := s.Request(t.ctx, mcp.MethodToolsCall, params)
		return a, s.Noted(mcp.MethodMessage)[had:], err
	}
	_, none, err := call(nil)
	if err != nil {
		return err
	}
	t.check("LOG-02/silent", len(none) == 0, "no notifications/message", "%d of them", len(none))
	a, some, err := call("debug")
	if err != nil {
		return err
	}
	t.check("LOG-02/sent", len(some) > 0, "notifications/message", "%s", a.Describe())
	_, leaked, err := call(nil)
	if err != nil {
		return err
	}
	t.check("LOG-02/leak", len(leaked) == 0, "no notifications/message", "%d of them", len(leaked))
	_, low, err := call("emergency")
	if err != nil {
		return err
	}
	below := slices.ContainsFunc(low, func(in wire.Inbound) bool { return rawjson.Text(paramMember(in, "level")) != "emergency" })
	t.check("LOG-02/threshold", !below, "none below emergency", "%d messages", len(low))
	a, _, err = call("loud")
	t.check("LOG-02/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	return logStreams(t, s)
}

// logStreams makes two calls at once, of which one wants log messages.
func logStreams(t *trial, s *wire.Session) error {
	if _, overHTTP := s.Conn.(*wire.HTTPConn); !overHTTP {
		t.skip("LOG-02/stream", SkipTransport, "a rule of http")
		return nil
	}
	t.step(s)
	had := len(s.Noted(mcp.MethodMessage))
	var ids []string
	for _, level := range []any{"debug", nil} {
		params := callParams(toolLogsOnce, struct{}{})
		params["_meta"] = map[string]any{mcp.MetaLogLevel: level}
		id, err := s.Post(t.ctx, mcp.MethodToolsCall, params)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if _, err := s.Await(t.ctx, id); err != nil {
			return err
		}
	}
	strange := slices.ContainsFunc(s.Noted(mcp.MethodMessage)[had:], func(in wire.Inbound) bool { return in.To != ids[0] })
	t.check("LOG-02/stream", !strange, "messages on the stream of the first call", "one on the stream of the other")
	return nil
}
