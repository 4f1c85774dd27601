package transport_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// replyFunc answers one request whose id is given as JSON text.
type replyFunc func(w http.ResponseWriter, id string)

// answered replies with a status, a content type and a body in which ID is replaced by the
// request's id.
func answered(status int, contentType, body string, header ...string) replyFunc {
	return func(w http.ResponseWriter, id string) {
		w.Header()["Content-Type"] = nil // none is guessed
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", id))
	}
}

// raw writes bytes instead of an HTTP reply, and closes the connection.
func raw(text string) replyFunc {
	return func(w http.ResponseWriter, id string) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = buf.WriteString(strings.ReplaceAll(text, "ID", id))
		_ = buf.Flush()
		_ = conn.Close()
	}
}

const good = `{"jsonrpc":"2.0","id":ID,"result":{}}`

// replyServer answers "m" with reply, and everything else correctly.
func replyServer(t *testing.T, reply replyFunc) *web {
	return serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "m" {
			reply(w, p.id())
			return
		}
		answerAll(w, r, p)
	})
}

const limit = 64 << 10

// Every reply without an answer fails only its own call, with all evidence.
func TestHTTPFailures(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	type want struct {
		reason     transport.Reason
		rejected   bool
		retryAfter time.Duration
		status     int
		text       string // in the error
		body       string // in the evidence
	}
	long := strings.Repeat("x", 2*limit)
	tests := []struct {
		name  string
		reply replyFunc
		want  want
	}{
		{"HTML", answered(200, "text/html; charset=utf-8", "<html><title>Portal</title>"), want{transport.ReasonNotMCP, false, 0, 200, "MCP endpoint", "<title>Portal"}},
		{"no content type", answered(200, "", good), want{transport.ReasonNotMCP, false, 0, 200, "no content type", ""}},
		{"202 to a request", answered(202, "", ""), want{transport.ReasonNotMCP, false, 0, 202, "status 202", ""}},
		{"204 to a request", answered(204, "", ""), want{transport.ReasonNotMCP, false, 0, 204, "status 204", ""}},
		{"not JSON", answered(200, json, "oops"), want{transport.ReasonProtocol, false, 0, 200, "not a JSON-RPC message", "oops"}},
		{"empty JSON", answered(200, json, ""), want{transport.ReasonProtocol, false, 0, 200, "no JSON", ""}},
		{"JSON that breaks off", answered(200, json, `{"jsonrpc":"2.0","id":ID,"result":{"a":`), want{transport.ReasonProtocol, false, 0, 200, "not a JSON-RPC message", `{"a":`}},
		{"batch", answered(200, json, "["+good+"]"), want{transport.ReasonProtocol, false, 0, 200, "a message is a JSON object", ""}},
		{"another id", answered(200, json, `{"jsonrpc":"2.0","id":"else","result":{}}`), want{transport.ReasonProtocol, false, 0, 200, "id of another request", `"else"`}},
		{"the id as text", answered(200, json, `{"jsonrpc":"2.0","id":"ID","result":{}}`), want{transport.ReasonProtocol, false, 0, 200, "id of another request", ""}},
		{"a request", answered(200, json, `{"jsonrpc":"2.0","id":ID,"method":"x"}`), want{transport.ReasonProtocol, false, 0, 200, "no response", ""}},
		{"result and error", answered(200, json, `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":""}}`), want{transport.ReasonProtocol, false, 0, 200, "exactly one", ""}},
		{"two results", answered(200, json, `{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}`), want{transport.ReasonProtocol, false, 0, 200, "duplicate", ""}},
		{"RESULT", answered(200, json, `{"jsonrpc":"2.0","id":ID,"RESULT":{}}`), want{transport.ReasonProtocol, false, 0, 200, "a method, a result or an error", ""}},
		{"deep", answered(200, json, `{"jsonrpc":"2.0","id":ID,"result":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`), want{transport.ReasonTooLarge, false, 0, 200, "deeper", ""}},

		{"400", answered(400, "text/plain", "what?"), want{transport.ReasonStatus, false, 0, 400, "400 Bad Request", "what?"}},
		{"401", answered(401, "", "", "WWW-Authenticate", "Bearer"), want{transport.ReasonStatus, true, 0, 401, "401", ""}},
		{"403", answered(403, "", ""), want{transport.ReasonStatus, true, 0, 403, "403", ""}},
		{"404", answered(404, "", "nothing here"), want{transport.ReasonStatus, true, 0, 404, "404", "nothing here"}},
		{"405", answered(405, "", ""), want{transport.ReasonStatus, true, 0, 405, "405", ""}},
		{"413", answered(413, "", ""), want{transport.ReasonStatus, true, 0, 413, "413", ""}},
		{"429 in seconds", answered(429, "", "", "Retry-After", "7"), want{transport.ReasonStatus, true, 7 * time.Second, 429, "429", ""}},
		{"429 in nonsense", answered(429, "", "", "Retry-After", "soon"), want{transport.ReasonStatus, true, 0, 429, "429", ""}},
		{"429 in the past", answered(429, "", "", "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), want{transport.ReasonStatus, true, 0, 429, "429", ""}},
		{"429 negative", answered(429, "", "", "Retry-After", "-3"), want{transport.ReasonStatus, true, 0, 429, "429", ""}},
		{"401 that breaks off", raw("HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" + good[:20]), want{transport.ReasonStatus, false, 0, 401, "401", good[:10]}},
		{"429 that breaks off", raw("HTTP/1.1 429 No\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"), want{transport.ReasonStatus, false, 0, 429, "429", "{"}},
		{"429 over the limit", answered(429, json, long), want{transport.ReasonStatus, false, 0, 429, "429", ""}},
		{"500", answered(500, "", "trace"), want{transport.ReasonStatus, false, 0, 500, "500", "trace"}},
		{"502", answered(502, "text/html", "<html>"), want{transport.ReasonStatus, false, 0, 502, "502", "<html>"}},
		{"503", answered(503, "", "", "Retry-After", "3"), want{transport.ReasonStatus, false, 3 * time.Second, 503, "503", ""}},
		{"an error for another request", answered(400, json, `{"jsonrpc":"2.0","id":"else","error":{"code":-32600,"message":"no"}}`), want{transport.ReasonStatus, false, 0, 400, "400", "-32600"}},
		{"an error without id", answered(200, json, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`), want{transport.ReasonProtocol, false, 0, 200, "names no request: no", "null"}},
		{"an error without id, with 400", answered(400, json, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`), want{transport.ReasonStatus, false, 0, 400, "400 Bad Request: no", "-32600"}},
		{"301", answered(301, "", "", "Location", "/other?secret"), want{transport.ReasonConfig, false, 0, 301, "/other;", ""}},
		{"302", answered(302, "", "", "Location", "/other"), want{transport.ReasonConfig, false, 0, 302, "redirects (status 302)", ""}},
		{"303", answered(303, "", "", "Location", "http://[bad"), want{transport.ReasonConfig, false, 0, 303, "without a valid Location", ""}},
		{"307 nowhere", answered(307, "", ""), want{transport.ReasonConfig, false, 0, 307, "without a valid Location", ""}},
		{"308 to another origin", answered(308, "", "", "Location", "https://elsewhere.invalid/mcp?secret"), want{transport.ReasonConfig, false, 0, 308, "https://elsewhere.invalid/mcp;", ""}},
		{"308 to another host", answered(308, "", "", "Location", "http://elsewhere.invalid/mcp?secret"), want{transport.ReasonConfig, false, 0, 308, "another origin, http://elsewhere.invalid/mcp;", ""}},
		{"308 to another port", answered(308, "", "", "Location", "//127.0.0.1:1/"), want{transport.ReasonConfig, false, 0, 308, "another origin, http://127.0.0.1:1/;", ""}},
		{"307 in a circle", answered(307, "", "", "Location", "/"), want{transport.ReasonConfig, false, 0, 307, "loop", ""}},

		{"hangs up", raw(""), want{transport.ReasonLost, false, 0, 0, "", ""}},
		{"not HTTP", raw("SSH-2.0-server\r\n\r\n"), want{transport.ReasonLost, false, 0, 0, "malformed HTTP", ""}},
		{"shorter than announced", raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" + good), want{transport.ReasonLost, false, 0, 200, "in the middle", ""}},
		{"chunks that break off", raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"jso\r\n"), want{transport.ReasonLost, false, 0, 200, "in the middle", ""}},
		{"chunk that breaks off", raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"jso"), want{transport.ReasonLost, false, 0, 200, "in the middle", ""}},
		{"over the limit, announced", answered(200, json, long, "Content-Length", fmt.Sprint(2*limit)), want{transport.ReasonTooLarge, false, 0, 200, "larger than", ""}},
		{"over the limit, in chunks", answered(200, json, long), want{transport.ReasonTooLarge, false, 0, 200, "larger than", ""}},
		{"a gzip bomb", bomb, want{transport.ReasonTooLarge, false, 0, 200, "larger than", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := replyServer(t, tt.reply)
			p := dial(t, &transport.HTTP{URL: s.url, Limits: transport.Limits{MessageBytes: limit}})
			f := p.fails("m", tt.want.reason)
			require.False(t, f.NotSent)
			require.Equal(t, tt.want.rejected, f.Rejected)
			require.Equal(t, tt.want.retryAfter, f.RetryAfter)
			require.ErrorContains(t, f, tt.want.text)
			require.NotContains(t, f.Error(), "secret")
			if tt.want.status == 0 {
				require.Nil(t, f.HTTP)
			} else {
				require.Equal(t, tt.want.status, f.HTTP.Status)
				require.Equal(t, s.url, f.HTTP.URL)
				require.Contains(t, f.HTTP.Body, tt.want.body)
				require.LessOrEqual(t, len(f.HTTP.Body), 3<<10)
			}
			p.answers("another")
		})
	}
}

// bomb is 64 MiB of blanks in 64 KiB of gzip; a client with a limit closes the connection long
// before its end.
func bomb(w http.ResponseWriter, _ string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	blanks := []byte(strings.Repeat(" ", 1<<20))
	for range testmain.Fewer(64, 5) {
		if _, err := z.Write(blanks); err != nil {
			return
		}
	}
}

// Replies that contain the answer, in any form.
func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		reply  replyFunc
		code   int64 // code of the JSON-RPC error; 0 means a result
		status int   // status in the evidence; 0 means none
	}{
		{"charset", answered(200, "application/json; charset=utf-8", good), 0, 0},
		{"case", answered(200, "Application/JSON", good), 0, 0},
		{"odd parameters", answered(200, "application/json; =;x", good), 0, 0},
		{"201", answered(201, "application/json", good), 0, 0},
		{"members unknown", answered(200, "application/json", `{"x":[1],"jsonrpc":"2.0","id":ID,"result":{},"error":null}`), 0, 0},
		{"gzip", func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.ReplaceAll(good, "ID", id))
			_ = z.Close()
		}, 0, 0},
		{"error with 200", answered(200, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}`), -32602, 0},
		{"error with 400", answered(400, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"no"}}`), -32020, 400},
		{"error with 400, another type", answered(400, "text/plain", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32600,"message":"no"}}`), -32600, 400},
		{"a result with 500", answered(500, "application/json", good), 0, 500},
		{"error with 404", answered(404, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), -32601, 404},
		{"a byte order mark", answered(200, "application/json", "\ufeff"+good), 0, 0},
		{"a byte order mark with 500", answered(500, "application/json", "\ufeff"+good), 0, 500},
		{"error with 500", answered(500, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}`), -32603, 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := replyServer(t, tt.reply)
			p := dial(t, &transport.HTTP{URL: s.url})
			answer := p.answers("m")
			if tt.code == 0 {
				require.Nil(t, answer.Error)
				require.JSONEq(t, `{}`, string(answer.Result))
			} else {
				require.ErrorIs(t, answer.Error, &jsonrpc.Error{Code: tt.code})
			}
			if tt.status == 0 {
				require.Nil(t, answer.HTTP)
			} else {
				require.Equal(t, tt.status, answer.HTTP.Status)
			}
		})
	}
}

