package mutants

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
)

// maxBody is more than any suite sends.
const maxBody = 64 << 20

// proxy is a mutant before one server.
type proxy struct {
	*defect
	mu    sync.Mutex // held while the members of the defect run
	asked map[string]*exchange
}

func newProxy(m Mutant) *proxy { return &proxy{defect: m.plant(), asked: map[string]*exchange{}} }

// Handler returns the mutant of a server over HTTP: of all that next serves.
func (m Mutant) Handler(next http.Handler) http.Handler {
	p := newProxy(m)
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serveHTTP(w, r, next) })
	if p.serve != nil {
		h = p.serve(h)
	}
	return h
}

func (p *proxy) serveHTTP(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client has gone
	}
	x := read(body)
	x.http, x.session = r, r.Header.Get(headerSession)
	x.ask = func(message object) object { return ask(next, r, message) }
	if x.message != nil && p.request != nil {
		before := string(encode(x.message))
		p.mu.Lock()
		replies := p.request(x)
		p.mu.Unlock()
		if replies != nil {
			writeReplies(w, replies)
			return
		}
		if string(encode(x.message)) != before {
			body = encode(x.message)
		}
	}
	if x.isRequest() {
		p.remember(x)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	rw := &rewriter{ResponseWriter: w, p: p, x: x}
	next.ServeHTTP(rw, r)
	rw.finish()
}

// remember keeps a request for an answer that comes on another stream.
func (p *proxy) remember(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const many = 4096
	if len(p.asked) > many {
		clear(p.asked)
	}
	p.asked[x.key()] = x
}

// replace returns what is sent in place of a message of the server that came
// with x.
func (p *proxy) replace(x *exchange, message object) []object {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, isNote := message["method"]; isNote {
		if p.note != nil {
			return p.note(x, message)
		}
		return []object{message}
	}
	if p.answer == nil {
		return []object{message}
	}
	if !x.isRequest() { // a stream that was opened again
		key := (&exchange{session: x.session, id: message["id"]}).key()
		if asked := p.asked[key]; asked != nil {
			x = asked
		}
	}
	return p.answer(x, message)
}

// ask posts a message of the proxy's own with the headers of r.
func ask(next http.Handler, r *http.Request, message object) object {
	body := encode(message)
	own := r.Clone(r.Context())
	own.Method, own.Body, own.ContentLength = http.MethodPost, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	own.Header.Del("Content-Length")
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, own)
	for line := range bytes.Lines(rec.Body.Bytes()) {
		if answer, ok := decode(bytes.TrimPrefix(line, []byte("data: "))); ok {
			return answer
		}
	}
	return nil
}

// writeReplies answers in the server's place: one message as JSON, several as a
// stream.
func writeReplies(w http.ResponseWriter, replies []object) {
	if len(replies) == 1 {
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = w.Write(encode(replies[0])) // a client that has gone reads nothing
		return
	}
	w.Header().Set("Content-Type", mediaStream)
	for _, reply := range replies {
		_, _ = w.Write(event{data: encode(reply)}.bytes()) // as above
	}
}
