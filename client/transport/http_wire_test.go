package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Every message is a POST of its own with the headers of the protocol; the session id and the
// version are sent once they are known, not before.
func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, withSession("Session-1!~"))
	p := dial(t, &transport.HTTP{URL: s.url + "/mcp?key=1", Header: http.Header{"X-Own": {"a", "b"}}})
	p.answers("initialize")
	p.UseVersion("V1")
	require.NoError(t, p.Notify(t.Context(), jsonrpc.Notification{Method: "notifications/initialized"}))
	p.answers("tools/list")
	require.NoError(t, p.Respond(t.Context(), jsonrpc.Response{ID: jsonrpc.StringID("s"), Result: []byte(`{}`)}))
	p.answers("initialize") // another session starts without data of this one
	require.NoError(t, p.Close())
	tests := []struct{ method, body, session, version string }{
		{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "", ""},
		{"notifications/initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Session-1!~", "V1"},
		{"tools/list", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Session-1!~", "V1"},
		{"response s", `{"jsonrpc":"2.0","id":"s","result":{}}`, "Session-1!~", "V1"},
		{"initialize", `{"jsonrpc":"2.0","id":3,"method":"initialize"}`, "", ""},
		{"DELETE", "", "Session-1!~", "V1"},
	}
	got := s.received()
	require.Len(t, got, len(tests))
	for i, tt := range tests {
		require.Equal(t, tt.method, got[i].method())
		require.Equal(t, tt.body, got[i].body)
		h := got[i].header
		require.Equal(t, tt.session, h.Get("Mcp-Session-Id"), tt.method)
		require.Equal(t, tt.version, h.Get("MCP-Protocol-Version"), tt.method)
		require.Equal(t, []string{"a", "b"}, h["X-Own"])
		require.Equal(t, "/mcp", got[i].path)
		if tt.method != "DELETE" {
			require.Equal(t, "application/json, text/event-stream", h.Get("Accept"))
			require.Equal(t, "application/json", h.Get("Content-Type"))
		}
	}
}

// Credentials in the URL are used, and never shown.
func TestHTTPUserInURL(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ posted) { w.WriteHeader(http.StatusTeapot) })
	address := strings.Replace(s.url, "http://", "http://me:pa55@", 1)
	tr := &transport.HTTP{URL: address + "?token=t0ken"}
	p := dial(t, tr)
	f := p.fails("m", transport.ReasonStatus)
	require.Equal(t, "Basic bWU6cGE1NQ==", s.received()[0].header.Get("Authorization"))
	for _, text := range []string{tr.String(), f.Error(), f.HTTP.URL} {
		require.NotContains(t, text, "pa55")
		require.NotContains(t, text, "t0ken")
	}
	p = dial(t, &transport.HTTP{URL: address, Header: http.Header{"Authorization": {"Bearer x"}}})
	_ = p.fails("m", transport.ReasonStatus)
	require.Equal(t, "Bearer x", s.received()[1].header.Get("Authorization"), "what was set by hand wins")
}

// Headers of the protocol cannot be set, and an invalid URL is rejected before anything is sent.
func TestHTTPConfig(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"accept", "Content-Type", "content-length", "Last-Event-ID", "Mcp-Session-Id", "MCP-Protocol-Version", "mcp-method",
	} {
		_, err := (&transport.HTTP{URL: "http://localhost", Header: http.Header{name: {"x"}}}).Connect(t.Context(), transport.Handler{})
		require.True(t, failure(t, err, transport.ReasonOption).NotSent)
		require.ErrorContains(t, err, name)
	}
	tests := []struct {
		name string
		h    transport.HTTP
		text string
	}{
		{"no URL", transport.HTTP{}, "https://host/path"},
		{"unreadable", transport.HTTP{URL: "http://[secret"}, "https://host/path"},
		{"scheme", transport.HTTP{URL: "ftp://host/x?secret"}, "ftp://host/x"},
		{"no host", transport.HTTP{URL: "http:///secret"}, "https://host/path"},
		{"close timeout", transport.HTTP{URL: "http://h", CloseTimeout: -1}, "CloseTimeout"},
		{"limits", transport.HTTP{URL: "http://h", Limits: transport.Limits{MessageBytes: -1}}, "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.h.Connect(t.Context(), transport.Handler{})
			_ = failure(t, err, transport.ReasonOption)
			require.ErrorContains(t, err, tt.text)
			require.NotContains(t, err.Error(), "?secret")
			require.NotContains(t, tt.h.String(), "?secret")
		})
	}
}

