package front

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// SSEOptions configures [SSE].
type SSEOptions struct {
	// Backend is the server behind.
	Backend Backend
	// Session serves a transport on a session of its own and returns when that
	// has ended.
	Session func(context.Context, mcp.Transport) error
	// MaxBytes bounds a request body; 0 is [DefaultMaxBytes].
	MaxBytes int
	// Grace bounds the wait for running calls when the server ends; 0 is 10 s.
	Grace time.Duration
}

// SSE serves the HTTP+SSE transport of revision 2024-11-05, which later ones
// keep for old clients: GET opens a stream, whose first event names the URL that
// messages are POSTed to, and all answers come on that stream. A session lives
// as long as its stream. What a message may be is decided as over stdio.
//
// It is an [http.Handler] for one path, safe for concurrent use, and belongs
// behind a [Gate].
type SSE struct {
	opts SSEOptions
	stop chan struct{} // closed when the server ends

	mu      sync.Mutex
	ended   bool
	streams map[string]*eventStream
	open    sync.WaitGroup // Add under mu
}

// NewSSE returns a handler without streams.
func NewSSE(opts SSEOptions) *SSE {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	return &SSE{opts: opts, stop: make(chan struct{}), streams: map[string]*eventStream{}}
}

// firstMessage bounds the wait for the first message of a stream.
const firstMessage = time.Minute

// sessionParam names the session in the URL that messages are POSTed to.
const sessionParam = "session"

// eventStream is one session: messages of the client come in by feed, those of
// the server are events.
type eventStream struct {
	feed chan line
	done chan struct{} // closed when the session has ended
	user string        // whose it is, "" where nobody asks

	silent *time.Timer // ends a stream to which no message is posted

	mu   sync.Mutex
	w    http.ResponseWriter
	over bool // the handler of the stream has returned, or is about to
}

func (s *SSE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		s.stream(w, r)
	case http.MethodPost:
		s.message(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		writeFault(w, http.StatusMethodNotAllowed, invalidRequest(nil, "http", "%s is not served here", r.Method))
	}
}

// stream serves a session from its first event to its last.
func (s *SSE) stream(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	st := &eventStream{feed: make(chan line), done: make(chan struct{}), user: user(r), w: w}
	_, done, ok := s.opts.Backend.Open(address(r))
	if !ok {
		overloaded(w, nil)
		return
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	st.silent = time.AfterFunc(firstMessage, cancel)
	defer st.silent.Stop()
	if !s.enter(id, st) {
		Draining(w)
		return
	}
	defer s.open.Done()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	_ = st.event("endpoint", []byte(r.URL.Path+"?"+sessionParam+"="+id)) // a client that has gone ends the session below
	t := &Stdio{
		Out: st, Backend: inSessions{s.opts.Backend}, Session: s.opts.Session, MaxBytes: s.opts.MaxBytes, Stop: s.stop, Grace: s.opts.Grace,
		feed:   st.feed,
		origin: family.Origin{Transport: "sse", Session: id}, callers: []string{r.Header.Get("X-Agent-Name"), id},
	}
	_ = t.Serve(ctx) // whatever its reason, the session is over
	s.leave(id, st)
	st.end()
}

// enter takes a stream in, unless the server ends.
func (s *SSE) enter(id string, st *eventStream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.streams[id] = st
	s.open.Add(1)
	return true
}

// leave makes a session unknown.
func (s *SSE) leave(id string, st *eventStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
	close(st.done)
}

// message takes one message of a client. Its answer, if any, is an event; only
// what is no JSON is refused here and now.
func (s *SSE) message(w http.ResponseWriter, r *http.Request) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		writeFault(w, http.StatusUnsupportedMediaType, invalidRequest(nil, "http", "Content-Type must be application/json"))
		return
	}
	id := r.URL.Query().Get(sessionParam)
	s.mu.Lock()
	st := s.streams[id]
	s.mu.Unlock()
	switch {
	case id == "": // 400 sends a client of the newer transport here with GET
		writeFault(w, http.StatusBadRequest, invalidRequest(nil, "no_session", "messages are posted to the URL that the stream names"))
		return
	case st == nil, st.user != user(r):
		unknownStream(w)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(s.opts.MaxBytes)+1))
	if err != nil {
		writeFault(w, http.StatusBadRequest, invalidRequest(nil, "http", "the body did not arrive"))
		return
	}
	if len(body) > s.opts.MaxBytes {
		writeFault(w, http.StatusRequestEntityTooLarge, tooLarge(idInPart(body), s.opts.MaxBytes))
		return
	}
	if f := notJSON(body); f != nil {
		writeFault(w, http.StatusBadRequest, f)
		return
	}
	select {
	case st.feed <- line{data: body}:
		st.silent.Stop()
		w.WriteHeader(http.StatusAccepted)
	case <-st.done:
		unknownStream(w)
	case <-r.Context().Done():
	}
}

// user is who sends a request, as the guard before the server found out.
func user(r *http.Request) string {
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		return info.UserID
	}
	return ""
}

// notJSON returns the fault of a body that is not JSON at all, nil for others.
func notJSON(body []byte) *fault {
	if isBatch(body) {
		return nil
	}
	if _, f := parse(body); f != nil && f.err != nil && f.err.Code == jsonrpc.CodeParseError {
		return f
	}
	return nil
}

func unknownStream(w http.ResponseWriter) {
	writeFault(w, http.StatusNotFound, &fault{err: rpcError(-32001, "Session not found", map[string]any{"reason": "unknown_session"})})
}

// Drain opens no further stream, has every open one answer the calls that run,
// and waits until all have ended, or ctx does.
func (s *SSE) Drain(ctx context.Context) {
	s.mu.Lock()
	if !s.ended {
		s.ended = true
		close(s.stop)
	}
	s.mu.Unlock()
	over := make(chan struct{})
	go func() {
		s.open.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Write sends one message as an event.
func (st *eventStream) Write(b []byte) (int, error) {
	if err := st.event("message", bytes.TrimSuffix(b, []byte("\n"))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// event sends an event in one piece. Nothing may be written once the handler of
// the stream has returned.
func (st *eventStream) event(name string, data []byte) error {
	out := make([]byte, 0, len(data)+len(name)+len("event: \ndata: \n\n"))
	out = append(append(append(out, "event: "...), name...), "\ndata: "...)
	out = append(append(out, data...), "\n\n"...)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over {
		return io.ErrClosedPipe
	}
	if _, err := st.w.Write(out); err != nil {
		return err
	}
	return http.NewResponseController(st.w).Flush()
}

// end forbids further events.
func (st *eventStream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over = true
}

// inSessions is a backend without the revisions that have no sessions: they are
// not spoken over this transport.
type inSessions struct{ Backend }

// Versions implements [Backend].
func (b inSessions) Versions() []string {
	var out []string
	for _, v := range b.Backend.Versions() {
		if EraOf(v) == EraSession {
			out = append(out, v)
		}
	}
	return out
}
