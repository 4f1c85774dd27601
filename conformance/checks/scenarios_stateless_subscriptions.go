package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
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
				quoted(conformance.Must, "CHG-04/first", "notifications/subscriptions/acknowledged comes first", ack, first),
				quoted(conformance.Must, "CHG-04/id", "it carries the id of the request", ack, first),
				quoted(conformance.Must, "CHG-04/integer", "an integer id stays an integer", page+"#receiving-notifications", "The value is the JSON-RPC ID of the subscriptions/listen request."),
				quoted(conformance.Must, "CHG-04/subset", "it names nothing that was not asked for", ack, subset),
				quoted(conformance.Advice, "CHG-04/honoured", "it names a declared list_changed that was asked for", ack, subset),
				quoted(conformance.Must, "CHG-04/empty", "a filter that asks for nothing is acknowledged with nothing, before the subscription ends", ack, first),
				houseRule("CHG-04/open", "the subscription stays open: it has no response", conformance.Spec{Section: page, Quote: "Unlike one-off requests, the stream stays open and delivers notifications until the client cancels it."}),
				quoted(conformance.Must, "CHG-07/closed", "requests are served after a subscription was closed", page+"#cancellation", "The client cancels it — close the SSE stream (HTTP) or send notifications/cancelled referencing the subscriptions/listen request ID (stdio)."),
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
				houseRule("CHG-05/updated", "a change of a resource that was asked for is told", conformance.Spec{Section: "server/resources#subscriptions", Quote: "The server delivers notifications/resources/updated on the resulting stream whenever a watched resource changes."}),
				quoted(conformance.Must, "CHG-05/uri", "with its uri", "schema#resourceupdatednotificationparams", "The URI of the resource that has been updated. This might be a sub-resource of the one that the client actually subscribed to."),
				quoted(conformance.Must, "CHG-05/id", "and the id of the subscription", page+"#receiving-notifications", carried),
				quoted(conformance.Must, "CHG-05/others", "a change of another resource is not told", page, unasked),
			},
			Run: runResourceNews,
		},
		{
			ID: "CHG-06", Area: "subscriptions", Title: "subscriptions side by side", Since: mcp.Version2026_07_28,
			Needs: conformance.Needs{Capability: "prompts.listChanged", Tools: []string{official.ToolChangeTools, official.ToolChangePrompts}, SideEffects: conformance.SideEffectsReadOnly},
			Checks: []conformance.Check{
				promised("CHG-06/two", "news comes once on each subscription that asked for it", toldOf("tools")),
				quoted(conformance.Must, "CHG-03/unasked", "news that was not asked for does not come", page, unasked),
				quoted(conformance.Must, "CHG-07/quiet", "no news comes for a subscription that was closed", "basic/transports/stdio#cancellation", "Servers SHOULD stop work on a cancelled request as soon as practical and MUST NOT send any further messages for it."),
				quoted(conformance.Must, "LOG-02/listen", "a subscription carries no progress and no log messages", "basic/transports/streamable-http#receiving-messages", "Request-scoped notifications like notifications/progress and notifications/message are not delivered on the listen stream"),
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
		promised("CHG-03/"+list, "a change of the "+list+" is told to who asked for it", toldOf(list)),
		quoted(conformance.Must, "META-08/"+list, "the news carries the id of the subscription", "basic/patterns/subscriptions#receiving-notifications", carried),
	}
}

