package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// breaking is a server with a session that starts its answer to "m" with a text and closes the
// stream. A script answers GETs; ID in it is replaced by the id of the call. Posts counts the
// requests "m".
type breaking struct {
	text   string
	script []replier
	posts  atomic.Int64

	mu sync.Mutex
	id string
}

func (b *breaking) reply() replier {
	post := func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() != "m" {
			withSession("s1")(w, r, p)
			return
		}
		b.posts.Add(1)
		b.mu.Lock()
		b.id = p.id()
		b.mu.Unlock()
		says(b.text, false)(w, r, p)
	}
	script := make([]replier, 0, len(b.script))
	for _, next := range b.script {
		script = append(script, func(w http.ResponseWriter, r *http.Request, p posted) {
			next(&replacing{ResponseWriter: w, id: b.lastID}, r, p)
		})
	}
	return getter(post, script...)
}

func (b *breaking) lastID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id
}

// replacing replaces ID by the id of the last call.
type replacing struct {
	http.ResponseWriter
	id func() string
}

func (w *replacing) WriteString(s string) (int, error) {
	_, err := w.ResponseWriter.Write([]byte(strings.ReplaceAll(s, "ID", w.id())))
	return len(s), err
}

func (w *replacing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

const priming = "id: p1\nretry: 500\ndata:\n\n"

// A call whose stream ends or breaks before the answer continues with a GET after the last event,
// after the server's delay. The request is sent once.
func TestHTTPResume(t *testing.T) {
	t.Parallel()
	id := func(id, event string) string { return "id: " + id + "\n" + event }
	tests := []struct {
		name, text string
		script     []replier
		wait       time.Duration // when the answer arrives; 0 means soon
		last       string        // the last position requested
		gets       int
		notes      int
	}{
		{"closed after a priming event", priming, []replier{says(goodEvent, false)}, 500 * time.Millisecond, "p1", 1, 0},
		{"the stream stays open after the answer", priming, []replier{says(goodEvent, true)}, 500 * time.Millisecond, "p1", 1, 0},
		{
			"polling", priming,
			[]replier{says(id("p2", "\n"), false), says(id("p3", "retry: 1500\n\n"), false), says(goodEvent, true)},
			2500 * time.Millisecond, "p3", 3, 0,
		},
		{"without a time", id("a", noteEvent), []replier{says(goodEvent, false)}, 0, "a", 1, 1},
		{"in the middle of an event", id("a", noteEvent) + "id: b\ndata: {", []replier{says(goodEvent, false)}, 0, "a", 1, 1},
		{
			"replayed twice", id("a", noteEvent) + id("b", noteEvent),
			[]replier{says(id("b", noteEvent)+id("c", noteEvent), false), says(id("c", noteEvent)+id("b", noteEvent)+id("d", goodEvent), false)},
			0, "b", 2, 3,
		},
		{"an answer under an id that was there", id("a", noteEvent), []replier{says(id("a", goodEvent), false)}, 0, "a", 1, 1},
		{"out of order meanwhile", priming, []replier{status(503), status(429), status(500), says(goodEvent, false)}, 0, "p1", 4, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &breaking{text: tt.text, script: tt.script}
			inBubble(t, b.reply(), func(t *testing.T, p *page, s *web) {
				p.answers("initialize")
				p.UseVersion("V1")
				began := time.Now()
				require.JSONEq(t, `{}`, string(p.answers("m").Result))
				if tt.wait > 0 {
					require.Equal(t, tt.wait, time.Since(began))
				} else {
					require.Less(t, time.Since(began), 30*time.Second)
				}
				gets := s.find("GET")
				require.Len(t, gets, tt.gets)
				h := gets[len(gets)-1].header
				require.Equal(t, "s1", h.Get("Mcp-Session-Id"))
				require.Equal(t, "V1", h.Get("Mcp-Protocol-Version"))
				require.Equal(t, "text/event-stream", h.Get("Accept"))
				require.Empty(t, h.Values("Content-Type"))
				require.Equal(t, int64(1), b.posts.Load())
				faults, notes, _ := p.count()
				require.Equal(t, []int{0, tt.notes}, []int{faults, notes})
				for _, n := range p.notes {
					require.Equal(t, "note for 2", n, "it has the id of its call")
				}
				p.answers("another")
			})
		})
	}
}

