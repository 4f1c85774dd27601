package clientsuite

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// subscriptionScenarios are changes that the client asks to be told of.
func subscriptionScenarios() []scenario {
	page := "basic/patterns/subscriptions#"
	filter := spec(page+"opening-a-stream", "The client sends a subscriptions/listen request with a notifications filter specifying which event types it wants to receive.")
	receive := spec(page+"receiving-notifications", "On stdio, where all messages share a single channel, clients MUST use this field to correlate notifications with their originating subscription.")
	ends := spec(page+"cancellation", "The client cancels it — close the SSE stream (HTTP) or send notifications/cancelled referencing the subscriptions/listen request ID (stdio).")
	updates := spec("server/resources#subscriptions", "Clients can subscribe to specific resources and receive notifications when they change")
	const wanted = `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["mem://one"]}}`
	listen := Step{Call: mcp.MethodSubscriptionsListen, Params: json.RawMessage(wanted), ForMs: 400}
	about := func(uri string) func(Line) bool {
		return func(l Line) bool { return strings.Contains(string(at(l.Result, "notifications")), quote(uri)) }
	}
	return []scenario{
		{
			id: "C-LISTEN", area: stateless, title: "the caller listens for changes", since: mcp.Version2026_07_28,
			checks: []check{
				must("C-CHG-03/filter", "subscriptions/listen names what is wanted, and no more", filter),
				must("C-CHG-03/told", "the caller is told of a change", receive),
				must("C-CHG-07/ends", "the subscription is ended when the caller ends it", ends),
				should("C-CHG-07/next", "the next call works", ends),
			},
			play: func(t *trial) {
				t.peer.capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`
				t.on(mcp.MethodSubscriptionsListen, func(x *exchange) {
					x.acknowledges()
					x.changed("mem://one", x.id())
					x.hold(3 * time.Second)
				})
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.hold(300 * time.Millisecond) // what ends with the client is ended by nobody
					x.good()
				})
				t.do(listen, call("write", `{"text":"next"}`))
				sent := t.sent(mcp.MethodSubscriptionsListen)
				if !t.needs(len(sent) > 0, "subscriptions/listen was not sent") {
					return
				}
				asked := members(sent[0].param("notifications"))
				var uris []string
				_ = json.Unmarshal(asked["resourceSubscriptions"], &uris) // no list: none
				more := string(asked["promptsListChanged"]) == "true" || string(asked["resourcesListChanged"]) == "true"
				t.check("C-CHG-03/filter", string(asked["toolsListChanged"]) == "true" && slices.Equal(uris, []string{"mem://one"}) && !more, wanted, "%s", sent[0].members["params"])
				t.told("C-CHG-03/told", 0, about("mem://one"), "a notification about mem://one")
				t.told("C-CHG-07/next", 1, says("next"), wantsText("next"))
				if next := t.calls("write"); t.needs(len(next) > 0, "write was not called") {
					left := sent[0].left != 0 && sent[0].left < next[0].answered
					overStdio := t.rev.opts.Transport == conformance.TransportStdio
					t.check("C-CHG-07/ends", !overStdio && left || overStdio && t.gaveUp(sent[0]), "the end of subscription "+sent[0].id(), "%s; the stream was left: %t", contents(t.sent(mcp.MethodCancelled)), left)
				}
			},
		},
		{
			id: "C-LISTEN-FOREIGN", area: stateless, title: "a change of another subscription comes", since: mcp.Version2026_07_28, transport: conformance.TransportStdio,
			checks: []check{must("C-CHG-06/foreign", "the caller is not told of it", receive)},
			play: func(t *trial) {
				t.peer.capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
				t.on(mcp.MethodSubscriptionsListen, func(x *exchange) {
					x.acknowledges()
					x.changed("mem://one/foreign", `"nobody's"`)
					x.changed("mem://one/own", x.id())
					x.hold(3 * time.Second)
				})
				t.do(listen)
				if t.needs(len(t.sent(mcp.MethodSubscriptionsListen)) > 0, "subscriptions/listen was not sent") {
					t.told("C-CHG-06/foreign", 0, func(l Line) bool { return !about("mem://one/foreign")(l) }, "nothing about mem://one/foreign")
				}
			},
		},
		{
			id: "C-LISTEN-ENDED", area: stateless, title: "the server ends each subscription at once", since: mcp.Version2026_07_28,
			checks: []check{advised("C-CHG-08/bounded", "it is not opened again and again", row("CHG-08"))},
			play: func(t *trial) {
				t.peer.capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
				t.on(mcp.MethodSubscriptionsListen, func(x *exchange) {
					x.acknowledges()
					x.bare(`{"resultType":"complete","_meta":{` + quote(mcp.MetaSubscriptionID) + `:` + x.id() + `}}`)
				})
				t.do(listen)
				if n := len(t.sent(mcp.MethodSubscriptionsListen)); t.needs(n > 0, "subscriptions/listen was not sent") {
					t.check("C-CHG-08/bounded", n <= 5, "at most 5 requests in 400 ms", "%d", n)
				}
			},
		},
		{
			id: "C-SUBSCRIBE", area: features, title: "the caller subscribes to a resource", until: mcp.LatestSession,
			checks: []check{
				must("C-RES-04/uri", "resources/subscribe names it", updates),
				advised("C-RES-04/unsubscribe", "the subscription is ended when the caller ends it", row("RES-04")),
			},
			play: func(t *trial) { t.subscribe(nil) },
		},
		{
			id: "C-SUBSCRIBE-UPDATED", area: features, title: "a resource that the caller subscribed to changes", until: mcp.LatestSession, transport: conformance.TransportStdio,
			checks: []check{must("C-RES-04/told", "the caller is told", updates)},
			play: func(t *trial) {
				t.subscribe(func(x *exchange) { x.notify(mcp.MethodResourcesUpdated, `{"uri":"mem://one"}`) })
				if t.needs(len(t.sent(mcp.MethodResourcesSubscribe)) > 0, "resources/subscribe was not sent") {
					t.told("C-RES-04/told", 0, about("mem://one"), "a notification about mem://one")
				}
			},
		},
	}
}

// subscribe has the client subscribe to a resource for a while; then is what the
// server does behind its answer.
func (t *trial) subscribe(then func(x *exchange)) {
	t.peer.capabilities = `{"tools":{},"resources":{"subscribe":true}}`
	t.on(mcp.MethodResourcesSubscribe, func(x *exchange) {
		x.result("")
		if then != nil {
			x.hold(50 * time.Millisecond)
			then(x)
		}
	})
	t.on(mcp.MethodResourcesUnsubscribe, func(x *exchange) { x.result("") })
	t.do(Step{Call: mcp.MethodResourcesSubscribe, URI: "mem://one", ForMs: 300}, call("echo", `{}`))
	sent := t.sent(mcp.MethodResourcesSubscribe)
	if then != nil || !t.needs(len(sent) > 0, "resources/subscribe was not sent") {
		return
	}
	t.check("C-RES-04/uri", text(sent[0].param("uri")) == "mem://one", "mem://one", "%s", sent[0].members["params"])
	ended := slices.ContainsFunc(t.sent(mcp.MethodResourcesUnsubscribe), func(m *message) bool { return text(m.param("uri")) == "mem://one" })
	t.check("C-RES-04/unsubscribe", ended, "resources/unsubscribe for mem://one", "%s", contents(t.sent(mcp.MethodResourcesUnsubscribe)))
}

// acknowledges is the first message of a subscription: all that was asked for.
func (x *exchange) acknowledges() {
	x.notify(mcp.MethodSubscriptionsAcknowledged, `{"_meta":{`+quote(mcp.MetaSubscriptionID)+`:`+x.id()+`},"notifications":`+orNull(x.param("notifications"))+`}`)
}

// changed tells of a change of a resource; id, JSON, is that of the subscription.
func (x *exchange) changed(uri, id string) {
	x.notify(mcp.MethodResourcesUpdated, `{"_meta":{`+quote(mcp.MetaSubscriptionID)+`:`+id+`},"uri":`+quote(uri)+`}`)
}
