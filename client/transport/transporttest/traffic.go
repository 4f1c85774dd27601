package transporttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A result and an error are both answers, and arrive unchanged.
func testAnswers(h *harness) {
	if h.name == "" {
		h.Fatal("a transport has a name")
	}
	h.equal(string(h.call(MethodEcho, `{"n":9007199254740993,"s":"ü\u0000"}`)), `{"n":9007199254740993,"s":"ü\u0000"}`)
	req := h.request(MethodFail, `{"x":1}`)
	answer, err := h.conn.Call(h.Context(), req)
	h.check(err)
	h.equal(answer.Error, &jsonrpc.Error{Code: -32000, Message: "as asked", Data: json.RawMessage(`{"x":1}`)})
	h.equal(answer.ID, req.ID)
}

// Each of many concurrent calls gets its own answer.
func testMany(h *harness) {
	var work sync.WaitGroup
	for i := range 64 {
		work.Go(func() {
			for j := range 10 {
				want := fmt.Sprintf(`{"caller":%d,"call":%d}`, i, j)
				answer, err := h.conn.Call(h.Context(), h.request(MethodEcho, want))
				if err != nil || string(answer.Result) != want {
					h.Errorf("got %s, %v, want %s", answer.Result, err, want)
				}
			}
		})
	}
	work.Wait()
}

// A slow call does not delay others.
func testOutOfOrder(h *harness) {
	first := h.start(h.Context(), h.request(MethodPark, `{"name":"a"}`))
	second := h.start(h.Context(), h.request(MethodPark, `{"name":"b"}`))
	h.call(MethodFree, `{"name":"b"}`)
	h.check(h.wait(second).err)
	select {
	case o := <-first:
		h.Fatalf("the first call ended before its time: %+v", o)
	default:
	}
	h.call(MethodFree, `{"name":"a"}`)
	h.check(h.wait(first).err)
}

// Notifications arrive in order, and before the answer that follows them.
func testNotifications(h *harness) {
	const count = 200
	h.call(MethodNotify, fmt.Sprintf(`{"count":%d}`, count))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.equal(len(h.notes), count)
	for n, note := range h.notes {
		h.equal(note, fmt.Sprintf(`note {"n":%d}`, n))
	}
}

// A request of the server arrives, and so does the response.
func testServerRequests(h *harness) {
	h.equal(string(h.call(MethodAsk, "")), `{"why":"because"}`)
}

func testNotify(h *harness) {
	h.check(h.conn.Notify(h.Context(), jsonrpc.Notification{Method: "noted", Params: []byte(`{}`)}))
	h.equal(h.seen("noted"), 1)
}

// A megabyte passes in both directions, which is more than the buffers hold.
func testLarge(h *harness) {
	const size = 1 << 20
	text := `{"text":"` + strings.Repeat("y", size) + `"}`
	if got := h.call(MethodEcho, text); string(got) != text {
		h.Fatalf("got %d bytes, want %d as they were", len(got), len(text))
	}
	got := h.call(MethodLarge, fmt.Sprintf(`{"bytes":%d}`, size))
	h.equal(len(got), size+len(`{"text":""}`))
}

// Raw params may span several lines; messages may not.
func testLineBreaks(h *harness) {
	var got struct{ A, B string }
	h.check(json.Unmarshal(h.call(MethodEcho, "{\r\n\t\"a\": \"1\",\n\t\"b\": \"2\"\n}"), &got))
	h.equal(got, struct{ A, B string }{"1", "2"})
}

// An answer over the limit fails its own call at once, and no other.
func testTooLong(h *harness) {
	other := h.start(h.Context(), h.request(MethodPark, `{"name":"a"}`))
	for _, size := range []int{70 << 10, 1 << 20} {
		_, err := h.conn.Call(h.Context(), h.request(MethodLarge, fmt.Sprintf(`{"bytes":%d}`, size)))
		_ = h.failed(err, transport.ReasonTooLarge, false)
	}
	h.call(MethodLarge, `{"bytes":60000}`)
	h.call(MethodFree, `{"name":"a"}`)
	h.check(h.wait(other).err)
}

func testTooDeep(h *harness) {
	for _, levels := range []int{30, 1_500, 20_000} {
		_, err := h.conn.Call(h.Context(), h.request(MethodDeep, fmt.Sprintf(`{"levels":%d}`, levels)))
		_ = h.failed(err, transport.ReasonTooLarge, false)
	}
	h.call(MethodDeep, `{"levels":15}`)
}

// The trace receives whole messages of both sides.
func testTrace(h *harness) {
	h.call(MethodEcho, `{"a":1}`)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.equal(h.sent, []string{`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`})
	if !slices.Equal(h.arrived, []string{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`}) {
		h.Fatalf("received %q", h.arrived)
	}
}
