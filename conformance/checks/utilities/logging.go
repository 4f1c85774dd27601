package utilities

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

// logLevels are those there are, from the least to the worst.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// loggingScenarios are about log messages of a session, and news of lists.
func loggingScenarios() []engine.Scenario {
	changed := func(list, tool, method string) engine.Scenario {
		return engine.Scenario{
			ID:    "CHG-01-" + list,
			Needs: engine.Needs{Capability: list + ".listChanged", Tools: []string{tool}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   func(t *engine.Trial) { unasked(t, list, tool, method) },
		}
	}
	return []engine.Scenario{
		{
			ID:    "LOG-03",
			Needs: engine.Needs{Capability: "logging", Tools: []string{fixture.ToolLogging}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runThreshold,
		},
		changed("tools", fixture.ToolChangeTools, mcp.MethodToolsListChanged),
		changed("prompts", fixture.ToolChangePrompts, mcp.MethodPromptsListChanged),
		changed("resources", fixture.ToolChangeList, mcp.MethodResourcesListChanged),
	}
}

func runThreshold(t *engine.Trial) {
	s := t.Fresh()
	at := func(level string) []wire.Inbound {
		t.Step(s)
		_, err := s.Request(t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level})
		t.NoError(err)
		had := len(s.Notifications(mcp.MethodMessage))
		_, err = t.Call(s, fixture.ToolLogging, struct{}{})
		t.NoError(err)
		return s.Notifications(mcp.MethodMessage)[had:]
	}
	all := at("debug")
	t.Check("LOG-03/sent", len(all) > 0, mcp.MethodMessage, "none")
	fault := ""
	for _, in := range all {
		_, data := rawjson.Object(in.Members["params"])
		if level := rawjson.Text(wire.Param(in, "level")); !slices.Contains(logLevels, level) || len(wire.Param(in, "data")) == 0 || !data {
			fault = fmt.Sprintf("level %s, data %s", rawjson.OrAbsent(wire.Param(in, "level")), rawjson.OrAbsent(wire.Param(in, "data")))
		}
	}
	if len(all) > 0 {
		t.Check("LOG-03/shape", fault == "", "a level and data", "%s", fault)
	} else {
		t.Skip("LOG-03/shape", conformance.SkipNoFixture, "nothing is logged")
	}
	few := at("emergency")
	below := slices.ContainsFunc(few, func(in wire.Inbound) bool {
		level := rawjson.Text(wire.Param(in, "level"))
		return level != "emergency" && slices.Contains(logLevels, level)
	})
	t.Check("LOG-03/threshold", !below, "none below emergency", "%d messages", len(few))
}

// unasked changes a list and waits for the news a session gets of itself.
func unasked(t *engine.Trial, list, tool, method string) {
	s := t.Fresh()
	if w, ok := s.Conn.(*wire.HTTPConn); ok {
		_, err := w.Listen(t.Ctx, "")
		t.NoError(err)
	}
	t.Step(s)
	_, err := t.Call(s, tool, struct{}{})
	t.NoError(err)
	long := s.Timeout
	s.Timeout = min(long, wire.NewsWait)
	_, err = s.AwaitUnsolicited(t.Ctx, func(in wire.Inbound) bool { return in.Method() == method })
	s.Timeout = long
	t.Check("CHG-01/"+list, err == nil, method, "%v", err)
	_, err = t.Call(s, tool, struct{}{}) // as it was
	t.NoError(err)
}
