package transport_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// old runs a test with an HTTP+SSE server in virtual time.
func old(t *testing.T, reply replier, test func(t *testing.T, tr transport.Transport, s *web)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &web{url: memhttp.URL}
		srv := memhttp.New(s.handlerOf(reply))
		t.Cleanup(srv.Close)
		test(t, (&transport.HTTP{
			URL: strings.Replace(s.url, "http://", "http://me:pa55@", 1) + "/old/sse?key=1", RoundTripper: srv.Transport(),
			Header: http.Header{"X-Own": {"a"}}, Limits: transport.Limits{MessageBytes: limit},
		}).Fallback(), s)
	})
}

// connectOld opens a connection that must open.
func connectOld(t *testing.T, tr transport.Transport) *page {
	t.Helper()
	p := &page{T: t}
	conn, err := tr.Connect(t.Context(), transport.Handler{
		OnFault: func(err error) { p.locked(func() { p.faults = append(p.faults, err) }) },
		OnNotification: func(_ context.Context, n jsonrpc.Notification, id jsonrpc.ID) {
			p.locked(func() { p.notes = append(p.notes, n.Method+id.String()) })
		},
	})
	require.NoError(t, err)
	p.Conn = conn
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return p
}

const endpointEvent = "event: endpoint\ndata: /post?stream=1\n\n"

// Everything is POSTed to the URL that the stream names, with the configured headers; the stream
// is opened without session headers.
func TestSSE(t *testing.T) {
	t.Parallel()
	old(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.verb == http.MethodGet {
			says(": hello\n\n"+endpointEvent+"event: ping\ndata: x\n\nevent: endpoint\ndata: /other\n\n"+
				"event: message\n"+noteEvent+`data: {"jsonrpc":"2.0","id":1,"result":{"early":1}}`+"\n\n", true)(w, r, p)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}, func(t *testing.T, tr transport.Transport, s *web) {
		require.Equal(t, memhttp.URL+"/old/sse", tr.String())
		p := connectOld(t, tr)
		require.Equal(t, transport.Traits{SessionOnly: true}, p.Traits())
		p.UseVersion("V1")
		require.NoError(t, p.Notify(t.Context(), jsonrpc.Notification{Method: "n"}))
		synctest.Wait()
		faults, notes, _ := p.count()
		require.Equal(t, []int{1, 1}, []int{faults, notes}, "an answer to nobody, and a notification")
		got := s.received()
		require.Equal(t, "/old/sse", got[0].path)
		require.Equal(t, "text/event-stream", got[0].header.Get("Accept"))
		require.Equal(t, "/post", got[1].path)
		for _, one := range got {
			require.Equal(t, "Basic bWU6cGE1NQ==", one.header.Get("Authorization"))
			require.Equal(t, "a", one.header.Get("X-Own"))
			require.Empty(t, one.header.Get("Mcp-Protocol-Version"))
		}
		began := time.Now()
		require.NoError(t, p.Close())
		require.Zero(t, time.Since(began))
		<-p.Done()
		require.Empty(t, s.find("DELETE"))
	})
}

// A reply without a usable stream or URL is a failure with evidence; credentials are never sent
// elsewhere.
func TestSSEConnectFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		reply  replier
		reason transport.Reason
		says   string
		after  time.Duration
	}{
		{"405", status(405), transport.ReasonStatus, "405", 0},
		{"404", status(404), transport.ReasonStatus, "404", 0},
		{"401", status(401), transport.ReasonStatus, "401", 0},
		{"500", status(500), transport.ReasonStatus, "500", 0},
		{"302", status(302), transport.ReasonConfig, "redirects", 0},
		{"HTML", func(w http.ResponseWriter, _ *http.Request, _ posted) { _, _ = io.WriteString(w, "<html>") }, transport.ReasonNotMCP, "text/html", 0},
		{"an end at once", says("", false), transport.ReasonNotMCP, "before it named", 0},
		{"silence", says("", true), transport.ReasonTimeout, "did not name", 10 * time.Second},
		{"no reply", func(_ http.ResponseWriter, r *http.Request, _ posted) { <-r.Context().Done() }, transport.ReasonTimeout, "did not name", 10 * time.Second},
		{"only others", says(noteEvent, true), transport.ReasonTimeout, "did not name", 10 * time.Second},
		{"another host", says("event: endpoint\ndata: http://evil.invalid/post?secret\n\n", true), transport.ReasonConfig, "http://evil.invalid/post,", 0},
		{"another scheme", says("event: endpoint\ndata: https://memory.invalid/post\n\n", true), transport.ReasonConfig, "another origin", 0},
		{"another port", says("event: endpoint\ndata: //memory.invalid:81/post\n\n", true), transport.ReasonConfig, "another origin", 0},
		{"nonsense", says("event: endpoint\ndata: http://[x\n\n", true), transport.ReasonProtocol, "cannot be read", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			old(t, tt.reply, func(t *testing.T, tr transport.Transport, s *web) {
				began := time.Now()
				_, err := tr.Connect(t.Context(), transport.Handler{})
				f := failure(t, err, tt.reason)
				require.ErrorContains(t, f, tt.says)
				require.NotContains(t, f.Error(), "secret")
				require.True(t, f.NotSent)
				require.Equal(t, tt.after, time.Since(began))
				require.Len(t, s.received(), 1)
			})
		})
	}
	old(t, says("", true), func(t *testing.T, tr transport.Transport, _ *web) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := tr.Connect(ctx, transport.Handler{})
		require.ErrorIs(t, failure(t, err, transport.ReasonCanceled), context.DeadlineExceeded)
	})
	_, err := (&transport.SSE{URL: "ftp://x"}).Connect(t.Context(), transport.Handler{})
	_ = failure(t, err, transport.ReasonOption)
	_, err = (&transport.SSE{URL: "http://no-such-host.invalid/sse"}).Connect(t.Context(), transport.Handler{})
	require.True(t, failure(t, err, transport.ReasonUnavailable).NotSent)
}

