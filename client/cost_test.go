package client_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// The tests of this file hold what repeats exactly on any machine: allocations
// and bytes (performance.md, section 6, rows A). Times are bench's business.

// cost runs f a few times warm, then three times n times, and returns allocations and
// bytes of one run, of all goroutines of the process: the least of the three, since what
// a busy machine does to pools and to goroutines in the background only adds. Tests that
// use it must not be parallel.
func cost(t *testing.T, n int, f func()) (allocs, size float64) {
	t.Helper()
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	for range 3 {
		f()
	}
	allocs, size = math.Inf(1), math.Inf(1)
	for range 3 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			f()
		}
		runtime.ReadMemStats(&after)
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
		size = min(size, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
	}
	return allocs, size
}

// anyArgs are smallArgs as the parameter takes them: boxing them is the
// caller's.
var anyArgs any = smallArgs

func callEcho(t *testing.T, c *client.Client) func() {
	ctx := t.Context()
	return func() {
		if _, err := c.CallTool(ctx, "echo", anyArgs); err != nil {
			t.Fatal(err)
		}
	}
}

// W1 over stdio, everything on: at most 5 allocations and 1 KB.
func TestCostStdio(t *testing.T) {
	c := pipeClient(t)
	for name, args := range map[string]any{"raw": anyArgs, "a map": any(map[string]any{"message": "hi"})} {
		allocs, size := cost(t, 2000, func() {
			if _, err := c.CallTool(t.Context(), "echo", args); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("arguments %s: %.2f allocations, %.0f bytes a call", name, allocs, size)
		require.Less(t, allocs, 5.1)
		require.Less(t, size, 1024.0)
	}
}

// All defaults together cost no more than two allocations.
func TestCostOfResilience(t *testing.T) {
	with, _ := cost(t, 2000, callEcho(t, pipeClient(t)))
	without, _ := cost(t, 2000, callEcho(t, pipeClient(t,
		client.WithResilience(client.Resilience{Off: true}), client.WithValidation(client.Validation{Arguments: client.ValidateOff}))))
	t.Logf("%.2f allocations with, %.2f without", with, without)
	require.Less(t, with-without, 2.1)
}

// The stateless era costs no more than a tenth more than the session era.
func TestCostOfTheStatelessEra(t *testing.T) {
	session, _ := cost(t, 2000, callEcho(t, pipeClient(t, client.WithProtocolVersion("2025-11-25"))))
	stateless, _ := cost(t, 2000, callEcho(t, pipeClient(t, client.WithProtocolVersion("2026-07-28"))))
	t.Logf("%.2f allocations stateless, %.2f in a session", stateless, session)
	require.Less(t, stateless, 1.1*session)
}

// bareHTTP is an HTTP server that allocates nothing for a call: whatever is
// measured beside it is the client's. It answers like pipePeer, in JSON or in
// events.
func bareHTTP(t *testing.T, events bool) string {
	t.Helper()
	return bareListing(t, events, oneTool)
}

// bareListing is bareHTTP with another list of tools.
func bareListing(t *testing.T, events bool, tools string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveBare(conn, events, tools)
		}
	}()
	return "http://" + listener.Addr().String() + "/mcp"
}