// 307 and 308 within the origin are followed, with body and headers.
func TestHTTPRedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{307, 308} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
			switch p.path {
			case "/a":
				w.Header().Set("Location", "/b")
				w.WriteHeader(status)
			case "/b":
				w.Header().Set("Location", "c")
				w.WriteHeader(status)
			default:
				answerAll(w, r, p)
			}
		})
		p := dial(t, &transport.HTTP{URL: s.url + "/a", Header: http.Header{"Authorization": {"Bearer t"}}})
		p.answers("m")
		got := s.received()
		require.Len(t, got, 3)
		require.Equal(t, "/c", got[2].path)
		require.Equal(t, got[0].body, got[2].body)
		require.Equal(t, "Bearer t", got[2].header.Get("Authorization"))
	}
}

// A server that answers the request in a redirect has run it: it does not get the request again.
func TestHTTPRedirectAnswers(t *testing.T) {
	t.Parallel()
	for _, status := range []int{302, 307, 308} {
		for name, body := range map[string]string{
			"whole":  good,
			"unread": `{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2},"error":{}}`,
		} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				answered(status, "application/json", body, "Location", "/again")(w, p.id())
			})
			p := dial(t, &transport.HTTP{URL: s.url})
			if name == "whole" {
				answer := p.answers("m")
				require.JSONEq(t, `{}`, string(answer.Result))
				require.Equal(t, status, answer.HTTP.Status)
			} else {
				require.True(t, p.fails("m", transport.ReasonProtocol).Answered)
			}
			require.Len(t, s.received(), 1)
		}
	}
}

// A redirect to another scheme of the same host is to another origin: the headers have
// credentials.
func TestHTTPRedirectScheme(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ posted) {
		w.Header().Set("Location", "https://"+r.Host+"/mcp")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	p := dial(t, &transport.HTTP{URL: s.url})
	f := p.fails("m", transport.ReasonConfig)
	require.ErrorContains(t, f, "another origin, https://")
	require.Len(t, s.received(), 1)
}
