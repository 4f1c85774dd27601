package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mostWatched is how many resources are subscribed to.
const mostWatched = 8

// watched are resources that a session is subscribed to, with what they contain.
type watched struct {
	verdicts
	t *engine.Trial
	s *wire.Session
	// contents are those of the last read, by URI, of the resources that only calls change.
	contents map[string]string
	// since is the number of messages that had come before that read, or up to the news of its change.
	since map[string]int
	// said are the resources that change, as the user says.
	said map[string]bool
	sub  *talk.Subscription // of the stateless era
}

// runChanges subscribes to the first resources, and to those that calls change, as the user says.
// It makes calls and reads the resources: one that has changed has news.
func runChanges(t *engine.Trial) {
	w := &watched{verdicts: verdicts{}, t: t, s: t.Fresh(), contents: map[string]string{}, since: map[string]int{}, said: map[string]bool{}}
	over, uris := budget(t), w.uris()
	if t.Rev.Stateless() {
		if !w.listen(map[string]any{"resourceSubscriptions": uris}) {
			return
		}
		defer func() { _ = w.sub.End(t) }()
	} else {
		listenOnGet(t, w.s)
	}
	for _, uri := range uris {
		w.watch(uri)
	}
	for _, c := range mayChange(t) {
		if over() || len(w.contents) == 0 {
			break
		}
		w.call(c)
	}
	for _, in := range w.s.Notifications(mcp.MethodResourcesUpdated) {
		got := rawjson.Text(wire.Param(in, "uri"))
		below := slices.ContainsFunc(uris, func(uri string) bool { return strings.HasPrefix(got, uri) })
		w.see(w.t, "CALL-09/uri", below, "the uri of a subscription, or one below it", "%s", rawjson.OrAbsent(wire.Param(in, "uri")))
		w.tagged("CALL-09/tagged", in)
	}
	w.decide(t, "no call changed a resource")
}

// listenOnGet opens the stream over HTTP on which messages come that belong to no request, if the server
// has one.
func listenOnGet(t *engine.Trial, s *wire.Session) {
	if conn, ok := s.Conn.(*wire.HTTPConn); ok {
		_, err := conn.Listen(t.Ctx, "")
		t.NoError(err)
	}
}

// listen opens a subscription of the stateless era. If the server does not agree to all of it, listen
// skips the checks of the scenario.
func (w *watched) listen(filter map[string]any) (agreed bool) {
	w.t.Step(w.s)
	sub, err := talk.Listen(w.t, w.s, filter)
	if err != nil || !sub.Honours(rawjson.SortedKeys(filter)...) { // other checks judge the rest
		w.t.SkipRest(conformance.SkipNoFixture, "the server does not agree to all that it was asked for: "+sub.Described(err))
		return false
	}
	w.sub = sub
	return true
}

// ended reports whether the server has ended the subscription of the stateless era, as it may.
func (w *watched) ended() bool {
	return w.sub != nil && slices.ContainsFunc(w.s.Unclaimed, func(in wire.Inbound) bool {
		return in.To == w.sub.ID || in.IsResponse() && in.ID() == w.sub.ID
	})
}

// tagged judges whether news name the subscription of the stateless era.
func (w *watched) tagged(id string, in wire.Inbound) {
	if w.sub != nil {
		got := w.sub.Subscription(in)
		w.see(w.t, id, string(got) == w.sub.ID, w.sub.ID, "%s: %s is %s", in.Method(), mcp.MetaSubscriptionID, rawjson.OrAbsent(got))
	}
}

// uris are those to watch.
func (w *watched) uris() []string {
	var uris []string
	for _, tool := range w.t.Rev.Tools {
		for _, uri := range w.t.Rev.Opts.Calls.Tools[tool.Name].Changes {
			uris, w.said[uri] = append(uris, uri), true
		}
	}
	if list, err := wire.WalkList(w.t.Ctx, w.s, wire.ResourceList); err == nil {
		for _, uri := range list.Keys(wire.ResourceList) {
			if uri != "" && len(uris) < mostWatched && !slices.Contains(uris, uri) && !strings.HasPrefix(uri, "test://") {
				uris = append(uris, uri)
			}
		}
	}
	return uris
}

