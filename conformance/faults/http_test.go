package faults

import (
	"bufio"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// httpCase observes a fault that is made over HTTP only.
type httpCase struct {
	rule  Rule
	calls int // how many calls of tools the server executes
	check func(t *testing.T, rig *httpRig)
}

// status is a fault that is a refusal.
func status(want int, look ...func(t *testing.T, g got)) httpCase {
	return httpCase{check: func(t *testing.T, rig *httpRig) {
		g := rig.ask(call(1), "Mcp-Session-Id: s1")
		require.NoError(t, g.fail)
		require.Equal(t, want, g.status)
		for _, one := range look {
			one(t, g)
		}
	}}
}

func header(name, want string) func(*testing.T, got) {
	return func(t *testing.T, g got) { t.Helper(); require.Equal(t, want, g.header.Get(name)) }
}

func bodyHas(part string) func(*testing.T, got) {
	return func(t *testing.T, g got) { t.Helper(); require.Contains(t, g.body, part) }
}

func noBody(t *testing.T, g got) { t.Helper(); require.Empty(t, g.body) }

// executed is a fault that hits the answer to a call that the server executes.
func onAnswer(look func(t *testing.T, g got)) httpCase {
	return httpCase{calls: 1, check: func(t *testing.T, rig *httpRig) { look(t, rig.ask(call(1))) }}
}

func good200(t *testing.T, g got) {
	t.Helper()
	require.NoError(t, g.fail)
	require.NoError(t, g.err)
	require.Equal(t, 200, g.status)
	require.Contains(t, g.body, `"done"`)
}

// sized is such a fault of another size.
func sized(size int, look func(t *testing.T, g got)) httpCase {
	c := onAnswer(look)
	c.rule.Size = size
	return c
}

var httpCases = map[string]httpCase{
	"A7/407": {check: func(t *testing.T, rig *httpRig) { require.Equal(t, 407, rig.connect().StatusCode) }},
	"A7/502": {check: func(t *testing.T, rig *httpRig) { require.Equal(t, 502, rig.connect().StatusCode) }},

	"B1": onAnswer(func(t *testing.T, g got) { require.ErrorContains(t, g.fail, "timeout") }),
	"B2": onAnswer(func(t *testing.T, g got) {
		good200(t, g)
		require.Greater(t, g.took, time.Minute)
	}),
	"B3": onAnswer(func(t *testing.T, g got) {
		good200(t, g)
		require.Equal(t, time.Duration(len(g.body)-1)*time.Second, g.took)
	}),
	"B4": onAnswer(func(t *testing.T, g got) { require.ErrorIs(t, g.fail, io.ErrUnexpectedEOF) }),
	"B5": {calls: 1, check: func(t *testing.T, rig *httpRig) {
		c := rig.conn()
		in := bufio.NewReader(c)
		good200(t, rig.askOn(c, in, call(1)))
		require.ErrorIs(t, rig.askOn(c, in, call(2)).fail, io.ErrUnexpectedEOF)
	}},
	"B6/reset": onAnswer(func(t *testing.T, g got) { require.ErrorIs(t, g.err, io.ErrUnexpectedEOF); require.NotEmpty(t, g.body) }),
	"B6/chunk": onAnswer(func(t *testing.T, g got) { require.ErrorIs(t, g.err, io.ErrUnexpectedEOF); require.NotEmpty(t, g.body) }),
	"B6/short": onAnswer(func(t *testing.T, g got) { require.ErrorIs(t, g.err, io.ErrUnexpectedEOF); require.NotEmpty(t, g.body) }),
	"B7/long": {calls: 1, check: func(t *testing.T, rig *httpRig) {
		c := rig.conn()
		in := bufio.NewReader(c)
		good200(t, rig.askOn(c, in, call(1)))
		more, _ := in.Peek(9)
		require.Equal(t, "this text", string(more))
	}},
	"B7/garbage": onAnswer(bodyHas("}this text")),
	"B8/gzip": sized(1<<20, func(t *testing.T, g got) {
		require.Equal(t, "gzip", g.header.Get("Content-Encoding"))
		require.Less(t, len(g.body), 10<<10)
		plain, err := gzip.NewReader(strings.NewReader(g.body))
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, plain)
		require.NoError(t, err)
		require.Greater(t, n, int64(1<<20))
	}),
	"B8/oversized": onAnswer(func(t *testing.T, g got) {
		good200(t, g)
		require.Greater(t, len(g.body), 17<<20)
	}),
	"B8/endless": {calls: 1, check: func(t *testing.T, rig *httpRig) {
		c := rig.conn()
		post(c, call(1))
		n, err := io.CopyN(io.Discard, c, 64<<20)
		require.NoError(t, err)
		require.EqualValues(t, 64<<20, n)
	}},
	"B9":                  {check: status(200, header("Content-Type", "text/html; charset=utf-8"), bodyHas("<html>")).check},
	"B10/200":             status(200, noBody),
	"B10/204":             status(204, noBody),
	"B10/202":             status(202, noBody),
	"B11/301":             status(301, header("Location", "/elsewhere")),
	"B11/302":             status(302, header("Location", "/elsewhere")),
	"B11/303":             status(303, header("Location", "/elsewhere")),
	"B12/same-origin":     {calls: 1, check: sameOrigin},
	"B12/cross-origin":    status(307, header("Location", "https://other.invalid/mcp")),
	"B12/loop":            status(307, header("Location", "/mcp")),
	"B12/downgrade":       status(307, header("Location", "http://x/mcp")),
	"B13/bare":            status(400, noBody),
	"B13/-32020":          status(400, bodyHas(`"code":-32020`)),
	"B13/-32021":          status(400, bodyHas(`"code":-32021`)),
	"B13/-32022":          status(400, bodyHas(`"supported":["1999-01-01"]`)),
	"B14":                 status(401, header("WWW-Authenticate", `Bearer error="invalid_token"`)),
	"B15":                 status(403, header("WWW-Authenticate", `Bearer error="insufficient_scope", scope="tools:call"`)),
	"B16":                 status(404, bodyHas(`"code":-32601`)),
	"B17":                 {rule: Rule{When: Selector{Count: 1}}, calls: 2, check: sessionGone},
	"B18/404":             status(404, noBody),
	"B18/410":             status(410, noBody),
	"B19/405":             status(405, header("Allow", "GET")),
	"B19/406":             status(406),
	"B19/415":             status(415),
	"B20/408":             status(408),
	"B20/409":             status(409),
	"B20/413":             status(413),
	"B20/421":             status(421),
	"B20/425":             status(425),
	"B21":                 status(429, header("Retry-After", "7")),
	"B22/none":            status(429, header("Retry-After", "")),
	"B22/date":            status(429, header("Retry-After", "Sat, 01 Jan 2000 00:00:07 GMT")), // where a bubble's time begins
	"B22/negative":        status(429, header("Retry-After", "-5")),
	"B22/huge":            status(429, header("Retry-After", "1000000000")),
	"B22/text":            status(429, header("Retry-After", "soon")),
	"B23/bare":            status(500, noBody),
	"B23/-32603":          status(500, bodyHas(`"code":-32603`)),
	"B24/502":             status(502),
	"B24/503":             status(503, header("Retry-After", "")),
	"B24/503-retry-after": status(503, header("Retry-After", "120")),
	"B24/504":             status(504),
	"B28/large":           onAnswer(func(t *testing.T, g got) { require.Len(t, g.header.Get("X-Faults"), 1<<20) }),
	"B28/many":            onAnswer(func(t *testing.T, g got) { require.Greater(t, len(g.header), 10_000) }),
	"B29":                 {check: early},
	"B30":                 {calls: 1, check: halfClose},

	"C1": onAnswer(func(t *testing.T, g got) { isStream(t, g); require.Error(t, g.err); require.Empty(t, g.body) }),
	"C2": {rule: Rule{For: Duration(2 * time.Second)}, calls: 1, check: resumes("retry: 2000\n")},
	"C3": onAnswer(func(t *testing.T, g got) {
		isStream(t, g)
		require.Error(t, g.err)
		require.Contains(t, g.events()[0], "notifications/progress")
		require.NotContains(t, g.body, "id: ")
	}),
	"C4": onAnswer(func(t *testing.T, g got) {
		isStream(t, g)
		require.NoError(t, g.err)
		require.Len(t, g.events(), 1)
	}),
	"C5": {rule: Rule{Size: 1 << 20}, calls: 1, check: func(t *testing.T, rig *httpRig) {
		g := rig.ask(call(1))
		require.Greater(t, strings.Count(g.body, ":cccc"), 1000)
		isGood(t, g.events()[0])
	}},
	"C6": onAnswer(func(t *testing.T, g got) {
		isStream(t, g)
		require.ErrorContains(t, g.err, "timeout")
		require.Empty(t, g.body)
	}),
	"C7/line": sized(300_000, func(t *testing.T, g got) { require.Len(t, g.events()[0], 300_000); isGood(t, g.events()[1]) }),
	"C7/event": sized(1<<20, func(t *testing.T, g got) {
		all := g.events()
		require.Len(t, all, 1<<4+1)
		isGood(t, all[len(all)-1])
	}),
	"C8/mix": onAnswer(func(t *testing.T, g got) { isGood(t, g.events()[0]) }),
	"C8/cr":  onAnswer(func(t *testing.T, g got) { isGood(t, g.events()[0]); require.NotContains(t, g.body, "\n") }),
	"C8/lf":  onAnswer(func(t *testing.T, g got) { isGood(t, g.events()[0]); require.NotContains(t, g.body, "\r") }),
	"C8/crlf": onAnswer(func(t *testing.T, g got) {
		isGood(t, g.events()[0])
		require.Equal(t, 3, strings.Count(g.body, "\r\n"))
	}),
	"C8/bom": onAnswer(func(t *testing.T, g got) {
		isGood(t, g.events()[0])
		require.True(t, strings.HasPrefix(g.body, "\ufeff"))
	}),
	"C8/split": {calls: 1, check: func(t *testing.T, rig *httpRig) {
		c := rig.conn()
		post(c, call(1))
		raw := make([]byte, 4096)
		var all strings.Builder
		for !strings.Contains(all.String(), "0\r\n\r\n") {
			n, err := c.Read(raw)
			require.NoError(t, err)
			all.Write(raw[:n])
		}
		require.Contains(t, all.String(), "1\r\ne\r\n1\r\nv\r\n1\r\ne\r\n1\r\nn\r\n1\r\nt\r\n")
	}},
	"C9/zero": {calls: 1, check: resumes("retry: 0\n")},
	"C9/huge": {calls: 1, check: resumes("retry: 1000000000000\n")},
	"C10/two": onAnswer(func(t *testing.T, g got) {
		isGood(t, g.events()[0])
		require.Contains(t, g.events()[1], `"id":1,"error"`)
	}),
	"C10/foreign": onAnswer(func(t *testing.T, g got) {
		require.Contains(t, g.events()[0], "faults-unknown-id")
		isGood(t, g.events()[1])
	}),
	"C10/after": onAnswer(func(t *testing.T, g got) {
		isGood(t, g.events()[0])
		require.Contains(t, g.events()[1], "behind the answer")
	}),
	"C11/dies": {check: func(t *testing.T, rig *httpRig) { require.ErrorIs(t, rig.listen().err, io.ErrUnexpectedEOF) }},
	"C11/graceful": {rule: Rule{For: Duration(time.Minute)}, check: func(t *testing.T, rig *httpRig) {
		g := rig.listen()
		require.NoError(t, g.err)
		require.Equal(t, ": hello\n\n", g.body)
		require.Equal(t, time.Minute, g.took)
	}},
	"C13/text":      onAnswer(func(t *testing.T, g got) { require.False(t, utf8.ValidString(g.body)) }),
	"C13/structure": onAnswer(bodyHas("\"res\xffult\"")),
}

