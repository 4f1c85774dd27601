package transport_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// streaming answers "m" with an event stream of this text, in which ID is replaced by the
// request's id; open keeps it open after that.
func streaming(t *testing.T, text string, open bool) *web {
	return serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() != "m" {
			answerAll(w, r, p)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "ID", p.id()))
		_ = http.NewResponseController(w).Flush()
		if open {
			<-r.Context().Done()
		}
	})
}

const goodEvent = "data: " + good + "\n\n"

// The answer is found in a stream with any other content, and the stream need not end.
func TestHTTPStreamAnswers(t *testing.T) {
	t.Parallel()
	note := `data: {"jsonrpc":"2.0","method":"note"}` + "\n\n"
	long := strings.Repeat("x", 2*limit)
	tests := []struct {
		name, text           string
		faults, notes, asked int
	}{
		{"alone", goodEvent, 0, 0, 0},
		{"named", "event: message\n" + goodEvent, 0, 0, 0},
		{"notifications and a request before it", note + note + `data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}` + "\n\n" + goodEvent, 0, 2, 1},
		{"comments, priming event, retry", ": hello\n\nid: 1\ndata:\n\nretry: 10\n\n" + goodEvent, 0, 0, 0},
		{"other events", "event: ping\ndata: {}\n\nevent: endpoint\ndata: /x\n\n" + goodEvent, 0, 0, 0},
		{"carriage returns, byte order mark", "\uFEFFid: 7\r\ndata:" + good + "\r\n\r\n", 0, 0, 0},
		{"several lines", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\ndata: \"result\":{}}\n\n", 0, 0, 0},
		{"behind a broken event", "data: {broken\n\n" + goodEvent, 1, 0, 0},
		{"behind an answer to another request", `data: {"jsonrpc":"2.0","id":"else","result":{}}` + "\n\n" + goodEvent, 1, 0, 0},
		{"behind an event over the limit", `data: {"jsonrpc":"2.0","method":"` + long + "\"}\n\n" + goodEvent, 1, 0, 0},
		{"behind a deep event", `data: {"jsonrpc":"2.0","method":"x","params":` + strings.Repeat(`{"a":`, 999) + "1" + strings.Repeat("}", 1000) + "\n\n" + goodEvent, 1, 0, 0},
	}
	for _, tt := range tests {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " open ", open), func(t *testing.T) {
				t.Parallel()
				p := dial(t, &transport.HTTP{URL: streaming(t, tt.text, open).url, Limits: transport.Limits{MessageBytes: limit}})
				require.JSONEq(t, `{}`, string(p.answers("m").Result))
				faults, notes, asked := p.count()
				require.Equal(t, []int{tt.faults, tt.notes, tt.asked}, []int{faults, notes, asked})
				for _, n := range p.notes {
					require.Equal(t, "note for 1", n, "it has the id of its call")
				}
				p.answers("another")
			})
		}
	}
}

// A stream without an answer fails only its call; at once if the answer is known to be broken,
// even if the stream stays open.
func TestHTTPStreamFailures(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*limit)
	tests := []struct {
		name, text string
		open       bool
		reason     transport.Reason
		says       string
	}{
		{"empty", "", false, transport.ReasonLost, "ended before the answer"},
		{"cut in the middle of an event", "data: " + good + "\n", false, transport.ReasonLost, "ended before the answer"},
		{"only others", "data: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\n", false, transport.ReasonLost, "ended before the answer"},
		{"another id", `data: {"jsonrpc":"2.0","id":"else","result":{}}` + "\n\n", false, transport.ReasonLost, "ended before the answer"},
		{"broken answer", `data: {"jsonrpc":"2.0","id":ID,"result":{},"result":{}}` + "\n\n", true, transport.ReasonProtocol, "duplicate"},
		{"answer of both kinds", `data: {"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}` + "\n\n", true, transport.ReasonProtocol, "exactly one"},
		{"broken beyond recognition", "data: {\"jsonrpc\"\n\n", false, transport.ReasonProtocol, "not a JSON-RPC message"},
		{"too many broken events", strings.Repeat("data: {\n\n", 100), true, transport.ReasonProtocol, "too many broken events"},
		{"answer over the limit, id in front", `data: {"jsonrpc":"2.0","id":ID,"result":"` + long + "\"}\n\n", true, transport.ReasonTooLarge, "larger than"},
		{"answer over the limit, id at the end", `data: {"jsonrpc":"2.0","result":"` + long + "\",\"id\":ID}\n\n", true, transport.ReasonTooLarge, "larger than"},
		{"answer over the limit in many lines", `data: {"jsonrpc":"2.0","id":ID,"result":[0` + strings.Repeat("\ndata: ,1", limit) + "\ndata: ]}\n\n", true, transport.ReasonTooLarge, "larger than"},
		{"deep answer", `data: {"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}\n\n", true, transport.ReasonTooLarge, "deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := dial(t, &transport.HTTP{URL: streaming(t, tt.text, tt.open).url, Limits: transport.Limits{MessageBytes: limit}})
			f := p.fails("m", tt.reason)
			require.ErrorContains(t, f, tt.says)
			require.False(t, f.NotSent || f.Rejected)
			require.Equal(t, 200, f.HTTP.Status)
			require.Equal(t, "text/event-stream; charset=utf-8", f.HTTP.ContentType)
			p.answers("another")
		})
	}
}

// An error without an id answers the request of its stream only if that allows it; otherwise the
// real answer follows.
func TestHTTPStreamErrorWithoutID(t *testing.T) {
	t.Parallel()
	s := streaming(t, `data: {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`+"\n\ndata: "+good+"\n\n", true)
	p := dial(t, &transport.HTTP{URL: s.url})
	require.Nil(t, p.answers("m").Error)
	probe := p.request("m")
	probe.Wait.NullID = true
	answer, err := p.Call(t.Context(), probe)
	require.NoError(t, err)
	require.ErrorIs(t, answer.Error, &jsonrpc.Error{Code: -32600})
}

// A connection that breaks inside a chunk is lost.
func TestHTTPStreamBreaks(t *testing.T) {
	t.Parallel()
	s := replyServer(t, raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ndata: {\"js"))
	p := dial(t, &transport.HTTP{URL: s.url})
	require.ErrorContains(t, p.fails("m", transport.ReasonLost), "in the middle")
	p.answers("another")
}

// An event with an endless line fails the call as too large, not with a timeout: dropped bytes do
// not count as progress.
func TestHTTPEndlessEvent(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := bytes.Repeat([]byte("0"), 64<<10)
		_, err := w.Write([]byte("data: "))
		for err == nil && r.Context().Err() == nil {
			_, err = w.Write(chunk)
		}
	}))
	t.Cleanup(srv.Close)
	conn, err := (&transport.HTTP{URL: srv.URL, Limits: transport.Limits{MessageBytes: 1 << 16}}).Connect(t.Context(), transport.Handler{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	_, err = conn.Call(t.Context(), transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: "m"}})
	require.ErrorContains(t, failure(t, err, transport.ReasonTooLarge), "larger than")
}