func runListen(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	filter := map[string]any{"toolsListChanged": true}
	sub, err := listen(t, s, filter)
	if unheard(t, s, err) {
		return err
	}
	const acknowledged = mcp.MethodSubscriptionsAcknowledged
	if !t.Check("CHG-04/first", err == nil && sub.ack.Method() == acknowledged, acknowledged, "%s", sub.described(err)) {
		return err
	}
	t.Check("CHG-04/id", string(sub.subscription(sub.ack)) == sub.id, sub.id, "%s", rawjson.OrAbsent(sub.subscription(sub.ack)))
	honoured, _ := rawjson.Object(paramMember(sub.ack, "notifications"))
	strange := ""
	for name := range honoured {
		if filter[name] == nil {
			strange = name
		}
	}
	t.Check("CHG-04/subset", honoured != nil && strange == "", "a part of the filter", "notifications is %s", rawjson.OrAbsent(paramMember(sub.ack, "notifications")))
	t.Check("CHG-04/honoured", string(honoured["toolsListChanged"]) == "true", "toolsListChanged", "notifications is %s", rawjson.OrAbsent(paramMember(sub.ack, "notifications")))

	t.Step(s)
	number, err := listenAs(t, s, "70001", map[string]any{})
	t.Check("CHG-04/integer", err == nil && sameID(number.subscription(number.ack), "70001"), "70001", "%s %s", rawjson.OrAbsent(number.subscription(number.ack)), number.described(err))
	none, _ := rawjson.Object(paramMember(number.ack, "notifications"))
	granted := slices.ContainsFunc(rawjson.SortedKeys(none), func(name string) bool { v := string(none[name]); return v != "false" && v != "[]" && v != "null" })
	t.Check("CHG-04/empty", none != nil && !granted, "an acknowledgment with an empty object", "%s", number.described(err))
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	answered := slices.ContainsFunc(s.Stash, func(in wire.Inbound) bool { return in.To == sub.id || in.IsResponse() && in.ID() == sub.id })
	t.Check("CHG-04/open", !answered, "no response", "the subscription was answered or closed")
	for _, open := range []*subscription{sub, number} {
		if err := open.end(t); err != nil {
			return err
		}
	}
	t.Step(s)
	a, err := s.Ping(t.Ctx)
	t.Check("CHG-07/closed", err == nil && a.Err == nil, "a result", a.OrError(err))
	return nil
}

// unheard reports whether silence says nothing about the server: no answer came in
// time, and none comes to a ping after it.
func unheard(t *conformance.Trial, s *wire.Session, err error) bool {
	if !errors.Is(err, wire.ErrLate) {
		return false
	}
	_, lost := s.Ping(t.Ctx)
	return lost != nil
}

// paramMember returns a member of the params of a message.
func paramMember(in wire.Inbound, name string) json.RawMessage {
	params, _ := rawjson.Object(in.Members["params"])
	return params[name]
}

// described says what came in the place of an acknowledgment.
func (sub *subscription) described(err error) string {
	if err != nil {
		return err.Error()
	}
	if sub.ack.Members == nil {
		return fmt.Sprint(sub.ack.Err)
	}
	return rawjson.Clip(string(sub.ack.Data), 160)
}

func runToolNews(t *conformance.Trial) error {
	return news(t, "tools", mcp.MethodToolsListChanged, official.ToolChangeTools)
}

func runPromptNews(t *conformance.Trial) error {
	return news(t, "prompts", mcp.MethodPromptsListChanged, official.ToolChangePrompts)
}

// newsWait is how long news may take. That none came is seen by waiting alone:
// long enough for a machine that is busy.
const newsWait = 5 * time.Second

// news changes a list twice, so that it is as before, and looks at what is told.
func news(t *conformance.Trial, list, method, trigger string) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	sub, err := listen(t, s, map[string]any{list + "ListChanged": true})
	if err != nil {
		return err
	}
	if !sub.honours(list + "ListChanged") {
		skipAll(t, conformance.SkipNoFixture, "the server does not agree to tell: "+rawjson.OrAbsent(paramMember(sub.ack, "notifications")))
		return sub.end(t)
	}
	if _, err := t.Call(s, trigger, struct{}{}); err != nil {
		return err
	}
	s.Wait = min(s.Wait, newsWait)
	in, err := sub.next(t, method)
	if !t.Check("CHG-03/"+list, err == nil, method, "%v", err) {
		t.Skip("META-08/"+list, conformance.SkipNoFixture, "no news to look at")
	}
	t.Check("META-08/"+list, string(sub.subscription(in)) == sub.id, sub.id, "%s", rawjson.OrAbsent(sub.subscription(in)))
	if err := sub.end(t); err != nil {
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
	sub, err := listen(t, s, map[string]any{"resourceSubscriptions": []string{official.ResourceWatched}})
	if err != nil {
		return err
	}
	if !sub.honours("resourceSubscriptions") {
		skipAll(t, conformance.SkipNoFixture, "the server does not agree to tell: "+rawjson.OrAbsent(paramMember(sub.ack, "notifications")))
		return sub.end(t)
	}
	other, err := listen(t, s, map[string]any{"resourceSubscriptions": []string{official.ResourceStatic}})
	if err != nil {
		return err
	}
	if _, err := t.Call(s, official.ToolChangeResource, struct{}{}); err != nil {
		return err
	}
	s.Wait = min(s.Wait, newsWait)
	in, err := sub.next(t, mcp.MethodResourcesUpdated)
	if !t.Check("CHG-05/updated", err == nil, mcp.MethodResourcesUpdated, "%v", err) {
		t.Skip("CHG-05/uri", conformance.SkipNoFixture, "no news to look at")
		t.Skip("CHG-05/id", conformance.SkipNoFixture, "no news to look at")
	}
	t.Check("CHG-05/uri", rawjson.Text(paramMember(in, "uri")) == official.ResourceWatched, official.ResourceWatched, "uri is %s", rawjson.OrAbsent(paramMember(in, "uri")))
	t.Check("CHG-05/id", string(sub.subscription(in)) == sub.id, sub.id, "%s", rawjson.OrAbsent(sub.subscription(in)))
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	t.Check("CHG-05/others", len(other.noted(mcp.MethodResourcesUpdated)) == 0, "nothing", "%s", mcp.MethodResourcesUpdated)
	if err := other.end(t); err != nil {
		return err
	}
	return sub.end(t)
}

