package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The headers of the transport, in the specification's spelling.
const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerParam    = "Mcp-Param-"
	mediaJSON      = "application/json"
	mediaStream    = "text/event-stream"
	acceptBoth     = mediaJSON + ", " + mediaStream
)

// httpWire speaks streamable HTTP: each message is a POST of its own, its
// answer is one JSON body or an event stream.
type httpWire struct {
	subject *URLSubject
	client  *http.Client
	trace   *trace
	post    string // where messages go, "" for the URL of the subject
	box     *inbox
	ctx     context.Context // ends every request when the wire closes
	cancel  context.CancelFunc
	readers sync.WaitGroup
	once    sync.Once

	mu       sync.Mutex
	closed   bool
	session  string // the session id, from the answer to initialize
	nameless int
	revision string              // the negotiated revision, sent with each request once set
	routes   bool                // headers name the method and what it is about (HTTP-31)
	mirrors  map[string][]mirror // of the arguments of each tool (HDR-01)
	streams  map[string]context.CancelFunc
}

func newHTTPWire(ctx context.Context, s *URLSubject, tr *trace) *httpWire {
	rt := s.RoundTripper
	if rt == nil {
		rt = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second}
	}
	// HTTP-07: a redirect is an answer to judge, not one to follow.
	client := &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w := &httpWire{subject: s, client: client, trace: tr, box: newInbox(), streams: map[string]context.CancelFunc{}}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return w
}

