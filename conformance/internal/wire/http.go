package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The headers of the transport, in the specification's spelling.
const (
	HeaderSession  = "Mcp-Session-Id"
	HeaderRevision = "Mcp-Protocol-Version"
	HeaderMethod   = "Mcp-Method"
	HeaderName     = "Mcp-Name"
	HeaderParam    = "Mcp-Param-"
	MediaJSON      = "application/json"
	MediaStream    = "text/event-stream"
	AcceptBoth     = MediaJSON + ", " + MediaStream
)

// Endpoint is a server to reach over HTTP.
type Endpoint struct {
	// URL is where messages go: over HTTP+SSE the URL of the event stream.
	URL string
	// Header is sent with each request, and never shown in a [Frame].
	Header http.Header
	// Credentials returns more headers for a request: tokens that are renewed during a run,
	// or made for one request. nil means none. A request that sets Authorization itself is
	// sent without them.
	Credentials func(ctx context.Context, method string, to *url.URL) (http.Header, error)
	// RoundTripper sends the requests; nil means a new transport.
	RoundTripper http.RoundTripper
	// Once: no request is sent again, also if the server may not have got it.
	Once bool
}

// HTTPConn speaks streamable HTTP: each message is a POST, whose response is a JSON body or
// an event stream.
type HTTPConn struct {
	At      Endpoint
	client  *http.Client
	trace   *Trace
	PostURL string // where messages go, "" for the URL of the subject
	box     *inbox
	ctx     context.Context // ends every request when the wire closes
	cancel  context.CancelFunc
	readers sync.WaitGroup
	once    sync.Once

	mu       sync.Mutex
	closed   bool
	session  string // the session id, from the answer to initialize
	deleted  bool   // the suite has ended the session
	ended    bool   // the server has ended it
	nameless int
	revision string              // the negotiated revision, sent with each request once set
	routes   bool                // headers name the method and what it is about
	mirrors  map[string][]Mirror // of the arguments of each tool
	streams  map[string]context.CancelFunc
}

// NewHTTPConn returns a connection to an endpoint. It ends with Close, not with ctx.
func NewHTTPConn(ctx context.Context, at Endpoint, tr *Trace) *HTTPConn {
	rt := at.RoundTripper
	if rt == nil {
		rt = NewTransport()
	}
	// A redirect is an answer to judge, not to follow.
	client := &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w := &HTTPConn{At: at, client: client, trace: tr, box: newInbox(), streams: map[string]context.CancelFunc{}}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return w
}

// NewTransport returns the transport of a connection to an endpoint that has none.
func NewTransport() *http.Transport {
	return &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second}
}

