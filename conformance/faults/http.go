package faults

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

const (
	sessionHeader = "Mcp-Session-Id"
	maxBody       = 64 << 20 // of a request
	peekLimit     = 4 << 10  // how much of a request B29 reads
)

// Handler returns a handler in front of upstream that makes the faults of the carrier
// [HTTP]. Requests without a fault pass unchanged, and their answers stream. The caller
// closes the connections: a request that a fault holds ends with its connection, or with
// [Proxy.Heal] or [Proxy.Set].
func (p *Proxy) Handler(upstream http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &visit{proxy: p, upstream: upstream, w: w, r: r}
		x.serve()
	})
}

// visit is one HTTP request.
type visit struct {
	*hit     // nil: no fault
	proxy    *Proxy
	upstream http.Handler
	w        http.ResponseWriter
	r        *http.Request
	body     []byte
	req      *message
	call     *Call
}

func (v *visit) serve() {
	if v.answeredEarly() || !v.read() {
		return
	}
	if v.req.cancels != nil {
		v.proxy.cancel(v.req.cancels)
	}
	session := v.r.Header.Get(sessionHeader)
	if v.req.Method == "initialize" {
		session = "" // another one begins
	}
	if v.proxy.isDead(session) {
		v.entered(session)
		v.answer(statusReply{status: http.StatusNotFound, body: failure(nil, -32001, "Session not found", "")})
		return
	}
	if v.resumed() {
		return
	}
	if q := v.r.URL.Query(); q.Has(redirected) {
		q.Del(redirected)
		v.r = v.r.Clone(v.r.Context())
		v.r.URL.RawQuery = q.Encode()
		v.entered(session)
		v.passThrough()
		return
	}
	v.hit = v.proxy.match(event{carrier: HTTP, point: atMessage, method: v.req.Method, tool: v.req.tool, request: v.req.request()})
	v.entered(session)
	if v.hit == nil {
		v.passThrough()
		return
	}
	if s, ok := scriptOf(v.Fault); ok {
		v.perform(s)
		return
	}
	if harm := madeByHTTP()[v.Fault]; harm != nil {
		harm(v)
		return
	}
	if v.Executed {
		v.ask(v.body, nil)
	}
	v.answer(statusOf(v))
}

// entered adds the request to the history.
func (v *visit) entered(session string) { v.call = v.proxy.arrived(v.req, session, v.hit) }

// read reads the whole request body.
func (v *visit) read() bool {
	body, err := io.ReadAll(io.LimitReader(v.r.Body, maxBody+1))
	if err != nil {
		return false
	}
	if len(body) > maxBody {
		http.Error(v.w, "faults: the request is over the proxy's limit", http.StatusRequestEntityTooLarge)
		return false
	}
	v.body = append(v.body, body...)
	v.req = parse(v.body)
	if v.req.Method == "" && v.r.Method != http.MethodPost {
		v.req.Method = v.r.Method
	}
	return true
}

// outgoing returns the request for upstream.
func (v *visit) outgoing(ctx context.Context, body []byte) *http.Request {
	out := v.r.Clone(ctx)
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	out.TransferEncoding = nil
	return out
}

// passThrough forwards the request and its answer.
func (v *visit) passThrough() {
	v.proxy.note(v.call, sent)
	w := &watched{ResponseWriter: v.w, v: v}
	v.upstream.ServeHTTP(w, v.outgoing(v.r.Context(), v.body))
	if !w.wrote && v.r.Context().Err() == nil {
		w.begin() // 202 and the like
	}
}

// watched records whether writes succeed.
type watched struct {
	http.ResponseWriter
	v     *visit
	wrote bool
}

func (w *watched) begin() {
	if !w.wrote {
		w.wrote = true
		w.v.proxy.note(w.v.call, func(c *Call) { c.Answered, c.Delivered = true, true })
	}
}

func (w *watched) fails() { w.v.proxy.note(w.v.call, func(c *Call) { c.Delivered = false }) }

// Write implements [io.Writer].
func (w *watched) Write(b []byte) (int, error) {
	w.begin()
	n, err := w.ResponseWriter.Write(b)
	if err != nil {
		w.fails()
	}
	return n, err
}

// Unwrap lets http.ResponseController through.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements [http.Flusher].
func (w *watched) Flush() {
	if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
		w.fails()
	}
}

// perform makes a fault of messages.
func (v *visit) perform(s script) {
	x := &exchange{hit: v.hit, proxy: v.proxy, ctx: v.r.Context(), req: v.req}
	if v.Fault == "D6" {
		x.ended = v.proxy.cancelled(v.hit, v.req.ID)
	}
	out := &sink{v: v}
	if s.local != nil {
		x.answer = s.local(x)
	}
	switch {
	case x.answer != nil && v.Executed:
		v.ask(v.body, nil)
	case x.answer != nil:
	case v.Unsent:
		x.answer = nothing(v.req)
	default:
		body := v.body
		if s.ask != nil {
			body = s.ask(x)
		}
		reply := v.ask(body, out.other)
		if reply.answer == nil {
			reply.relay(v, out)
			return
		}
		x.answer, out.header = reply.answer, reply.header
	}
	for one := range s.pieces(x) {
		if !out.put(one) {
			return
		}
	}
	out.end()
}

// isDead reports whether B17 has ended the session.
func (p *Proxy) isDead(session string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return session != "" && p.now.dead[session]
}

// held waits for the fault, then sends the answer.
func (v *visit) held() bool { return v.hold(v.r.Context(), time.Duration(v.For)) }
