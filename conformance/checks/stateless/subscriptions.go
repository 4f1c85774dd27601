package stateless

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/message"
	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/internal/probe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/internal/subscription"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wait"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessSubscriptionScenarios are about subscriptions/listen.
func statelessSubscriptionScenarios() []conformance.Scenario {
	const (
		page    = "basic/patterns/subscriptions"
		ack     = page + "#acknowledgment"
		first   = "The server MUST send notifications/subscriptions/acknowledged as the first message carrying the subscription's ID in _meta"
		subset  = "The notifications field in the acknowledgment reflects the subset the server agreed to honor."
		carried = "All notifications delivered on the stream carry io.modelcontextprotocol/subscriptionId in _meta, identifying the subscriptions/listen request that opened the stream."
		unasked = "The server MUST NOT send notification types the client has not explicitly requested."
	)
	return []conformance.Scenario{
		{
			ID: "CHG-04", Area: "subscriptions", Title: "the beginning and the end of a subscription", Since: mcp.Version2026_07_28, Needs: conformance.Needs{Capability: "tools.listChanged"},
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "CHG-04/first", "notifications/subscriptions/acknowledged comes first", ack, first),
				rule.Quoted(conformance.Must, "CHG-04/id", "it carries the id of the request", ack, first),
				rule.Quoted(conformance.Must, "CHG-04/integer", "an integer id stays an integer", page+"#receiving-notifications", "The value is the JSON-RPC ID of the subscriptions/listen request."),
				rule.Quoted(conformance.Must, "CHG-04/subset", "it names nothing that was not asked for", ack, subset),
				rule.Quoted(conformance.Advice, "CHG-04/honoured", "it names a declared list_changed that was asked for", ack, subset),
				rule.Quoted(conformance.Must, "CHG-04/empty", "a filter that asks for nothing is acknowledged with nothing, before the subscription ends", ack, first),
				rule.House("CHG-04/open", "the subscription stays open: it has no response", conformance.Spec{Section: page, Quote: "Unlike one-off requests, the stream stays open and delivers notifications until the client cancels it."}),
				rule.Quoted(conformance.Must, "CHG-07/closed", "requests are served after a subscription was closed", page+"#cancellation", "The client cancels it — close the SSE stream (HTTP) or send notifications/cancelled referencing the subscriptions/listen request ID (stdio)."),
			},
			Run: runListen,
		},
		{
			ID: "CHG-03-TOOLS", Area: "subscriptions", Title: "news of the list of tools", Since: mcp.Version2026_07_28,
			Needs: conformance.Needs{Capability: "tools.listChanged", Tools: []string{official.ToolChangeTools}, SideEffects: conformance.SideEffectsReadOnly}, Checks: newsChecks("tools", carried), Run: runToolNews,
		},
		{
			ID: "CHG-03-PROMPTS", Area: "subscriptions", Title: "news of the list of prompts", Since: mcp.Version2026_07_28,
			Needs: conformance.Needs{Capability: "prompts.listChanged", Tools: []string{official.ToolChangePrompts}, SideEffects: conformance.SideEffectsReadOnly}, Checks: newsChecks("prompts", carried), Run: runPromptNews,
		},
		{
			ID: "CHG-05", Area: "subscriptions", Title: "news of a resource", Since: mcp.Version2026_07_28,
			Needs: conformance.Needs{Capability: "resources.subscribe", Tools: []string{official.ToolChangeResource}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{
				rule.House("CHG-05/updated", "a change of a resource that was asked for is told", conformance.Spec{Section: "server/resources#subscriptions", Quote: "The server delivers notifications/resources/updated on the resulting stream whenever a watched resource changes."}),
				rule.Quoted(conformance.Must, "CHG-05/uri", "with its uri", "schema#resourceupdatednotificationparams", "The URI of the resource that has been updated. This might be a sub-resource of the one that the client actually subscribed to."),
				rule.Quoted(conformance.Must, "CHG-05/id", "and the id of the subscription", page+"#receiving-notifications", carried),
				rule.Quoted(conformance.Must, "CHG-05/others", "a change of another resource is not told", page, unasked),
			},
			Run: runResourceNews,
		},
		{
			ID: "CHG-06", Area: "subscriptions", Title: "subscriptions side by side", Since: mcp.Version2026_07_28,
			Needs: conformance.Needs{Capability: "prompts.listChanged", Tools: []string{official.ToolChangeTools, official.ToolChangePrompts}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{
				rule.Promised("CHG-06/two", "news comes once on each subscription that asked for it", toldOf("tools")),
				rule.Quoted(conformance.Must, "CHG-03/unasked", "news that was not asked for does not come", page, unasked),
				rule.Quoted(conformance.Must, "CHG-07/quiet", "no news comes for a subscription that was closed", "basic/transports/stdio#cancellation", "Servers SHOULD stop work on a cancelled request as soon as practical and MUST NOT send any further messages for it."),
				rule.Quoted(conformance.Must, "LOG-02/listen", "a subscription carries no progress and no log messages", "basic/transports/streamable-http#receiving-messages", "Request-scoped notifications like notifications/progress and notifications/message are not delivered on the listen stream"),
			},
			Run: runListenTwice,
		},
	}
}

