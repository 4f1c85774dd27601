package transport_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

type replier = func(w http.ResponseWriter, r *http.Request, p posted)

// getter answers POSTs with post, and each GET with the next element of a script; the last one
// repeats.
func getter(post replier, script ...replier) replier {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.verb != http.MethodGet {
			post(w, r, p)
			return
		}
		mu.Lock()
		next := script[0]
		if len(script) > 1 {
			script = script[1:]
		}
		mu.Unlock()
		next(w, r, p)
	}
}

// status rejects the request.
func status(code int) replier {
	return func(w http.ResponseWriter, _ *http.Request, _ posted) { w.WriteHeader(code) }
}

// says sends text as an event stream and then closes it, or keeps it open.
func says(text string, stay bool) replier {
	return func(w http.ResponseWriter, r *http.Request, _ posted) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, text)
		if stay {
			<-r.Context().Done()
		}
	}
}

const noteEvent = "data: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\n"

func (p *page) events() (notes, lost, gaps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.notes), p.lost, p.gaps
}

// The server's own stream carries messages of the server, with the session's id and version, even
// the answer to a call, and ends with the connection.
func TestHTTPOwnStream(t *testing.T) {
	t.Parallel()
	text := "id: 1\ndata:\n\n" + noteEvent +
		`data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}` + "\n\n" +
		`data: {"jsonrpc":"2.0","id":"nobody","result":{}}` + "\n\n"
	var arrived atomic.Value
	post := func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "elsewhere" {
			arrived.Store(p.id())
			<-r.Context().Done()
			return
		}
		withSession("s1")(w, r, p)
	}
	inBubble(t, getter(post, func(w http.ResponseWriter, r *http.Request, _ posted) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, text)
		pause(r, time.Second)
		write(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"here\":1}}\n\n", arrived.Load()))
		<-r.Context().Done()
	}), func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		p.UseVersion("V1")
		require.Empty(t, s.find("GET"), "nothing is opened that was not asked for")
		p.Conn.(streamer).OpenStream()
		p.Conn.(streamer).OpenStream() // there is one already
		synctest.Wait()
		got := s.find("GET")
		require.Len(t, got, 1)
		require.Equal(t, "text/event-stream", got[0].header.Get("Accept"))
		require.Equal(t, "s1", got[0].header.Get("Mcp-Session-Id"))
		require.Equal(t, "V1", got[0].header.Get("Mcp-Protocol-Version"))
		require.Empty(t, got[0].header.Values("Last-Event-Id"))
		require.Empty(t, got[0].header.Values("Content-Type"))
		faults, notes, asked := p.count()
		require.Equal(t, []int{1, 1, 1}, []int{faults, notes, asked})
		require.Equal(t, "note for ", p.notes[0])
		require.JSONEq(t, `{"here":1}`, string(p.answers("elsewhere").Result))
		p.answers("another")
		began := time.Now()
		require.NoError(t, p.Close())
		require.Zero(t, time.Since(began))
		require.Len(t, s.find("GET"), 1)
	})
}

// A server without a stream gets no further GETs, and its calls work; a failing one is asked
// again.
func TestHTTPOwnStreamRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 204, 301, 400, 401, 403, 405, 406, 409} {
		inBubble(t, getter(withSession("s1"), status(code)), func(t *testing.T, p *page, s *web) {
			p.answers("initialize")
			p.Conn.(streamer).OpenStream()
			time.Sleep(time.Hour)
			require.Len(t, s.find("GET"), 1, code)
			p.answers("m")
			_, lost, gaps := p.events()
			require.Zero(t, lost+gaps, code)
		})
	}
	for _, code := range []int{408, 429, 500, 503} {
		inBubble(t, getter(withSession("s1"), status(code), status(code), says(noteEvent, true)), func(t *testing.T, p *page, s *web) {
			p.answers("initialize")
			p.Conn.(streamer).OpenStream()
			time.Sleep(time.Minute)
			require.Len(t, s.find("GET"), 3, code)
			notes, lost, gaps := p.events()
			require.Equal(t, []int{1, 0, 0}, []int{notes, lost, gaps}, "there was no stream before")
		})
	}
}