// A call that cannot be resumed is lost, and its delivery is unknown.
func TestHTTPResumeFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		script     []replier
		reason     transport.Reason
		says       string
		gets       int
	}{
		{"no event id", noteEvent, []replier{status(500)}, transport.ReasonLost, "ended before the answer", 0},
		{"an id that was taken back", "id: a\n\nid:\n\n", []replier{status(500)}, transport.ReasonLost, "ended before the answer", 0},
		{"not offered", priming, []replier{status(405)}, transport.ReasonLost, "refused to resume it (status 405)", 1},
		{"a place that is not known", priming, []replier{status(400)}, transport.ReasonLost, "refused to resume it (status 400)", 1},
		{"no stream", priming, []replier{status(202)}, transport.ReasonLost, "refused to resume it (status 202)", 1},
		{"a redirect", priming, []replier{status(302)}, transport.ReasonLost, "refused to resume it", 1},
		{"the session is gone", priming, []replier{status(404)}, transport.ReasonSession, "session", 1},
		{"out of order for good", priming, []replier{status(502)}, transport.ReasonLost, "in 10 tries", 10},
		{"a broken answer", priming, []replier{says(`data: {"jsonrpc":"2.0","id":ID,"result":1,"result":2}`+"\n\n", true)}, transport.ReasonProtocol, "duplicate", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &breaking{text: tt.text, script: tt.script}
			inBubble(t, b.reply(), func(t *testing.T, p *page, s *web) {
				p.answers("initialize")
				_, err := p.Call(t.Context(), p.request("m"))
				f := failure(t, err, tt.reason)
				require.ErrorContains(t, f, tt.says)
				require.False(t, f.NotSent || f.Rejected)
				require.Len(t, s.find("GET"), tt.gets)
				require.Equal(t, int64(1), b.posts.Load())
				_, lost, _ := p.events()
				require.Zero(t, lost, "the call's failure says it")
				if tt.reason == transport.ReasonSession {
					require.True(t, p.fails("m", tt.reason).NotSent)
				}
			})
		})
	}
}

// All delays are within the time of the call, and Close ends them.
func TestHTTPResumeIsBounded(t *testing.T) {
	t.Parallel()
	long := "id: a\nretry: 100000\n\n"
	tests := []struct {
		name, text string
		script     []replier
		wait       jsonrpc.Wait
		end        func(p *page) context.Context
		reason     transport.Reason
		err        error
	}{
		{"maximum", long, []replier{status(500)}, jsonrpc.Wait{Max: 20 * time.Second}, nil, transport.ReasonTimeout, jsonrpc.ErrMaxWait},
		{"silence", long, []replier{status(500)}, jsonrpc.Wait{Idle: 20 * time.Second}, nil, transport.ReasonTimeout, jsonrpc.ErrIdle},
		{"polling forever", priming, []replier{says("id: a\n\n", false)}, jsonrpc.Wait{Max: 20 * time.Second}, nil, transport.ReasonTimeout, jsonrpc.ErrMaxWait},
		{"the server hangs", priming, []replier{func(_ http.ResponseWriter, r *http.Request, _ posted) { <-r.Context().Done() }}, jsonrpc.Wait{Max: 20 * time.Second}, nil, transport.ReasonTimeout, jsonrpc.ErrMaxWait},
		{"caller", long, []replier{status(500)}, jsonrpc.Wait{}, func(p *page) context.Context {
			ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
			p.Cleanup(cancel)
			return ctx
		}, transport.ReasonCanceled, context.DeadlineExceeded},
		{"Close", long, []replier{status(500)}, jsonrpc.Wait{}, func(p *page) context.Context {
			time.AfterFunc(20*time.Second, func() { _ = p.Close() })
			return p.Context()
		}, transport.ReasonClosed, jsonrpc.ErrClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, (&breaking{text: tt.text, script: tt.script}).reply(), func(t *testing.T, p *page, _ *web) {
				p.answers("initialize")
				ctx := t.Context()
				if tt.end != nil {
					ctx = tt.end(p)
				}
				req := p.request("m")
				req.Wait = tt.wait
				began := time.Now()
				_, err := p.Call(ctx, req)
				require.ErrorIs(t, failure(t, err, tt.reason), tt.err)
				require.False(t, failure(t, err, tt.reason).NotSent)
				require.Equal(t, 20*time.Second, time.Since(began))
			})
		})
	}
}

// The answer to a call whose stream broke may arrive on the server's own stream, while the call
// waits.
func TestHTTPResumeElsewhere(t *testing.T) {
	t.Parallel()
	own := func(w http.ResponseWriter, r *http.Request, _ posted) {
		pause(r, 3*time.Second)
		says(goodEvent, true)(w, r, posted{})
	}
	inBubble(t, (&breaking{text: "id: a\nretry: 60000\n\n", script: []replier{own}}).reply(), func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		began := time.Now()
		p.answers("m")
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Len(t, s.find("GET"), 1)
	})
}

// Nothing is resumed in the stateless era, whatever ids and delays arrive, and neither is an
// initialize without a session.
func TestHTTPNoResume(t *testing.T) {
	t.Parallel()
	reply := func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "initialize" && p.id() != "1" {
			w.Header().Set("Mcp-Session-Id", "s1")
		}
		if p.verb == http.MethodGet {
			says(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", "2"), false)(w, r, p)
			return
		}
		says(priming, false)(w, r, p)
	}
	inBubble(t, reply, func(t *testing.T, p *page, s *web) {
		_ = p.fails("initialize", transport.ReasonLost)
		require.Empty(t, s.find("GET"))
		p.answers("initialize") // with a session, it is resumed
		require.Len(t, s.find("GET"), 1)
		require.Equal(t, "s1", s.find("GET")[0].header.Get("Mcp-Session-Id"))
		req := p.request("m")
		req.Mirror = &transport.Mirror{Version: "V2"}
		_, err := p.Call(t.Context(), req)
		require.ErrorContains(t, failure(t, err, transport.ReasonLost), "ended before the answer")
		require.Len(t, s.find("GET"), 1)
	})
}
