package stateless

import (
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessHTTPScenarios are about POSTs and their streams without sessions.
func statelessHTTPScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP}
	slow := engine.Needs{Transport: conformance.TransportHTTP, Capability: "tools", Tools: []string{fixture.ToolProgress}, SideEffects: conformance.SideEffectsReadOnly}
	return []engine.Scenario{
		{ID: "HTTP-28", Needs: needs, Run: runPostOnly},
		{ID: "HTTP-34", Needs: slow, Run: runStreamEnds},
	}
}

// earlier decides a check about traffic of earlier revisions, which binds a server
// that speaks none of them.
func earlier(t *engine.Trial, id string, ok bool, expected, actual string) {
	if !ok && t.Rev.SpeaksSessions() {
		t.Skip(id, conformance.SkipNotInRevision, "the server speaks revisions with sessions, too: "+actual)
		return
	}
	t.Check(id, ok, expected, "%s", actual)
}

func runPostOnly(t *engine.Trial) {
	s := t.Fresh()
	a, err := talk.ExchangeHTTP(t, s, http.MethodGet, nil, nil)
	earlier(t, "HTTP-28/get", a.Is(err, http.StatusMethodNotAllowed), "405", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, http.Header{wire.HeaderSession: {"mainstay-no-such-session"}})
	earlier(t, "HTTP-28/delete", a.Is(err, http.StatusMethodNotAllowed), "405", a.Describe(err))

	discover := func() []byte { return s.Message(s.NewID(), mcp.MethodDiscover, nil) }
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, discover(), http.Header{wire.HeaderSession: {"mainstay-no-such-session"}})
	earlier(t, "HTTP-28/session", a.Served(err) && a.Header.Get(wire.HeaderSession) == "", "200 without a session id", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, discover(), http.Header{"Last-Event-ID": {"7"}})
	earlier(t, "HTTP-35/last-event", a.Served(err), "200 with a response", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, discover(), nil)
	t.Check("HTTP-28/answer", a.Served(err) && wire.IsAnswerType(a.Header.Get("Content-Type")), "200 with JSON or an event stream", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, wire.Message("", "notifications/com.example/unknown", s.WithMeta(nil)), nil)
	accepted := a.Is(err, http.StatusAccepted) && len(a.Body) == 0
	t.Check("HTTP-28/notification", accepted || err == nil && a.Status >= 400, "202 without a body, or an error status", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, discover(), http.Header{"Origin": {"http://evil.example"}})
	t.Check("HTTP-05/foreign", a.Is(err, http.StatusForbidden), "403", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, discover(), nil)
	t.Check("HTTP-05/none", a.Served(err), "200 with a response", "%s", a.Describe(err))
	buffering(t, s)
}

// buffering looks at an event stream: that of a listener is always one.
func buffering(t *engine.Trial, s *wire.Session) {
	sub, err := talk.Listen(t, s, map[string]any{})
	t.NoError(err)
	if sub.Ack.HTTP == nil || wire.MediaType(sub.Ack.HTTP.Header) != wire.MediaStream {
		t.Skip("HTTP-37/buffering", conformance.SkipPrerequisite, "no event stream")
		return
	}
	t.Check("HTTP-37/buffering", sub.Ack.HTTP.Header.Get("X-Accel-Buffering") == "no", "X-Accel-Buffering: no", "%q", sub.Ack.HTTP.Header.Get("X-Accel-Buffering"))
	t.NoError(sub.End(t))
}

// lingers is how long the end of a stream may lag behind its response before it
// counts as not coming.
const lingers = 3 * time.Second

func runStreamEnds(t *engine.Trial) {
	s := t.Fresh()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	call := func(token string) (string, error) {
		params := engine.CallParams(fixture.ToolProgress, struct{}{})
		params["_meta"] = map[string]any{"progressToken": token}
		return s.Post(t.Ctx, mcp.MethodToolsCall, params)
	}
	first, err := call("stream-1")
	t.NoError(err)
	second, err := call("stream-2")
	t.NoError(err)
	for _, id := range []string{first, second} {
		_, err := s.Await(t.Ctx, id)
		t.NoError(err)
	}
	wait := s.Timeout
	s.Timeout = min(wait, lingers)
	_, err = s.Next(t.Ctx, func(in wire.Inbound) bool { return in.Ended && in.To == first })
	s.Timeout = wait
	t.Check("HTTP-36/ends", err == nil, "the end of the stream", "%v", err)
	strange := ""
	for _, in := range s.Unsolicited {
		token, _ := rawjson.Object(in.Members["params"])
		owner := map[string]string{"stream-1": first, "stream-2": second}[rawjson.Text(token["progressToken"])]
		if owner != "" && in.To != owner || owner == "" && in.Method() == mcp.MethodProgress {
			strange = rawjson.Clip(string(in.Data), 160)
		}
	}
	t.Check("HTTP-36/related", strange == "", "news of its own request", "%s", strange)

	t.Step(s)
	gone, err := call("stream-3")
	t.NoError(err)
	stays, err := call("stream-4")
	t.NoError(err)
	w.Abandon(gone)
	a, err := s.Await(t.Ctx, stays)
	t.Check("HTTP-34/alive", err == nil && a.Err == nil, "the result of the other call", a.OrError(err))
}
