package http

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpSessionScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP}
	return []engine.Scenario{{ID: "HTTP-12-IDS", Gentle: true, Needs: needs, Run: runSessionIDs}, {ID: "HTTP-12", Gentle: true, Needs: needs, Run: runHTTPSessions}}
}

func runHTTPSessions(t *engine.Trial) {
	one := t.Fresh()
	w, err := talk.HTTPOf(one)
	t.NoError(err)
	id := w.SessionID()
	if id == "" {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server gives no session id")
		}
		return
	}
	visible := strings.IndexFunc(id, isNotVisible) < 0
	t.Check("HTTP-12/visible", visible, "bytes from 0x21 to 0x7E", "%s", otherByte(id))
	two := t.Fresh()
	w, err = talk.HTTPOf(two)
	t.NoError(err)
	t.Check("HTTP-12/distinct", w.SessionID() != id, "another id", "the same id")
	if !t.MayProvoke() {
		return
	}

	a, err := talk.ExchangeHTTP(t, one, http.MethodPost, talk.PingMessage(one), http.Header{wire.HeaderSession: {}})
	if a.Served(err) && !t.Rev.Profiled {
		t.Skip("HTTP-12/required", conformance.SkipNotDeclared, "the server requires no session id")
	} else {
		t.Check("HTTP-12/required", a.Is(err, http.StatusBadRequest), "400", "%s", a.Describe(err))
	}
	a, err = talk.ExchangeHTTP(t, one, http.MethodPost, talk.PingMessage(one), http.Header{wire.HeaderSession: {"mainstay-no-such-session"}})
	t.Check("HTTP-16/unknown", a.Is(err, http.StatusNotFound), "404", "%s", a.Describe(err))

	a, err = talk.ExchangeHTTP(t, one, http.MethodDelete, nil, nil)
	refused := a.Is(err, http.StatusMethodNotAllowed)
	ended := err == nil && a.Status >= 200 && a.Status < 300
	t.Check("HTTP-18/delete", ended || refused, "a 2xx status or 405", "%s", a.Describe(err))
	if ended {
		status := a.Status
		a, err = talk.ExchangeHTTP(t, one, http.MethodPost, talk.PingMessage(one), nil)
		t.Check("HTTP-16/ended", a.Is(err, http.StatusNotFound), "404", "%s, though DELETE was answered with %d before", a.Describe(err), status)
	} else {
		t.Skip("HTTP-16/ended", conformance.SkipNotDeclared, "the server does not end sessions")
	}
	// A server may end a session, but not this one because of the other: the id is set by hand, so that its
	// end counts.
	own := http.Header{wire.HeaderSession: {w.SessionID()}}
	a, err = talk.ExchangeHTTP(t, two, http.MethodPost, talk.PingMessage(two), own)
	t.Check("HTTP-16/others", a.Served(err), "200 with a response", "%s", a.Describe(err))
}

// sessions is how many ids are compared for what they have in common.
const sessions = 6

func runSessionIDs(t *engine.Trial) {
	s := t.Fresh()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	id := w.SessionID()
	if id == "" {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server gives no session id")
		}
		return
	}
	ids := []string{id}
	for range sessions - 1 {
		other, _, err := talk.Offer(t, t.Rev.Asked)
		t.NoError(err)
		if o, err := talk.HTTPOf(other); err == nil {
			ids = append(ids, o.SessionID())
		}
	}
	t.Step(s)
	fault := wire.Guessable(ids)
	t.Check("HTTP-12/unguessable", fault == "", "ids of 16 bytes or more without a pattern", "%s", fault)

	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), nil)
	later := talk.HeaderOf(a, wire.HeaderSession)
	t.Check("HTTP-12/stable", a.Served(err) && (later == "" || later == id), "no session id, or the same", "another one: %s", a.Describe(err))

	if !t.MayProvoke() {
		return
	}
	const made = "mainstay-made-this-up"
	initialize := wire.Message(s.NewID(), mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, initialize, http.Header{wire.HeaderSession: {made}, wire.HeaderRevision: {}})
	taken := talk.HeaderOf(a, wire.HeaderSession) == made
	if !taken && a.Served(err) { // it may take it over without a word
		b, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{wire.HeaderSession: {made}})
		taken = b.Served(err)
	}
	t.Check("HTTP-12/fixation", !taken, "a refusal, or a session id of the server's own", "%s", a.Describe(err))

	if flipped := strings.Map(flip, id); flipped == id {
		t.Skip("HTTP-12/case", conformance.SkipNotDeclared, "the ids have no letters")
	} else {
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{wire.HeaderSession: {flipped}})
		t.Check("HTTP-12/case", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	}
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, wire.Message("", mcp.MethodInitialized, nil), http.Header{wire.HeaderSession: {}})
	t.Check("HTTP-12/notification", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	never := http.Header{wire.HeaderSession: {"mainstay-no-such-session"}}
	a, err = talk.ExchangeHTTP(t, s, http.MethodGet, nil, never)
	t.Check("HTTP-16/get", refusedOnly(a, err), "404 or 405", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, never)
	t.Check("HTTP-18/unknown", refusedOnly(a, err), "404 or 405", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, http.Header{wire.HeaderSession: {}})
	t.Check("HTTP-18/none", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))

	stream, err := w.Listen(t.Ctx, "")
	open := stream.Is(err, http.StatusOK)
	a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, nil)
	if ended := err == nil && a.Status < 300; !ended {
		t.Skip("HTTP-18/again", conformance.SkipNotDeclared, "the server does not end sessions")
		t.Skip("HTTP-16/stream", conformance.SkipNotDeclared, "the server does not end sessions")
		return
	}
	a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, nil)
	t.Check("HTTP-18/again", refusedOnly(a, err), "404", "%s", a.Describe(err))
	if !open {
		t.Skip("HTTP-16/stream", conformance.SkipNotDeclared, "the server offers no stream")
		return
	}
	s.Timeout = min(s.Timeout, wire.Lag)
	_, err = s.Next(t.Ctx, func(in wire.Inbound) bool { return in.To == stream.Token && in.Ended })
	t.Check("HTTP-16/stream", err == nil, "the end of the stream", "%v", err)
}

// isNotVisible reports whether a character may not be in a session id.
func isNotVisible(c rune) bool { return c < 0x21 || c > 0x7E }

// otherByte names the first character that may not be in a session id, which is itself not shown.
func otherByte(id string) string {
	at := strings.IndexFunc(id, isNotVisible)
	if at < 0 {
		return ""
	}
	c, _ := utf8.DecodeRuneInString(id[at:])
	return fmt.Sprintf("an id of %d bytes with %q at byte %d", len(id), c, at)
}

// flip changes the case of an ASCII letter.
func flip(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return c ^ 0x20
	}
	return c
}
