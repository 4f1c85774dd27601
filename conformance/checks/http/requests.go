package http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/overhttp"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Probe is one HTTP request and what may be answered to it.
type Probe struct {
	conformance.Check
	Method string
	// Body is the message; nil is a ping with an id of its own.
	Body []byte
	// Empty sends no body at all.
	Empty  bool
	Header http.Header
	OK     func(a *wire.HTTPAnswer, err error) bool
	want   string
}

// What may be answered.
var (
	servedOnly = func(a *wire.HTTPAnswer, err error) bool { return a.Served(err) }
	// refusedOnly is an error of the client, as its status says.
	refusedOnly = func(a *wire.HTTPAnswer, err error) bool { return err == nil && a.Status >= 400 && a.Status < 500 }
	// noCrash is any status but those of a server that does not work. 501 says that
	// it does not know the method (RFC 9110, 9.1).
	noCrash = func(a *wire.HTTPAnswer, err error) bool {
		return err == nil && (a.Status < 500 || a.Status == http.StatusNotImplemented)
	}
	noMethod = func(a *wire.HTTPAnswer, err error) bool {
		return a.Is(err, http.StatusMethodNotAllowed) || a.Is(err, http.StatusNotImplemented)
	}
	// eitherWay is served, or refused with a status that blames the client.
	eitherWay = func(a *wire.HTTPAnswer, err error) bool { return a.Served(err) || refusedOnly(a, err) }
)

const (
	wantServed  = "200 with a response"
	wantRefused = "a 4xx status"
	wantEither  = "200 with a response, or a 4xx status"
	wantNoCrash = "no 5xx status but 501"
	wantNone    = "405 or 501"
)