// request builds a request with the headers of the conversation; the headers
// in with take their place, spelled as they are, and an empty list removes one.
func (w *httpWire) request(ctx context.Context, method string, body []byte, with http.Header) (*http.Request, error) {
	target := w.subject.URL
	if method == http.MethodPost {
		target = cmp.Or(w.post, target)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range w.subject.Header {
		req.Header[name] = values
	}
	w.mu.Lock()
	session, revision, routes, mirrors := w.session, w.revision, w.routes, w.mirrors
	w.mu.Unlock()
	if session != "" {
		req.Header.Set(headerSession, session)
	}
	if revision != "" {
		req.Header.Set(headerRevision, revision)
	}
	switch method {
	case http.MethodPost:
		req.Header.Set("Accept", acceptBoth)
		req.Header.Set("Content-Type", mediaJSON)
		if routes {
			route(req.Header, body, mirrors)
		}
	case http.MethodGet:
		req.Header.Set("Accept", mediaStream)
	}
	for name := range with {
		req.Header.Del(name)
	}
	for name, values := range with {
		switch {
		case name == "Host" && len(values) > 0:
			req.Host = values[0]
		case len(values) > 0:
			req.Header[name] = values // as spelled
		}
	}
	return req, nil
}

// send posts one message. The messages of the answer go to the inbox.
func (w *httpWire) send(ctx context.Context, data []byte) (*httpAnswer, error) {
	if !w.begin() {
		return nil, errClosed
	}
	return w.open(ctx, http.MethodPost, data, nil, w.token(data))
}

// listen opens a stream of the server's own with GET (HTTP-19), after the event
// with the given id unless that is empty (HTTP-25). Its messages go to the inbox
// until the server or abandon ends it; their token is that of the answer.
func (w *httpWire) listen(ctx context.Context, last string) (*httpAnswer, error) {
	if !w.begin() {
		return nil, errClosed
	}
	with := http.Header{}
	if last != "" {
		with["Last-Event-ID"] = []string{last}
	}
	return w.open(ctx, http.MethodGet, nil, with, w.token(nil))
}

// open makes one request and returns when its status is there. A reader was
// counted in.
func (w *httpWire) open(ctx context.Context, method string, data []byte, with http.Header, to string) (*httpAnswer, error) {
	// The request outlives this call, for its answer may be a stream: it ends
	// with the wire. The caller waits for the status only.
	life, end := context.WithCancel(w.ctx)
	req, err := w.request(life, method, data, with)
	if err != nil {
		end()
		w.readers.Done()
		return nil, err
	}
	w.trace.add(ToServer, data, &HTTPInfo{Method: method, Header: w.shown(req.Header)}, "")
	w.mu.Lock()
	w.streams[to] = end
	w.mu.Unlock()
	type outcome struct {
		answer *httpAnswer
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer w.readers.Done()
		defer w.abandon(to)
		resp, err := w.exchange(req)
		if err != nil {
			done <- outcome{nil, err}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		w.learn(resp)
		done <- outcome{&httpAnswer{status: resp.StatusCode, header: resp.Header, token: to}, nil}
		w.readAnswer(resp, to)
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// abandon ends the request with this token by closing its connection, which is
// how the stateless era cancels (HTTP-34).
func (w *httpWire) abandon(token string) {
	w.mu.Lock()
	end := w.streams[token]
	delete(w.streams, token)
	w.mu.Unlock()
	if end != nil {
		end()
	}
}

// token names the answer to a message: by its id, or by a number of our own.
func (w *httpWire) token(data []byte) string {
	if id := received(data, nil).id(); id != "" {
		return id
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nameless++
	return "#" + strconv.Itoa(w.nameless)
}

// begin counts a reader in, unless the wire is closed.
func (w *httpWire) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.readers.Add(1)
	return true
}

// learn takes the session id from the first answer that has one: that to
// initialize (HTTP-12, HTTP-13).
func (w *httpWire) learn(resp *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id := resp.Header.Get(headerSession); w.session == "" && resp.StatusCode < 300 {
		w.session = id
	}
}

// sessionID returns the session id, "" when the server gave none.
func (w *httpWire) sessionID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

// negotiated sets the revision that later requests name (HTTP-14).
func (w *httpWire) negotiated(revision string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision = revision
}

// routed has later requests name their method in a header.
func (w *httpWire) routed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.routes = true
}

// mirroring has later calls repeat arguments in headers, by tool.
func (w *httpWire) mirroring(mirrors map[string][]mirror) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mirrors = mirrors
}

// route sets the headers that repeat what a message is about (HTTP-30, HTTP-31,
// HDR-01).
func route(h http.Header, data []byte, mirrors map[string][]mirror) {
	in := received(data, nil)
	if in.method() == "" {
		return
	}
	h.Set(headerMethod, in.method())
	params, _ := object(in.members["params"])
	name := params["name"]
	switch in.method() {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead:
		name = params["uri"]
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel:
		name = params["taskId"]
	default:
		return
	}
	if isString(name) {
		h.Set(headerName, headerValue(text(name)))
	}
	if in.method() == mcp.MethodToolsCall {
		for _, m := range mirrors[text(name)] {
			if value, ok := m.value(params["arguments"]); ok {
				h[headerParam+m.header] = []string{value}
			}
		}
	}
}

// readAnswer delivers the messages of an answer, and then its end: a request
// whose answer ended without a response will not get one any more.
func (w *httpWire) readAnswer(resp *http.Response, to string) {
	info := &HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	end := inbound{to: to, ended: true, http: info, err: &refusedError{info.Status, info.ContentType}}
	if mediaType(resp.Header) == mediaStream && resp.StatusCode < 300 {
		w.readStream(resp.Body, info, to)
	} else {
		w.readBody(resp, info, &end)
	}
	w.box.put(end, w.ctx.Done())
}

// readBody delivers a body that is one message.
func (w *httpWire) readBody(resp *http.Response, info *HTTPInfo, end *inbound) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFrame+1))
	in := inbound{data: body, http: info, to: end.to}
	switch {
	case len(body) > maxFrame:
		in.err = errTooLarge
	case err != nil:
		in.err = err
	case len(bytes.TrimSpace(body)) == 0:
		w.trace.add(FromServer, nil, info, "no body")
		return
	default:
		in = received(body, info)
		in.to = end.to
	}
	if in.err != nil && resp.StatusCode >= 300 {
		// The text around a refusal is no message and need not be one.
		w.trace.add(FromServer, body, info, "")
		end.data = body
		return
	}
	w.deliver(in)
}

