package faults

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"

	"github.com/mainstay-mcp/mainstay/internal/sse"
)

// reply is the whole answer of upstream.
type reply struct {
	status int
	header http.Header
	body   []byte   // when it was no event stream
	before [][]byte // messages of the stream that are not the answer, when nobody took them
	answer []byte   // nil: there is none
}

// ask forwards the request and waits for the answer. Earlier messages go to other
// immediately, or into the reply if other is nil.
func (v *visit) ask(body []byte, other func([]byte)) reply {
	ctx, cancel := context.WithCancel(v.r.Context())
	in := newIntake()
	var done sync.WaitGroup
	defer done.Wait()
	defer cancel()
	defer func() { _ = in.from.Close() }()
	done.Go(func() { in.serve(v.upstream, v.outgoing(ctx, body)) })
	v.proxy.note(v.call, sent)
	<-in.begun
	got := reply{status: in.status, header: in.sent}
	if kind, _, _ := mime.ParseMediaType(in.sent.Get("Content-Type")); kind == "text/event-stream" {
		v.events(in.from, &got, other)
	} else {
		got.body, _ = io.ReadAll(in.from) // what came before an error is the answer
		for _, one := range members(got.body) {
			if m := parse(one); m.answers(v.req.ID) {
				got.answer = bytes.TrimSpace(got.body)
			}
		}
	}
	if got.answer != nil || len(got.body) > 0 {
		v.proxy.note(v.call, answered)
	}
	return got
}

// events reads a stream up to the answer.
func (v *visit) events(from io.Reader, got *reply, other func([]byte)) {
	events := sse.NewReader(from, maxBody, maxBody)
	defer events.Free()
	for {
		e, err := events.Next()
		if err != nil {
			return
		}
		if len(e.Data) == 0 {
			continue
		}
		data := bytes.Clone(e.Data)
		switch {
		case parse(data).answers(v.req.ID):
			got.answer = data
			return
		case other != nil:
			other(data)
		default:
			got.before = append(got.before, data)
		}
	}
}

// relay sends the answer of upstream; out has the part that was sent already.
func (got reply) relay(v *visit, out *sink) {
	if out == nil {
		out = &sink{v: v}
	}
	out.header = got.header
	if got.body != nil && !out.streaming {
		v.answer(statusReply{status: got.status, header: got.header, body: got.body, right: got.answer != nil})
		return
	}
	for _, one := range got.before {
		out.event(one)
	}
	if got.answer != nil {
		v.deliver(func() bool { return out.event(got.answer) })
	}
}

// intake is the ResponseWriter of upstream, from which its answer is read.
type intake struct {
	header http.Header
	once   sync.Once
	begun  chan struct{} // closed when status and sent are there
	status int
	sent   http.Header
	from   *io.PipeReader
	to     *io.PipeWriter
}

func newIntake() *intake {
	in := &intake{header: http.Header{}, begun: make(chan struct{})}
	in.from, in.to = io.Pipe()
	return in
}

func (in *intake) serve(upstream http.Handler, r *http.Request) {
	defer func() {
		// A handler aborts its answer with ErrAbortHandler.
		if broken := recover(); broken != nil && broken != any(http.ErrAbortHandler) {
			panic(broken)
		}
		in.WriteHeader(http.StatusOK)
		_ = in.to.Close() // a pipe's never fails
	}()
	upstream.ServeHTTP(in, r)
}

// Header implements [http.ResponseWriter].
func (in *intake) Header() http.Header { return in.header }

// WriteHeader implements [http.ResponseWriter].
func (in *intake) WriteHeader(status int) {
	if status < 200 {
		return
	}
	in.once.Do(func() {
		in.status, in.sent = status, in.header.Clone()
		close(in.begun)
	})
}

// Write implements [http.ResponseWriter].
func (in *intake) Write(b []byte) (int, error) {
	in.WriteHeader(http.StatusOK)
	return in.to.Write(b)
}

// Flush implements [http.Flusher].
func (in *intake) Flush() { in.WriteHeader(http.StatusOK) }

// sink writes the messages of an answer: as an event stream, or as a body if there is only
// one.
type sink struct {
	v         *visit
	header    http.Header // upstream's
	streaming bool
	first     *piece // held back until it is known whether another follows
}

// other is a message before the answer.
func (s *sink) other(data []byte) { s.event(data) }

// put writes the next piece and reports whether more may follow.
func (s *sink) put(one piece) bool {
	if !pause(s.v.r.Context(), one.wait) {
		return false
	}
	switch {
	case one.kind == lost:
		s.v.abort()
		return false
	case one.kind == silent:
		// A first message without followers is still a message of a stream.
		return s.release() && s.v.held()
	case one.last && !s.streaming && s.first == nil:
		s.first = &one
		s.end()
		return false
	case !s.streaming && s.first == nil:
		s.first = &one
		return true
	}
	return s.release() && s.write(one)
}

func (s *sink) release() bool {
	if s.first == nil {
		return true
	}
	one := *s.first
	s.first = nil
	return s.write(one)
}

func (s *sink) write(one piece) bool {
	if !one.right {
		return s.event(one.data)
	}
	return s.v.deliver(func() bool { return s.event(one.data) })
}

// end writes a single message as a body.
func (s *sink) end() {
	if s.first == nil {
		return
	}
	one := *s.first
	s.first = nil
	s.v.answer(statusReply{status: http.StatusOK, header: s.header, body: one.data, right: one.right})
}

// open begins the event stream.
func (s *sink) open() {
	if s.streaming {
		return
	}
	s.streaming = true
	h := s.v.w.Header()
	if id := s.header.Get(sessionHeader); id != "" {
		h.Set(sessionHeader, id)
	}
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	s.v.w.WriteHeader(http.StatusOK)
	s.flush()
}

// event sends one message and reports whether it could.
func (s *sink) event(data []byte) bool {
	return s.send(sse.AppendEvent(nil, sse.Event{Data: data}))
}

// send writes text to the stream.
func (s *sink) send(text []byte) bool {
	s.open()
	if _, err := s.v.w.Write(text); err != nil {
		return false
	}
	return s.flush()
}

func (s *sink) flush() bool { return http.NewResponseController(s.v.w).Flush() == nil }

// statusReply is an answer with one body.
type statusReply struct {
	status int
	header http.Header
	body   []byte
	right  bool // the client has its answer by this
}

// answer writes it.
func (v *visit) answer(a statusReply) {
	h := v.w.Header()
	for name, values := range a.header {
		if name != "Content-Length" && name != "Transfer-Encoding" {
			h[name] = values
		}
	}
	if h.Get("Content-Type") == "" && len(a.body) > 0 || bytes.HasPrefix([]byte(h.Get("Content-Type")), []byte("text/event-stream")) {
		h.Set("Content-Type", "application/json")
	}
	if a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	v.w.WriteHeader(a.status)
	if !a.right {
		_, _ = v.w.Write(a.body) // nobody waits for a refusal
		return
	}
	v.deliver(func() bool {
		_, err := v.w.Write(a.body)
		return err == nil && http.NewResponseController(v.w).Flush() == nil
	})
}

// deliver calls Proxy.deliver for this request.
func (v *visit) deliver(write func() bool) bool { return v.proxy.deliver(v.call, write) }

// abort breaks the connection, or the HTTP/2 stream.
func (v *visit) abort() { panic(http.ErrAbortHandler) }