// Probes are grouped in scenarios by what they vary.
func Probes() map[string][]Probe {
	sending := func(quote string) conformance.Spec {
		return conformance.Spec{Section: "basic/transports#sending-messages-to-the-server", Quote: quote}
	}
	accept := sending("The client MUST include an Accept header, listing both application/json and text/event-stream as supported content types.")
	single := sending("The body of the POST request MUST be a single JSON-RPC request, notification, or response.")
	cannot := sending("If the server cannot accept the input, it MUST return an HTTP error status code (e.g., 400 Bad Request).")
	rfc := func(section string) conformance.Spec {
		return conformance.Spec{Seed: "HTTP-11 (RFC 9110, " + section + ")"}
	}
	header := func(name string, values ...string) http.Header { return http.Header{name: values} }
	post, errorBody := http.MethodPost, func(codes ...int64) func(a *wire.HTTPAnswer, err error) bool {
		return func(a *wire.HTTPAnswer, err error) bool {
			return err == nil && a.Status < 500 && wire.ToAnswer(wire.Received(a.Body, nil)).HasCode(nil, codes...)
		}
	}
	answer := wire.Message(`"never-asked"`, "", nil)
	answer = []byte(strings.Replace(string(answer), `"method":""`, `"result":{}`, 1))
	return map[string][]Probe{
		"HTTP-02": {
			{Check: rule.Promised("HTTP-02/lines", "an Accept in two header lines is one list", rfc("5.3")), Method: post, Header: header("Accept", wire.MediaJSON, wire.MediaStream), OK: servedOnly, want: wantServed},
			{Check: rule.Promised("HTTP-02/weights", "an Accept with weights is read", rfc("12.5.1")), Method: post, Header: header("Accept", wire.MediaStream+";q=0.8, "+wire.MediaJSON+";q=0.9"), OK: servedOnly, want: wantServed},
			{Check: rule.Must("HTTP-02/json", "an Accept of JSON alone is served or refused with 4xx", accept), Method: post, Header: header("Accept", wire.MediaJSON), OK: eitherWay, want: wantEither},
			{Check: rule.Must("HTTP-02/stream", "an Accept of event streams alone is served or refused with 4xx", accept), Method: post, Header: header("Accept", wire.MediaStream), OK: eitherWay, want: wantEither},
			{Check: rule.Must("HTTP-02/any", "an Accept of anything is served or refused with 4xx", accept), Method: post, Header: header("Accept", "*/*"), OK: eitherWay, want: wantEither},
			{Check: rule.Must("HTTP-02/none", "a request without Accept is served or refused with 4xx", accept), Method: post, Header: header("Accept"), OK: eitherWay, want: wantEither},
			{Check: rule.House("HTTP-02/html", "an Accept of neither is refused with 4xx", accept), Method: post, Header: header("Accept", "text/html"), OK: refusedOnly, want: wantRefused},
			{Check: rule.House("HTTP-02/type", "a body that is called text is refused with 4xx", single), Method: post, Header: header("Content-Type", "text/plain"), OK: refusedOnly, want: wantRefused},
			{Check: rule.House("HTTP-02/form", "a body that is called a form is refused with 4xx", single), Method: post, Header: header("Content-Type", "application/x-www-form-urlencoded"), OK: refusedOnly, want: wantRefused},
			{Check: rule.House("HTTP-02/type-none", "a body without a Content-Type is refused with 4xx", single), Method: post, Header: header("Content-Type"), OK: refusedOnly, want: wantRefused},
			{Check: rule.Promised("HTTP-02/type-case", "the name of a media type has no case", rfc("8.3.1")), Method: post, Header: header("Content-Type", "Application/JSON"), OK: servedOnly, want: wantServed},
		},
		"HTTP-06": {
			{Check: rule.House("HTTP-06/parse", "a body that is no JSON is answered with 400", cannot), Method: post, Body: []byte(`{"jsonrpc":`), OK: func(a *wire.HTTPAnswer, err error) bool { return a.Is(err, http.StatusBadRequest) }, want: "400"},
			{Check: rule.House("HTTP-06/parse-code", "and with error -32700", cannot), Method: post, Body: []byte(`{"jsonrpc":`), OK: errorBody(wire.CodeParse), want: "error -32700"},
			{Check: rule.House("HTTP-06/empty", "a POST without a body is answered with 4xx", cannot), Method: post, Empty: true, OK: refusedOnly, want: wantRefused},
			{Check: rule.House("HTTP-06/envelope", "JSON that is no message is answered with 4xx", cannot), Method: post, Body: []byte(`{"hello":"world"}`), OK: refusedOnly, want: wantRefused},
			{Check: rule.Must("HTTP-06/method", "an unknown method is answered with error -32601, and no 5xx", conformance.Spec{Section: "basic#responses", Quote: "Error codes MUST be integers."}), Method: post, Body: wire.Message(`"h-1"`, nosuch.Method, nil), OK: errorBody(wire.CodeMethodNotFound), want: "error -32601"},
			{Check: rule.Must("HTTP-04/response", "a response nobody asked for is accepted with 202 or refused with 4xx", sending("If the input is a JSON-RPC response or notification: If the server accepts the input, the server MUST return HTTP status code 202 Accepted with no body.")), Method: post, Body: answer, OK: func(a *wire.HTTPAnswer, err error) bool {
				return a.Is(err, http.StatusAccepted) && len(a.Body) == 0 || refusedOnly(a, err)
			}, want: "202 without a body, or a 4xx status"},
		},
		"HTTP-19-METHODS": {
			{Check: rule.Promised("HTTP-19/put", "PUT is refused with 405, or not implemented", rfc("15.5.6")), Method: http.MethodPut, OK: noMethod, want: wantNone},
			{Check: rule.Promised("HTTP-19/patch", "PATCH is refused with 405, or not implemented", rfc("15.5.6")), Method: http.MethodPatch, OK: noMethod, want: wantNone},
			{Check: rule.Promised("HTTP-19/allow", "a 405 names in Allow what is allowed", rfc("15.5.6")), Method: http.MethodPut, OK: func(a *wire.HTTPAnswer, err error) bool {
				return err == nil && (a.Status != http.StatusMethodNotAllowed || strings.Contains(a.Header.Get("Allow"), post))
			}, want: "a header Allow with POST"},
			{Check: rule.Advice("HTTP-19/head", "HEAD does not break the server", rfc("9.3.2")), Method: http.MethodHead, Empty: true, OK: noCrash, want: wantNoCrash},
			{Check: rule.Advice("HTTP-19/options", "OPTIONS does not break the server", rfc("9.3.7")), Method: http.MethodOptions, Empty: true, OK: noCrash, want: wantNoCrash},
			{Check: rule.House("HTTP-19/accept", "a GET that takes no event stream is refused with 4xx", conformance.Spec{Section: "basic/transports#listening-for-messages-from-the-server", Quote: "The client MUST include an Accept header, listing text/event-stream as a supported content type."}), Method: http.MethodGet, Empty: true, Header: header("Accept", wire.MediaJSON), OK: refusedOnly, want: wantRefused},
		},
	}
}