func runListenTwice(t *conformance.Trial) error {
	if !t.Rev.Capabilities.Has("tools.listChanged") { // the scenario needs both
		skipAll(t, conformance.SkipNotDeclared, "capabilities.tools.listChanged absent")
		return nil
	}
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	both, err := listen(t, s, map[string]any{"toolsListChanged": true, "promptsListChanged": true})
	if err != nil {
		return err
	}
	prompts, err := listen(t, s, map[string]any{"promptsListChanged": true})
	if err != nil {
		return err
	}
	if !both.honours("toolsListChanged", "promptsListChanged") || !prompts.honours("promptsListChanged") {
		t.Skip("CHG-06/two", conformance.SkipNoFixture, "the server does not agree to tell all of it")
	}
	closed, err := listen(t, s, map[string]any{"toolsListChanged": true, "promptsListChanged": true})
	if err != nil {
		return err
	}
	if err := closed.end(t); err != nil {
		return err
	}
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	quiet := len(s.Notes)
	s.Wait = min(s.Wait, newsWait)
	for _, trigger := range []string{official.ToolChangeTools, official.ToolChangePrompts} {
		if _, err := t.Call(s, trigger, struct{}{}); err != nil {
			return err
		}
	}
	missing := ""
	for _, want := range []struct {
		sub    *subscription
		method string
	}{{both, mcp.MethodToolsListChanged}, {both, mcp.MethodPromptsListChanged}, {prompts, mcp.MethodPromptsListChanged}} {
		if _, err := want.sub.next(t, want.method); err != nil {
			missing = want.method + " for " + want.sub.id
			break
		}
	}
	if _, err := s.Settle(t.Ctx); err != nil {
		return err
	}
	for _, sub := range []*subscription{both, prompts} {
		if n := len(sub.noted(mcp.MethodPromptsListChanged)); n > 1 {
			missing = fmt.Sprintf("%d of %s for %s", n, mcp.MethodPromptsListChanged, sub.id)
		}
	}
	t.Check("CHG-06/two", missing == "", "news once on each", "%s", missing)
	t.Check("CHG-03/unasked", len(prompts.noted(mcp.MethodToolsListChanged)) == 0, "no news of tools", "%s for %s", mcp.MethodToolsListChanged, prompts.id)
	if s.Conn.Transport() != wire.TransportStdio {
		t.Skip("CHG-07/quiet", conformance.SkipTransport, "a stream that was closed carries nothing")
	}
	late := slices.ContainsFunc(s.Notes[quiet:], closed.owns)
	t.Check("CHG-07/quiet", !late, "nothing for "+closed.id, "a notification")
	strange := ""
	for _, in := range s.Notes {
		if (in.Method() == mcp.MethodProgress || in.Method() == mcp.MethodMessage) && (both.owns(in) || prompts.owns(in)) {
			strange = in.Method()
		}
	}
	t.Check("LOG-02/listen", strange == "", "neither", "%s", strange)
	for _, sub := range []*subscription{both, prompts} {
		if err := sub.end(t); err != nil {
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