func serveBare(conn net.Conn, events bool, tools string) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 64<<10)
	var body, answer, result []byte
	echo := strings.TrimSuffix(strings.TrimPrefix(echoResult, `"result":`), "}\n")
	for {
		length := 0
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
			if name, value, _ := bytes.Cut(line, []byte(": ")); string(name) == "Content-Length" {
				for _, d := range bytes.TrimSpace(value) {
					length = 10*length + int(d-'0')
				}
			}
		}
		if cap(body) < length {
			body = make([]byte, length)
		}
		body = body[:length]
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		_, rest, found := bytes.Cut(body, []byte(`"id":`))
		if !found {
			if _, err := conn.Write([]byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")); err != nil {
				return
			}
			continue
		}
		id, _, _ := bytes.Cut(rest, []byte(`,`))
		text := echo
		switch {
		case bytes.Contains(body, []byte(`"method":"initialize"`)):
			text = initResult
		case bytes.Contains(body, []byte(`"method":"server/discover"`)):
			text = discoverResult
		case bytes.Contains(body, []byte(`"method":"tools/list"`)):
			text = tools
		}
		result = append(append(append(append(result[:0], `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...), text...)
		result = append(result, '}')
		if events {
			answer = append(answer[:0], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"...)
			answer = append(strconv.AppendInt(answer, int64(len("event: message\ndata: \n\n")+len(result)), 16), "\r\nevent: message\ndata: "...)
			answer = append(append(answer, result...), "\n\n\r\n0\r\n\r\n"...)
		} else {
			answer = append(answer[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
			answer = append(strconv.AppendInt(answer, int64(len(result)), 10), "\r\n\r\n"...)
			answer = append(answer, result...)
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// discoverResult is the answer to server/discover of a well-behaved server.
const discoverResult = `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}`

// W5: a list of tools is in memory once: in the stateless era, where its page is
// kept too, connecting costs no more than in a session.
func TestCostOfConnecting(t *testing.T) {
	var tools strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&tools, `,{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}`, i, strings.Repeat("what it does ", 80))
	}
	list := `{` + aMinute + `,"tools":[` + tools.String()[1:] + `]}`
	url := bareListing(t, false, list)
	connect := func(version string) float64 {
		_, size := cost(t, 20, func() {
			c, err := client.Dial(t.Context(), url, client.WithProtocolVersion(version))
			require.NoError(t, err)
			require.NoError(t, c.Close())
		})
		return size
	}
	session, stateless := connect("2025-11-25"), connect("2026-07-28")
	t.Logf("%.0f bytes stateless, %.0f in a session, for a list of %d", stateless, session, len(list))
	require.Less(t, stateless, 1.1*session)
}

// netHTTP is what one exchange costs with net/http alone.
func netHTTP(t *testing.T, url string) (allocs, size float64) {
	pool := &http.Transport{MaxIdleConnsPerHost: 10}
	defer pool.CloseIdleConnections()
	plain := &http.Client{Transport: pool}
	body := []byte(`{"jsonrpc":"2.0","id":"b0e4ddbe-7a0c-4a3b-a6c9-7bb0b4fbd3f3","method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`)
	return cost(t, 500, func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := plain.Do(req)
		require.NoError(t, err)
		_, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	})
}

// W1 over HTTP: at most eight allocations (the goal is ten) and half as many bytes more than
// net/http alone, in both eras, in JSON and in events.
func TestCostHTTP(t *testing.T) {
	for _, events := range []bool{false, true} {
		url := bareHTTP(t, events)
		floor, floorSize := netHTTP(t, url)
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			c, err := client.Dial(t.Context(), url, client.WithProtocolVersion(version))
			require.NoError(t, err)
			allocs, size := cost(t, 500, callEcho(t, c))
			t.Logf("%s, events %t: %.1f allocations and %.0f bytes a call, net/http alone %.1f and %.0f", version, events, allocs, size, floor, floorSize)
			require.Less(t, allocs, floor+8.5)
			require.Less(t, size, 1.5*floorSize)
			require.NoError(t, c.Close())
		}
	}
}

// payload is log-like text in JSON: a break every 79 letters.
func payload(size int) string {
	return strings.Repeat(strings.Repeat("x", 79)+`\n`, size/81+1)[:size/81*81]
}

// W3 over HTTP with a known length: a large result is one buffer, and its text
// shares it.
func TestCostLargeResult(t *testing.T) {
	const size = 4 << 20
	text := payload(size)
	answer := `{"content":[{"type":"text","text":"` + text + `"}]}`
	c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://large.test/mcp", RoundTripper: prepared(answer)}, client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, got := cost(t, 3, callEcho(t, c))
	t.Logf("%.3f of the result's size", got/size)
	require.Less(t, got, 1.2*size)
}

// W3 in events: a large result is read in chunks, which are joined once into what
// its text shares.
func TestCostLargeEvent(t *testing.T) {
	const size = 4 << 20
	ready := prepared(`{"content":[{"type":"text","text":"` + payload(size) + `"}]}`)
	inEvents := roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, err := ready.RoundTrip(req)
		if err == nil && resp.ContentLength > size {
			resp.Header.Set("Content-Type", "text/event-stream")
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("data: "), resp.Body, strings.NewReader("\n\n")))
			resp.ContentLength = -1
		}
		return resp, err
	})
	c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://large.test/mcp", RoundTripper: inEvents}, client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, got := cost(t, 3, callEcho(t, c))
	t.Logf("%.3f of the result's size", got/size)
	require.Less(t, got, 2.5*size)
}

// prepared is a round tripper that answers one method with a result, and what
// comes before it properly, without a network and without allocating for the
// result more than a reader.
func prepared(result string) http.RoundTripper { return preparedFor("tools/call", result) }

