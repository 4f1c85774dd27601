package http

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/seen"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sseScenarios are about the HTTP+SSE transport of revision 2024-11-05. That
// page says little: what is not in it, and clients stand on, is promised only.
func sseScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportSSE}
	return []engine.Scenario{
		{ID: "OLD-01", Gentle: true, Needs: needs, Run: runEventStream},
		{ID: "OLD-01-STREAMS", Needs: needs, Run: runTwoStreams},
		{ID: "OLD-05", Needs: needs, Run: runStreamSession},
		{ID: "X-SEC-02-SSE", Needs: needs, Run: runForeignStreams},
		{ID: "SEEN-SSE", Gentle: true, Needs: needs, Last: true, Run: seen.Judge},
	}
}

// streamOf returns the wire of a session over HTTP+SSE.
func streamOf(s *wire.Session) (*wire.SSEConn, error) {
	w, ok := s.Conn.(*wire.SSEConn)
	if !ok {
		return nil, engine.SuiteError(errors.New("transport " + string(s.Conn.Transport()) + " has no one stream"))
	}
	return w, nil
}

func runEventStream(t *engine.Trial) {
	s := t.Raw()
	w, err := streamOf(s)
	t.NoError(err)
	t.EvidenceFrom = 0 // the opening of the stream is what is looked at
	t.Check("OLD-01/first", w.First == wire.EventEndpoint, "an event named endpoint", "%s", w.First)
	t.Check("OLD-01/uri", isURI(w.Named), "a URI", "%q", rawjson.Clip(w.Named, 200))
	t.Check("OLD-02/origin", !w.Foreign, "the origin of "+t.Rev.Report.Target.URL, "%s", rawjson.Clip(w.Named, 200))
	if w.Foreign {
		t.NoError(wire.ErrForeignEndpoint)
		return
	}
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	t.Step(s)
	id := s.NewID()
	refused, err := s.Send(t.Ctx, wire.Message(id, mcp.MethodPing, nil))
	t.Check("OLD-01/accepted", err == nil && refused == nil, "a 2xx status", "%s", orTaken(refused, err))
	a, err := s.Await(t.Ctx, id)
	if errors.Is(err, wire.ErrLate) && !t.Reachable() {
		t.NoError(err)
		return
	}
	t.Check("OLD-01/answer", err == nil && a.Err == nil && a.In.To == "", "the answer to ping, as an event", "%s", a.OrError(err))
	if !t.MayProvoke() {
		return
	}
	t.Step(s)
	note := wire.Message("", mcp.MethodCancelled, map[string]any{"requestId": "never-sent", "reason": "the suite looks at the status"})
	refused, err = s.Send(t.Ctx, note)
	t.Check("OLD-01/notification", err == nil && refused == nil, "a 2xx status", "%s", orTaken(refused, err))

	body := talk.PingMessage(s)
	s.Expect(body)
	taken, err := talk.ExchangeHTTP(t, s, http.MethodPost, body, http.Header{"Content-Type": {wire.MediaJSON + "; charset=utf-8"}})
	t.Check("OLD-01/parameters", err == nil && taken.Status/100 == 2, "a 2xx status", "%s", taken.Describe(err))

	t.Step(s)
	const broken = `{"jsonrpc":"2.0","id":"cut`
	taken, err = talk.ExchangeHTTP(t, s, http.MethodPost, []byte(broken), nil)
	ok := refusedOnly(taken, err)
	said := taken.Describe(err)
	if err == nil && taken.Status/100 == 2 {
		a, err = s.AwaitError(t.Ctx, nil)
		ok, said = a.HasCode(err, wire.CodeParse), said+", "+a.OrError(err)
	}
	t.Check("OLD-01/malformed", ok, "a 4xx status, or error -32700 on the stream", "%s", said)

	t.Step(s)
	id = s.NewID()
	padding := map[string]any{"_meta": map[string]any{"com.example/padding": strings.Repeat("x", 1<<20)}}
	a, err = s.Ask(t.Ctx, id, wire.Message(id, mcp.MethodPing, padding))
	t.Check("OLD-01/large", err == nil && a.Err == nil, "an answer to ping", "%s", a.OrError(err))
}

// isURI reports whether text is a reference to a URI as it may stand in one
// (RFC 3986): ASCII, without spaces, quotes, braces.
func isURI(text string) bool {
	_, err := url.Parse(text)
	return err == nil && text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune("\"<>{}|\\^`", c)
	})
}

// orTaken describes a refusal; nil is none.
func orTaken(a *wire.HTTPAnswer, err error) string {
	if err == nil && a == nil {
		return "taken"
	}
	return a.Describe(err)
}