// 202, 200 and 204 accept a notification, with any body of any duration; other statuses refuse
// it.
func TestHTTPNotify(t *testing.T) {
	t.Parallel()
	type reply = func(w http.ResponseWriter, r *http.Request)
	status := func(code int, body string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		}
	}
	tests := []struct {
		name   string
		reply  reply
		reason transport.Reason // 0: accepted
		status int
	}{
		{"202", status(202, ""), 0, 0},
		{"200 with a body", status(200, `{}`), 0, 0},
		{"200 with nonsense", status(200, `<html>`), 0, 0},
		{"204", status(204, ""), 0, 0},
		{"a body without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, ": hello\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, 0, 0},
		{"400", status(400, "no"), transport.ReasonStatus, 400},
		{"400 with an error", status(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}`), transport.ReasonStatus, 400},
		{"500", status(500, ""), transport.ReasonStatus, 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ posted) { tt.reply(w, r) })
			p := dial(t, &transport.HTTP{URL: s.url})
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			err := p.Notify(ctx, jsonrpc.Notification{Method: "n"})
			require.NoError(t, ctx.Err(), "the end of the body was waited for")
			if tt.reason == 0 {
				require.NoError(t, err)
				return
			}
			f := failure(t, err, tt.reason)
			require.Equal(t, tt.status, f.HTTP.Status)
			require.False(t, f.NotSent)
		})
	}
}

// A session id with characters outside visible ASCII is rejected.
func TestHTTPBadSessionID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"with space", "tab\tinside", "ümlaut"} {
		s := serve(t, withSession(id))
		p := dial(t, &transport.HTTP{URL: s.url})
		f := p.fails("initialize", transport.ReasonProtocol)
		require.ErrorContains(t, f, "not allowed")
		require.NotContains(t, f.Error(), id)
		p.answers("m")
		require.Empty(t, s.find("m")[0].header.Get("Mcp-Session-Id"))
	}
}

// A session id that appears or changes later fails that call and is not adopted. Repeating the
// present one is allowed.
func TestHTTPSessionChanges(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"", "one"} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
			switch p.method() {
			case "initialize", "same":
				if first != "" {
					w.Header().Set("Mcp-Session-Id", first)
				}
			case "other":
				w.Header().Set("Mcp-Session-Id", "two")
			}
			answerAll(w, r, p)
		})
		p := dial(t, &transport.HTTP{URL: s.url})
		p.answers("initialize")
		p.answers("same")
		f := p.fails("other", transport.ReasonProtocol)
		require.NotContains(t, f.Error(), "two")
		require.False(t, f.NotSent)
		p.answers("last")
		require.Equal(t, first, s.find("last")[0].header.Get("Mcp-Session-Id"))
	}
}

// 404 means a lost session only if there is one. A lost session is not deleted, and calls in
// flight keep their answers.
func TestHTTPSessionLost(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		w.Header().Set("Mcp-Session-Id", "one")
		switch p.method() {
		case "gone":
			http.NotFound(w, r)
			return
		case "no method":
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, p.id())
			return
		case "slow":
			close(arrived)
			<-release
		}
		answerAll(w, r, p)
	})
	p := dial(t, &transport.HTTP{URL: s.url})
	f := p.fails("gone", transport.ReasonStatus)
	require.True(t, f.Rejected)
	p.answers("initialize")
	require.Equal(t, int64(-32601), p.answers("no method").Error.Code)
	slow := make(chan error, 1)
	req := p.request("slow")
	go func() {
		_, err := p.Call(t.Context(), req)
		slow <- err
	}()
	<-arrived
	f = p.fails("gone", transport.ReasonSession)
	require.True(t, f.Rejected)
	require.False(t, f.NotSent)
	require.Equal(t, 404, f.HTTP.Status)
	close(release)
	require.NoError(t, <-slow)
	require.NoError(t, p.Close())
	require.Empty(t, s.find("DELETE"))
}
