//go:build unix

package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newPipePeer connects over pipes of the system, as to a child process.
func newPipePeer(t testing.TB, cfg Config) (conn *Conn, in, out *os.File) {
	t.Helper()
	in, connOut, err := os.Pipe()
	require.NoError(t, err)
	connIn, out, err := os.Pipe()
	require.NoError(t, err)
	conn = NewConn(connIn, connOut, cfg)
	require.NotNil(t, conn.w.try, "pipes must be written without blocking")
	t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
		_ = conn.Close()
	})
	return conn, in, out
}

// fill fills the pipe to the peer, and returns what was sent.
func fill(t *testing.T, c *Conn) (frames []string) {
	t.Helper()
	n := Notification{Method: "fill", Params: raw(`{"x":"` + strings.Repeat("f", 30_000) + `"}`)}
	for !parked(c.w) {
		require.NoError(t, c.Notify(t.Context(), n))
		frames = append(frames, string(n.AppendJSON(nil)))
	}
	return frames
}

// parked reports whether the writer waits for room without a running write.
func parked(w *writer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy && w.committed == w.written
}

// A peer that does not read blocks no caller, and frames of which nothing was sent
// are taken back.
func TestFullPipe(t *testing.T) {
	t.Parallel()
	conn, in, out := newPipePeer(t, Config{})
	want := fill(t, conn)
	p := &peer{T: t, conn: conn}

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var canceled []<-chan outcome
	for i := range 50 {
		req := Request{ID: IntID(int64(i)), Method: "canceled"}
		if i%10 == 0 {
			req.Params = raw(`{"x":"` + strings.Repeat("c", 100_000) + `"}`)
		}
		canceled = append(canceled, p.callWith(ctx, req, Wait{}))
	}
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	(<-p.call(short, IntID(100), Wait{})).failed(t, context.DeadlineExceeded, true)
	(<-p.call(t.Context(), IntID(101), Wait{Idle: time.Millisecond})).failed(t, ErrIdle, true)
	kept := p.callWith(t.Context(), Request{ID: IntID(102), Method: "kept"}, Wait{})
	for conn.InFlight() < 51 {
		stop() // wait for all of them without a clock
	}
	cancel(cause)
	for _, done := range canceled {
		(<-done).failed(t, cause, true)
	}

	lines := bufio.NewReader(in)
	read := func() string {
		text, err := lines.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSuffix(text, "\n")
	}
	for i := range want {
		require.Equal(t, want[i], read())
	}
	require.Equal(t, `{"jsonrpc":"2.0","id":102,"method":"kept"}`, read(), "nothing of what was taken back")
	_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":102,"result":{}}`+"\n")
	require.NoError(t, err)
	require.NoError(t, (<-kept).err)
}

// A frame of which a part was sent must be sent completely. Otherwise the next one would be
// appended to it.
func TestCancelInTheMiddleOfAFrame(t *testing.T) {
	t.Parallel()
	conn, in, _ := newPipePeer(t, Config{})
	p := &peer{T: t, conn: conn}
	ctx, cancel := context.WithCancel(t.Context())
	params := raw(`{"x":"` + strings.Repeat("p", 1<<20) + `"}`)
	done := p.callWith(ctx, Request{ID: IntID(1), Method: "large", Params: params}, Wait{})
	one := make([]byte, 1)
	_, err := io.ReadFull(in, one)
	require.NoError(t, err)
	cancel()
	(<-done).failed(t, context.Canceled, false)
	require.NoError(t, conn.Notify(t.Context(), Notification{Method: "next"}))
	lines := bufio.NewReader(io.MultiReader(strings.NewReader(string(one)), in))
	text, err := lines.ReadBytes('\n')
	require.NoError(t, err)
	got, err := Decode(text)
	require.NoError(t, err)
	require.Equal(t, Request{ID: IntID(1), Method: "large", Params: params}, got)
	text, err = lines.ReadBytes('\n')
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","method":"next"}`+"\n", string(text))
}

func TestCloseWithAFullPipe(t *testing.T) {
	t.Parallel()
	conn, _, _ := newPipePeer(t, Config{})
	fill(t, conn)
	p := &peer{T: t, conn: conn}
	done := p.call(t.Context(), IntID(1), Wait{})
	for conn.InFlight() == 0 {
		_ = conn.Stats()
	}
	closed := make(chan error, 1)
	go func() { closed <- conn.Close() }()
	(<-done).failed(t, ErrClosed, true)
	require.NoError(t, <-closed)
}