func runTwoStreams(t *engine.Trial) {
	const each = 20
	one, err := t.TryFresh() // beside the one that scenarios share
	two := one
	if err == nil {
		two, err = t.TryFresh()
	}
	t.Check("OLD-01/both", err == nil, "a second session", "%v", err)
	t.NoError(err)
	t.Step(one)
	var ids [2][]string
	for i := range each {
		for n, s := range []*wire.Session{one, two} {
			id := strconv.Quote("stream-" + strconv.Itoa(n) + "-" + strconv.Itoa(i))
			_, err := s.Send(t.Ctx, wire.Message(id, mcp.MethodPing, nil))
			t.NoError(err)
			ids[n] = append(ids[n], id)
		}
	}
	fault := ""
	for n, s := range []*wire.Session{one, two} {
		for _, id := range ids[n] {
			a, err := s.Await(t.Ctx, id)
			if talk.Unheard(t, s, err) {
				t.NoError(err)
				return
			}
			if err != nil || a.Err != nil {
				fault = id + " is not answered on its stream: " + a.OrError(err)
				break
			}
		}
		for _, in := range s.Unclaimed { // what came and nobody waited for
			if slices.Contains(ids[1-n], in.ID()) {
				fault = in.ID() + " is answered on the other stream"
			}
		}
	}
	t.Check("OLD-01/own", fault == "", "20 answers on each stream, to its own requests", "%s", fault)

	parallelPings(t, two)
	t.Step(two)
	one.Close()
	var a wire.Answer
	for range 5 { // the server learns of the end some time
		if a, err = two.Ping(t.Ctx); err != nil || a.Err != nil {
			break
		}
		t.NoError(wire.Pause(t.Ctx, wire.Lag/5))
	}
	if errors.Is(err, wire.ErrLate) && !t.Reachable() {
		t.NoError(err)
		return
	}
	t.Check("OLD-01/others", err == nil && a.Err == nil, "an answer to ping", "%s", a.OrError(err))
}

// parallelPings posts 50 requests on connections of their own.
func parallelPings(t *engine.Trial, s *wire.Session) {
	const many = 50
	t.Step(s)
	ids := make([]string, many)
	refusals := make(chan string, many)
	ctx, cancel := context.WithTimeout(t.Ctx, s.Timeout)
	defer cancel()
	for i := range ids {
		ids[i] = s.NewID()
		body := wire.Message(ids[i], mcp.MethodPing, nil)
		s.Expect(body)
		go func() {
			answer, err := s.Conn.Send(ctx, body)
			if err == nil && answer == nil {
				refusals <- ""
			} else {
				refusals <- orTaken(answer, err)
			}
		}()
	}
	fault := ""
	for range ids {
		if r := <-refusals; r != "" {
			fault = r
		}
	}
	for _, id := range ids {
		if fault != "" {
			break
		}
		a, err := s.Await(t.Ctx, id)
		if talk.Unheard(t, s, err) {
			t.NoError(err)
			return
		}
		if err != nil || a.Err != nil {
			fault = id + ": " + a.OrError(err)
		}
	}
	t.Check("OLD-01/parallel", fault == "", "50 answers", "%s", fault)
}

func runStreamSession(t *engine.Trial) {
	s := t.Fresh()
	ended := t.Fresh()
	w, err := streamOf(ended)
	t.NoError(err)
	other, err := streamOf(s)
	t.NoError(err)
	if w.PostURL == other.PostURL {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipControl, "the endpoint names no session: two streams have the same")
		}
		return
	}
	live := other.PostURL
	defer func() { other.PostURL = live }()

	t.Step(s)
	ended.Close()
	other.PostURL = w.PostURL
	// The server learns of the end when it next looks at the connection.
	var a *wire.HTTPAnswer
	ping := func() (*wire.HTTPAnswer, error) {
		body := talk.PingMessage(s)
		s.Expect(body)
		return talk.ExchangeHTTP(t, s, http.MethodPost, body, nil)
	}
	for deadline := time.Now().Add(min(s.Timeout, 5*time.Second)); ; {
		if a, err = ping(); refusedOnly(a, err) || time.Now().After(deadline) || t.Ctx.Err() != nil {
			break
		}
		if wire.Pause(t.Ctx, 50*time.Millisecond) != nil {
			break
		}
	}
	t.Check("OLD-05/gone", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	other.PostURL = neverNamed(live, w.PostURL)
	a, err = ping()
	t.Check("OLD-05/unknown", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
}

// neverNamed is an endpoint like two given ones, whose session does not exist: the last letter or digit
// of what differs between them is another.
func neverNamed(endpoint, second string) string {
	end := len(endpoint)
	for n := len(second); end > 0 && n > 0 && endpoint[end-1] == second[n-1]; n-- {
		end--
	}
	i := strings.LastIndexFunc(endpoint[:end], func(c rune) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' })
	for _, c := range "012" {
		if other := endpoint[:max(i, 0)] + string(c) + endpoint[i+1:]; other != endpoint && other != second {
			return other
		}
	}
	return endpoint
}

func runForeignStreams(t *engine.Trial) {
	s := t.Fresh()
	u, err := url.Parse(t.Rev.Report.Target.URL)
	t.NoError(engine.SuiteError(err))
	const evil = "http://evil.example"
	from := func(origin string) http.Header { return http.Header{"Origin": {origin}} }
	post := func(with http.Header) (*wire.HTTPAnswer, error) {
		body := talk.PingMessage(s)
		s.Expect(body)
		return talk.ExchangeHTTP(t, s, http.MethodPost, body, with)
	}
	a, err := talk.ExchangeHTTP(t, s, http.MethodGet, nil, from(evil))
	t.Check("X-SEC-02/sse-get", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	a, err = post(from(evil))
	t.Check("X-SEC-02/sse-post", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	a, err = post(from(u.Scheme + "://" + u.Host))
	t.Check("X-SEC-02/sse-own", err == nil && a.Status/100 == 2, "a 2xx status", "%s", a.Describe(err))
	if !talk.OnThisMachine(u) {
		t.Skip("X-SEC-02/sse-host", conformance.SkipControl, "needs a server on this machine")
		return
	}
	a, err = talk.ExchangeHTTP(t, s, http.MethodGet, nil, http.Header{"Host": {"evil.example"}})
	t.Check("X-SEC-02/sse-host", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
}