func isStream(t *testing.T, g got) {
	t.Helper()
	require.NoError(t, g.fail)
	require.Equal(t, "text/event-stream", g.header.Get("Content-Type"))
}

// send writes a request without a body, and reads the head of the answer.
func (r *httpRig) send(text string) (*http.Response, net.Conn) {
	c := r.conn()
	require.NoError(r.t, c.SetReadDeadline(time.Now().Add(time.Hour)))
	go func() { _, _ = io.WriteString(c, text) }()
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	require.NoError(r.t, err)
	return resp, c
}

func (r *httpRig) connect() *http.Response {
	resp, _ := r.send("CONNECT server:443 HTTP/1.1\r\nHost: server:443\r\n\r\n")
	return resp
}

func (r *httpRig) listen(headers ...string) got {
	began := time.Now()
	resp, _ := r.send("GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n" + strings.Join(headers, "") + "\r\n")
	data, err := io.ReadAll(resp.Body)
	return got{status: resp.StatusCode, header: resp.Header, body: string(data), err: err, took: time.Since(began)}
}

func resumes(retry string) func(*testing.T, *httpRig) {
	return func(t *testing.T, rig *httpRig) {
		g := rig.ask(call(1))
		isStream(t, g)
		require.ErrorIs(t, g.err, io.ErrUnexpectedEOF)
		require.Equal(t, retry+"id: faults-1\ndata: \n\n", g.body)
		require.Contains(t, rig.listen("Last-Event-ID: faults-1\r\n").body, `"done"`)
	}
}

