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

// exchange is one POST and its reply, under one cancelable context and one timer; in the session
// era also the GETs that resume a broken reply. The stream of [Streamer] is an exchange, too,
// with only GETs.
type exchange struct {
	c      *httpConn
	listed                 // among the exchanges of c
	id     jsonrpc.ID      // id of the request; zero if there is no answer
	caller context.Context // ctx ends with it; ctx is the lifetime of the exchange
	ctx    context.Context
	cancel context.CancelCauseFunc

	wait  jsonrpc.Wait
	began time.Time
	seen  atomic.Int64 // when bytes last arrived, in nanoseconds since began
	timer *time.Timer

	body     sentBody
	resp     *http.Response
	header   http.Header
	opens    bool   // the request is initialize
	session  string // session id of the request
	draining bool   // drain closes the body, not end

	background bool    // no call waits for it
	who        *Caller // whose credentials the next request uses; nil if the application must be asked
	challenged *ChallengedCall

	reading reading     // share of the budget; belongs to the reader
	endless bool        // it has no timeout
	paused  atomic.Bool // reading waits for space

	// pausedSince is when the timers were paused, in nanoseconds since began plus one, 0 if they
	// are not; pausedFor is the sum of earlier pauses, see [exchange.pauseTimers].
	pausedSince, pausedFor atomic.Int64

	// otherAnswer is the answer if it came on another stream.
	otherAnswer atomic.Pointer[outcome]
	// answered is closed with otherAnswer if all answers come that way; otherwise it is nil.
	answered chan struct{}
	// stateless exchanges have no session and are not resumed.
	stateless bool
}

func newExchange(ctx context.Context, c *httpConn, req Request) *exchange {
	wait := jsonrpc.Wait{Idle: max(req.Wait.Idle, 0), Max: max(req.Wait.Max, 0), NullID: req.Wait.NullID} // as in [jsonrpc.Conn]
	x := &exchange{
		c: c, id: req.ID, caller: ctx, wait: wait, stateless: req.Mirror != nil,
		opens: req.Method == mcp.MethodInitialize, endless: req.Wait.Endless, who: req.Caller, challenged: req.Challenged,
	}
	x.reading.x = x
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	if c.oneStream {
		x.answered = make(chan struct{})
	}
	return x
}

// exchanges are the open exchanges of a connection. Requires httpConn.mu.
type exchanges struct{ first *exchange }

// listed is the position of an exchange in the list.
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

// startTimer starts the idle timeout and the maximum time.
func (x *exchange) startTimer() {
	x.began = time.Now()
	if x.wait.Idle == 0 && x.wait.Max == 0 {
		return
	}
	first := x.wait.Idle
	if first == 0 || (x.wait.Max > 0 && x.wait.Max < first) {
		first = x.wait.Max
	}
	// The timer may fire before it is stored; tick handles that.
	x.timer = time.AfterFunc(first, x.tick)
}

// tick ends the exchange if a timeout has passed, or waits for the next.
func (x *exchange) tick() {
	passed := x.passed()
	if x.wait.Max > 0 && passed >= x.wait.Max {
		x.cancel(jsonrpc.ErrMaxWait)
		return
	}
	paused := x.paused.Load() || x.pausedSince.Load() > 0 // read before seen, which is set at the end of a pause
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

// end releases the resources of the exchange.
func (x *exchange) end() {
	x.c.mu.Lock()
	x.c.calls.remove(x)
	if x.timer != nil {
		x.timer.Stop()
	}
	x.c.mu.Unlock()
	x.releaseBudget()
	if !x.draining {
		x.cancel(nil)
		if x.resp != nil {
			_ = x.resp.Body.Close()
		}
	}
	x.c.work.Done()
}

const (
	// maxRedirects limits the redirects with status 307 and 308.
	maxRedirects = 3
	// drainBytes limits reading an unwanted body to reuse its connection.
	drainBytes = 64 << 10
)

// post sends m and returns the reply with any status. mirror makes the exchange stateless.
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
	// GETs that resume the reply are not traced: their progress is not the request's.
	resp, err := x.send(x.body.traced(x.ctx), http.MethodPost)
	var f *Failure
	switch {
	case err == nil || errors.As(err, &f):
		return resp, err
	default:
		return nil, x.broken(err)
	}
}

// send sends a request and follows its redirects. The error is that of the HTTP layer, or a
// [*Failure] of a redirect.
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

// holdsAnswer reports whether a reply that is rejected for its status or its headers contains the
// answer to the request, and whether that is a result: a request that has run must not run again.
// The body can be read afterwards.
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

// copyURL returns a copy that may be changed. User information is immutable.
func copyURL(u *url.URL) *url.URL {
	c := *u
	return &c
}

func (x *exchange) roundTrip(ctx context.Context, verb string, target *url.URL, who *Caller) (*http.Response, error) {
	header := x.header
	if !x.c.shares {
		// The caller's RoundTripper may change its request.
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

// redirect returns the target of a redirect, nil for other replies. Only 307 and 308 keep the
// method, and only the same origin may get the headers.
func redirect(from *url.URL, resp *http.Response) (*url.URL, error) {
	keepsMethod := false
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		keepsMethod = true
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	to, err := from.Parse(location)
	switch {
	case err != nil || location == "":
		return nil, fmt.Errorf("the server redirects (status %d) without a valid Location", resp.StatusCode)
	case !keepsMethod:
		return nil, fmt.Errorf("the server redirects (status %d) to %s; use that URL if it is right", resp.StatusCode, endpoint(to))
	case !sameOrigin(from, to):
		return nil, fmt.Errorf("the server redirects to another origin, %s; use that URL if it is right", endpoint(to))
	}
	return to, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// failure returns a failure with the evidence of this exchange.
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
		Header: keptHeaders(x.resp.Header), Body: jsonrpc.Printable(string(body[:min(len(body), 4*shown)]), shown),
	}
}

// Read reads the body of the reply and records that bytes arrived.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.resp.Body.Read(p)
	if n > 0 {
		x.touch()
	}
	return n, err
}

// touch records that something arrived for the call.
func (x *exchange) touch() {
	x.c.received.Add(1)
	x.seen.Store(int64(time.Since(x.began)) - x.pausedFor.Load())
}

// idle returns how long nothing has arrived for the call.
func (x *exchange) idle() time.Duration { return x.passed() - time.Duration(x.seen.Load()) }

// found returns the answer that came on another stream, or err if there is none.
func (x *exchange) found(err error) (Answer, error) {
	got := x.otherAnswer.Load()
	if got == nil {
		return Answer{}, err
	}
	return Answer{Response: got.resp, Caller: x.who}, got.err
}