// EPIPE fails calls that cannot be sent. Earlier ones may still be answered.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	conn, in, out := newPipePeer(t, Config{})
	p := &peer{T: t, conn: conn}
	asked := p.call(t.Context(), IntID(1), Wait{})
	_, err := bufio.NewReader(in).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, in.Close())
	(<-p.call(t.Context(), IntID(2), Wait{})).failed(t, syscall.EPIPE, true)
	(<-p.call(t.Context(), IntID(3), Wait{})).failed(t, syscall.EPIPE, true)
	require.Empty(t, asked)
	_, err = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	require.NoError(t, err)
	require.NoError(t, (<-asked).err)
}

// A connection without calls learns of the error by OnBroken.
func TestBrokenPipeWithoutCalls(t *testing.T) {
	t.Parallel()
	broken := make(chan error, 4)
	conn, in, _ := newPipePeer(t, Config{OnBroken: func(err error) { broken <- err }})
	require.NoError(t, in.Close())
	require.NoError(t, conn.Respond(Response{ID: IntID(1)}))
	require.ErrorIs(t, <-broken, syscall.EPIPE)
	require.ErrorIs(t, conn.Respond(Response{ID: IntID(2)}), syscall.EPIPE)
	require.NoError(t, conn.Close())
	close(broken)
	for err := range broken {
		require.ErrorIs(t, err, syscall.EPIPE, "the end of the connection is no error of the stream")
	}
}

// Answers that share writes all arrive, each on a line of its own.
func TestAnswersOfMany(t *testing.T) {
	t.Parallel()
	conn, in, _ := newPipePeer(t, Config{})
	const n = 200
	var answering sync.WaitGroup
	for i := range n {
		answering.Go(func() {
			if err := conn.RespondAmong(Response{ID: IntID(int64(i))}, n-1); err != nil {
				panic(err)
			}
		})
	}
	lines := bufio.NewReader(in)
	got := map[ID]bool{}
	for range n {
		text, err := lines.ReadBytes('\n')
		require.NoError(t, err)
		m, err := Decode(text)
		require.NoError(t, err)
		got[m.(Response).ID] = true
	}
	require.Len(t, got, n)
	answering.Wait()
}

func TestBrokenPipeWhileItIsFull(t *testing.T) {
	t.Parallel()
	conn, in, _ := newPipePeer(t, Config{})
	fill(t, conn)
	p := &peer{T: t, conn: conn}
	done := p.call(t.Context(), IntID(1), Wait{})
	for conn.InFlight() == 0 {
		_ = conn.Stats()
	}
	require.NoError(t, in.Close())
	(<-done).failed(t, syscall.EPIPE, true)
}

// Files and terminals in blocking mode are written by the writer's goroutine.
func TestStreamsThatCannotBeTried(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.Nil(t, newTryWriter(f))
	require.Nil(t, newTryWriter(&strings.Builder{}))
	w := newWriter(f, 1<<20, func(error) {})
	_, err = w.acceptNow(small(1, 3))
	require.NoError(t, err)
	w.drain(time.Minute)
	_ = w.fail(ErrClosed)
	w.close()
	<-w.done
	require.NoError(t, f.Close())
	got, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	require.Equal(t, string(small(1, 3).append(nil)), string(got))
}

func TestManyAtOnceOverPipes(t *testing.T) {
	t.Parallel()
	conn, in, out := newPipePeer(t, Config{})
	storm(t, &peer{T: t, conn: conn, in: bufio.NewReader(in), out: out, read: in})
}

// scrambling is like a stream that encrypts, counts or throttles: only its own Write may be
// used, although it embeds a file.
type scrambling struct{ *net.TCPConn }

func (s scrambling) Write(b []byte) (int, error) {
	other := make([]byte, len(b))
	for i := range b {
		other[i] = b[i] ^ 1
	}
	return s.TCPConn.Write(other)
}

func TestWrappedConnectionsWriteThemselves(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var dial net.Dialer
	c, err := dial.DialContext(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	server, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = server.Close()
		_ = ln.Close()
	})
	require.NotNil(t, newTryWriter(c), "a plain one is written to without blocking")
	wrapped := scrambling{c.(*net.TCPConn)}
	conn := NewConn(wrapped, wrapped, Config{})
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.Notify(t.Context(), Notification{Method: "x"}))
	first := make([]byte, 1)
	_, err = io.ReadFull(server, first)
	require.NoError(t, err)
	require.Equal(t, byte('{'^1), first[0])
}