func sameOrigin(t *testing.T, rig *httpRig) {
	g := rig.ask(call(1))
	require.Equal(t, 307, g.status)
	require.Equal(t, "/mcp?faults-redirected=1", g.header.Get("Location"))
	body := call(1)
	resp, _ := rig.send("POST " + g.header.Get("Location") + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	require.Equal(t, 200, resp.StatusCode)
}

func sessionGone(t *testing.T, rig *httpRig) {
	require.Equal(t, 404, rig.ask(call(1), "Mcp-Session-Id: s1").status)
	require.Equal(t, 404, rig.ask(call(2), "Mcp-Session-Id: s1").status)
	require.Equal(t, 200, rig.ask(request(3, "initialize", "{}"), "Mcp-Session-Id: s1").status)
	good200(t, rig.ask(call(4), "Mcp-Session-Id: s2"))
	good200(t, rig.ask(call(5)))
}

func early(t *testing.T, rig *httpRig) {
	c := rig.conn()
	_ = c.SetReadDeadline(time.Now().Add(time.Hour))
	// The announced body never comes whole: the answer is there before.
	go func() {
		_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"+
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":"`+strings.Repeat("x", 5000))
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`, string(data))
	require.False(t, rig.proxy.History()[0].Sent)
}

// halfClose: a pipe cannot be half-closed, so the proxy closes it; the real
// thing is in TestFaultsOverTCP.
func halfClose(t *testing.T, rig *httpRig) { require.Error(t, rig.ask(call(1)).fail) }

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	for key, c := range httpCases {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				rule := c.rule
				rule.Fault, rule.Variant, _ = strings.Cut(key, "/")
				rig := newHTTPRig(t, rule)
				c.check(t, rig)
				require.EqualValues(t, c.calls, rig.server.executed.Load())
				require.Positive(t, rig.proxy.Stats()[rule.Fault])
			})
		})
	}
}