func (w *httpWire) readStream(body io.Reader, info *HTTPInfo, to string) {
	events := sse.NewReader(body, maxFrame, maxFrame)
	for {
		e, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			w.deliver(inbound{err: errTooLarge, http: info, to: to})
		case err != nil:
			return // the end of the stream, or of the wire
		case e.IsMessage():
			in := received(bytes.Clone(e.Data), info)
			in.to, in.event, in.retry = to, e.ID, e.HasRetry
			w.deliver(in)
		case e.HasID || e.HasRetry:
			w.trace.add(FromServer, nil, info, "an event without data, id "+strconv.Quote(e.ID))
			in := inbound{http: info, to: to, event: e.ID, priming: true, retry: e.HasRetry}
			w.box.put(in, w.ctx.Done())
		}
	}
}

func (w *httpWire) deliver(in inbound) {
	w.trace.received(in)
	w.box.put(in, w.ctx.Done())
}

// do makes one request and reads its whole answer, of a stream only what is
// there when ctx ends or one event came. with is as for request.
func (w *httpWire) do(ctx context.Context, method string, body []byte, with http.Header) (*httpAnswer, error) {
	req, err := w.request(ctx, method, body, with)
	if err != nil {
		return nil, err
	}
	return w.finish(req, body, describeHeaders(with))
}

// upload posts a body of unknown length, as it comes.
func (w *httpWire) upload(ctx context.Context, body io.Reader, note string) (*httpAnswer, error) {
	req, err := w.request(ctx, http.MethodPost, nil, nil)
	if err != nil {
		return nil, err
	}
	req.Body, req.GetBody, req.ContentLength = io.NopCloser(body), nil, -1
	return w.finish(req, nil, note)
}

// finish makes a request and reads its answer as do has it.
func (w *httpWire) finish(req *http.Request, body []byte, note string) (*httpAnswer, error) {
	w.trace.add(ToServer, body, &HTTPInfo{Method: req.Method, Header: w.shown(req.Header)}, note)
	resp, err := w.exchange(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer := &httpAnswer{status: resp.StatusCode, header: resp.Header}
	info := &HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	if mediaType(resp.Header) == mediaStream {
		if req.Method != http.MethodGet { // a GET stream may stay silent for ever
			events := sse.NewReader(resp.Body, maxFrame, maxFrame)
			for {
				e, err := events.Next()
				if err != nil {
					break
				}
				if e.IsMessage() {
					answer.body = bytes.Clone(e.Data)
					break
				}
			}
		}
	} else {
		answer.body, _ = io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // a cut body is judged as what came
	}
	w.trace.add(FromServer, answer.body, info, "")
	return answer, nil
}

// headerValue spells text as a header has it (HDR-04): as it is when it is plain,
// else in base64.
func headerValue(text string) string {
	plain := text != "" && strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?") &&
		strings.IndexFunc(text, func(c rune) bool { return c < 0x20 || c > 0x7E }) < 0
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

func (w *httpWire) inbox() *inbox { return w.box }

func (w *httpWire) stderr() string { return "" }

func (w *httpWire) transport() TransportKind { return TransportHTTP }

// close ends the session with DELETE (HTTP-18) and every request under way.
func (w *httpWire) close() ending {
	w.once.Do(func() {
		w.mu.Lock()
		session := w.session
		w.mu.Unlock()
		if session != "" {
			ctx, cancel := context.WithTimeout(w.ctx, termGrace)
			if req, err := w.request(ctx, http.MethodDelete, nil, nil); err == nil {
				if resp, err := w.exchange(req); err == nil {
					_ = resp.Body.Close()
				}
			}
			cancel()
		}
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.cancel()
		w.readers.Wait()
		close(w.box.messages)
		w.idle()
	})
	return ending{prompt: true, exit: -1}
}

// idle closes the connections that are the wire's own.
func (w *httpWire) idle() {
	if w.subject.RoundTripper == nil {
		w.client.CloseIdleConnections()
	}
}
