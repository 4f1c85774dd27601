//go:build unix

package jsonrpc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// The comments of the benchmarks have the goals. Run:
//
//	go test ./jsonrpc -run '^$' -bench . -benchmem

var benchParams = raw(`{"name":"echo","arguments":{"text":"` + strings.Repeat("t", 96) + `"}}`)

func BenchmarkEncodeRequest(b *testing.B) {
	req := Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: benchParams}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = req.AppendJSON(buf[:0])
	}
}

// answerOf is an answer with a text result, in all size bytes.
func answerOf(size int) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":"7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11","result":{"content":[{"type":"text","text":"`, `"}]}}`
	line := strings.Repeat("x", 79) + `\n`
	text := strings.Repeat(line, size/len(line)+1)[:size-len(head)-len(tail)]
	return []byte(head + strings.TrimSuffix(text, `\`) + tail)
}

func BenchmarkDecodeResponse(b *testing.B) {
	for _, size := range []int{165, 2 << 10, 64 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			data := answerOf(size)
			s := newScanner()
			var e envelope
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.scan(data, DefaultDepth, &e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAllocationsOfCodec(t *testing.T) {
	s := newScanner()
	var e envelope
	for _, size := range []int{165, 2 << 10, 64 << 10, 1 << 20} {
		data := answerOf(size)
		require.Zero(t, testing.AllocsPerRun(20, func() {
			if s.scan(data, DefaultDepth, &e) != nil {
				panic("not decoded")
			}
		}), "%d", size)
	}
	req := Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: benchParams}
	buf := make([]byte, 0, 1024)
	require.Zero(t, testing.AllocsPerRun(20, func() { buf = req.AppendJSON(buf[:0]) }))
}

// echoRaw answers each line with the id in it, and allocates nothing. It ends with
// the stream.
func echoRaw(in io.Reader, out io.Writer) {
	lines := bufio.NewReaderSize(in, 64<<10)
	answers := make([]byte, 0, 64<<10)
	for {
		text, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		at := bytes.Index(text, []byte(`"id":`)) + len(`"id":`)
		id := text[at : at+bytes.IndexByte(text[at:], ',')]
		answers = append(answers, `{"jsonrpc":"2.0","id":`...)
		answers = append(answers, id...)
		answers = append(answers, `,"result":{"content":[{"type":"text","text":"tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"}]}}`...)
		answers = append(answers, '\n')
		if lines.Buffered() == 0 || len(answers) > 32<<10 {
			if _, err := out.Write(answers); err != nil {
				return
			}
			answers = answers[:0]
		}
	}
}

// echoConn is a connection to echoRaw over pipes.
func echoConn(tb testing.TB) *Conn {
	conn, in, out := newPipePeer(tb, Config{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		echoRaw(in, out)
	}()
	tb.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	return conn
}

// Goal: at most 2.5 times BenchmarkRawPipe.
func BenchmarkCallPipe(b *testing.B) {
	conn := echoConn(b)
	req := Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: benchParams}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Call(b.Context(), req, Wait{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRawPipe is the lower bound: the same bytes without a client.
func BenchmarkRawPipe(b *testing.B) {
	in, toPeer, err := os.Pipe()
	require.NoError(b, err)
	fromPeer, out, err := os.Pipe()
	require.NoError(b, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		echoRaw(in, out)
	}()
	frame := append(Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: benchParams}.AppendJSON(nil), '\n')
	buf := make([]byte, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := toPeer.Write(frame); err != nil {
			b.Fatal(err)
		}
		for n := 0; n == 0 || buf[n-1] != '\n'; {
			got, err := fromPeer.Read(buf[n:])
			if err != nil {
				b.Fatal(err)
			}
			n += got
		}
	}
	for _, f := range []*os.File{toPeer, fromPeer, in, out} {
		_ = f.Close()
	}
	<-ended
}

// inFlight runs call b.N times from n goroutines.
func inFlight(b *testing.B, n int, call func(worker int) error) {
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for worker := range n {
		wg.Go(func() {
			for i := worker; i < b.N; i += n {
				if err := call(worker); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Goal: at most 2 times BenchmarkRawPipe64.
func BenchmarkCallPipe64(b *testing.B) {
	conn := echoConn(b)
	var ids [64]ID
	for i := range ids {
		ids[i] = StringID(fmt.Sprintf("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b%02d", i))
	}
	inFlight(b, len(ids), func(worker int) error {
		_, err := conn.Call(b.Context(), Request{ID: ids[worker], Method: "tools/call", Params: benchParams}, Wait{})
		return err
	})
}

// BenchmarkRawPipe64 is the lower bound for many calls: a mutex, a write for each call,
// and a reader that hands out the answers in order.
func BenchmarkRawPipe64(b *testing.B) {
	in, toPeer, err := os.Pipe()
	require.NoError(b, err)
	fromPeer, out, err := os.Pipe()
	require.NoError(b, err)
	ended := make(chan struct{}, 2)
	go func() {
		echoRaw(in, out)
		ended <- struct{}{}
	}()
	var mu sync.Mutex
	waiting := make(chan chan struct{}, 64)
	go func() {
		lines := bufio.NewReaderSize(fromPeer, 64<<10)
		for {
			if _, err := lines.ReadSlice('\n'); err != nil {
				ended <- struct{}{}
				return
			}
			<-waiting <- struct{}{}
		}
	}()
	frame := append(Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: benchParams}.AppendJSON(nil), '\n')
	var done [64]chan struct{}
	for i := range done {
		done[i] = make(chan struct{}, 1)
	}
	inFlight(b, len(done), func(worker int) error {
		mu.Lock()
		waiting <- done[worker]
		_, err := toPeer.Write(frame)
		mu.Unlock()
		<-done[worker]
		return err
	})
	for _, f := range []*os.File{toPeer, out, in, fromPeer} {
		_ = f.Close()
	}
	<-ended
	<-ended
}

func TestAllocationsOfACall(t *testing.T) {
	conn := echoConn(t)
	req := Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: benchParams}
	call := func() {
		if _, err := conn.Call(t.Context(), req, Wait{Idle: 1 << 40, Max: 1 << 41}); err != nil {
			panic(err)
		}
	}
	call()
	require.LessOrEqual(t, testing.AllocsPerRun(200, call), 3.0)
}

// Goal: large arguments are not copied.
func TestLargeParamsAreNotCopied(t *testing.T) {
	testmain.SkipLarge(t)
	for _, size := range []int{1 << 20, 16 << 20} {
		params := raw(`{"x":"` + strings.Repeat("p", size) + `"}`)
		result := testing.Benchmark(func(b *testing.B) {
			conn, in, out := newPipePeer(b, Config{})
			ended := make(chan int, 1)
			go func() {
				buf, total := make([]byte, 64<<10), 0
				for {
					n, err := in.Read(buf)
					if total += n; err != nil {
						ended <- total
						return
					}
					if buf[n-1] == '\n' {
						_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
					}
				}
			}()
			for b.Loop() {
				if _, err := conn.Call(b.Context(), Request{ID: IntID(1), Method: "m", Params: params}, Wait{}); err != nil {
					b.Fatal(err)
				}
			}
			_ = conn.Close()
			if total := <-ended; total < b.N*size {
				b.Fatal("lost bytes")
			}
		})
		require.Positive(t, result.N)
		require.LessOrEqual(t, float64(result.AllocedBytesPerOp())/float64(size), 0.3, "%d: %s", size, result.MemString())
	}
}

// Goal: a large answer is in memory at most twice.
func TestLargeResultsAreHeldTwiceAtMost(t *testing.T) {
	testmain.SkipLarge(t)
	const size = 16<<20 - 200
	answer := append(bytes.Replace(answerOf(size), []byte(`"7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"`), []byte("1"), 1), '\n')
	result := testing.Benchmark(func(b *testing.B) {
		conn, in, out := newPipePeer(b, Config{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			buf := make([]byte, 4<<10)
			for {
				if _, err := in.Read(buf); err != nil {
					return
				}
				_, _ = out.Write(answer)
			}
		}()
		for b.Loop() {
			resp, err := conn.Call(b.Context(), Request{ID: IntID(1), Method: "m"}, Wait{})
			if err != nil || len(resp.Result) < size-200 {
				b.Fatal(len(resp.Result), err)
			}
		}
		_ = conn.Close()
		<-ended
	})
	require.LessOrEqual(t, float64(result.AllocedBytesPerOp())/size, 2.5, result.MemString())
}
