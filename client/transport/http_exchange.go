package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// exchange is one POST and its reply, under one cancelable context and one
// timer; in the session era also the GETs that go on with a reply that broke.
// The stream of [Streamer] is an exchange too, of GETs only.
type exchange struct {
	c      *httpConn
	listed                 // among the exchanges of c
	id     jsonrpc.ID      // of the request; zero when no answer is due
	caller context.Context // the context is the life of the exchange
	ctx    context.Context
	cancel context.CancelCauseFunc

	wait  jsonrpc.Wait
	began time.Time
	seen  atomic.Int64 // when bytes last came, in nanoseconds since began
	timer *time.Timer

	body     sentBody
	resp     *http.Response
	header   http.Header
	opens    bool   // the request is initialize
	session  string // the session id that the request carried
	draining bool   // the body is closed by drain, not by end

	background bool    // no call waits for it
	who        *Caller // what the next request carries; nil if that must be asked for
	challenged *ChallengedCall

	reading reading     // taken from the budget; of the reader
	endless bool        // nothing ends it but one of the two sides
	paused  atomic.Bool // what comes is not read for want of room

	// standing is when the clocks stopped, in nanoseconds since began and one more, 0
	// while they run; stood is for how long they have before, see [exchange.stand].
	standing, stood atomic.Int64

	// elsewhere is the answer that came on another stream.
	elsewhere atomic.Pointer[outcome]
	// came is closed then, where that is how answers come; nil elsewhere.
	came chan struct{}
	// stateless exchanges know no session and are not resumed.
	stateless bool
}

func newExchange(ctx context.Context, c *httpConn, req Request) *exchange {
	wait := jsonrpc.Wait{Idle: max(req.Wait.Idle, 0), Max: max(req.Wait.Max, 0), NullID: req.Wait.NullID} // as [jsonrpc.Conn] takes them
	x := &exchange{
		c: c, id: req.ID, caller: ctx, wait: wait, stateless: req.Mirror != nil,
		opens: req.Method == mcp.MethodInitialize, endless: req.Wait.Endless, who: req.Caller, challenged: req.Challenged,
	}
	x.reading.x = x
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	if c.oneStream {
		x.came = make(chan struct{})
	}
	return x
}

// exchanges are those of a connection that have not ended. Requires httpConn.mu.
type exchanges struct{ first *exchange }

// listed is the place of an exchange among the others.
type listed struct {
	before, after *exchange
	open          bool
}

func (l *exchanges) add(x *exchange) {
	x.listed = listed{after: l.first, open: true}
	if l.first != nil {
		l.first.before = x
	}
	l.first = x
}

func (l *exchanges) remove(x *exchange) {
	if x.before != nil {
		x.before.after = x.after
	} else {
		l.first = x.after
	}
	if x.after != nil {
		x.after.before = x.before
	}
	x.listed = listed{}
}

// startTimer starts the idle and the overall timeout.
func (x *exchange) startTimer() {
	x.began = time.Now()
	if x.wait.Idle == 0 && x.wait.Max == 0 {
		return
	}
	first := x.wait.Idle
	if first == 0 || (x.wait.Max > 0 && x.wait.Max < first) {
		first = x.wait.Max
	}
	// The timer may fire before it is stored: the callback works on its own.
	x.timer = time.AfterFunc(first, x.tick)
}