// Retry-After also delays a reopened stream.
func TestHTTPOwnStreamRetryAfter(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter, _ *http.Request, _ posted) {
		w.Header().Set("Retry-After", "100")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	inBubble(t, getter(withSession("s1"), busy, says(noteEvent, true)), func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		time.Sleep(99 * time.Second)
		require.Len(t, s.find("GET"), 1)
		time.Sleep(2 * time.Second)
		require.Len(t, s.find("GET"), 2)
	})
}

// A stream that broke is resumed after its last event, after the exact delay of the server.
// Repeated events are not delivered again, and none is lost.
func TestHTTPOwnStreamResumes(t *testing.T) {
	t.Parallel()
	first := "retry: 700\nid: a\n" + noteEvent + "id: b\n" + noteEvent
	again := "id: b\n" + noteEvent + "id: c\n" + noteEvent
	inBubble(t, getter(withSession("s1"), says(first, false), says(again, true)), func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		time.Sleep(699 * time.Millisecond)
		require.Len(t, s.find("GET"), 1)
		time.Sleep(2 * time.Millisecond)
		require.Len(t, s.find("GET"), 2)
		require.Equal(t, "b", s.find("GET")[1].header.Get("Last-Event-Id"))
		notes, lost, gaps := p.events()
		require.Equal(t, []int{3, 0, 0}, []int{notes, lost, gaps})
	})
}

// A very long delay is clamped.
func TestHTTPOwnStreamLongRetry(t *testing.T) {
	t.Parallel()
	inBubble(t, getter(withSession("s1"), says("retry: 99999999999999999999\nid: a\n\n", false), says("", true)), func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		time.Sleep(5*time.Minute - time.Second)
		require.Len(t, s.find("GET"), 1)
		time.Sleep(2 * time.Second)
		require.Len(t, s.find("GET"), 2)
	})
}

// Without a position, or with one that the server rejects, notifications may have been lost,
// which is reported once.
func TestHTTPOwnStreamGap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script []replier
		gets   int
	}{
		{"no ids", []replier{says(noteEvent, false), says("", true)}, 2},
		{"the id is taken back", []replier{says("id: a\n"+noteEvent+"id:\n\n", false), says("", true)}, 2},
		{"the place is not known", []replier{says("id: a\n"+noteEvent, false), status(400), says("", true)}, 3},
		{"not offered any more", []replier{says("id: a\n"+noteEvent, false), status(405), status(405)}, 3},
		{"out of order meanwhile", []replier{says(noteEvent, false), status(502), status(502), says("", true)}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, getter(withSession("s1"), tt.script...), func(t *testing.T, p *page, s *web) {
				p.answers("initialize")
				p.Conn.(streamer).OpenStream()
				time.Sleep(time.Hour)
				notes, lost, gaps := p.events()
				require.Equal(t, []int{1, 0, 1}, []int{notes, lost, gaps})
				gets := s.find("GET")
				require.Len(t, gets, tt.gets)
				require.Empty(t, gets[len(gets)-1].header.Get("Last-Event-Id"))
			})
		})
	}
}

// A stream that ends at once is not reopened in a storm, whatever delay it requests; one that
// lasts is reopened soon.
func TestHTTPOwnStreamBacksOff(t *testing.T) {
	t.Parallel()
	lasting := func(w http.ResponseWriter, r *http.Request, _ posted) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, noteEvent)
		pause(r, 10*time.Second)
	}
	tests := []struct {
		name        string
		reply       replier
		least, most int // in an hour
	}{
		{"clean end", says("", false), 120, 600},
		{"an event and the end", says("id: 1\n"+noteEvent, false), 120, 600},
		{"retry 0", says("retry: 0\n"+noteEvent, false), 120, 600},
		{"retry that is a pace", says("retry: 2000\nid: 1\n\n", false), 1799, 1801},
		{"out of order", status(503), 120, 600},
		{"hangs up", func(http.ResponseWriter, *http.Request, posted) { panic(http.ErrAbortHandler) }, 120, 600},
		{"lasting", lasting, 330, 360},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, getter(withSession("s1"), tt.reply), func(t *testing.T, p *page, s *web) {
				p.answers("initialize")
				p.Conn.(streamer).OpenStream()
				time.Sleep(time.Hour)
				n := len(s.find("GET"))
				require.GreaterOrEqual(t, n, tt.least)
				require.LessOrEqual(t, n, tt.most)
				p.answers("m") // its failures do not affect calls
			})
		})
	}
}

