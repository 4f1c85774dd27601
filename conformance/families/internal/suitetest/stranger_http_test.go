package suitetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// strangerHTTP serves a stranger over streamable HTTP: what a session sends comes on the stream of its
// GET, but for answers.
type strangerHTTP struct {
	*strangerServer
	// leaks is the method of what goes to the newest session, or for logging/setLevel to all. It may be
	// "streams": what belongs to no request goes to all streams, or "ids": each stream numbers its events.
	// "polls" is no fault: calls are answered to clients that come back. Nor is "heartbeats": they come on
	// one stream after the other, while calls take most of a second. With "evicts" a new session ends the
	// others, and with "full" there is one at a time.
	leaks string

	mu       sync.Mutex
	sessions []*strangerSession
}

// strangerSession is one session of a stranger.
type strangerSession struct {
	in    *io.PipeWriter
	ended atomic.Bool

	mu  sync.Mutex
	due map[string]chan []byte // answers, by id
	// polled are answers, by the id of the event after which they come.
	polled map[string]chan []byte
	// gets are the streams for what is no answer, early is what came before there was one, and events
	// and turn count the events of all.
	gets   []chan []byte
	early  [][]byte
	events int
	turn   int
}

// beat sends heartbeats until the session has ended.
func (s *strangerSession) beat(ended <-chan struct{}) {
	ticks := time.NewTicker(750 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			s.send([]byte(`{"jsonrpc":"2.0","method":"notifications/com.example/heartbeat"}`), false)
		case <-ended:
			return
		}
	}
}

// send sends a line to one stream after the other, or to all.
func (s *strangerSession) send(line []byte, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gets) == 0 {
		s.early = append(s.early, line)
	}
	s.turn++
	for i, stream := range s.gets {
		if i == s.turn%len(s.gets) || all {
			stream <- line
		}
	}
}

func (h *strangerHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	message := wire.Received(body, nil)
	begins := message.Method() == mcp.MethodInitialize
	if begins && h.leaks == "full" && h.open() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s := h.session(r, begins)
	switch {
	case s == nil && r.Header.Get(wire.HeaderSession) != "":
		w.WriteHeader(http.StatusNotFound)
	case s == nil:
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != "":
		s.mu.Lock()
		answer := s.polled[r.Header.Get("Last-Event-ID")]
		s.mu.Unlock()
		w.Header().Set("Content-Type", wire.MediaStream)
		_, _ = fmt.Fprintf(w, "id: %s-answer\ndata: %s\n\n", r.Header.Get("Last-Event-ID"), <-answer)
	case r.Method == http.MethodGet:
		h.stream(w, r, s)
	case r.Method == http.MethodDelete && h.leaks == "full":
		s.ended.Store(true)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case message.Method() == "" || message.ID() == "":
		_, _ = s.in.Write(append(body, '\n'))
		w.WriteHeader(http.StatusAccepted)
	default:
		answer := make(chan []byte, 1)
		s.mu.Lock()
		s.due[message.ID()] = answer
		s.mu.Unlock()
		w.Header().Set(wire.HeaderSession, h.id(s))
		w.Header().Set("Content-Type", wire.MediaJSON)
		_, _ = s.in.Write(append(body, '\n'))
		if h.leaks == "polls" && message.Method() == mcp.MethodToolsCall {
			event := "of-" + strings.Trim(message.ID(), `"`)
			s.mu.Lock()
			s.polled[event] = answer
			s.mu.Unlock()
			w.Header().Set("Content-Type", wire.MediaStream)
			_, _ = fmt.Fprintf(w, "id: %s\nretry: 100\ndata:\n\n", event)
			return
		}
		select {
		case data := <-answer:
			_, _ = w.Write(data)
		case <-r.Context().Done():
		}
	}
}

func (h *strangerHTTP) id(s *strangerSession) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, each := range h.sessions {
		if each == s {
			return fmt.Sprintf("5f1c9a64-0000-4000-8000-%012d", i)
		}
	}
	return ""
}

// session returns the session of a request, a new one for initialize.
func (h *strangerHTTP) session(r *http.Request, begins bool) *strangerSession {
	if !begins {
		h.mu.Lock()
		all := h.sessions
		h.mu.Unlock()
		for _, s := range all {
			if h.id(s) == r.Header.Get(wire.HeaderSession) && !s.ended.Load() {
				return s
			}
		}
		return nil
	}
	in, out := io.Pipe()
	s := &strangerSession{in: out, due: map[string]chan []byte{}, polled: map[string]chan []byte{}}
	h.mu.Lock()
	for _, each := range h.sessions {
		each.ended.Store(each.ended.Load() || h.leaks == "evicts")
	}
	h.sessions = append(h.sessions, s)
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.serve(context.WithoutCancel(r.Context()), in, strangerOut{h, s})
	}()
	if h.leaks == "heartbeats" {
		go s.beat(ended)
	}
	return s
}

// open reports whether there is a session that has not ended.
func (h *strangerHTTP) open() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.sessions, func(s *strangerSession) bool { return !s.ended.Load() })
}

