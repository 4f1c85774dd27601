package transport_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A 400 with an SDK's sentence for an unknown session loses the session, as 404 does: the request
// did not run. With another text, with an answer to the request, or without a session, it does
// not.
func TestHTTPSessionUnknown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		lost       bool
	}{
		{"TypeScript", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session id provided"},"id":null}`, true},
		{"TypeScript, another", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, true},
		{"Python", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session id"}}`, true},
		{"text", "Invalid session id\n", true},
		{"text, another", "Session abc not found", false},
		{"a sentence in a longer text", "Bad Request: Server not initialized, or not yet", false},
		{"something else", "Bad Request", false},
		{"an answer to the request", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"invalid session name"}}`, false},
		{"a session that is fine", "your session is fine, your body is not", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.method() == "m" {
					answered(http.StatusBadRequest, "application/json", tt.body)(w, p.id())
					return
				}
				withSession("s1")(w, r, p)
			})
			p := dial(t, &transport.HTTP{URL: s.url})
			if _, err := p.try("m"); err != nil {
				require.False(t, failure(t, err, transport.ReasonStatus).NotSent, "there is no session")
			}
			p.answers("initialize")
			if !tt.lost {
				_, _ = p.try("m")
				p.answers("another")
				return
			}
			f := p.fails("m", transport.ReasonSession)
			require.True(t, f.Rejected)
			require.Equal(t, http.StatusBadRequest, f.HTTP.Status)
			require.True(t, p.fails("m", transport.ReasonSession).NotSent)
			require.NoError(t, p.Close())
			require.Empty(t, s.find("DELETE"), "HTTP-18")
		})
	}
}

// An answer with another session id is not returned. The call has run, and its error states that.
func TestHTTPSessionChangedAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		contentType, body string
		answered          bool
	}{
		"an answer":           {"application/json", good, true},
		"an error":            {"application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}`, true},
		"another's answer":    {"application/json", `{"jsonrpc":"2.0","id":"else","result":{}}`, false},
		"no answer":           {"application/json", `{"jsonrpc":"2.0","method":"n"}`, false},
		"nothing to be read":  {"application/json", "{", false},
		"nothing that is due": {"text/html", good, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.method() == "m" {
					answered(http.StatusOK, tt.contentType, tt.body, "Mcp-Session-Id", "s2")(w, p.id())
					return
				}
				withSession("s1")(w, r, p)
			})
			p := dial(t, &transport.HTTP{URL: s.url})
			p.answers("initialize")
			f := p.fails("m", transport.ReasonProtocol)
			require.ErrorContains(t, f, "changed the session id")
			require.Equal(t, tt.answered, f.Answered)
			require.False(t, f.NotSent || f.Rejected)
			p.answers("another")
		})
	}
}

// Fifty callers use a server that keeps losing its sessions. Every failure states that the call
// did not run, no message is sent without a session or with a part of another, and everything
// works after initialize.
func TestHTTPSessionLostUnderLoad(t *testing.T) {
	t.Parallel()
	const callers, calls, lives = 50, 20, 7
	var mu sync.Mutex
	number, uses := 0, 0
	wrong := ""
	reply := func(w http.ResponseWriter, r *http.Request, p posted) {
		mu.Lock()
		id := p.header.Get("Mcp-Session-Id")
		known := id == fmt.Sprint("s", number)
		switch {
		case p.method() == "initialize":
			if id != "" {
				wrong = "initialize with a session"
			}
			number, uses = number+1, 0
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", number))
			known = true
		case id == "":
			wrong = p.method() + " without a session"
		case known:
			if uses++; uses > 100 && number < lives {
				known = false // lost
			}
		}
		mu.Unlock()
		if !known {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answerAll(w, r, p)
	}
	inBubble(t, reply, func(t *testing.T, p *page, _ *web) {
		p.answers("initialize")
		p.Conn.(streamer).OpenStream()
		var renewing sync.Mutex
		var work sync.WaitGroup
		for range callers {
			work.Go(func() {
				for done := 0; done < calls; {
					_, err := p.Call(t.Context(), p.request("m"))
					var f *transport.Failure
					switch {
					case err == nil:
						done++
						continue
					case !errors.As(err, &f) || f.Reason != transport.ReasonSession || f.NotSent == f.Rejected:
						t.Errorf("got %+v, %v", f, err)
						return
					}
					renewing.Lock()
					if _, err := p.Call(t.Context(), p.request("m")); err != nil { // another caller may have called initialize
						if _, err := p.Call(t.Context(), p.request("initialize")); err != nil {
							t.Error(err)
						}
						p.UseVersion("V1")
						p.Conn.(streamer).OpenStream()
					}
					renewing.Unlock()
				}
			})
		}
		work.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Empty(t, wrong)
		require.Equal(t, lives, number)
	})
}

// A call of an earlier session fails with that reason, and does not affect the next session.
func TestHTTPOldSessionEndsLate(t *testing.T) {
	t.Parallel()
	var sessions int
	reply := func(w http.ResponseWriter, r *http.Request, p posted) {
		switch p.method() {
		case "initialize":
			sessions++
			withSession(fmt.Sprint("s", sessions))(w, r, p)
		case "slow":
			pause(r, time.Second)
			w.WriteHeader(http.StatusNotFound)
		default:
			answerAll(w, r, p)
		}
	}
	inBubble(t, reply, func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		slow := make(chan error, 1)
		req := p.request("slow")
		go func() {
			_, err := p.Call(t.Context(), req)
			slow <- err
		}()
		synctest.Wait()
		p.answers("initialize")
		require.True(t, failure(t, <-slow, transport.ReasonSession).Rejected)
		p.answers("m")
		require.Equal(t, "s2", s.find("m")[0].header.Get("Mcp-Session-Id"))
		require.NoError(t, p.Notify(t.Context(), jsonrpc.Notification{Method: "n"}))
	})
}

// A stateless request has no session to lose, even on a connection with an earlier session.
func TestHTTPStatelessLosesNoSession(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "away" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		withSession("s1")(w, r, p)
	}, func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		req := p.request("away")
		req.Mirror = &transport.Mirror{Version: "V2"}
		_, err := p.Call(t.Context(), req)
		_ = failure(t, err, transport.ReasonStatus)
		require.Empty(t, s.find("away")[0].header.Get("Mcp-Session-Id"))
		p.answers("m")
		require.Equal(t, "s1", s.find("m")[0].header.Get("Mcp-Session-Id"))
	})
}