// If the server does not know the session of the stream, that is reported and the stream ends.
// The next session has its own stream.
func TestHTTPOwnStreamSessionLost(t *testing.T) {
	t.Parallel()
	unknown := func(w http.ResponseWriter, _ *http.Request, _ posted) {
		http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, http.StatusBadRequest)
	}
	for _, gone := range []replier{status(404), unknown} {
		inBubble(t, getter(withSession("s1"), says("id: a\n"+noteEvent, false), gone, says(noteEvent, true)), func(t *testing.T, p *page, s *web) {
			p.answers("initialize")
			p.Conn.(streamer).OpenStream()
			time.Sleep(time.Hour)
			require.Len(t, s.find("GET"), 2)
			_, lost, gaps := p.events()
			require.Equal(t, []int{1, 0}, []int{lost, gaps})
			require.True(t, p.fails("m", transport.ReasonSession).NotSent)
			p.Conn.(streamer).OpenStream() // there is no session
			synctest.Wait()
			require.Len(t, s.find("GET"), 2)
			p.answers("initialize")
			p.Conn.(streamer).OpenStream()
			synctest.Wait()
			require.Len(t, s.find("GET"), 3)
			require.Empty(t, s.find("GET")[2].header.Get("Last-Event-Id"), "a place in another session")
		})
	}
}

// A server without GET may answer 404, which also means a lost session. That is believed once,
// and then the session works without a stream.
func TestHTTPOwnStreamNotFound(t *testing.T) {
	t.Parallel()
	inBubble(t, getter(withSession("s1"), status(404)), func(t *testing.T, p *page, s *web) {
		for range 3 {
			p.answers("initialize")
			p.Conn.(streamer).OpenStream()
			synctest.Wait()
		}
		_, lost, _ := p.events()
		require.Equal(t, 1, lost)
		require.Len(t, s.find("GET"), 3)
		p.answers("m")
	})
}

// A call that finds the session lost closes the stream; initialize replaces it.
func TestHTTPOwnStreamFollowsTheSession(t *testing.T) {
	t.Parallel()
	var sessions int
	var open sync.WaitGroup
	reply := getter(func(w http.ResponseWriter, r *http.Request, p posted) {
		switch p.method() {
		case "initialize":
			sessions++
			withSession(fmt.Sprint("s", sessions))(w, r, p)
		case "gone":
			w.WriteHeader(http.StatusNotFound)
		default:
			answerAll(w, r, p)
		}
	}, func(w http.ResponseWriter, r *http.Request, _ posted) {
		open.Add(1)
		defer open.Done()
		says("", true)(w, r, posted{})
	})
	inBubble(t, reply, func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		synctest.Wait()
		require.True(t, p.fails("gone", transport.ReasonSession).Rejected)
		open.Wait()
		_, lost, gaps := p.events()
		require.Zero(t, lost+gaps, "the call's failure says it")
		for range 2 { // the second replaces an open stream
			p.answers("initialize")
			p.Conn.(streamer).OpenStream()
			synctest.Wait()
		}
		gets := s.find("GET")
		require.Len(t, gets, 3)
		require.Equal(t, "s3", gets[2].header.Get("Mcp-Session-Id"))
	})
}

