package stateless

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessStateScenarios are about what a server must not keep from one
// request to the next, and what it may tell of one.
func statelessStateScenarios() []engine.Scenario {
	return []engine.Scenario{
		{
			ID:    "DISC-08",
			Needs: engine.Needs{Tools: []string{fixture.ToolMissing}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runMissingCapability,
		},
		{ID: "DISC-11", Starts: 4, Gentle: true, Needs: engine.Needs{Capability: "tools"}, Run: runNoState},
		{ID: "LOG-02", Needs: engine.Needs{Tools: []string{fixture.ToolLogsOnce}, SideEffects: conformance.SideEffectsReadOnly}, Run: runLogLevel},
	}
}

func runMissingCapability(t *engine.Trial) {
	s := t.Fresh()
	call := func(declared map[string]any) map[string]any {
		params := engine.CallParams(fixture.ToolMissing, struct{}{})
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
		t.NoError(err)
		ids = append(ids, id)
	}
	mixed := ""
	for i, id := range ids {
		a, err := s.Await(t.Ctx, id)
		t.NoError(err)
		if refused := a.HasCode(nil, missing); refused != (i%2 == 0) {
			mixed = fmt.Sprintf("request %d of 6: %s", i+1, a.Describe())
		}
	}
	t.Check("DISC-11/interleaved", mixed == "", "-32021 for those that do not declare it, a result for the others", "%s", mixed)
}

func runNoState(t *engine.Trial) {
	first := t.Raw()
	a, err := first.Request(t.Ctx, mcp.MethodToolsList, nil)
	t.Check("DISC-11/first", err == nil && a.Result != nil, "a result", a.OrError(err))
	three := make([][]string, 3)
	for i := range three {
		s := t.Raw()
		if i == 2 {
			s.Declares = map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}}
			_, err := wire.WalkList(t.Ctx, s, wire.ToolList)
			t.NoError(err)
			s.Declares = nil
		}
		tools, err := wire.WalkList(t.Ctx, s, wire.ToolList)
		t.NoError(err)
		three[i] = tools.Keys(wire.ToolList)
	}
	t.Check("TOOL-02/order", slices.Equal(three[0], three[1]), "the same order", "%s, then %s", firstDifference(three[0], three[1]), firstDifference(three[1], three[0]))
	for _, names := range three {
		slices.Sort(names)
	}
	t.Check("DISC-11/list", slices.Equal(three[0], three[1]), "the same tools", "%d tools, then %d", len(three[0]), len(three[1]))
	t.Check("DISC-11/declared", slices.Equal(three[1], three[2]), "the same tools", "%d tools, then %d", len(three[1]), len(three[2]))
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

func runLogLevel(t *engine.Trial) {
	s := t.Fresh()
	call := func(level any) (wire.Answer, []wire.Inbound, error) {
		t.Step(s)
		params := engine.CallParams(fixture.ToolLogsOnce, struct{}{})
		if level != nil {
			params["_meta"] = map[string]any{mcp.MetaLogLevel: level}
		}
		had := len(s.Notifications(mcp.MethodMessage))
		a, err := s.Request(t.Ctx, mcp.MethodToolsCall, params)
		return a, s.Notifications(mcp.MethodMessage)[had:], err
	}
	_, none, err := call(nil)
	t.NoError(err)
	t.Check("LOG-02/silent", len(none) == 0, "no notifications/message", "%d of them", len(none))
	a, some, err := call("debug")
	t.NoError(err)
	t.Check("LOG-02/sent", len(some) > 0, "notifications/message", "%s", a.Describe())
	_, leaked, err := call(nil)
	t.NoError(err)
	t.Check("LOG-02/leak", len(leaked) == 0, "no notifications/message", "%d of them", len(leaked))
	_, low, err := call("emergency")
	t.NoError(err)
	below := slices.ContainsFunc(low, func(in wire.Inbound) bool { return rawjson.Text(wire.Param(in, "level")) != "emergency" })
	t.Check("LOG-02/threshold", !below, "none below emergency", "%d messages", len(low))
	a, _, err = call("loud")
	t.Check("LOG-02/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	logStreams(t, s)
}

// logStreams makes two calls at once, of which one wants log messages.
func logStreams(t *engine.Trial, s *wire.Session) {
	if _, overHTTP := s.Conn.(*wire.HTTPConn); !overHTTP {
		t.Skip("LOG-02/stream", conformance.SkipTransport, "a rule of http")
		return
	}
	t.Step(s)
	had := len(s.Notifications(mcp.MethodMessage))
	var ids []string
	for _, level := range []any{"debug", nil} {
		params := engine.CallParams(fixture.ToolLogsOnce, struct{}{})
		params["_meta"] = map[string]any{mcp.MetaLogLevel: level}
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, params)
		t.NoError(err)
		ids = append(ids, id)
	}
	for _, id := range ids {
		_, err := s.Await(t.Ctx, id)
		t.NoError(err)
	}
	strange := slices.ContainsFunc(s.Notifications(mcp.MethodMessage)[had:], func(in wire.Inbound) bool { return in.To != ids[0] })
	t.Check("LOG-02/stream", !strange, "messages on the stream of the first call", "one on the stream of the other")
}
