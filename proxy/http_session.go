package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Bounds of the streams of a session that have ended and can be read again. One may be larger.
const (
	maxEnded      = 16
	maxEndedBytes = 4 << 20
)

// session is a host of the session era over HTTP. It is the [line] for what belongs to no
// request: messages go to the stream that the host opened for them, else to that of a request.
type session struct {
	id, address string
	forwarded   http.Header // of initialize, for the server
	handler     *Handler
	host        *host

	mu      sync.Mutex
	agreed  mcp.Version
	streams map[string]*stream // of requests, by name
	ended   []*stream          // those that have ended, in that order
	number  int                // of the last stream
	own     *stream            // of no request
	asked   map[jsonrpc.ID]chan jsonrpc.Response
	tasks   bool      // the server has made one
	users   int       // HTTP requests that are open
	used    time.Time // when the last one ended
	idle    *time.Timer
	gone    bool
}

func (h *Handler) newSession(r *http.Request) *session {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	s := &session{
		id: rand.Text(), address: address, forwarded: forwarded(h.forward, r.Header), handler: h, host: h.newHost(),
		streams: map[string]*stream{}, own: newStream("0", 0), asked: map[jsonrpc.ID]chan jsonrpc.Response{}, used: time.Now(),
	}
	s.own.ask = s.ask
	s.host.line, s.host.sessions = s, true
	s.host.agreed = func(v mcp.Version) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.agreed = v
	}
	return s
}

func (s *session) version() mcp.Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreed
}

// notify implements [line].
func (s *session) notify(ctx context.Context, n jsonrpc.Notification) error {
	return s.heard().notify(ctx, n)
}

// call implements [line].
func (s *session) call(ctx context.Context, req jsonrpc.Request) (jsonrpc.Response, error) {
	return s.ask(ctx, s.heard(), req)
}

// heard returns the stream that the host most likely reads.
func (s *session) heard() *stream {
	if s.own.isAttached() {
		return s.own
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.own // the host may open it
	for _, t := range s.streams {
		if t.number > newest.number && t.isAttached() {
			newest = t
		}
	}
	return newest
}

// ask sends a request over one of the streams. The response comes in a POST of its own.
func (s *session) ask(ctx context.Context, on *stream, req jsonrpc.Request) (jsonrpc.Response, error) {
	answer := make(chan jsonrpc.Response, 1)
	s.mu.Lock()
	s.asked[req.ID] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, req.ID)
	}()
	if err := on.add(ctx, event{data: req.AppendJSON(nil)}); err != nil {
		return jsonrpc.Response{}, err
	}
	select {
	case resp := <-answer:
		return resp, nil
	case <-ctx.Done():
		return jsonrpc.Response{}, context.Cause(ctx)
	}
}

// answered takes a response of the host.
func (s *session) answered(resp jsonrpc.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.asked[resp.ID]; answer != nil {
		delete(s.asked, resp.ID)
		answer <- resp
	}
}

// open returns a stream for requests of the host that get this many responses.
func (s *session) open(answers int) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	t := newStream(strconv.Itoa(s.number), answers)
	t.ask, t.number, t.finished = s.ask, s.number, func() { s.retire(t) }
	s.streams[t.name] = t
	return t
}

// leave forgets a stream that the host has read as JSON.
func (s *session) leave(t *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, t.name)
	s.ended = slices.DeleteFunc(s.ended, func(other *stream) bool { return other == t })
}

// retire keeps a stream whose responses are there for a while: the host does not say whether it
// has read them.
func (s *session) retire(t *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[t.name] != t {
		return
	}
	s.ended = append(s.ended, t)
	size := 0
	for i := len(s.ended) - 1; i >= 0; i-- {
		size += s.ended[i].size()
		if kept := len(s.ended) - i; kept > maxEnded || kept > 1 && size > maxEndedBytes {
			for _, old := range s.ended[:i+1] {
				delete(s.streams, old.name)
			}
			s.ended = slices.Clone(s.ended[i+1:])
			return
		}
	}
}

