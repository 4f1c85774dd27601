package front

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func direct(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"direct","params":` + params + `}`
}

func TestS1_DirectMethodsNeedNoHandshake(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.ask(direct("1", `{"a":1,"_meta":{"agentName":"ann"}}`), `{"jsonrpc":"2.0","id":1,"result":{"arguments":{"a":1},"agent":"ann","transport":"stdio","refused":false}}`)
	p.ask(direct("2", `null`), `{"jsonrpc":"2.0","id":2,"result":{"arguments":null,"agent":"stdio","transport":"stdio","refused":false}}`)
	p.ask(`{"jsonrpc":"2.0","id":3,"method":"refused"}`, `{"jsonrpc":"2.0","id":3,"error":{"code":404,"message":"Not Found"}}`)
	p.ask(direct("4", `[]`), `{"jsonrpc":"2.0","id":4,"result":{"arguments":[],"agent":"stdio","transport":"stdio","refused":false}}`)
	p.send(`{"jsonrpc":"2.0","method":"direct"}`) // a notification is never answered, and runs nothing
	p.handshake()
	p.ask(direct(`"5"`, `{}`), `{"jsonrpc":"2.0","id":"5","result":{"arguments":{},"agent":"stdio","transport":"stdio","refused":true}}`)
	p.ask(direct(`9007199254740993`, `{}`), `{"jsonrpc":"2.0","id":9007199254740993,"result":{"arguments":{},"agent":"stdio","transport":"stdio","refused":true}}`)
	p.end()
	require.Equal(t, []string{"ann direct", "stdio direct", "stdio refused", "stdio direct", "stdio direct", "stdio direct"}, p.backend.admitted)
}

func TestStdioDirectCallIsCancelled(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.send(`{"jsonrpc":"2.0","id":"h","method":"hang"}`)
	p.ask(`{"jsonrpc":"2.0","id":"h","method":"hang"}`, `{"jsonrpc":"2.0","id":"h","error":{"code":-32600,"message":"Invalid Request: id is already in use","data":{"reason":"duplicate_id"}}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"h"}}`)
	p.end()
}

func TestStdioBatches(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	p := newPeer(t, 0)
	p.send(`[` + ping + `,` + direct("1", `{}`) + `,{"jsonrpc":"2.0","method":"notifications/progress","params":{}},7,` +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"},` + initialize + `,` + alone("3", "tools/list", "") + `]`)
	got := p.recv()
	require.True(t, strings.HasPrefix(got, "[") && strings.HasSuffix(got, "]"), got)
	for _, part := range []string{
		`{"jsonrpc":"2.0","id":"p","result":{}}`, `"id":1,"result":{"agent"`, `"id":null,"error":{"code":-32600`,
		`"id":2,"error":{"code":-32600,"message":"Invalid Request: server not initialized"`,
		`"id":"init","error":{"code":-32600,"message":"Invalid Request: initialize must not be part of a batch"`,
		`"id":3,"error":{"code":-32600,"message":"Invalid Request: a request of the stateless era must not be part of a batch"`,
	} {
		require.Contains(t, got, part)
	}
	p.ask(`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a batch must not be empty","data":{"reason":"batch"}}}`)
	p.ask(`[oops]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	p.ask(`[`+strings.Repeat("1,", maxBatch)+`1]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a batch has 1000 messages at most","data":{"reason":"batch"}}}`)
	p.send(`[{"jsonrpc":"2.0","method":"nope"}]`) // notifications alone: no answer
	p.send(strings.Replace(initialize, "2025-06-18", "2025-03-26", 1))
	require.Contains(t, p.recv(), `"2025-03-26"`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.ask(`[`+call("1", "echo", `{}`)+`]`, `[`+echoed("1", `{}`)+`]`)
	p.end()
}

// The answer to a batch comes when its last call is done, and without the calls
// that were cancelled.
func TestStdioBatchWaitsForAll(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.send(strings.Replace(initialize, "2025-06-18", "2025-03-26", 1))
	require.Contains(t, p.recv(), `"id":"init"`)
	p.send(`[` + call("1", "wait", `{}`) + `,` + call("2", "wait", `{}`) + `,` + call("3", "echo", `{}`) + `]`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	p.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	go func() { // the end of the input waits for the batch
		_ = p.in.Close()
		close(p.release)
	}()
	got := p.recv()
	require.Contains(t, got, `"id":1,"result"`)
	require.Contains(t, got, `"id":3,"result"`)
	require.NotContains(t, got, `"id":2`)
	rest, err := io.ReadAll(p.out)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.NoError(t, <-p.ended)
}

func TestHTTPDirect(t *testing.T) {
	t.Parallel()
	h, _, b := site(behind())
	w := post(t, h, direct("1", `{"_meta":{"agentName":"ann"}}`), "X-Agent-Name", "bob")
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"arguments":{},"agent":"ann","transport":"http","refused":false}}`, w.Body.String())
	require.Equal(t, []string{"3", "2", "1800000000", ""}, rates(w.Header()))
	post(t, h, direct("1", `{}`), "X-Agent-Name", "bob")
	post(t, h, direct("1", `{}`), "Mcp-Session-Id", "known")
	w = post(t, h, direct("1", `{}`))
	require.Equal(t, http.StatusOK, w.Code, "the status is that of a JSON-RPC answer")
	require.Contains(t, w.Body.String(), `"refused":true`)
	require.Equal(t, []string{"3", "0", "1800000000", "2"}, rates(w.Header()))
	require.Equal(t, []string{"ann direct", "bob direct", "known direct", "http direct"}, b.admitted)
	w = post(t, h, `{"jsonrpc":"2.0","id":"r","method":"refused"}`, "Mcp-Protocol-Version", "2026-07-28")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"r","error":{"code":404,"message":"Not Found"}}`, w.Body.String())
	require.Equal(t, []string{"", "", "", ""}, rates(w.Header()))
	require.Equal(t, http.StatusNotFound, post(t, h, direct("1", `{}`), "Mcp-Session-Id", "other").Code)
}