// request builds a request with the headers of the conversation. The headers in with
// replace them, in the given spelling; an empty list removes one.
func (w *HTTPConn) request(ctx context.Context, method string, body []byte, with http.Header) (*http.Request, error) {
	target := w.At.URL
	if method == http.MethodPost {
		target = cmp.Or(w.PostURL, target)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range w.At.Header {
		req.Header[name] = values
	}
	if _, own := with["Authorization"]; w.At.Credentials != nil && !own {
		header, err := w.At.Credentials(ctx, method, req.URL)
		if err != nil {
			return nil, err
		}
		maps.Copy(req.Header, header)
	}
	w.mu.Lock()
	session, revision, routes, mirrors := w.session, w.revision, w.routes, w.mirrors
	w.mu.Unlock()
	if session != "" {
		req.Header.Set(HeaderSession, session)
	}
	if revision != "" {
		req.Header.Set(HeaderRevision, revision)
	}
	switch method {
	case http.MethodPost:
		req.Header.Set("Accept", AcceptBoth)
		req.Header.Set("Content-Type", MediaJSON)
		if routes {
			Route(req.Header, body, mirrors)
		}
	case http.MethodGet:
		req.Header.Set("Accept", MediaStream)
	case http.MethodDelete:
		w.mu.Lock()
		w.deleted = true
		w.mu.Unlock()
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

// Send posts one message. The messages of the answer go to the inbox.
func (w *HTTPConn) Send(ctx context.Context, data []byte) (*HTTPAnswer, error) {
	if !w.begin() {
		return nil, ErrClosed
	}
	return w.open(ctx, http.MethodPost, data, nil, w.token(data))
}

// Listen opens a stream with GET, after the event with the given id unless it is empty. Its
// messages go to the inbox until the server or Abandon ends it; their token is that of the
// response.
func (w *HTTPConn) Listen(ctx context.Context, last string) (*HTTPAnswer, error) {
	if !w.begin() {
		return nil, ErrClosed
	}
	with := http.Header{}
	if last != "" {
		with["Last-Event-ID"] = []string{last}
	}
	return w.open(ctx, http.MethodGet, nil, with, w.token(nil))
}

// open sends one request and returns with its status. The caller has called begin.
func (w *HTTPConn) open(ctx context.Context, method string, data []byte, with http.Header, to string) (*HTTPAnswer, error) {
	// The response may be a stream, so the request ends with the connection. The caller
	// waits for the status only.
	life, end := context.WithCancel(w.ctx)
	req, err := w.request(life, method, data, with)
	if err != nil {
		end()
		w.readers.Done()
		return nil, err
	}
	w.trace.Add(conformance.ToServer, data, &conformance.HTTPInfo{Method: method, Header: w.shown(req.Header)}, "")
	w.mu.Lock()
	w.streams[to] = end
	w.mu.Unlock()
	type outcome struct {
		answer *HTTPAnswer
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer w.readers.Done()
		defer w.Abandon(to)
		resp, err := w.exchange(req)
		if err != nil {
			done <- outcome{nil, err}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		w.learn(resp)
		done <- outcome{&HTTPAnswer{Status: resp.StatusCode, Header: resp.Header, Token: to}, nil}
		w.readAnswer(resp, to)
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Abandon cancels the request with this token as the stateless era does: it closes the stream.
func (w *HTTPConn) Abandon(token string) {
	w.mu.Lock()
	end := w.streams[token]
	delete(w.streams, token)
	w.mu.Unlock()
	if end != nil {
		end()
	}
}

// notificationToken begins the tokens of notifications.
const notificationToken = "~"

// token identifies the response to a message: by its id, or by a number.
func (w *HTTPConn) token(data []byte) string {
	in, kind := Received(data, nil), "#"
	if in.ID() != "" {
		return in.ID()
	}
	if in.Method() != "" {
		kind = notificationToken
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nameless++
	return kind + strconv.Itoa(w.nameless)
}

// begin counts a reader, unless the connection is closed.
func (w *HTTPConn) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.readers.Add(1)
	return true
}

// learn takes the session id from the first answer that has one: that to
// initialize.
func (w *HTTPConn) learn(resp *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id := resp.Header.Get(HeaderSession); w.session == "" && resp.StatusCode < 300 {
		w.session = id
	}
}

// SessionID returns the session id, "" if there is none.
func (w *HTTPConn) SessionID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

// noteEnd notes that the server has ended the session: it answers a message of the session with 404, and
// not with an error of the message itself.
func (w *HTTPConn) noteEnd(resp *http.Response, in Inbound, to string) {
	ofMessage := in.IsResponse() && in.ID() == to && in.ID() != "" && !ToAnswer(in).HasCode(nil, codeNoSession)
	req := resp.Request
	w.mu.Lock()
	defer w.mu.Unlock()
	if resp.StatusCode == http.StatusNotFound && !ofMessage && !w.deleted && req.Method == http.MethodPost &&
		w.session != "" && req.Header.Get(HeaderSession) == w.session && req.URL.String() == cmp.Or(w.PostURL, w.At.URL) {
		w.ended = true
	}
}

// codeNoSession is the error that servers give for a session that is over.
const codeNoSession = -32001

// SessionEnded reports whether the server has ended the session, as it may at any time (2025-11-25,
// basic/transports#session-management).
func (w *HTTPConn) SessionEnded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// SetSession sets the session id of later requests and of Close.
func (w *HTTPConn) SetSession(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session, w.deleted = id, true // nothing is known of its end
}

// negotiated sets the revision header of later requests.
func (w *HTTPConn) negotiated(revision string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision = revision
}

// routed makes later requests send their method as a header.
func (w *HTTPConn) routed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.routes = true
}

// SetMirrors makes later calls send arguments as headers, by tool.
func (w *HTTPConn) SetMirrors(mirrors map[string][]Mirror) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mirrors = mirrors
}

// Route sets the headers that repeat parts of a message.
func Route(h http.Header, data []byte, mirrors map[string][]Mirror) {
	in := Received(data, nil)
	if in.Method() == "" {
		return
	}
	h.Set(HeaderMethod, in.Method())
	params, _ := rawjson.Object(in.Members["params"])
	name := params["name"]
	switch in.Method() {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead:
		name = params["uri"]
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel:
		name = params["taskId"]
	default:
		return
	}
	if rawjson.IsString(name) {
		h.Set(HeaderName, headerValue(rawjson.Text(name)))
	}
	if in.Method() == mcp.MethodToolsCall {
		for _, m := range mirrors[rawjson.Text(name)] {
			if value, ok := m.value(params["arguments"]); ok {
				h[HeaderParam+m.Header] = []string{value}
			}
		}
	}
}

// readAnswer delivers the messages of a response, and then its end, after which no answer
// can follow.
func (w *HTTPConn) readAnswer(resp *http.Response, to string) {
	info := &conformance.HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	end := Inbound{To: to, Ended: true, HTTP: info, Err: &refusedError{info.Status, info.ContentType}}
	if MediaType(resp.Header) == MediaStream && resp.StatusCode < 300 {
		w.readStream(resp.Body, info, to)
	} else {
		w.readBody(resp, info, &end)
	}
	w.box.put(end, w.ctx.Done())
}

// readBody delivers a body that is one message.
func (w *HTTPConn) readBody(resp *http.Response, info *conformance.HTTPInfo, end *Inbound) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxFrame+1))
	in := Inbound{Data: body, HTTP: info, To: end.To}
	switch {
	case len(body) > MaxFrame:
		in.Err = errTooLarge
	case err != nil:
		in.Err = err
	case len(bytes.TrimSpace(body)) == 0:
		w.noteEnd(resp, in, end.To)
		w.trace.Add(conformance.FromServer, nil, info, "no body")
		return
	default:
		in = Received(body, info)
		in.To = end.To
	}
	w.noteEnd(resp, in, end.To)
	if in.Err != nil && resp.StatusCode >= 300 {
		// The body of a refusal need not be a message.
		w.trace.Add(conformance.FromServer, body, info, "")
		end.Data = body
		return
	}
	w.deliver(in)
}

func (w *HTTPConn) readStream(body io.Reader, info *conformance.HTTPInfo, to string) {
	events := sse.NewReader(body, MaxFrame, MaxFrame)
	for {
		e, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			w.deliver(Inbound{Err: errTooLarge, HTTP: info, To: to})
		case err != nil:
			return // the end of the stream, or of the wire
		case e.IsMessage():
			in := Received(bytes.Clone(e.Data), info)
			in.To, in.Event, in.Retry = to, e.ID, e.HasRetry
			w.deliver(in)
		case e.HasID || e.HasRetry:
			w.trace.Add(conformance.FromServer, nil, info, "an event without data, id "+strconv.Quote(e.ID))
			in := Inbound{HTTP: info, To: to, Event: e.ID, Priming: true, Retry: e.HasRetry}
			w.box.put(in, w.ctx.Done())
		}
	}
}