// stream sends what is no answer.
func (h *strangerHTTP) stream(w http.ResponseWriter, r *http.Request, s *strangerSession) {
	w.Header().Set("Content-Type", wire.MediaStream)
	flusher := http.NewResponseController(w)
	_ = flusher.Flush()
	stream, own := make(chan []byte, 1000), 0
	s.mu.Lock()
	s.gets = append(s.gets, stream)
	for _, line := range s.early {
		stream <- line
	}
	s.early = nil
	s.mu.Unlock()
	for {
		select {
		case line := <-stream:
			s.mu.Lock()
			s.events++
			own++
			id := s.events
			s.mu.Unlock()
			if h.leaks == "ids" {
				id = own
			}
			_, _ = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", id, line)
			_ = flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (h *strangerHTTP) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		_ = s.in.Close()
	}
}

// strangerOut takes the lines of a session.
type strangerOut struct {
	*strangerHTTP
	s *strangerSession
}

func (o strangerOut) Write(line []byte) (int, error) {
	message := wire.Received(bytes.TrimSpace(line), nil)
	if message.IsResponse() {
		o.s.mu.Lock()
		answer := o.s.due[message.ID()]
		delete(o.s.due, message.ID())
		o.s.mu.Unlock()
		if answer != nil {
			answer <- bytes.Clone(bytes.TrimSpace(line))
		}
		return len(line), nil
	}
	to := o.s
	o.mu.Lock()
	if message.Method() == o.leaks {
		to = o.sessions[len(o.sessions)-1]
	}
	o.mu.Unlock()
	to.send(bytes.Clone(bytes.TrimSpace(line)), o.leaks == "streams")
	return len(line), nil
}

// strangerLeaks are the methods of what may leak, with the checks that it breaks.
func strangerLeaks() map[string][]string {
	return map[string][]string{
		"":                         {},
		"polls":                    {},
		"heartbeats":               {},
		mcp.MethodProgress:         {"CALL-12/progress"},
		mcp.MethodResourcesUpdated: {"CALL-12/news"},
		mcp.MethodLoggingSetLevel:  {"CALL-12/level"},
		"streams":                  {"CALL-12/once"},
		"ids":                      {"SSE-01/unique"},
	}
}

// TestStranger_Sessions: what belongs to one session and reaches another.
func TestStranger_Sessions(t *testing.T) {
	t.Parallel()
	for leaks, want := range strangerLeaks() {
		t.Run(leaks, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stranger := &strangerServer{list: func(tools []reply) { delete(tools[0], "annotations") }}
				if leaks == mcp.MethodLoggingSetLevel {
					stranger.oneLevel = &atomic.Value{}
				}
				only := []string{"calls", "SSE-01/unique"}
				if leaks == "heartbeats" {
					only = []string{"CALL-12"} // a call that is canceled is answered all the same
					stranger.before = func(*strangerTalk, strangerRequest) { time.Sleep(900 * time.Millisecond) }
				}
				h := &strangerHTTP{strangerServer: stranger, leaks: leaks}
				defer h.close()
				server := memhttp.New(h)
				defer server.Close()
				yes := true
				report, err := checks.Run(t.Context(), &conformance.URLSubject{URL: "http://stranger/", RoundTripper: server.Transport()}, conformance.Options{
					Revisions: []mcp.Version{mcp.LatestSession}, Only: only, SideEffects: conformance.SideEffectsReadOnly,
					Calls: conformance.Calls{Tools: map[string]conformance.ToolCalls{"add": {Call: &yes}}},
				})
				require.NoError(t, err)
				passed := map[string]bool{}
				for _, r := range report.Results {
					passed[r.ID] = r.Status == conformance.Pass
				}
				require.Equal(t, want, brokenIDs(report))
				if leaks == "" {
					for _, id := range []string{"CALL-12/progress", "CALL-12/news", "CALL-12/level", "CALL-12/once", "SSE-01/unique"} {
						require.True(t, passed[id], id)
					}
				}
			})
		})
	}
}

// TestStranger_FewSessions: a server may have one session at a time, and may end a session whenever it
// likes. What needs two of them is not decided then, and nothing fails that does not fail otherwise.
func TestStranger_FewSessions(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, kind string) (failed map[string]string, passed int) {
		failed = map[string]string{}
		synctest.Test(t, func(t *testing.T) {
			h := &strangerHTTP{strangerServer: &strangerServer{}, leaks: kind}
			defer h.close()
			server := memhttp.New(h)
			defer server.Close()
			report, err := checks.Run(t.Context(), &conformance.URLSubject{URL: "http://stranger/", RoundTripper: server.Transport()}, conformance.Options{
				Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"lifecycle", "base", "calls", "tools", "HTTP-01*", "HTTP-04*"}, SideEffects: conformance.SideEffectsReadOnly,
			})
			require.NoError(t, err)
			for _, r := range report.Results {
				switch r.Status {
				case conformance.Pass:
					passed++
				case conformance.Fail, conformance.Warn:
					failed[r.ID] = r.Actual
				case conformance.Skip, conformance.Inconclusive, conformance.Error:
				}
			}
		})
		return failed, passed
	}
	always, all := run(t, "")
	for _, kind := range []string{"evicts", "full"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			failed, passed := run(t, kind)
			maps.DeleteFunc(failed, func(id, _ string) bool { return always[id] != "" })
			require.Empty(t, failed)
			require.Greater(t, passed, all*3/4)
		})
	}
}
