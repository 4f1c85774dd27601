package features

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// subscriptions returns the scenarios of subscriptions in both eras.
func subscriptions() []trial.Scenario {
	return []trial.Scenario{
		{ID: "C-LISTEN", Play: playListen},
		{ID: "C-LISTEN-FOREIGN", Play: playForeign},
		{ID: "C-LISTEN-ENDED", Play: playEnded},
		{ID: "C-SUBSCRIBE", Play: playSubscribe},
		{ID: "C-SUBSCRIBE-UPDATED", Play: playUpdated},
	}
}

const filter = `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["mem://one"]}}`

// listen has the client listen for a while, and then take steps. Then is what the server
// does after it acknowledged the subscription.
func listen(t *trial.Trial, then func(x *peer.Exchange), steps ...trial.Step) (sent []*peer.Message) {
	t.Peer.Capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`
	t.On(mcp.MethodSubscriptionsListen, func(x *peer.Exchange) {
		x.Notify(mcp.MethodSubscriptionsAcknowledged, `{"_meta":{`+peer.Quote(mcp.MetaSubscriptionID)+`:`+x.ID()+`},"notifications":`+peer.OrNull(x.Param("notifications"))+`}`)
		then(x)
	})
	first := trial.Step{Call: mcp.MethodSubscriptionsListen, Params: json.RawMessage(filter), ForMs: 400}
	t.Do(append([]trial.Step{first}, steps...)...)
	return t.HasSent(mcp.MethodSubscriptionsListen)
}

// changed notifies of a change of a resource; id, JSON, is that of the subscription.
func changed(x *peer.Exchange, uri, id string) {
	x.Notify(mcp.MethodResourcesUpdated, `{"_meta":{`+peer.Quote(mcp.MetaSubscriptionID)+`:`+id+`},"uri":`+peer.Quote(uri)+`}`)
}

// notified reports whether a line has a notification about a resource.
func notified(l trial.Line, uri string) bool {
	return strings.Contains(string(peer.At(l.Result, "notifications")), peer.Quote(uri))
}

func playListen(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Hold(300 * time.Millisecond) // a subscription that ends with the client was not ended by it
		x.Default()
	})
	sent := listen(t, func(x *peer.Exchange) {
		changed(x, "mem://one", x.ID())
		x.Hold(3 * time.Second)
	}, trial.Call("write", `{"text":"next"}`))
	if len(sent) == 0 {
		return
	}
	asked := peer.Members(sent[0].Param("notifications"))
	var uris []string
	_ = json.Unmarshal(asked["resourceSubscriptions"], &uris) // no list: none
	more := string(asked["promptsListChanged"]) == "true" || string(asked["resourcesListChanged"]) == "true"
	t.Check("C-CHG-03/filter", string(asked["toolsListChanged"]) == "true" && slices.Equal(uris, []string{"mem://one"}) && !more, filter, "%s", sent[0].Members["params"])
	t.Reported("C-CHG-03/told", 0, trial.Want{Text: "a notification about mem://one", Ok: func(l trial.Line) bool { return notified(l, "mem://one") }})
	t.Reported("C-CHG-07/next", 1, trial.Result("next"))
	if next := t.Called("write"); len(next) > 0 {
		left := sent[0].Left != 0 && sent[0].Left < next[0].Answered
		ended := t.OverHTTP() && left || !t.OverHTTP() && t.Cancels(sent[0])
		t.Check("C-CHG-07/ends", ended, "the end of subscription "+sent[0].ID(), "%s; the stream was left: %t", trial.Contents(t.Sent(mcp.MethodCancelled)), left)
	}
}

// playForeign notifies of a change of another subscription.
func playForeign(t *trial.Trial) {
	sent := listen(t, func(x *peer.Exchange) {
		changed(x, "mem://one/foreign", `"nobody's"`)
		changed(x, "mem://one/own", x.ID())
		x.Hold(3 * time.Second)
	})
	if len(sent) > 0 {
		t.Reported("C-CHG-06/foreign", 0, trial.Want{Text: "nothing about mem://one/foreign", Ok: func(l trial.Line) bool { return !notified(l, "mem://one/foreign") }})
	}
}

// playEnded ends each subscription at once.
func playEnded(t *trial.Trial) {
	sent := listen(t, func(x *peer.Exchange) {
		x.Raw(`{"resultType":"complete","_meta":{` + peer.Quote(mcp.MetaSubscriptionID) + `:` + x.ID() + `}}`)
	})
	if len(sent) > 0 {
		t.Check("C-CHG-08/bounded", len(sent) <= 5, "at most 5 requests in 400 ms", "%d", len(sent))
	}
}

// subscribe has the client subscribe to a resource for a while. Then is what the server
// does after its answer.
func subscribe(t *trial.Trial, then func(x *peer.Exchange)) (sent []*peer.Message) {
	t.Peer.Capabilities = `{"tools":{},"resources":{"subscribe":true}}`
	t.On(mcp.MethodResourcesSubscribe, func(x *peer.Exchange) {
		x.Result("")
		then(x)
	})
	t.On(mcp.MethodResourcesUnsubscribe, func(x *peer.Exchange) { x.Result("") })
	t.Do(trial.Step{Call: mcp.MethodResourcesSubscribe, URI: "mem://one", ForMs: 300}, trial.Call("echo", `{}`))
	return t.HasSent(mcp.MethodResourcesSubscribe)
}

func playSubscribe(t *trial.Trial) {
	sent := subscribe(t, func(*peer.Exchange) {})
	if len(sent) == 0 {
		return
	}
	is := func(m *peer.Message) bool { return rawjson.Text(m.Param("uri")) == "mem://one" }
	t.Check("C-RES-04/uri", is(sent[0]), "mem://one", "%s", sent[0].Members["params"])
	ended := t.Sent(mcp.MethodResourcesUnsubscribe)
	t.Check("C-RES-04/unsubscribe", slices.ContainsFunc(ended, is), "resources/unsubscribe for mem://one", "%s", trial.Contents(ended))
}

func playUpdated(t *trial.Trial) {
	sent := subscribe(t, func(x *peer.Exchange) {
		x.Hold(50 * time.Millisecond)
		x.Notify(mcp.MethodResourcesUpdated, `{"uri":"mem://one"}`)
	})
	if len(sent) > 0 {
		t.Reported("C-RES-04/told", 0, trial.Want{Text: "a notification about mem://one", Ok: func(l trial.Line) bool { return notified(l, "mem://one") }})
	}
}
