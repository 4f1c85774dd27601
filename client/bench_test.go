package client_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// echoResult is 96 bytes of text, the small call of the performance goals.
const echoResult = `"result":{"content":[{"type":"text","text":"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456"}]}}` + "\n"

// pipePeer is a server on OS pipes that allocates nothing once it is warm: it
// answers initialize and tools/list properly and every other request with
// echoResult.
func pipePeer(t testing.TB) *transport.Stream {
	t.Helper()
	inRead, inWrite, err := os.Pipe()
	require.NoError(t, err)
	outRead, outWrite, err := os.Pipe()
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = outWrite.Close() }()
		lines := bufio.NewReaderSize(inRead, 64<<10)
		var answer []byte
		for {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				line = bytes.Clone(line[:1<<10]) // method and id stand before what is large
				for errors.Is(err, bufio.ErrBufferFull) {
					_, err = lines.ReadSlice('\n')
				}
			}
			if err != nil {
				return
			}
			_, rest, found := bytes.Cut(line, []byte(`"id":`))
			if !found {
				continue
			}
			id, _, _ := bytes.Cut(rest, []byte(`,`))
			answer = append(append(append(answer[:0], `{"jsonrpc":"2.0","id":`...), id...), ',')
			switch {
			case bytes.Contains(line, []byte(`"method":"initialize"`)):
				answer = append(append(append(answer, `"result":`...), initResult...), "}\n"...)
			case bytes.Contains(line, []byte(`"method":"server/discover"`)):
				answer = append(append(append(answer, `"result":`...), discoverResult...), "}\n"...)
			case bytes.Contains(line, []byte(`"method":"tools/list"`)):
				answer = append(append(append(answer, `"result":`...), oneTool...), "}\n"...)
			default:
				answer = append(answer, echoResult...)
			}
			if _, err := outWrite.Write(answer); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = inRead.Close()
		<-done
	})
	return &transport.Stream{In: outRead, Out: inWrite, Name: "pipe"}
}

func pipeClient(t testing.TB, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), pipePeer(t), pinned(opts)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var smallArgs = json.RawMessage(`{"message":"hi"}`)

// BenchmarkCallStdio is a small call over pipes with everything on: breaker,
// deadlines, argument check, schema cache.
func BenchmarkCallStdio(b *testing.B) {
	c := pipeClient(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(ctx, "echo", smallArgs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallStdioBare is the same with everything off.
func BenchmarkCallStdioBare(b *testing.B) {
	c := pipeClient(b, client.WithResilience(client.Resilience{Off: true}), client.WithValidation(client.Validation{Arguments: client.ValidateOff}))
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(ctx, "echo", smallArgs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallStdio64 keeps 64 calls in flight.
func BenchmarkCallStdio64(b *testing.B) {
	c := pipeClient(b)
	ctx := b.Context()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.CallTool(ctx, "echo", smallArgs); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkCacheHit reads a schema that is fresh.
func BenchmarkCacheHit(b *testing.B) {
	c := pipeClient(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.GetToolSchema(ctx, "echo"); err != nil {
			b.Fatal(err)
		}
	}
}

// A stdio call costs no more than this with everything on (performance.md 6
// asks for 5 and 1 KB).
func TestCallAllocations(t *testing.T) {
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	result := testing.Benchmark(BenchmarkCallStdio)
	t.Logf("%d allocations, %d bytes a call", result.AllocsPerOp(), result.AllocedBytesPerOp())
	require.LessOrEqual(t, result.AllocsPerOp(), int64(5))
}

// httpPeer is an HTTP server that answers like pipePeer.
func httpPeer(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, rest, found := bytes.Cut(body, []byte(`"id":`))
		if err != nil || !found {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		id, _, _ := bytes.Cut(rest, []byte(`,`))
		result := strings.TrimSuffix(strings.TrimPrefix(echoResult, `"result":`), "}\n")
		switch {
		case bytes.Contains(body, []byte(`"method":"initialize"`)):
			result = initResult
		case bytes.Contains(body, []byte(`"method":"tools/list"`)):
			result = oneTool
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":`+result+`}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// BenchmarkCallHTTP is a small call over HTTP with everything on.
func BenchmarkCallHTTP(b *testing.B) {
	ctx := b.Context()
	c, err := client.Dial(ctx, httpPeer(b), sessionEra)
	require.NoError(b, err)
	defer func() { _ = c.Close() }()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(ctx, "echo", smallArgs); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNetHTTP is the floor of BenchmarkCallHTTP: the same bytes by
// net/http alone, against the same server.
func BenchmarkNetHTTP(b *testing.B) {
	url := httpPeer(b)
	body := []byte(`{"jsonrpc":"2.0","id":"b0e4ddbe-7a0c-4a3b-a6c9-7bb0b4fbd3f3","method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := http.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
