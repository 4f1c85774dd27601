package utilities

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/message"
	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wait"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// logLevels are those there are, from the least to the worst.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// loggingScenarios are about log messages of a session, and news of lists.
func loggingScenarios() []conformance.Scenario {
	const page = "server/utilities/logging"
	changed := func(list, tool, method string) conformance.Scenario {
		return conformance.Scenario{
			ID: "CHG-01-" + list, Area: "tools", Title: "news of the list of " + list, Until: mcp.LatestSession,
			Needs: conformance.Needs{Capability: list + ".listChanged", Tools: []string{tool}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{rule.Quoted(conformance.Should, "CHG-01/"+list, "a change of the "+list+" is told to who is connected", "server/"+list+"#list-changed-notification",
				"When the list of available "+list+" changes, servers that declared the listChanged capability SHOULD send a notification")},
			Run: func(t *conformance.Trial) error { return unasked(t, list, tool, method) },
		}
	}
	return []conformance.Scenario{
		{
			ID: "LOG-01", Area: "logging", Title: "log messages of a session", Until: mcp.LatestSession, Needs: conformance.Needs{Capability: "logging"},
			Checks: []conformance.Check{
				{ID: "LOG-01/levels", Title: "each of the eight levels can be set, with an empty result", Level: conformance.Must, Spec: conformance.Spec{Section: page + "#log-levels", Quote: "The protocol follows the standard syslog severity levels specified in RFC 5424"}},
				rule.Quoted(conformance.Should, "LOG-01/unknown", "an unknown level is refused with -32602", page+"#error-handling", "Servers SHOULD return standard JSON-RPC errors for common failure cases: Invalid log level: -32602 (Invalid params)"),
				rule.Quoted(conformance.Should, "LOG-01/capitals", "a level in capitals is refused", page+"#error-handling", "Servers SHOULD return standard JSON-RPC errors for common failure cases: Invalid log level: -32602 (Invalid params)"),
			},
			Run: runSetLevel,
		},
		{
			ID: "LOG-03", Area: "logging", Title: "the level that was set", Until: mcp.LatestSession, Needs: conformance.Needs{Capability: "logging", Tools: []string{official.ToolLogging}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{
				{ID: "LOG-03/sent", Title: "at level debug the official tool sends messages", Level: conformance.Advice, Spec: conformance.Spec{Section: page + "#log-message-notifications", Quote: "Servers send log messages using notifications/message notifications"}},
				rule.Quoted(conformance.Must, "LOG-03/shape", "each has a level of the eight, and data", page, "servers sending notifications containing severity levels, optional logger names, and arbitrary JSON-serializable data."),
				rule.Promised("LOG-03/threshold", "at level emergency it sends none below", leastLevel),
			},
			Run: runThreshold,
		},
		changed("tools", official.ToolChangeTools, mcp.MethodToolsListChanged),
		changed("prompts", official.ToolChangePrompts, mcp.MethodPromptsListChanged),
		changed("resources", official.ToolChangeList, mcp.MethodResourcesListChanged),
	}
}

// leastLevel is all the specification says of the messages below the level that
// was set: no MUST.
var leastLevel = conformance.Spec{Section: "schema#setlevelrequest", Quote: "The server should send all logs at this level and higher (i.e., more severe) to the client as notifications/message."}

func runSetLevel(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	fault := ""
	for _, level := range logLevels {
		a, err := s.Request(t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level})
		if err != nil || !message.IsEmpty(a) {
			fault = level + ": " + a.OrError(err)
		}
	}
	t.Check("LOG-01/levels", fault == "", "an empty result for each", "%s", fault)
	for id, level := range rule.Pairs("LOG-01/unknown", "loud", "LOG-01/capitals", "ERROR") {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level})
		t.Check(id, a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	}
	return nil
}

func runThreshold(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	at := func(level string) ([]wire.Inbound, error) {
		t.Step(s)
		if _, err := s.Request(t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level}); err != nil {
			return nil, err
		}
		had := len(s.Noted(mcp.MethodMessage))
		if _, err := t.Call(s, official.ToolLogging, struct{}{}); err != nil {
			return nil, err
		}
		return s.Noted(mcp.MethodMessage)[had:], nil
	}
	all, err := at("debug")
	if err != nil {
		return err
	}
	t.Check("LOG-03/sent", len(all) > 0, mcp.MethodMessage, "none")
	fault := ""
	for _, in := range all {
		_, data := rawjson.Object(in.Members["params"])
		if level := rawjson.Text(message.Param(in, "level")); !slices.Contains(logLevels, level) || len(message.Param(in, "data")) == 0 || !data {
			fault = fmt.Sprintf("level %s, data %s", rawjson.OrAbsent(message.Param(in, "level")), rawjson.OrAbsent(message.Param(in, "data")))
		}
	}
	if len(all) > 0 {
		t.Check("LOG-03/shape", fault == "", "a level and data", "%s", fault)
	} else {
		t.Skip("LOG-03/shape", conformance.SkipNoFixture, "nothing is logged")
	}
	few, err := at("emergency")
	if err != nil {
		return err
	}
	below := slices.ContainsFunc(few, func(in wire.Inbound) bool { return rawjson.Text(message.Param(in, "level")) != "emergency" })
	t.Check("LOG-03/threshold", !below, "none below emergency", "%d messages", len(few))
	return nil
}

// unasked changes a list and waits for the news a session gets of itself.
func unasked(t *conformance.Trial, list, tool, method string) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	if w, ok := s.Conn.(*wire.HTTPConn); ok {
		if _, err := w.Listen(t.Ctx, ""); err != nil {
			return err
		}
	}
	t.Step(s)
	if _, err := t.Call(s, tool, struct{}{}); err != nil {
		return err
	}
	long := s.Wait
	s.Wait = min(long, wait.News)
	_, err = s.Note(t.Ctx, func(in wire.Inbound) bool { return in.Method() == method })
	s.Wait = long
	t.Check("CHG-01/"+list, err == nil, method, "%v", err)
	_, err = t.Call(s, tool, struct{}{}) // as it was
	return err
}