// enter adds an HTTP request to a session.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	s.users++
	return true
}

// exit removes one.
func (s *session) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.used = time.Now()
	if s.users == 0 && s.listened() && !s.gone { // it may have left
		s.idle.Reset(s.handler.idleStop)
	}
}

// listened reports whether the host has opened the stream for what belongs to no request. Since
// then, a host that is there has it open.
func (s *session) listened() bool {
	s.own.mu.Lock()
	defer s.own.mu.Unlock()
	return s.own.reader > 0
}

// expire ends a session that nobody has used for the time that [WithSessionTimeout] sets, and its
// server before that; see [WithIdleStop].
func (s *session) expire() {
	s.mu.Lock()
	if s.inUse() {
		s.used = time.Now()
	}
	unused := time.Since(s.used)
	left := s.handler.sessionTimeout - unused
	again := left > 0 && !s.gone
	stop := s.handler.idleStop - unused
	if !s.listened() {
		stop += (silentFactor - 1) * s.handler.idleStop
	}
	if again {
		next := stop
		if stop <= 0 { // the host may come back
			next = s.handler.idleStop
		}
		s.idle.Reset(min(left, next))
	}
	stays := s.tasks
	s.mu.Unlock()
	switch {
	case !again:
		s.handler.remove(s, 0)
	case stop <= 0 && !stays:
		s.host.stopIdle()
	}
}

// inUse reports whether something of a session is open: an HTTP request, a request whose
// connection broke, or a question of the server. Requires s.mu.
func (s *session) inUse() bool { return s.users > 0 || len(s.asked) > 0 || s.host.busy() }

// unused reports whether nothing of a session is open.
func (s *session) unused() (since time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, !s.inUse()
}

func (s *session) close(d time.Duration) {
	s.mu.Lock()
	s.gone = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	s.host.drain(d, errHostGone)
	s.host.close()
	s.own.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.streams {
		t.end()
	}
}

// serve answers requests in one stream. faults are responses to what is no message.
func (s *session) serve(w http.ResponseWriter, r *http.Request, requests []jsonrpc.Request, faults ...jsonrpc.Response) {
	t := s.open(len(requests) + len(faults))
	t.forwarded = forwarded(s.handler.forward, r.Header)
	release := keepBody(r.Context())
	t.finished = func() {
		release()
		s.retire(t)
	}
	for i := range faults {
		t.answer(&faults[i])
	}
	for _, req := range requests {
		if refusal := s.host.request(req, t, s.answer(t, req)); refusal != nil {
			t.answer(refusal)
		}
	}
	version := s.version()
	t.streamed = version >= mcp.Version2025_11_25 && slices.ContainsFunc(requests, func(req jsonrpc.Request) bool { return req.Method == mcp.MethodToolsCall })
	if !t.respond(w, r, version) {
		s.leave(t)
	}
}

// answer returns what adds the response to a request to its stream. It notes a task: the server
// has it in memory.
func (s *session) answer(t *stream, req jsonrpc.Request) func(*jsonrpc.Response) {
	if req.Method != mcp.MethodToolsCall || !bytes.Contains(req.Params, []byte(`"task"`)) {
		return t.answer
	}
	return func(resp *jsonrpc.Response) {
		if resp != nil && bytes.Contains(resp.Result, []byte(`"taskId"`)) {
			s.mu.Lock()
			s.tasks = true
			s.mu.Unlock()
		}
		t.answer(resp)
	}
}

// event returns the stream of an event, and the number of the event in it.
func (s *session) event(id string) (t *stream, number int, ok bool) {
	name, text, _ := strings.Cut(id, "-")
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		return nil, 0, false
	}
	if name == s.own.name {
		return s.own, number, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.streams[name]
	return t, number, t != nil
}