func httpRequestScenarios() []conformance.Scenario {
	titles := map[string]string{"HTTP-02": "what the headers of a POST say", "HTTP-06": "bodies that cannot be served", "HTTP-19-METHODS": "other methods of HTTP"}
	needs := conformance.Needs{Transport: wire.TransportHTTP}
	all := []conformance.Scenario{{
		ID: "HTTP-01", Area: "http", Title: "how a POST travels", Needs: needs,
		Checks: []conformance.Check{
			rule.Must("HTTP-01/chunked", "a body in chunks is read", conformance.Spec{Seed: "HTTP-01 (RFC 9112, 7.1)"}),
			rule.Must("HTTP-01/slow", "a body that comes in pieces is read as one", conformance.Spec{Seed: "HTTP-01 (RFC 9112, 6.3)"}),
			rule.Should("HTTP-01/identity", "an answer is not compressed for who does not take it", conformance.Spec{Seed: "HTTP-01 (RFC 9110, 12.5.3)"}),
			rule.Must("HTTP-01/charset", "a charset, where one is named, is UTF-8", conformance.Spec{Section: "basic/transports", Quote: "JSON-RPC messages MUST be UTF-8 encoded."}),
			rule.Must("HTTP-01/concurrent", "POSTs at the same time are each answered with their own response", conformance.Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}),
		},
		Run: runUploads,
	}}
	for _, id := range []string{"HTTP-02", "HTTP-06", "HTTP-19-METHODS"} {
		list := Probes()[id]
		sc := conformance.Scenario{ID: id, Area: "http", Title: titles[id], Needs: needs, Run: func(t *conformance.Trial) error { return probeAll(t, list) }}
		for i := range list {
			sc.Checks = append(sc.Checks, list[i].Check)
		}
		all = append(all, sc)
	}
	return all
}

// probeAll makes the requests in the shared session.
func probeAll(t *conformance.Trial, list []Probe) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		body := p.Body
		if body == nil && !p.Empty {
			body = overhttp.Ping(s)
		}
		a, err := overhttp.Exchange(t, s, p.Method, body, p.Header)
		t.Check(p.ID, p.OK(a, err), p.want, "%s", a.Describe(err))
	}
	return nil
}

func runUploads(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	w, err := overhttp.Of(s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Ctx, s.Wait)
	defer cancel()
	t.Step(s)
	// RFC 9112, 6.3: a server may ask for the length of a body.
	chunked := func(a *wire.HTTPAnswer, err error) bool { return a.Served(err) || a.Is(err, http.StatusLengthRequired) }
	const want = wantServed + ", or 411"
	a, err := w.Upload(ctx, bytes.NewReader(overhttp.Ping(s)), "in chunks")
	t.Check("HTTP-01/chunked", chunked(a, err), want, "%s", a.Describe(err))
	t.Step(s)
	a, err = w.Upload(ctx, &drip{ctx: ctx, rest: overhttp.Ping(s)}, "in pieces")
	t.Check("HTTP-01/slow", chunked(a, err), want, "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{"Accept-Encoding": {"identity"}})
	coding := ""
	if err == nil {
		coding = a.Header.Get("Content-Encoding")
	}
	t.Check("HTTP-01/identity", a.Served(err) && (coding == "" || coding == "identity"), "no Content-Encoding", "%s %s", coding, a.Describe(err))
	_, charset, there := strings.Cut(strings.ToLower(overhttp.Header(a, "Content-Type")), "charset=")
	t.Check("HTTP-01/charset", !there || strings.Trim(charset, `" `) == "utf-8", "none, or utf-8", "%s", a.Describe(err))

	t.Step(s)
	const posts = 20
	wrong := make([]string, posts)
	var all sync.WaitGroup
	for i := range posts {
		id := s.NewID()
		all.Go(func() {
			a, err := w.Do(ctx, http.MethodPost, wire.Message(id, mcp.MethodPing, nil), nil)
			if !a.Served(err) || wire.Received(a.Body, nil).ID() != id {
				wrong[i] = fmt.Sprintf("to %s: %s", id, a.Describe(err))
			}
		})
	}
	all.Wait()
	t.Check("HTTP-01/concurrent", strings.Join(wrong, "") == "", "20 responses, each with its id", "%s", rawjson.Clip(strings.Join(wrong, " "), 300))
	return nil
}

// drip is a body that arrives in pieces.
type drip struct {
	ctx  context.Context
	rest []byte
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	pause := time.NewTimer(10 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	n := copy(p, d.rest[:min(len(d.rest), 12)])
	d.rest = d.rest[n:]
	return n, nil
}
