//go:build unix

package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// inFlight is how many calls a busy host has open.
const inFlight = 64

// BenchmarkCall is the cost of a call of a host to a server over pipes, directly and through a
// proxy. Host and server do almost nothing, and run in the same process: what a call costs more
// through a proxy, and its allocations, are those of the proxy. Run:
//
//	go test ./proxy -run '^$' -bench Call
func BenchmarkCall(b *testing.B) {
	for _, way := range []struct {
		name string
		open func(b *testing.B) *benchHost
	}{{"direct", openDirect}, {"proxied", openProxied}} {
		b.Run(way.name, func(b *testing.B) {
			for _, open := range []int{1, inFlight} {
				b.Run(strconv.Itoa(open), func(b *testing.B) {
					h := way.open(b)
					h.calls(open, open)
					b.ReportAllocs()
					b.ResetTimer()
					used := processorTime()
					h.calls(b.N, open)
					b.ReportMetric(float64(processorTime()-used)/float64(b.N), "cpu-ns/op")
				})
			}
		})
	}
}

// processorTime is that of the process, which a busy machine does not lengthen.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for other arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchHost writes calls that were encoded before, and looks at nothing but the ends of answers.
type benchHost struct {
	tb   testing.TB
	out  *os.File
	in   *bufio.Reader
	next int
	line []byte
}

// calls makes n calls, of which at most open are in flight.
func (h *benchHost) calls(n, open int) {
	for sent, answered := 0, 0; answered < n; answered++ {
		for sent < n && sent-answered < open {
			h.next++
			h.line = append(h.line[:0], `{"jsonrpc":"2.0","id":`...)
			h.line = strconv.AppendInt(h.line, int64(h.next), 10)
			h.line = append(h.line, benchCall...)
			_, err := h.out.Write(h.line)
			require.NoError(h.tb, err)
			sent++
		}
		_, err := h.in.ReadSlice('\n')
		require.NoError(h.tb, err)
	}
}

var (
	benchText   = strings.Repeat("t", 96)
	benchCall   = `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + benchText + `"}}}` + "\n"
	benchAnswer = `,"result":{"content":[{"type":"text","text":"` + benchText + `"}]}}` + "\n"
)

// benchServer answers each request with the same result, until in ends.
func benchServer(in io.Reader, out io.Writer) {
	lines := bufio.NewReaderSize(in, 64<<10)
	var answer []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		_, id, asks := bytes.Cut(line, []byte(`"id":`))
		if !asks {
			continue
		}
		id = id[:bytes.IndexByte(id, ',')]
		answer = append(append(answer[:0], `{"jsonrpc":"2.0","id":`...), id...)
		if bytes.Contains(line, []byte(`"initialize"`)) {
			answer = append(answer, `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}`+"\n"...)
		} else {
			answer = append(answer, benchAnswer...)
		}
		if _, err := out.Write(answer); err != nil {
			return
		}
	}
}

// benchPipe is a pipe that ends with the benchmark.
func benchPipe(tb testing.TB) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_ = w.Close()
		_ = r.Close()
	})
	return r, w
}

// openDirect connects a host to a server.
func openDirect(b *testing.B) *benchHost {
	calls, out := benchPipe(b)
	in, answers := benchPipe(b)
	var serving sync.WaitGroup
	serving.Go(func() { benchServer(calls, answers) })
	b.Cleanup(func() {
		_ = out.Close()
		serving.Wait()
	})
	return openBench(b, out, in)
}

// openProxied connects a host to a proxy before a server.
func openProxied(b *testing.B) *benchHost {
	calls, toServer := benchPipe(b)
	fromServer, answers := benchPipe(b)
	hostIn, out := benchPipe(b)
	in, hostOut := benchPipe(b)
	var serving sync.WaitGroup
	serving.Go(func() { benchServer(calls, answers) })
	stream := &transport.Stream{In: fromServer, Out: toServer}
	serving.Go(func() {
		_ = proxy.Stdio(b.Context(), hostIn, hostOut, proxy.Target(func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
			return client.Connect(ctx, stream, opts...)
		}))
	})
	b.Cleanup(func() {
		_ = out.Close()
		serving.Wait()
	})
	return openBench(b, out, in)
}

// openBench begins the session of a host.
func openBench(tb testing.TB, out, in *os.File) *benchHost {
	h := &benchHost{tb: tb, out: out, in: bufio.NewReaderSize(in, 64<<10)}
	_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`+"\n")
	require.NoError(tb, err)
	_, err = h.in.ReadSlice('\n')
	require.NoError(tb, err)
	_, err = io.WriteString(out, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(tb, err)
	return h
}