// Only unreadable answers end a call from the server's own stream; the stream continues.
func TestHTTPOwnStreamBrokenAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, event string
		reason      transport.Reason
	}{
		{"two results", `{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`, transport.ReasonProtocol},
		{"over the limit, id in front", `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 17<<20) + `"}`, transport.ReasonTooLarge},
		{"over the limit, id at the end", `{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 17<<20) + `","id":7}`, transport.ReasonTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.reason == transport.ReasonTooLarge {
				testmain.SkipLarge(t)
			}
			post := func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.method() == "m" {
					<-r.Context().Done()
					return
				}
				withSession("s1")(w, r, p)
			}
			inBubble(t, getter(post, func(w http.ResponseWriter, r *http.Request, _ posted) {
				pause(r, time.Second)
				says("data: "+tt.event+"\n\n"+noteEvent, true)(w, r, posted{})
			}), func(t *testing.T, p *page, _ *web) {
				p.answers("initialize")
				p.Conn.(streamer).OpenStream()
				_, err := p.Call(t.Context(), transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(7), Method: "m"}})
				require.False(t, failure(t, err, tt.reason).NotSent)
				synctest.Wait()
				notes, _, _ := p.events()
				require.Equal(t, 1, notes)
			})
		})
	}
}

// Progress of a call on another stream restarts its idle timeout.
func TestHTTPTouch(t *testing.T) {
	t.Parallel()
	post := func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "m" {
			pause(r, 100*time.Second)
		}
		withSession("s1")(w, r, p)
	}
	inBubble(t, getter(post, says("", true)), func(t *testing.T, p *page, _ *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		req := p.request("m")
		req.Wait.Idle = time.Minute
		go func() {
			time.Sleep(50 * time.Second)
			p.Touch(jsonrpc.StringID("unknown"))
			p.Touch(req.ID)
		}()
		_, err := p.Call(t.Context(), req)
		require.NoError(t, err)
	})
}

// An idle connection holds no goroutine and little memory.
func TestHTTPIdleCostsLittle(t *testing.T) { //nolint:paralleltest // counts what the whole process has
	const count = 200
	conns := make([]transport.Conn, count)
	h := &transport.HTTP{URL: "http://localhost/mcp", RoundTripper: http.DefaultTransport}
	var before, after runtime.MemStats
	goroutines := runtime.NumGoroutine()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range conns {
		var err error
		conns[i], err = h.Connect(t.Context(), transport.Handler{})
		require.NoError(t, err)
		conns[i].UseVersion("2025-11-25")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / count
	t.Logf("%d bytes a connection", each)
	require.Less(t, each, int64(700))
	for _, c := range conns {
		require.NoError(t, c.Close())
	}
}

// A stream that was open and is refused once is requested again, unless the server no longer
// offers it. A new stream has new event ids.
func TestHTTPOwnStreamRefusedLater(t *testing.T) {
	t.Parallel()
	note := "id: 1\n" + noteEvent
	tests := map[string]struct {
		script            []replier
		gets, notes, gaps int
	}{
		"one stream a session":         {[]replier{says(noteEvent, false), status(409), says(noteEvent, true)}, 3, 2, 1},
		"for a minute":                 {[]replier{says(noteEvent, false), status(409), status(409), status(409), says(noteEvent, true)}, 5, 2, 1},
		"one stream a session, an id":  {[]replier{says(note, false), status(409), status(409), says(noteEvent, true)}, 4, 2, 1},
		"not allowed for a moment":     {[]replier{says(noteEvent, false), status(403), status(400), says(noteEvent, true)}, 4, 2, 1},
		"moved for a moment":           {[]replier{says(noteEvent, false), status(302), says(noteEvent, true)}, 3, 2, 1},
		"not offered any more":         {[]replier{says(noteEvent, false), status(405)}, 2, 1, 1},
		"a place that is not known":    {[]replier{says(note, false), status(400), says(note, true)}, 3, 2, 1},
		"ids taken back":               {[]replier{says(note+"id:\n\n", false), says(note, true)}, 2, 2, 1},
		"the same event, from a place": {[]replier{says(note, false), says(note, true)}, 2, 1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, getter(withSession("s1"), tt.script...), func(t *testing.T, p *page, s *web) {
				p.answers("initialize")
				p.Conn.(streamer).OpenStream()
				time.Sleep(time.Hour)
				notes, lost, gaps := p.events()
				require.Equal(t, []int{tt.notes, 0, tt.gaps}, []int{notes, lost, gaps})
				require.Len(t, s.find("GET"), tt.gets)
			})
		})
	}
}