// watch subscribes to a resource and reads it twice: one that changes without a call is not watched.
func (w *watched) watch(uri string) {
	if w.sub == nil && !w.subscribe(uri) {
		return
	}
	text := w.read(uri)
	w.since[uri] = len(w.s.Unsolicited)
	if w.read(uri) == text && text != "" {
		w.contents[uri] = text
	}
}

// subscribe subscribes to a resource of the session era, and reports whether that was possible.
func (w *watched) subscribe(uri string) bool {
	w.t.Step(w.s)
	a, err := w.s.Request(w.t.Ctx, mcp.MethodResourcesSubscribe, map[string]any{"uri": uri})
	// Nothing demands that each resource can be subscribed to, unless the user says that it changes.
	if w.said[uri] || !a.HasCode(nil, wire.CodeInvalidParams, mcp.CodeResourceNotFound) {
		w.see(w.t, "CALL-09/subscribe", err == nil && a.Err == nil, "a result", "%s: %s", uri, a.OrError(err))
	}
	w.t.NoError(err)
	return a.Err == nil
}

// read returns the contents of a resource, "" if it cannot be read.
func (w *watched) read(uri string) string {
	a, err := w.s.Request(w.t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
	w.t.NoError(err)
	result, _ := rawjson.Object(a.Result)
	var contents []struct{ Text, Blob string }
	if a.Err != nil || json.Unmarshal(result["contents"], &contents) != nil {
		return ""
	}
	return string(rawjson.Encode(contents))
}

// mayChange returns one call of each tool that may change something.
func mayChange(t *engine.Trial) []call {
	var out []call
	for _, tool := range swift(t, tools(t)) {
		arguments := t.Rev.ArgumentsOf(tool)
		if len(arguments) > 0 && (!tool.Annotations.ReadOnlyHint || len(t.Rev.Opts.Calls.Tools[tool.Name].Changes) > 0) {
			out = append(out, call{tool: tool, args: arguments[0]})
		}
	}
	return out
}

// call makes a call and looks for the news of what it has changed.
func (w *watched) call(c call) {
	changes := w.t.Rev.Opts.Calls.Tools[c.tool.Name].Changes
	a, err := ask(w.t, w.s, c, nil)
	if wire.IsLost(err) {
		w.contents = nil // another check judges it
		return
	}
	w.t.NoError(err)
	if !succeeded(a) {
		return
	}
	for uri, before := range w.contents {
		had, now := w.since[uri], len(w.s.Unsolicited)
		after := w.read(uri)
		w.since[uri] = now
		said := slices.Contains(changes, uri)
		if !said && (after == "" || after == before) {
			continue
		}
		w.contents[uri] = after
		at, came := w.news(uri, had)
		w.since[uri] = max(now, at)
		if !came && !said && w.read(uri) != after { // it changes without calls, such as a clock
			delete(w.contents, uri)
			continue
		}
		if w.ended() {
			return
		}
		w.see(w.t, "CALL-09/updated", came, fmt.Sprintf("%s of %s within %s", mcp.MethodResourcesUpdated, uri, wire.NewsWait), "%s: it changed %s, which is subscribed to, and no news came", c, uri)
	}
}

// news is newsSince for the notification of a changed resource.
func (w *watched) news(uri string, had int) (after int, came bool) {
	return newsSince(w.t, w.s, had, func(in wire.Inbound) bool {
		return in.Method() == mcp.MethodResourcesUpdated && strings.HasPrefix(rawjson.Text(wire.Param(in, "uri")), uri)
	})
}

// newsSince waits for a notification, unless it is among the messages after the first had ones, and
// reports whether it came. after is the number of messages up to it.
func newsSince(t *engine.Trial, s *wire.Session, had int, fits func(wire.Inbound) bool) (after int, came bool) {
	had = min(had, len(s.Unsolicited))
	if i := slices.IndexFunc(s.Unsolicited[had:], fits); i >= 0 {
		return had + i + 1, true
	}
	wait := s.Timeout
	s.Timeout = min(wait, wire.NewsWait)
	_, err := s.Next(t.Ctx, func(in wire.Inbound) bool { return !in.IsResponse() && in.Members != nil && fits(in) })
	s.Timeout = wait
	if errors.Is(err, wire.ErrLate) {
		s.Doubt = nil
	}
	return len(s.Unsolicited), err == nil
}