// toldOf is why news of a list comes.
func toldOf(list string) conformance.Spec {
	return conformance.Spec{
		Section: "server/" + list + "#list-changed-notification",
		Quote:   "servers that declared the listChanged capability SHOULD send a notification to clients that have opened a subscriptions/listen stream with " + list + "ListChanged: true",
	}
}

func newsChecks(list, carried string) []conformance.Check {
	return []conformance.Check{
		rule.Promised("CHG-03/"+list, "a change of the "+list+" is told to who asked for it", toldOf(list)),
		rule.Quoted(conformance.Must, "META-08/"+list, "the news carries the id of the subscription", "basic/patterns/subscriptions#receiving-notifications", carried),
	}
}

func runListen(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	filter := map[string]any{"toolsListChanged": true}
	sub, err := subscription.Listen(t, s, filter)
	if probe.Unheard(t, s, err) {
		return err
	}
	const acknowledged = mcp.MethodSubscriptionsAcknowledged
	if !t.Check("CHG-04/first", err == nil && sub.Ack.Method() == acknowledged, acknowledged, "%s", sub.Described(err)) {
		return err
	}
	t.Check("CHG-04/id", string(sub.Subscription(sub.Ack)) == sub.ID, sub.ID, "%s", rawjson.OrAbsent(sub.Subscription(sub.Ack)))
	honoured, _ := rawjson.Object(message.Param(sub.Ack, "notifications"))
	strange := ""
	for name := range honoured {
		if filter[name] == nil {
			strange = name
		}
	}
	t.Check("CHG-04/subset", honoured != nil && strange == "", "a part of the filter", "notifications is %s", rawjson.OrAbsent(message.Param(sub.Ack, "notifications")))
	t.Check("CHG-04/honoured", string(honoured["toolsListChanged"]) == "true", "toolsListChanged", "notifications is %s", rawjson.OrAbsent(message.Param(sub.Ack, "notifications")))

	t.Step(s)
	number, err := subscription.ListenAs(t, s, "70001", map[string]any{})
	t.Check("CHG-04/integer", err == nil && message.SameID(number.Subscription(number.Ack), "70001"), "70001", "%s %s", rawjson.OrAbsent(number.Subscription(number.Ack)), number.Described(err))
	none, _ := rawjson.Object(message.Param(number.Ack, "notifications"))
	granted := slices.ContainsFunc(rawjson.SortedKeys(none), func(name string) bool { v := string(none[name]); return v != "false" && v != "[]" && v != "null" })
	t.Check("CHG-04/empty", none != nil && !granted, "an acknowledgment with an empty object", "%s", number.Described(err))
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	answered := slices.ContainsFunc(s.Stash, func(in wire.Inbound) bool { return in.To == sub.ID || in.IsResponse() && in.ID() == sub.ID })
	t.Check("CHG-04/open", !answered, "no response", "the subscription was answered or closed")
	for _, open := range []*subscription.Subscription{sub, number} {
		if err := open.End(t); err != nil {
			return err
		}
	}
	t.Step(s)
	a, err := s.Ping(t.Ctx)
	t.Check("CHG-07/closed", err == nil && a.Err == nil, "a result", a.OrError(err))
	return nil
}

func runToolNews(t *conformance.Trial) error {
	return news(t, "tools", mcp.MethodToolsListChanged, official.ToolChangeTools)
}

func runPromptNews(t *conformance.Trial) error {
	return news(t, "prompts", mcp.MethodPromptsListChanged, official.ToolChangePrompts)
}

// news changes a list twice, so that it is as before, and looks at what is told.
func news(t *conformance.Trial, list, method, trigger string) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	sub, err := subscription.Listen(t, s, map[string]any{list + "ListChanged": true})
	if err != nil {
		return err
	}
	if !sub.Honours(list + "ListChanged") {
		rule.SkipAll(t, conformance.SkipNoFixture, "the server does not agree to tell: "+rawjson.OrAbsent(message.Param(sub.Ack, "notifications")))
		return sub.End(t)
	}
	if _, err := t.Call(s, trigger, struct{}{}); err != nil {
		return err
	}
	s.Wait = min(s.Wait, wait.News)
	in, err := sub.Next(t, method)
	if !t.Check("CHG-03/"+list, err == nil, method, "%v", err) {
		t.Skip("META-08/"+list, conformance.SkipNoFixture, "no news to look at")
	}
	t.Check("META-08/"+list, string(sub.Subscription(in)) == sub.ID, sub.ID, "%s", rawjson.OrAbsent(sub.Subscription(in)))
	if err := sub.End(t); err != nil {
		return err
	}
	_, err = t.Call(s, trigger, struct{}{})
	return err
}

