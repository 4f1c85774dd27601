package clientsuite

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/faults"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	endpoint      = "/mcp"
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	eventStream   = "text/event-stream"
	jsonBody      = "application/json"
)

// ServeHTTP is the server over streamable HTTP.
func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{message: &message{verb: r.Method, path: r.URL.Path, header: r.Header}, peer: p, ctx: r.Context()}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		return // the client went away, which the tape has
	}
	if x.verb == http.MethodPost || len(body) > 0 {
		x.parse(body)
	}
	x.way = &httpWay{w: w, x: x}
	p.serve(x)
}

// httpWay answers one HTTP request. It belongs to the goroutine of its handler.
type httpWay struct {
	w         http.ResponseWriter
	x         *exchange
	streaming bool
}

func (h *httpWay) begin(contentType string) {
	p := h.x.peer
	if h.x.method() == mcp.MethodInitialize && p.sessions && !p.stateless() {
		name := sessionHeader
		if p.lowerCase {
			name = strings.ToLower(name)
		}
		h.w.Header()[name] = []string{fmt.Sprintf("session-%d~!", p.next())}
	}
	h.w.Header().Set("Content-Type", contentType)
}

func (h *httpWay) send(data []byte) {
	if !h.streaming {
		h.begin(jsonBody)
		h.w.WriteHeader(h.code(data))
		_, _ = h.w.Write(data) // who left does not read it
		return
	}
	h.bytes("event: message\ndata: " + string(data) + "\n\n")
}

// code is the status that the stateless era has for some errors.
func (h *httpWay) code(data []byte) int {
	if !h.x.peer.stateless() {
		return http.StatusOK
	}
	var m message
	m.parse(data)
	switch string(at(m.members["error"], "code")) {
	case strconv.Itoa(mcp.CodeUnsupportedProtocolVersion), strconv.Itoa(mcp.CodeHeaderMismatch), strconv.Itoa(mcp.CodeMissingRequiredClientCapability):
		return http.StatusBadRequest
	case "-32601":
		return http.StatusNotFound
	}
	return http.StatusOK
}

func (h *httpWay) stream() {
	if h.streaming {
		return
	}
	h.streaming = true
	h.begin(eventStream)
	h.w.WriteHeader(http.StatusOK)
	h.flush()
}

func (h *httpWay) bytes(data string) {
	_, _ = io.WriteString(h.w, data) // who left does not read it
	h.flush()
}

func (h *httpWay) flush() { _ = http.NewResponseController(h.w).Flush() } // as above

func (h *httpWay) status(code int, header http.Header, body string) {
	for name, values := range header {
		h.w.Header()[name] = values
	}
	h.w.WriteHeader(code)
	_, _ = io.WriteString(h.w, body) // who left does not read it
}

func (h *httpWay) drop() {
	h.flush()
	if conn, _, err := http.NewResponseController(h.w).Hijack(); err == nil {
		_ = conn.Close() // broken is what it is to be
	}
}

// taped writes down what passes through next.
func taped(t *tape, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &message{verb: r.Method, path: r.URL.Path, header: r.Header.Clone()}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if err != nil {
			m.err = err
		} else if r.Method == http.MethodPost || len(body) > 0 {
			m.parse(body)
		}
		t.received(m)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		out := &tapedWriter{ResponseWriter: w, tape: t, to: m}
		next.ServeHTTP(out, r)
		if r.Context().Err() != nil {
			t.leaves(m)
		} else if !out.answered() {
			out.WriteHeader(http.StatusOK)
		}
	})
}

// tapedWriter writes down an answer.
type tapedWriter struct {
	http.ResponseWriter
	tape *tape
	to   *message
	mu   sync.Mutex // a fault may write from another goroutine
	add  func([]byte)
	// taken: the connection was hijacked.
	taken bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *tapedWriter) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *tapedWriter) begin(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.add == nil && status >= http.StatusOK {
		header := http.Header{} // with the names as they are looked up
		for name, values := range w.Header() {
			header[http.CanonicalHeaderKey(name)] = values
		}
		w.tape.replied(w.to, header)
		w.add = w.tape.answering(w.to, status, w.Header().Get("Content-Type"))
	}
}

// Write implements [io.Writer].
func (w *tapedWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.add(p[:max(0, n)])
	if w.to.method() == mcp.MethodInitialize {
		w.tape.told(w.to, p)
	}
	return n, err
}

// Hijack implements [http.Hijacker]: who takes the connection answers nothing more.
func (w *tapedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.mu.Lock()
		w.taken = true
		w.mu.Unlock()
	}
	return conn, rw, err
}

// answered reports whether nothing is left to answer.
func (w *tapedWriter) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken || w.add != nil
}

// Unwrap lets http.ResponseController through.
func (w *tapedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// stage is one scenario's server being reached.
type stage struct {
	url     string
	command []string
	close   func()
}

// stageHTTP serves h on a listener.
func stageHTTP(n network, h http.Handler) (*stage, error) {
	l, err := n.listen()
	if err != nil {
		return nil, err
	}
	var serving sync.WaitGroup
	srv := faults.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		h.ServeHTTP(w, r)
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with ErrServerClosed
	}()
	return &stage{url: "http://" + l.Addr().String() + endpoint, close: func() {
		_ = srv.Close() // what is still open is of no use
		<-done
		serving.Wait() // so that the tape has all that happened
	}}, nil
}