// 200, 202 and 204 accept a message, with any body. Other statuses refuse it, at once if that
// proves that it did not run, unless its answer has arrived or arrives soon.
func TestSSEPost(t *testing.T) {
	t.Parallel()
	event := make(chan string, 100)
	reply := func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.verb == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, endpointEvent)
			for r.Context().Err() == nil {
				select { // not only on event, which is not a channel of the bubble
				case text := <-event:
					write(w, text)
				default:
					pause(r, time.Millisecond)
				}
			}
			return
		}
		answer := fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", p.id())
		switch p.method() {
		case "200":
			event <- answer
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":{"not":"this"}}`)
		case "204":
			event <- answer
			w.WriteHeader(http.StatusNoContent)
		case "held": // answered before the POST
			event <- answer
			<-r.Context().Done()
		case "body without end":
			event <- answer
			write(w, "x")
			<-r.Context().Done()
		case "429":
			event <- answer
			pause(r, 50*time.Millisecond)
			w.WriteHeader(http.StatusTooManyRequests)
		case "400":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, p.id())
		case "404", mcp.MethodInitialize:
			http.Error(w, "no such stream", http.StatusNotFound)
		case "hangs up":
			panic(http.ErrAbortHandler)
		case "hangs up, answers", "502, answers":
			time.AfterFunc(time.Second, func() { event <- answer })
			if p.method() == "502, answers" {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			panic(http.ErrAbortHandler)
		case "too large":
			event <- strings.Replace(answer, "{}", `"`+strings.Repeat("x", 2<<20)+`"`, 1)
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
	old(t, reply, func(t *testing.T, tr transport.Transport, _ *web) {
		p := connectOld(t, tr)
		for _, method := range []string{"200", "204", "held", "body without end", "429"} {
			began := time.Now()
			require.JSONEq(t, `{}`, string(p.answers(method).Result), method)
			require.LessOrEqual(t, time.Since(began), 200*time.Millisecond, method)
		}
		require.ErrorIs(t, p.answers("400").Error, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams})
		f := p.fails("404", transport.ReasonLost)
		require.True(t, f.Rejected)
		require.Equal(t, 404, f.HTTP.Status)
		require.ErrorContains(t, f, "the session of its event stream")
		f = p.fails(mcp.MethodInitialize, transport.ReasonStatus)
		require.True(t, f.Rejected, "there is no session yet")
		began := time.Now()
		require.False(t, p.fails("hangs up", transport.ReasonLost).NotSent)
		require.Equal(t, 2*time.Second, time.Since(began).Truncate(time.Millisecond), "the answer may come on the stream")
		for _, method := range []string{"hangs up, answers", "502, answers"} {
			require.JSONEq(t, `{}`, string(p.answers(method).Result), method)
		}
		require.False(t, p.fails("too large", transport.ReasonTooLarge).NotSent)
		req := p.request("silent")
		req.Wait.Idle = time.Minute
		time.AfterFunc(50*time.Second, func() { p.Touch(req.ID) })
		began = time.Now()
		_, err := p.Call(t.Context(), req)
		require.ErrorIs(t, failure(t, err, transport.ReasonTimeout), jsonrpc.ErrIdle)
		require.Equal(t, 110*time.Second, time.Since(began), "touched once")
		p.answers("200")
	})
}

// The end of the stream ends the calls in flight and the connection; another connection has
// another session.
func TestSSEStreamEnds(t *testing.T) {
	t.Parallel()
	reply := func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.verb == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, "id: 1\nretry: 1\n"+endpointEvent)
			pause(r, time.Second)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
	old(t, reply, func(t *testing.T, tr transport.Transport, s *web) {
		for i := range 2 {
			p := connectOld(t, tr)
			began := time.Now()
			f := p.fails("m", transport.ReasonLost)
			require.ErrorContains(t, f, "event stream ended")
			require.False(t, f.NotSent)
			require.Equal(t, time.Second, time.Since(began))
			<-p.Done()
			require.True(t, p.fails("m", transport.ReasonLost).NotSent)
			require.True(t, failure(t, p.Notify(t.Context(), jsonrpc.Notification{Method: "n"}), transport.ReasonLost).NotSent)
			require.NoError(t, p.Close())
			require.True(t, p.fails("m", transport.ReasonClosed).NotSent)
			require.Len(t, s.find("GET"), i+1)
			require.Empty(t, s.find("GET")[i].header.Get("Last-Event-Id"))
		}
	})
}
