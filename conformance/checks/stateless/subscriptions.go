package stateless

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessSubscriptionScenarios are about subscriptions/listen.
func statelessSubscriptionScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "CHG-04", Gentle: true, Needs: engine.Needs{Capability: "tools.listChanged|prompts.listChanged|resources.listChanged|resources.subscribe"}, Run: runListen},
		{
			ID:    "CHG-03-TOOLS",
			Needs: engine.Needs{Capability: "tools.listChanged", Tools: []string{fixture.ToolChangeTools}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runToolNews,
		},
		{
			ID:    "CHG-03-PROMPTS",
			Needs: engine.Needs{Capability: "prompts.listChanged", Tools: []string{fixture.ToolChangePrompts}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runPromptNews,
		},
		{
			ID:    "CHG-03-RESOURCES",
			Needs: engine.Needs{Capability: "resources.listChanged", Tools: []string{fixture.ToolChangeList}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runResourceListNews,
		},
		{
			ID:    "CHG-05",
			Needs: engine.Needs{Capability: "resources.subscribe", Tools: []string{fixture.ToolChangeResource}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runResourceNews,
		},
		{
			ID:    "CHG-06",
			Needs: engine.Needs{Capability: "prompts.listChanged", Tools: []string{fixture.ToolChangeTools, fixture.ToolChangePrompts}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runListenTwice,
		},
	}
}

func runListen(t *engine.Trial) {
	s := t.Fresh()
	asked, filter := declaredFilter(t)
	sub, err := talk.Listen(t, s, filter)
	if talk.Unheard(t, s, err) {
		t.NoError(err)
		return
	}
	const acknowledged = mcp.MethodSubscriptionsAcknowledged
	if !t.Check("CHG-04/first", err == nil && sub.Ack.Method() == acknowledged, acknowledged, "%s", sub.Described(err)) {
		t.NoError(err)
		return
	}
	t.Check("CHG-04/id", string(sub.Subscription(sub.Ack)) == sub.ID, sub.ID, "%s", rawjson.OrAbsent(sub.Subscription(sub.Ack)))
	honoured, _ := rawjson.Object(wire.Param(sub.Ack, "notifications"))
	strange := ""
	for name := range honoured {
		if filter[name] == nil {
			strange = name
		}
	}
	t.Check("CHG-04/subset", honoured != nil && strange == "", "a part of the filter", "notifications is %s", rawjson.OrAbsent(wire.Param(sub.Ack, "notifications")))
	t.Check("CHG-04/honoured", sub.Honours(asked), asked, "notifications is %s", rawjson.OrAbsent(wire.Param(sub.Ack, "notifications")))

	t.Step(s)
	number, err := talk.ListenAs(t, s, "70001", map[string]any{})
	t.Check("CHG-04/integer", err == nil && wire.SameID(number.Subscription(number.Ack), "70001"), "70001", "%s %s", rawjson.OrAbsent(number.Subscription(number.Ack)), number.Described(err))
	none, _ := rawjson.Object(wire.Param(number.Ack, "notifications"))
	granted := slices.ContainsFunc(rawjson.SortedKeys(none), func(name string) bool { v := string(none[name]); return v != "false" && v != "[]" && v != "null" })
	t.Check("CHG-04/empty", none != nil && !granted, "an acknowledgment with an empty object", "%s", number.Described(err))
	_, err = s.Settle(t.Ctx)
	t.NoError(err)
	answered := slices.ContainsFunc(s.Unclaimed, func(in wire.Inbound) bool { return in.To == sub.ID || in.IsResponse() && in.ID() == sub.ID })
	t.Check("CHG-04/open", !answered, "no response", "the subscription was answered or closed")
	for _, open := range []*talk.Subscription{sub, number} {
		t.NoError(open.End(t))
	}
	t.Step(s)
	a, err := s.Ping(t.Ctx)
	t.Check("CHG-07/closed", err == nil && a.Err == nil, "a result", a.OrError(err))
}

func runToolNews(t *engine.Trial) {
	news(t, "tools", mcp.MethodToolsListChanged, fixture.ToolChangeTools)
}

func runPromptNews(t *engine.Trial) {
	news(t, "prompts", mcp.MethodPromptsListChanged, fixture.ToolChangePrompts)
}

func runResourceListNews(t *engine.Trial) {
	news(t, "resources", mcp.MethodResourcesListChanged, fixture.ToolChangeList)
}

// declaredFilter is a filter with one kind of news that the server declares.
func declaredFilter(t *engine.Trial) (name string, filter map[string]any) {
	for _, list := range []string{"tools", "prompts", "resources"} {
		if t.Rev.Capabilities.Has(list + ".listChanged") {
			return list + "ListChanged", map[string]any{list + "ListChanged": true}
		}
	}
	return "resourceSubscriptions", map[string]any{"resourceSubscriptions": []string{fixture.ResourceWatched}}
}

// news changes a list twice, so that it is as before, and looks at what is told.
func news(t *engine.Trial, list, method, trigger string) {
	s := t.Fresh()
	sub, err := talk.Listen(t, s, map[string]any{list + "ListChanged": true})
	t.NoError(err)
	if !sub.Honours(list + "ListChanged") {
		t.SkipRest(conformance.SkipNoFixture, "the server does not agree to tell: "+rawjson.OrAbsent(wire.Param(sub.Ack, "notifications")))
		t.NoError(sub.End(t))
		return
	}
	_, err = t.Call(s, trigger, struct{}{})
	t.NoError(err)
	s.Timeout = min(s.Timeout, wire.NewsWait)
	in, err := sub.Next(t, method)
	if !t.Check("CHG-03/"+list, err == nil, method, "%v", err) {
		t.Skip("META-08/"+list, conformance.SkipNoFixture, "no news to look at")
	}
	t.Check("META-08/"+list, string(sub.Subscription(in)) == sub.ID, sub.ID, "%s", rawjson.OrAbsent(sub.Subscription(in)))
	t.NoError(sub.End(t))
	_, err = t.Call(s, trigger, struct{}{})
	t.NoError(err)
}

func runResourceNews(t *engine.Trial) {
	s := t.Fresh()
	sub, err := talk.Listen(t, s, map[string]any{"resourceSubscriptions": []string{fixture.ResourceWatched}})
	t.NoError(err)
	if !sub.Honours("resourceSubscriptions") {
		t.SkipRest(conformance.SkipNoFixture, "the server does not agree to tell: "+rawjson.OrAbsent(wire.Param(sub.Ack, "notifications")))
		t.NoError(sub.End(t))
		return
	}
	other, err := talk.Listen(t, s, map[string]any{"resourceSubscriptions": []string{fixture.ResourceStatic}})
	t.NoError(err)
	_, err = t.Call(s, fixture.ToolChangeResource, struct{}{})
	t.NoError(err)
	s.Timeout = min(s.Timeout, wire.NewsWait)
	in, err := sub.Next(t, mcp.MethodResourcesUpdated)
	if !t.Check("CHG-05/updated", err == nil, mcp.MethodResourcesUpdated, "%v", err) {
		t.Skip("CHG-05/uri", conformance.SkipNoFixture, "no news to look at")
		t.Skip("CHG-05/id", conformance.SkipNoFixture, "no news to look at")
	}
	t.Check("CHG-05/uri", rawjson.Text(wire.Param(in, "uri")) == fixture.ResourceWatched, fixture.ResourceWatched, "uri is %s", rawjson.OrAbsent(wire.Param(in, "uri")))
	t.Check("CHG-05/id", string(sub.Subscription(in)) == sub.ID, sub.ID, "%s", rawjson.OrAbsent(sub.Subscription(in)))
	_, err = s.Settle(t.Ctx)
	t.NoError(err)
	nothingFor(t, "CHG-05/others", other, other.Noted(mcp.MethodResourcesUpdated), "nothing")
	t.NoError(other.End(t))
	t.NoError(sub.End(t))
}

func runListenTwice(t *engine.Trial) {
	if !t.Rev.Capabilities.Has("tools.listChanged") { // the scenario needs both
		t.SkipRest(conformance.SkipNotDeclared, "capabilities.tools.listChanged absent")
		return
	}
	s := t.Fresh()
	both, err := talk.Listen(t, s, map[string]any{"toolsListChanged": true, "promptsListChanged": true})
	t.NoError(err)
	prompts, err := talk.Listen(t, s, map[string]any{"promptsListChanged": true})
	t.NoError(err)
	if !both.Honours("toolsListChanged", "promptsListChanged") || !prompts.Honours("promptsListChanged") {
		t.Skip("CHG-06/two", conformance.SkipNoFixture, "the server does not agree to tell all of it")
	}
	closed, err := talk.Listen(t, s, map[string]any{"toolsListChanged": true, "promptsListChanged": true})
	t.NoError(err)
	t.NoError(closed.End(t))
	_, err = s.Settle(t.Ctx)
	t.NoError(err)
	quiet := len(s.Unsolicited)
	s.Timeout = min(s.Timeout, wire.NewsWait)
	for _, trigger := range []string{fixture.ToolChangeTools, fixture.ToolChangePrompts} {
		_, err := t.Call(s, trigger, struct{}{})
		t.NoError(err)
	}
	missing := ""
	for _, want := range []struct {
		sub    *talk.Subscription
		method string
	}{{both, mcp.MethodToolsListChanged}, {both, mcp.MethodPromptsListChanged}, {prompts, mcp.MethodPromptsListChanged}} {
		if _, err := want.sub.Next(t, want.method); err != nil {
			missing = want.method + " for " + want.sub.ID
			break
		}
	}
	_, err = s.Settle(t.Ctx)
	t.NoError(err)
	for _, sub := range []*talk.Subscription{both, prompts} {
		if n := len(sub.Noted(mcp.MethodPromptsListChanged)); n > 1 {
			missing = fmt.Sprintf("%d of %s for %s", n, mcp.MethodPromptsListChanged, sub.ID)
		}
	}
	t.Check("CHG-06/two", missing == "", "news once on each", "%s", missing)
	nothingFor(t, "CHG-03/unasked", prompts, prompts.Noted(mcp.MethodToolsListChanged), "no news of tools")
	if s.Conn.Transport() != conformance.TransportStdio {
		t.Skip("CHG-07/quiet", conformance.SkipTransport, "a stream that was closed carries nothing")
	}
	nothingFor(t, "CHG-07/quiet", closed, slices.DeleteFunc(slices.Clone(s.Unsolicited[quiet:]), func(in wire.Inbound) bool { return !closed.Owns(in) }), "nothing after the end")
	of, strange := both, []wire.Inbound(nil)
	for _, sub := range []*talk.Subscription{both, prompts} {
		for _, method := range []string{mcp.MethodProgress, mcp.MethodMessage} {
			if came := sub.Noted(method); len(came) > 0 {
				of, strange = sub, came
			}
		}
	}
	nothingFor(t, "LOG-02/listen", of, strange, "neither progress nor log messages")
	for _, sub := range []*talk.Subscription{both, prompts} {
		t.NoError(sub.End(t))
	}
	for _, trigger := range []string{fixture.ToolChangeTools, fixture.ToolChangePrompts} { // as it was
		_, err := t.Call(s, trigger, struct{}{})
		t.NoError(err)
	}
}

// nothingFor decides a check by what came for a subscription that ought not to.
func nothingFor(t *engine.Trial, id string, sub *talk.Subscription, came []wire.Inbound, expected string) {
	if len(came) == 0 {
		t.Pass(id)
		return
	}
	t.FailBy(id, sub.Evidence(came[0]), expected, came[0].Method()+" for "+sub.ID)
}