func runResourceNews(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	sub, err := subscription.Listen(t, s, map[string]any{"resourceSubscriptions": []string{official.ResourceWatched}})
	if err != nil {
		return err
	}
	if !sub.Honours("resourceSubscriptions") {
		rule.SkipAll(t, conformance.SkipNoFixture, "the server does not agree to tell: "+rawjson.OrAbsent(message.Param(sub.Ack, "notifications")))
		return sub.End(t)
	}
	other, err := subscription.Listen(t, s, map[string]any{"resourceSubscriptions": []string{official.ResourceStatic}})
	if err != nil {
		return err
	}
	if _, err := t.Call(s, official.ToolChangeResource, struct{}{}); err != nil {
		return err
	}
	s.Wait = min(s.Wait, wait.News)
	in, err := sub.Next(t, mcp.MethodResourcesUpdated)
	if !t.Check("CHG-05/updated", err == nil, mcp.MethodResourcesUpdated, "%v", err) {
		t.Skip("CHG-05/uri", conformance.SkipNoFixture, "no news to look at")
		t.Skip("CHG-05/id", conformance.SkipNoFixture, "no news to look at")
	}
	t.Check("CHG-05/uri", rawjson.Text(message.Param(in, "uri")) == official.ResourceWatched, official.ResourceWatched, "uri is %s", rawjson.OrAbsent(message.Param(in, "uri")))
	t.Check("CHG-05/id", string(sub.Subscription(in)) == sub.ID, sub.ID, "%s", rawjson.OrAbsent(sub.Subscription(in)))
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	t.Check("CHG-05/others", len(other.Noted(mcp.MethodResourcesUpdated)) == 0, "nothing", "%s", mcp.MethodResourcesUpdated)
	if err := other.End(t); err != nil {
		return err
	}
	return sub.End(t)
}

func runListenTwice(t *conformance.Trial) error {
	if !t.Rev.Capabilities.Has("tools.listChanged") { // the scenario needs both
		rule.SkipAll(t, conformance.SkipNotDeclared, "capabilities.tools.listChanged absent")
		return nil
	}
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	both, err := subscription.Listen(t, s, map[string]any{"toolsListChanged": true, "promptsListChanged": true})
	if err != nil {
		return err
	}
	prompts, err := subscription.Listen(t, s, map[string]any{"promptsListChanged": true})
	if err != nil {
		return err
	}
	if !both.Honours("toolsListChanged", "promptsListChanged") || !prompts.Honours("promptsListChanged") {
		t.Skip("CHG-06/two", conformance.SkipNoFixture, "the server does not agree to tell all of it")
	}
	closed, err := subscription.Listen(t, s, map[string]any{"toolsListChanged": true, "promptsListChanged": true})
	if err != nil {
		return err
	}
	if err := closed.End(t); err != nil {
		return err
	}
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	quiet := len(s.Notes)
	s.Wait = min(s.Wait, wait.News)
	for _, trigger := range []string{official.ToolChangeTools, official.ToolChangePrompts} {
		if _, err := t.Call(s, trigger, struct{}{}); err != nil {
			return err
		}
	}
	missing := ""
	for _, want := range []struct {
		sub    *subscription.Subscription
		method string
	}{{both, mcp.MethodToolsListChanged}, {both, mcp.MethodPromptsListChanged}, {prompts, mcp.MethodPromptsListChanged}} {
		if _, err := want.sub.Next(t, want.method); err != nil {
			missing = want.method + " for " + want.sub.ID
			break
		}
	}
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	for _, sub := range []*subscription.Subscription{both, prompts} {
		if n := len(sub.Noted(mcp.MethodPromptsListChanged)); n > 1 {
			missing = fmt.Sprintf("%d of %s for %s", n, mcp.MethodPromptsListChanged, sub.ID)
		}
	}
	t.Check("CHG-06/two", missing == "", "news once on each", "%s", missing)
	t.Check("CHG-03/unasked", len(prompts.Noted(mcp.MethodToolsListChanged)) == 0, "no news of tools", "%s for %s", mcp.MethodToolsListChanged, prompts.ID)
	if s.Conn.Transport() != wire.TransportStdio {
		t.Skip("CHG-07/quiet", conformance.SkipTransport, "a stream that was closed carries nothing")
	}
	late := slices.ContainsFunc(s.Notes[quiet:], closed.Owns)
	t.Check("CHG-07/quiet", !late, "nothing for "+closed.ID, "a notification")
	strange := ""
	for _, in := range s.Notes {
		if (in.Method() == mcp.MethodProgress || in.Method() == mcp.MethodMessage) && (both.Owns(in) || prompts.Owns(in)) {
			strange = in.Method()
		}
	}
	t.Check("LOG-02/listen", strange == "", "neither", "%s", strange)
	for _, sub := range []*subscription.Subscription{both, prompts} {
		if err := sub.End(t); err != nil {
			return err
		}
	}
	for _, trigger := range []string{official.ToolChangeTools, official.ToolChangePrompts} { // as it was
		if _, err := t.Call(s, trigger, struct{}{}); err != nil {
			return err
		}
	}
	return nil
}
