package calls

import (
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// pair are two sessions with one server: the first makes calls, and the second was opened later and
// has nothing to do with them.
type pair struct {
	verdicts
	t           *engine.Trial
	own, others *wire.Session
	// loud are calls of which messages came, with their number.
	loud []loud
}

// loud is a call of which messages came that belong to no request.
type loud struct {
	call
	token    any
	messages int
}

// runSessions judges what of a call reaches another session.
func runSessions(t *engine.Trial) {
	p := pair{verdicts: verdicts{}, t: t}
	for _, s := range []**wire.Session{&p.own, &p.others} {
		*s = t.Fresh()
		conn, ok := (*s).Conn.(*wire.HTTPConn)
		if !ok || conn.SessionID() == "" {
			t.SkipRest(conformance.SkipTransport, "the server has no sessions")
			return
		}
		listenOnGet(t, *s) // what is not for a request may come there
	}
	all := swift(t, tools(t))
	if len(all) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "only tools that are slow")
		return
	}
	over := budget(t)
	p.progress(all, over)
	p.level(all)
	p.news(over)
	p.once(over)
	p.decide(t, "no call gave an occasion")
}

// once opens another stream for what belongs to no request, if the server allows that, and makes loud
// calls again: a server at fault sends twice as many messages, each of them on both streams.
func (p *pair) once(over func() bool) {
	conn, _ := p.own.Conn.(*wire.HTTPConn)
	answer, err := conn.Listen(p.t.Ctx, "")
	p.t.NoError(err)
	if !answer.Is(err, http.StatusOK) {
		return
	}
	had := len(p.own.Unsolicited)
	p.t.NoError(p.own.ReadFor(p.t.Ctx, wire.Lag))
	if len(p.since(had)) > 0 {
		return // what comes without a call may come twice with the same text
	}
	const most = 3
	for _, c := range first(p.loud, most) {
		if over() {
			return
		}
		had, begun := len(p.own.Unsolicited), time.Now()
		_, _, _ = p.call(c.call, c.token, "")
		came := p.since(had)
		had = len(p.own.Unsolicited)
		p.t.NoError(p.own.ReadFor(p.t.Ctx, max(time.Since(begun), wire.Lag)))
		if len(p.since(had)) > 0 {
			return // a heartbeat, which went on without a call
		}
		streams, twice := map[string]string{}, 0
		for _, in := range came {
			if on, there := streams[string(in.Data)]; there && on != in.To {
				twice++
			}
			streams[string(in.Data)] = in.To
		}
		p.see(p.t, "CALL-12/once", twice < c.messages || len(came) < 2*c.messages, "each message on one of two open streams",
			"%s: %d messages with one stream; with two streams %d, on both of them", c.call, c.messages, len(came))
	}
}

// since are the messages after the first had ones that came on a stream which belongs to no request.
func (p *pair) since(had int) []wire.Inbound {
	return slices.DeleteFunc(slices.Clone(p.own.Unsolicited[min(had, len(p.own.Unsolicited)):]), func(in wire.Inbound) bool {
		_, ofRequest := p.own.Pending[in.To]
		return ofRequest
	})
}

// call makes a call in the first session, and returns the messages of a method that came in either.
func (p *pair) call(c call, token any, method string) (own, others []wire.Inbound, ok bool) {
	hadOwn, hadOthers := len(p.own.Notifications(method)), len(p.others.Notifications(method))
	had := len(p.own.Unsolicited)
	a, err := ask(p.t, p.own, c, token)
	p.t.NoError(err)
	for _, s := range []*wire.Session{p.own, p.others} {
		_, err := s.Settle(p.t.Ctx)
		p.t.NoError(err)
	}
	if came := p.since(had); len(came) > 0 {
		p.loud = append(p.loud, loud{c, token, len(came)})
	}
	return p.own.Notifications(method)[hadOwn:], p.others.Notifications(method)[hadOthers:], succeeded(a)
}

