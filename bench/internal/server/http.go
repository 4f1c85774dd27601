package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Stats is what the HTTP server has seen, for what a client cannot tell of itself.
type Stats struct {
	Connections int64 `json:"connections"` // TCP connections accepted, this reader's included
	Lists       int64 `json:"lists"`       // tools/list requests
	Streams     int64 `json:"streams"`     // GET streams open now
}

type web struct {
	answers *answers
	o       Options

	connections, lists, streams, silent, sessions atomic.Int64

	mu      sync.Mutex
	held    int
	release chan struct{} // closed when all that hold are there
}

// HTTP serves on a port of its own choice, writes "URL\n" to out, and ends when
// in does, so that no server outlives the process that started it.
func HTTP(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	s := &web{answers: newAnswers(o.Modern, o.Tools, o.Label), o: o, release: make(chan struct{})}
	if o.Prepare > 0 {
		s.answers.ofSize(o.Prepare)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", s.post)
	mux.HandleFunc("POST /many/{label}", s.post)
	mux.HandleFunc("DELETE /many/{label}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /mcp", s.get)
	mux.HandleFunc("DELETE /mcp", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /stats", s.stats)
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.connections.Add(1)
			}
		},
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s/mcp\n", listener.Addr()); err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	// Nothing is ever written to in: this waits for its end.
	_, readErr := io.Copy(io.Discard, in)
	closeErr := server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(readErr, closeErr)
}

func (s *web) stats(w http.ResponseWriter, _ *http.Request) {
	stats := Stats{Connections: s.connections.Load(), Lists: s.lists.Load(), Streams: s.streams.Load()}
	if err := json.NewEncoder(w).Encode(stats); err != nil {
		// The reader has gone, and with it whoever would want to know.
		return
	}
}

func (s *web) get(w http.ResponseWriter, r *http.Request) {
	if !s.o.Stream || s.o.Modern {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.streams.Add(1)
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	<-r.Context().Done()
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func (s *web) post(w http.ResponseWriter, r *http.Request) {
	kept := buffers.Get().(*[]byte) // the pool holds nothing else
	defer buffers.Put(kept)
	message, err := readBody(r, kept)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	req, err := parse(message)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if req.id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if string(req.method) == "tools/call" {
		s.call(w, r, req)
		return
	}
	switch string(req.method) {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "session-"+strconv.FormatInt(s.sessions.Add(1), 10))
	case "tools/list":
		s.lists.Add(1)
	}
	what := s.answers.plain(req)
	if label := r.PathValue("label"); label != "" && string(req.method) == "tools/list" {
		what = member("result", s.answers.list(s.o.Tools, label))
	}
	status := http.StatusOK
	if what.name == "error" {
		// 2026-07-28 says which status goes with these codes; the older
		// revision takes it as well.
		status = http.StatusNotFound
		if string(req.method) == "initialize" {
			status = http.StatusBadRequest
		}
	}
	s.send(w, status, req.id, what)
}

func (s *web) call(w http.ResponseWriter, r *http.Request, req request) {
	result := s.answers.small
	switch string(req.tool) {
	case "silent":
		s.silent.Add(1)
		s.hang(w, r)
		return
	case "half":
		s.half(w, r, req.id)
		return
	case "hold":
		if !s.hold(r.Context(), req.number("n")) {
			return
		}
	case "count":
		result = s.answers.count(int(s.silent.Load()))
	case "large":
		result = s.answers.ofSize(req.number("size"))
	}
	s.send(w, http.StatusOK, req.id, member("result", result))
}

// hold waits until n calls are there.
func (s *web) hold(ctx context.Context, n int) bool {
	s.mu.Lock()
	s.held++
	release := s.release
	if s.held >= n {
		close(release)
		s.held, s.release = 0, make(chan struct{})
	}
	s.mu.Unlock()
	select {
	case <-release:
		return true
	case <-ctx.Done():
		return false
	}
}

// hang never answers. An event stream has begun by then.
func (s *web) hang(w http.ResponseWriter, r *http.Request) {
	if s.o.SSE {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
	<-r.Context().Done()
}

// half sends the first half of an answer and then nothing.
func (s *web) half(w http.ResponseWriter, r *http.Request, id []byte) {
	whole := envelope(nil, id, member("result", s.answers.small))
	if s.o.SSE {
		w.Header().Set("Content-Type", "text/event-stream")
		whole = append([]byte("data: "), whole...)
	} else {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
	}
	if _, err := w.Write(whole[:len(whole)/2]); err != nil {
		return
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	s.silent.Add(1)
	<-r.Context().Done()
}

// send writes one answer. A client that has gone meanwhile is no failure here.
func (s *web) send(w http.ResponseWriter, status int, id []byte, what body) {
	if len(what.value) > 32<<10 {
		s.sendLarge(w, status, id, what)
		return
	}
	kept := buffers.Get().(*[]byte) // the pool holds nothing else
	defer buffers.Put(kept)
	b := (*kept)[:0]
	if s.o.SSE && status == http.StatusOK {
		w.Header().Set("Content-Type", "text/event-stream")
		b = append(envelope(append(b, "event: message\ndata: "...), id, what), "\n\n"...)
	} else {
		w.Header().Set("Content-Type", "application/json")
		b = envelope(b, id, what)
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	}
	*kept = b
	w.WriteHeader(status)
	_, err := w.Write(b)
	_ = err // the client has gone
}

// sendLarge sends prepared bytes without copying them.
func (s *web) sendLarge(w http.ResponseWriter, status int, id []byte, what body) {
	head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":`, id, what.name)
	tail := []byte("}")
	if s.o.SSE {
		w.Header().Set("Content-Type", "text/event-stream")
		head = append([]byte("event: message\ndata: "), head...)
		tail = []byte("}\n\n")
	} else {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(what.value)+len(tail)))
	}
	w.WriteHeader(status)
	for _, part := range [][]byte{head, what.value, tail} {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// readBody reads a request into memory that is used again when it is small.
func readBody(r *http.Request, kept *[]byte) ([]byte, error) {
	size := int(r.ContentLength)
	if size < 0 {
		return io.ReadAll(r.Body)
	}
	if size > 64<<10 {
		b := make([]byte, size)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	if cap(*kept) < size {
		*kept = make([]byte, size)
	}
	b := (*kept)[:size]
	_, err := io.ReadFull(r.Body, b)
	return b, err
}