func rates(h http.Header) []string {
	return []string{h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining"), h.Get("X-RateLimit-Reset"), h.Get("Retry-After")}
}

// The handler of a call learns from the ticket what the front knows; a ticket
// that a client wrote is not one.
func TestHTTPTicket(t *testing.T) {
	t.Parallel()
	var ticket Ticket
	var found bool
	h, _, b := site(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ticket, found = TicketOf(r.Header, nil)
	}))
	w := post(t, h, call("1", "limited", `{}`), "Mcp-Session-Id", "known", ticketHeader, `{"Origin":{"Agent":"root"}}`)
	require.Equal(t, []string{"3", "2", "1800000000", ""}, rates(w.Header()))
	require.True(t, found)
	require.Equal(t, "known", ticket.Origin.Agent)
	require.Equal(t, "http", ticket.Origin.Transport)
	require.Equal(t, "2025-11-25", ticket.Origin.Version)
	require.Equal(t, 2, ticket.Quota.Remaining)
	require.Len(t, b.admitted, 1)
	post(t, h, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", "known", ticketHeader, `{}`)
	require.False(t, found, "no call, no ticket, and no limit")
	require.Len(t, b.admitted, 1)
}

func TestHTTPBatch(t *testing.T) {
	t.Parallel()
	h, _, _ := site(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		body, _ := io.ReadAll(r.Body)
		ticket, _ := TicketOf(r.Header, map[string]any{ticketKey: float64(1)})
		_, _ = io.WriteString(w, "data: "+ticket.Origin.Agent+" "+string(body)+"\n\n")
	}))
	named := func(id, agent string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"echo","_meta":{"agentName":"` + agent + `"}}}`
	}
	send := func(body string) (int, string) {
		w := post(t, h, body, "Mcp-Session-Id", "old")
		return w.Code, w.Body.String()
	}
	code, body := send(`[` + named("1", "ann") + `,` + named("2", "bob") + `]`)
	require.Equal(t, http.StatusOK, code)
	require.True(t, strings.HasPrefix(body, "data: bob ["), body)
	_, body = send(`[` + named("1", "ann") + `,` + direct("2", `{}`) + `,{"jsonrpc":"2.0","id":3,"method":"nope"},` + initialize + `,1]`)
	require.True(t, strings.HasPrefix(body, "event: message\ndata: ["), body)
	first, second, _ := strings.Cut(body, "\n\n")
	for _, part := range []string{`"id":2,"result"`, `"id":3,"error":{"code":-32601`, `"id":"init","error":{"code":-32600`, `"id":null,"error"`} {
		require.Contains(t, first, part)
	}
	require.Contains(t, second, `"id":1`)
	code, body = send(`[` + direct("2", `{}`) + `,{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	require.Equal(t, http.StatusOK, code)
	require.True(t, strings.HasPrefix(body, `[{"jsonrpc":"2.0","id":2,"result"`), body)
	code, body = send(`[{"jsonrpc":"2.0","method":"nope"}]`)
	require.Equal(t, http.StatusAccepted, code)
	require.Empty(t, body)
	code, _ = send(`[]`)
	require.Equal(t, http.StatusBadRequest, code)
}

func TestGateToken(t *testing.T) {
	t.Parallel()
	gate := NewGate(GateOptions{Token: "s3cret"})
	h := gate.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for given, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer x": 401, "Basic s3cret": 401, "Bearer s3cret2": 401,
		"Bearer s3cret": 204, "bearer  s3cret": 204,
	} {
		w := post(t, h, "", "Authorization", given)
		require.Equal(t, want, w.Code, given)
		require.Equal(t, want == 401, strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer realm="))
		require.NotContains(t, w.Body.String(), "s3cret")
	}
}

func TestHTTPSessionsAreBounded(t *testing.T) {
	t.Parallel()
	h, _, b := site(behind())
	b.full = true
	w := post(t, h, initialize)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Equal(t, http.StatusOK, post(t, h, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", "known").Code)
}