// progress makes calls until one reports progress: first those that are known to.
func (p *pair) progress(all []wire.Tool, over func() bool) {
	var known, rest []call
	for _, tool := range all {
		if with, reports := p.t.Rev.Reports(tool.Name); reports {
			known = append(known, call{tool: tool, args: with})
		} else if arguments := p.t.Rev.ArgumentsOf(tool); len(arguments) > 0 && !destroys(tool) {
			rest = append(rest, call{tool: tool, args: arguments[0]})
		}
	}
	for i, c := range append(known, rest...) {
		if over() {
			return
		}
		const token = "of-the-first-session"
		own, others, ok := p.call(c, token, mcp.MethodProgress)
		if ok && len(own) == 0 && i < len(known) { // it may report now and then
			own, others, ok = p.call(c, token, mcp.MethodProgress)
		}
		lost := ok && len(own) == 0 && i < len(known) && p.reportsToNewest(c, token)
		stray := slices.ContainsFunc(others, func(in wire.Inbound) bool { return rawjson.Text(wire.Param(in, "progressToken")) == token })
		if lost || stray || len(own) > 0 {
			p.see(p.t, "CALL-12/progress", !stray && !lost, "progress in the session of the call only",
				"%s: %d notifications there, %d in a session that was opened later", c, len(own), len(others))
			return // one is enough
		}
	}
}

// reportsToNewest makes a call in a session that is newer than both, and reports whether progress comes: a
// tool may have reported only while it had work to do.
func (p *pair) reportsToNewest(c call, token any) bool {
	s := p.t.Fresh()
	listenOnGet(p.t, s)
	_, err := ask(p.t, s, c, token)
	p.t.NoError(err)
	_, err = s.Settle(p.t.Ctx)
	p.t.NoError(err)
	return len(s.Notifications(mcp.MethodProgress)) > 0
}

// level sets the log level of the second session to the highest one, and makes a call that logs.
func (p *pair) level(all []wire.Tool) {
	if !p.t.Rev.Capabilities.Has("logging") {
		return
	}
	set := func(s *wire.Session, level string) {
		a, err := s.Request(p.t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level})
		p.t.NoError(err)
		if a.Err != nil {
			p.t.Stop(wire.ErrNoAnswer) // another check judges it
		}
	}
	for _, tool := range all {
		with, known := p.t.Rev.Logs(tool.Name)
		if !known {
			continue
		}
		c, days := call{tool: tool, args: with}, mostAgain*len(all)
		logs := func() int {
			days++
			c.args.JSON = onAnotherDay(with.JSON, days)
			had, _, _ := p.call(c, nil, mcp.MethodMessage)
			return len(had)
		}
		fault := true
		for range 2 { // a tool may log now and then
			set(p.own, "debug")
			before := logs()
			set(p.others, "emergency")
			after := logs()
			fault = fault && before > 0 && after == 0
		}
		p.see(p.t, "CALL-12/level", !fault, "the messages of its own level", "%s: its log messages end when another session sets its level to emergency", c)
		return
	}
}

// news subscribes the first session to resources, and makes calls that may change them.
func (p *pair) news(over func() bool) {
	if !p.t.Rev.Capabilities.Has("resources.subscribe") {
		return
	}
	w := &watched{verdicts: p.verdicts, t: p.t, s: p.own, contents: map[string]string{}, since: map[string]int{}, said: map[string]bool{}}
	for _, uri := range w.uris() {
		_, err := p.own.Request(p.t.Ctx, mcp.MethodResourcesSubscribe, map[string]any{"uri": uri})
		p.t.NoError(err)
	}
	for _, c := range mayChange(p.t) {
		if over() {
			return
		}
		own, others, _ := p.call(c, nil, mcp.MethodResourcesUpdated)
		if len(own)+len(others) > 0 {
			p.see(p.t, "CALL-12/news", len(others) == 0, "nothing in a session that did not subscribe", "%s: %d notifications of resources in another session", c, len(others))
		}
	}
}