// Over a socket, B30 ends one direction only, and B4 is a reset.
func TestFaultsOverTCP(t *testing.T) {
	t.Parallel()
	p, err := New(Plan{Rules: []Rule{{Fault: "B30"}}})
	require.NoError(t, err)
	var config net.ListenConfig
	raw, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := NewServer(p.Handler(&fakeServer{}))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(p.Listen(raw, nil))
	}()
	defer func() {
		p.Heal()
		_ = srv.Close()
		<-served
	}()
	dial := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", raw.Addr().String())
		require.NoError(t, err)
		post(c, call(1))
		return c
	}
	c := dial()
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	// More than buffers hold: somebody reads it, the socket lives.
	_, err = io.WriteString(c, strings.Repeat("x", 16<<20))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, p.Set(Plan{Rules: []Rule{{Fault: "B4"}}}))
	c = dial()
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
	require.NoError(t, c.Close())
}

// A rule that says Unsent keeps the request from the server; one that says
// Executed passes it on and refuses all the same.
func TestWhatTheServerSees(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		rig := newHTTPRig(t, Rule{Fault: "B4", Unsent: true, When: Selector{Count: 1}}, Rule{Fault: "B24", Executed: true})
		require.Error(t, rig.ask(call(1)).fail)
		require.EqualValues(t, 0, rig.server.executed.Load())
		require.Equal(t, 502, rig.ask(call(2)).status)
		require.EqualValues(t, 1, rig.server.executed.Load())
		all := rig.proxy.History()
		require.Equal(t, []bool{false, true, false, true}, []bool{all[0].Sent, all[1].Sent, all[1].Delivered, all[1].Answered})
		require.Equal(t, []string{"B4", "B24"}, []string{all[0].Fault, all[1].Fault})
		require.Equal(t, 1, rig.proxy.Executions("k1"))
	})
}