// tick ends the exchange when a timeout has passed, or waits for the next.
func (x *exchange) tick() {
	passed := x.passed()
	if x.wait.Max > 0 && passed >= x.wait.Max {
		x.cancel(jsonrpc.ErrMaxWait)
		return
	}
	paused := x.paused.Load() || x.standing.Load() > 0 // before seen, which is set at the end of a pause
	seen := time.Duration(x.seen.Load())
	if paused {
		seen = passed
	}
	if x.wait.Idle > 0 && passed-seen >= x.wait.Idle {
		x.cancel(jsonrpc.ErrIdle)
		return
	}
	next := x.wait.Max - passed
	if x.wait.Idle > 0 {
		idle := seen + x.wait.Idle - passed
		if x.wait.Max == 0 || idle < next {
			next = idle
		}
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	if x.open {
		x.timer.Reset(next)
	}
}

// end releases the exchange.
func (x *exchange) end() {
	x.c.mu.Lock()
	x.c.calls.remove(x)
	if x.timer != nil {
		x.timer.Stop()
	}
	x.c.mu.Unlock()
	x.letGo()
	if !x.draining {
		x.cancel(nil)
		if x.resp != nil {
			_ = x.resp.Body.Close()
		}
	}
	x.c.work.Done()
}

const (
	// maxRedirects bounds 307 and 308 answers.
	maxRedirects = 3
	// drainBytes is what is read of an unwanted body to save its connection.
	drainBytes = 64 << 10
)

// post sends m and returns the reply, whatever its status. mirror makes the
// exchange a stateless one.
func (x *exchange) post(m jsonrpc.Message, params []byte, mirror *Mirror) (*http.Response, error) {
	x.body.set(m, params, x.c.standard)
	now := x.c.session.current()
	x.header, x.session = now.header, now.id
	switch {
	case mirror != nil:
		x.session = ""
		x.header = x.c.mirrors.header(x.c.session.first, methodOf(m), mirror)
	case x.opens:
		x.header, x.session = x.c.session.first, ""
	case now.lost:
		return nil, &Failure{Reason: ReasonSession, NotSent: true, Err: errSession}
	}
	if x.c.handler.Trace.Sent != nil {
		x.c.handler.Trace.Sent(m.AppendJSON(nil))
	}
	// The GETs that resume the reply are not traced: they say nothing about
	// how far this request came.
	resp, err := x.send(x.body.traced(x.ctx), http.MethodPost)
	var f *Failure
	switch {
	case err == nil || errors.As(err, &f):
		return resp, err
	default:
		return nil, x.broken(err)
	}
}

// send sends a request and what its redirects ask for. The error is that of
// the HTTP layer, or a [*Failure] of a redirect.
func (x *exchange) send(ctx context.Context, verb string) (*http.Response, error) {
	target := x.c.url
	for range maxRedirects + 1 {
		resp, err := x.authorize(ctx, verb, target)
		if err != nil {
			return nil, err
		}
		x.resp = resp
		if http2 := resp.ProtoMajor == 2; http2 != x.c.http2.Load() {
			x.c.http2.Store(http2)
		}
		x.c.received.Add(1)
		next, err := redirect(target, resp)
		if next == nil && err == nil {
			return resp, nil
		}
		if answers, _ := x.holdsAnswer(resp, verb); answers {
			return resp, nil
		}
		if err != nil {
			return nil, x.failure(ReasonConfig, err)
		}
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
		_ = resp.Body.Close()
		target = next
	}
	return nil, x.failure(ReasonConfig, errors.New("the server redirects in a loop"))
}

// holdsAnswer reports whether a reply that is rejected for its status or its headers
// answers the request nevertheless, and whether the answer is a result: a request that has
// run must not run again. The body can be read afterwards.
func (x *exchange) holdsAnswer(resp *http.Response, verb string) (answers, result bool) {
	if verb != http.MethodPost || x.id.IsZero() || mediaType(resp.Header) != typeJSON {
		return false, false
	}
	head, rest := x.peek(), resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	got, other, err := jsonrpc.DecodeAnswer(bytes.TrimPrefix(head, byteOrderMark), x.c.limits.Depth, x.id)
	if err != nil {
		_, whose := x.undecodable(err, head)
		return whose == x.id, false
	}
	answers = other == nil && got.ID == x.id
	return answers, answers && got.Error == nil
}

// copyURL returns a copy that may be changed. User infos never change.
func copyURL(u *url.URL) *url.URL {
	c := *u
	return &c
}

func (x *exchange) roundTrip(ctx context.Context, verb string, target *url.URL, who *Caller) (*http.Response, error) {
	header := x.header
	if !x.c.shares {
		// What is the caller's may change what it is given.
		header, target = header.Clone(), copyURL(target)
	} else if !who.carriesNothing() {
		header = maps.Clone(header)
	}
	if !who.carriesNothing() {
		who.add(header)
	}
	req := &http.Request{Method: verb, URL: target, Header: header, Host: target.Host}
	if verb == http.MethodPost {
		req.Body, req.ContentLength, req.GetBody = x.body.rewound(), x.body.size, x.body.rewinds(x.c.http2.Load())
	}
	return x.c.roundTrip(req.WithContext(ctx))
}

// redirect returns where a reply points, nil when it is no redirect. Only 307
// and 308 keep a POST a POST, and only the same origin may see its headers.
func redirect(from *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return nil, fmt.Errorf("the server redirects (status %d) to %s; use that URL if it is right",
			resp.StatusCode, target(from, resp))
	default:
		return nil, nil
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, errors.New("the server redirects without saying where")
	}
	if !sameOrigin(from, to) {
		return nil, fmt.Errorf("the server redirects to another origin, %s; use that URL if it is right", endpoint(to))
	}
	return to, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

func target(from *url.URL, resp *http.Response) string {
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil {
		return "nowhere"
	}
	return endpoint(to)
}

// failure makes a failure with the evidence of this exchange.
func (x *exchange) failure(reason Reason, err error) *Failure {
	return &Failure{Reason: reason, NotSent: !x.body.whole(), HTTP: x.evidence(nil), Err: err}
}

func (x *exchange) evidence(body []byte) *mcperrors.HTTPEvidence {
	if x.resp == nil {
		return nil
	}
	const shown = 2 << 10
	return &mcperrors.HTTPEvidence{
		Status: x.resp.StatusCode, URL: endpoint(x.c.url), ContentType: x.resp.Header.Get("Content-Type"),
		Header: telling(x.resp.Header), Body: jsonrpc.Printable(string(body[:min(len(body), 4*shown)]), shown),
	}
}

// Read reads the reply's body and notes that something came.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.resp.Body.Read(p)
	if n > 0 {
		x.touch()
	}
	return n, err
}

// touch notes that something came for the call.
func (x *exchange) touch() {
	x.c.received.Add(1)
	x.seen.Store(int64(time.Since(x.began)) - x.stood.Load())
}

// idle is how long nothing has come for the call.
func (x *exchange) idle() time.Duration { return x.passed() - time.Duration(x.seen.Load()) }

// found returns the answer that came elsewhere, or the error that there is
// none.
func (x *exchange) found(err error) (Answer, error) {
	got := x.elsewhere.Load()
	if got == nil {
		return Answer{}, err
	}
	return Answer{Response: got.resp, Caller: x.who}, got.err
}
