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
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Probe is one HTTP request and what may be answered to it.
type Probe struct {
	// ID is that of the check it decides.
	ID     string
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
			{ID: "HTTP-02/lines", Method: post, Header: header("Accept", wire.MediaJSON, wire.MediaStream), OK: servedOnly, want: wantServed},
			{ID: "HTTP-02/weights", Method: post, Header: header("Accept", wire.MediaStream+";q=0.8, "+wire.MediaJSON+";q=0.9"), OK: servedOnly, want: wantServed},
			{ID: "HTTP-02/json", Method: post, Header: header("Accept", wire.MediaJSON), OK: eitherWay, want: wantEither},
			{ID: "HTTP-02/stream", Method: post, Header: header("Accept", wire.MediaStream), OK: eitherWay, want: wantEither},
			{ID: "HTTP-02/any", Method: post, Header: header("Accept", "*/*"), OK: eitherWay, want: wantEither},
			{ID: "HTTP-02/none", Method: post, Header: header("Accept"), OK: eitherWay, want: wantEither},
			{ID: "HTTP-02/html", Method: post, Header: header("Accept", "text/html"), OK: refusedOnly, want: wantRefused},
			{ID: "HTTP-02/type", Method: post, Header: header("Content-Type", "text/plain"), OK: refusedOnly, want: wantRefused},
			{ID: "HTTP-02/form", Method: post, Header: header("Content-Type", "application/x-www-form-urlencoded"), OK: refusedOnly, want: wantRefused},
			{ID: "HTTP-02/type-none", Method: post, Header: header("Content-Type"), OK: refusedOnly, want: wantRefused},
			{ID: "HTTP-02/type-case", Method: post, Header: header("Content-Type", "Application/JSON"), OK: servedOnly, want: wantServed},
		},
		"HTTP-06": {
			{ID: "HTTP-06/parse", Method: post, Body: []byte(`{"jsonrpc":`), OK: func(a *wire.HTTPAnswer, err error) bool { return a.Is(err, http.StatusBadRequest) }, want: "400"},
			{ID: "HTTP-06/parse-code", Method: post, Body: []byte(`{"jsonrpc":`), OK: errorBody(wire.CodeParse), want: "error -32700"},
			{ID: "HTTP-06/empty", Method: post, Empty: true, OK: refusedOnly, want: wantRefused},
			{ID: "HTTP-06/envelope", Method: post, Body: []byte(`{"hello":"world"}`), OK: refusedOnly, want: wantRefused},
			{ID: "HTTP-06/method", Method: post, Body: wire.Message(`"h-1"`, fixture.NoMethod, nil), OK: errorBody(wire.CodeMethodNotFound), want: "error -32601"},
			{ID: "HTTP-04/response", Method: post, Body: answer, OK: func(a *wire.HTTPAnswer, err error) bool {
				return a.Is(err, http.StatusAccepted) && len(a.Body) == 0 || refusedOnly(a, err)
			}, want: "202 without a body, or a 4xx status"},
		},
		"HTTP-19-METHODS": {
			{ID: "HTTP-19/put", Method: http.MethodPut, OK: noMethod, want: wantNone},
			{ID: "HTTP-19/patch", Method: http.MethodPatch, OK: noMethod, want: wantNone},
			{ID: "HTTP-19/allow", Method: http.MethodPut, OK: func(a *wire.HTTPAnswer, err error) bool {
				return err == nil && (a.Status != http.StatusMethodNotAllowed || strings.Contains(a.Header.Get("Allow"), post))
			}, want: "a header Allow with POST"},
			{ID: "HTTP-19/head", Method: http.MethodHead, Empty: true, OK: noCrash, want: wantNoCrash},
			{ID: "HTTP-19/options", Method: http.MethodOptions, Empty: true, OK: noCrash, want: wantNoCrash},
			{ID: "HTTP-19/accept", Method: http.MethodGet, Empty: true, Header: header("Accept", wire.MediaJSON), OK: refusedOnly, want: wantRefused},
		},
	}
}

func httpRequestScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP}
	all := []engine.Scenario{{ID: "HTTP-01", Needs: needs, Run: runUploads}}
	for _, id := range []string{"HTTP-02", "HTTP-06", "HTTP-19-METHODS"} {
		list := Probes()[id]
		all = append(all, engine.Scenario{ID: id, Needs: needs, Run: func(t *engine.Trial) { probeAll(t, list) }})
	}
	return all
}

// probeAll makes the requests in the shared session.
func probeAll(t *engine.Trial, list []Probe) {
	s := t.Shared()
	for i := range list {
		p := &list[i]
		body := p.Body
		if body == nil && !p.Empty {
			body = talk.PingMessage(s)
		}
		a, err := talk.ExchangeHTTP(t, s, p.Method, body, p.Header)
		t.Check(p.ID, p.OK(a, err), p.want, "%s", a.Describe(err))
	}
}

func runUploads(t *engine.Trial) {
	s := t.Shared()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	ctx, cancel := context.WithTimeout(t.Ctx, s.Timeout)
	defer cancel()
	t.Step(s)
	// RFC 9112, 6.3: a server may ask for the length of a body.
	chunked := func(a *wire.HTTPAnswer, err error) bool { return a.Served(err) || a.Is(err, http.StatusLengthRequired) }
	const want = wantServed + ", or 411"
	a, err := w.Upload(ctx, bytes.NewReader(talk.PingMessage(s)), "in chunks")
	t.Check("HTTP-01/chunked", chunked(a, err), want, "%s", a.Describe(err))
	t.Step(s)
	a, err = w.Upload(ctx, &drip{ctx: ctx, rest: talk.PingMessage(s)}, "in pieces")
	t.Check("HTTP-01/slow", chunked(a, err), want, "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{"Accept-Encoding": {"identity"}})
	coding := ""
	if err == nil {
		coding = a.Header.Get("Content-Encoding")
	}
	t.Check("HTTP-01/identity", a.Served(err) && (coding == "" || coding == "identity"), "no Content-Encoding", "%s %s", coding, a.Describe(err))
	_, charset, there := strings.Cut(strings.ToLower(talk.HeaderOf(a, "Content-Type")), "charset=")
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