// Answers that wait for each other go out in an order that the seed decides.
func TestRandomOrder(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) (ids []string) {
		bubble(t, func(t *testing.T) {
			rig := newStreamRig(t)
			require.NoError(t, rig.proxy.Set(Plan{Seed: seed, Rules: []Rule{{Fault: "D5", Repeat: 50}}}))
			for i := range 50 {
				rig.say(call(i))
				synctest.Wait()
			}
			heard, err := rig.hear(50)
			require.NoError(t, err)
			for _, line := range heard {
				ids = append(ids, idOf(line))
			}
		})
		return ids
	}
	a, b, c := order(1), order(1), order(2)
	require.Equal(t, a, b)
	require.NotEqual(t, a, c)
	require.ElementsMatch(t, a, c)

	bubble(t, func(t *testing.T) {
		rig := newHTTPRig(t, Rule{Fault: "D5", Repeat: 3})
		done := make(chan got, 3)
		for i := range 3 {
			go func() { done <- rig.ask(call(i)) }()
		}
		for range 3 {
			good200(t, <-done)
		}
		good200(t, rig.ask(call(4))) // alone: after For
	})
}

// The answer to a call that was cancelled comes afterwards, whether the server
// heard of it (D6) or not (F15).
func TestAfterCancel(t *testing.T) {
	t.Parallel()
	for fault, seen := range map[string]bool{"D6": true, "F15": false} {
		bubble(t, func(t *testing.T) {
			rig := newStreamRig(t, Rule{Fault: fault})
			rig.say(call(1))
			synctest.Wait()
			require.True(t, rig.proxy.History()[0].Answered)
			require.False(t, rig.proxy.History()[0].Delivered)
			rig.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			heard, err := rig.hear(1)
			require.NoError(t, err)
			isGood(t, heard[0])
			require.Equal(t, seen, rig.proxy.History()[1].Sent)
		})
	}
}

// A slow list is slow (F9).
func TestSlowList(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		rig := newHTTPRig(t, Rule{Fault: "F9"})
		require.Equal(t, time.Second, rig.ask(list).took)
	})
}