func (w *HTTPConn) deliver(in Inbound) {
	w.trace.received(in)
	w.box.put(in, w.ctx.Done())
}

// Do sends one request and reads the whole response, or a stream until one event arrives or
// ctx ends. with is as in request.
func (w *HTTPConn) Do(ctx context.Context, method string, body []byte, with http.Header) (*HTTPAnswer, error) {
	req, err := w.request(ctx, method, body, with)
	if err != nil {
		return nil, err
	}
	return w.finish(req, body, describeHeaders(with), len(with) == 0)
}

// Upload posts a body of unknown length in chunks.
func (w *HTTPConn) Upload(ctx context.Context, body io.Reader, note string) (*HTTPAnswer, error) {
	req, err := w.request(ctx, http.MethodPost, nil, nil)
	if err != nil {
		return nil, err
	}
	req.Body, req.GetBody, req.ContentLength = io.NopCloser(body), nil, -1
	return w.finish(req, nil, note, true)
}

// finish sends a request and reads the response, as Do does. plain: its headers are those of the
// conversation.
func (w *HTTPConn) finish(req *http.Request, body []byte, note string, plain bool) (*HTTPAnswer, error) {
	w.trace.Add(conformance.ToServer, body, &conformance.HTTPInfo{Method: req.Method, Header: w.shown(req.Header)}, note)
	resp, err := w.exchange(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer := &HTTPAnswer{Status: resp.StatusCode, Header: resp.Header}
	info := &conformance.HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	if MediaType(resp.Header) == MediaStream {
		if req.Method != http.MethodGet { // a GET stream may stay silent forever
			events := sse.NewReader(resp.Body, MaxFrame, MaxFrame)
			for {
				e, err := events.Next()
				if err != nil {
					break
				}
				if e.IsMessage() {
					answer.Body = bytes.Clone(e.Data)
					break
				}
			}
		}
	} else {
		answer.Body, _ = io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // a cut body is judged as what came
	}
	w.trace.Add(conformance.FromServer, answer.Body, info, "")
	if plain {
		w.noteEnd(resp, Received(answer.Body, nil), Received(body, nil).ID())
	}
	return answer, nil
}

// headerValue encodes text for a header: unchanged if it is plain, else in base64.
func headerValue(text string) string {
	plain := text != "" && strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?") &&
		strings.IndexFunc(text, func(c rune) bool { return c < 0x20 || c > 0x7E }) < 0
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// MediaType returns the media type of a Content-Type header, "" when it has none.
func MediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

func (w *HTTPConn) inbox() *inbox { return w.box }

// Stderr implements Conn.
func (w *HTTPConn) Stderr() string { return "" }

// Transport implements Conn.
func (w *HTTPConn) Transport() conformance.TransportKind { return conformance.TransportHTTP }

// Close ends the session with DELETE, and cancels all open requests.
func (w *HTTPConn) Close() Ending {
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
	return Ending{Prompt: true, Exit: -1}
}

// idle closes the idle connections of its own transport.
func (w *HTTPConn) idle() {
	if w.At.RoundTripper == nil {
		w.client.CloseIdleConnections()
	}
}
