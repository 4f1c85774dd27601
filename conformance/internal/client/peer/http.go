package peer

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

// Names and values of HTTP.
const (
	Endpoint      = "/mcp"
	SessionHeader = "Mcp-Session-Id"
	VersionHeader = "Mcp-Protocol-Version"
	EventStream   = "text/event-stream"
	JSONBody      = "application/json"
)

// ServeHTTP serves streamable HTTP.
func (p *Peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{Message: &Message{Verb: r.Method, Path: r.URL.Path, Header: r.Header}, Peer: p, Context: r.Context()}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		return // the client is gone; the tape has that
	}
	if x.Verb == http.MethodPost || len(body) > 0 {
		x.Parse(body)
	}
	x.Writer = &httpWriter{w: w, x: x}
	p.serve(x)
}

// httpWriter writes the answer of one HTTP request. It belongs to the goroutine of its handler.
type httpWriter struct {
	w         http.ResponseWriter
	x         *Exchange
	streaming bool
}

func (h *httpWriter) begin(contentType string) {
	p := h.x.Peer
	if h.x.Method() == mcp.MethodInitialize && p.Sessions && !p.stateless() {
		name := SessionHeader
		if p.LowerCase {
			name = strings.ToLower(name)
		}
		h.w.Header()[name] = []string{fmt.Sprintf("session-%d~!", p.Next())}
	}
	h.w.Header().Set("Content-Type", contentType)
}

// Send implements [Writer].
func (h *httpWriter) Send(data []byte) {
	if !h.streaming {
		h.begin(JSONBody)
		h.w.WriteHeader(h.code(data))
		_, _ = h.w.Write(data) // the client may be gone
		return
	}
	h.Bytes("event: message\ndata: " + string(data) + "\n\n")
}

// code is the status of an answer: the stateless era has its own for some errors.
func (h *httpWriter) code(data []byte) int {
	if !h.x.Peer.stateless() {
		return http.StatusOK
	}
	var m Message
	m.Parse(data)
	switch string(At(m.Members["error"], "code")) {
	case strconv.Itoa(mcp.CodeUnsupportedProtocolVersion), strconv.Itoa(mcp.CodeHeaderMismatch), strconv.Itoa(mcp.CodeMissingRequiredClientCapability):
		return http.StatusBadRequest
	case "-32601":
		return http.StatusNotFound
	}
	return http.StatusOK
}

// Stream implements [Writer].
func (h *httpWriter) Stream() {
	if h.streaming {
		return
	}
	h.streaming = true
	h.begin(EventStream)
	h.w.WriteHeader(http.StatusOK)
	h.flush()
}

// Bytes implements [Writer].
func (h *httpWriter) Bytes(data string) {
	_, _ = io.WriteString(h.w, data) // the client may be gone
	h.flush()
}

func (h *httpWriter) flush() { _ = http.NewResponseController(h.w).Flush() } // the client may be gone

// Status implements [Writer].
func (h *httpWriter) Status(code int, header http.Header, body string) {
	for name, values := range header {
		h.w.Header()[name] = values
	}
	h.w.WriteHeader(code)
	_, _ = io.WriteString(h.w, body) // the client may be gone
}

// Drop implements [Writer].
func (h *httpWriter) Drop() {
	h.flush()
	if conn, _, err := http.NewResponseController(h.w).Hijack(); err == nil {
		_ = conn.Close() // broken on purpose
	}
}

// Taped records the requests to next and its answers.
func Taped(t *Tape, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &Message{Verb: r.Method, Path: r.URL.Path, Header: r.Header.Clone()}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if err != nil {
			m.Err = err
		} else if r.Method == http.MethodPost || len(body) > 0 {
			m.Parse(body)
		}
		t.Received(m)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		out := &tapedWriter{ResponseWriter: w, tape: t, to: m}
		next.ServeHTTP(out, r)
		if r.Context().Err() != nil {
			t.left(m)
		} else if !out.answered() {
			out.WriteHeader(http.StatusOK)
		}
	})
}

// tapedWriter records an answer.
type tapedWriter struct {
	http.ResponseWriter
	tape *Tape
	to   *Message
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
		header := http.Header{} // with canonical names
		for name, values := range w.Header() {
			header[http.CanonicalHeaderKey(name)] = values
		}
		w.tape.setReply(w.to, header)
		w.add = w.tape.Answering(w.to, status, w.Header().Get("Content-Type"))
	}
}

// Write implements [io.Writer].
func (w *tapedWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.add(p[:max(0, n)])
	if w.to.Method() == mcp.MethodInitialize {
		w.tape.setAgreed(w.to, p)
	}
	return n, err
}

// Hijack implements [http.Hijacker]. Nothing is answered after it.
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

// Listener is where the server of one scenario listens.
type Listener struct {
	// URL is its endpoint over HTTP, Command its program over stdio.
	URL     string
	Command []string
	Close   func()
}

// ListenHTTP serves h on the network of the client.
func ListenHTTP(n Network, h http.Handler) (*Listener, error) {
	l, err := n.Listen()
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
	return &Listener{URL: "http://" + l.Addr().String() + Endpoint, Close: func() {
		_ = srv.Close() // open connections are not needed
		<-done
		serving.Wait() // so that the tape is complete
	}}, nil
}