func preparedFor(method, result string) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
		_, rest, found := bytes.Cut(body, []byte(`"id":`))
		if !found {
			resp.StatusCode, resp.Body = http.StatusAccepted, http.NoBody
			return resp, nil
		}
		id, _, _ := strings.Cut(string(rest), ",")
		text := `{}`
		switch {
		case bytes.Contains(body, []byte(`"method":"`+method+`"`)):
			text = result
		case bytes.Contains(body, []byte(`"method":"initialize"`)):
			text = initResult
		case bytes.Contains(body, []byte(`"method":"server/discover"`)):
			text = discoverResult
		case bytes.Contains(body, []byte(`"method":"tools/list"`)):
			text = oneTool
		}
		head := `{"jsonrpc":"2.0","id":` + id + `,"result":`
		resp.ContentLength = int64(len(head) + len(text) + 1)
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(head), strings.NewReader(text), strings.NewReader("}")))
		return resp, nil
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// W4: large arguments are copied once, into the message, and judged in place.
func TestCostLargeArguments(t *testing.T) {
	const size = 4 << 20
	var args any = json.RawMessage(`{"message":"` + payload(size) + `"}`)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := pipeClient(t, client.WithProtocolVersion(version))
		_, got := cost(t, 3, func() {
			_, err := c.CallTool(t.Context(), "echo", args)
			require.NoError(t, err)
		})
		t.Logf("%s: %.3f of the arguments' size", version, got/size)
		require.Less(t, got, 1.3*size)
	}
}

// W5: connecting and listing 1,000 tools takes at most 1,000 allocations, and
// with a fresh cache a schema costs none but the copy handed out.
func TestCostList(t *testing.T) {
	var list strings.Builder
	list.WriteString(`{"tools":[`)
	for i := range 1000 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"tool_%d","description":"%s","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"%s"}},"required":["a"]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}`,
			i, strings.Repeat("d", 300), strings.Repeat("p", 600))
	}
	list.WriteString(`]}`)
	answer := list.String()
	tripper := preparedFor("tools/list", answer)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		allocs, _ := cost(t, 5, func() {
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://list.test/mcp", RoundTripper: tripper},
				client.WithProtocolVersion(version)) // which lists the tools
			require.NoError(t, err)
			_, err = c.GetToolSchema(t.Context(), "tool_999")
			require.NoError(t, err)
			require.NoError(t, c.Close())
		})
		t.Logf("%s: %.0f allocations to connect and list 1,000 tools", version, allocs)
		require.Less(t, allocs, 1000.0)
	}

	c := pipeClient(t)
	hit, _ := cost(t, 1000, func() {
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
	})
	t.Logf("%.2f allocations for a schema from the cache", hit)
	require.Less(t, hit, 2.1, "a tool of the caller's own, and its texts")
}

// W6: a connected client that does nothing holds no goroutine and at most 2 KB.
func TestCostIdle(t *testing.T) {
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	const sessions = 1000
	tripper := prepared(`{}`)
	open := func() *client.Client {
		c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://idle.test/mcp", RoundTripper: tripper},
			client.WithProtocolVersion("2025-11-25"), client.WithCache(client.CacheConfig{NoPreload: true}))
		require.NoError(t, err)
		return c
	}
	open().Close() //nolint:errcheck // warms up
	// What tests that have ended leave behind is freed when it will be: the heap
	// is read once it is the same twice, or has had long enough. Stacks are those of
	// goroutines, which are counted.
	heap := func() (float64, int) {
		var m runtime.MemStats
		for range 20 {
			before := m.HeapAlloc
			runtime.GC()
			runtime.GC() // pools keep what they hold for one more
			runtime.ReadMemStats(&m)
			if max(m.HeapAlloc, before)-min(m.HeapAlloc, before) < sessions {
				break
			}
		}
		return float64(m.HeapAlloc), runtime.NumGoroutine()
	}
	// And it may be freed while the clients are made: three rounds, of which the
	// one in the middle counts.
	var sizes []float64
	for range 3 {
		held := make([]*client.Client, 0, sessions)
		size, goroutines := heap()
		for range sessions {
			held = append(held, open())
		}
		after, now := heap()
		sizes = append(sizes, (after-size)/sessions)
		require.LessOrEqual(t, now, goroutines)
		for _, c := range held {
			require.NoError(t, c.Close())
		}
	}
	t.Logf("%.0f bytes for each of %d idle clients", sizes, sessions)
	slices.Sort(sizes)
	require.Positive(t, sizes[1], "nothing was measured")
	require.Less(t, sizes[1], 2048.0)
}
