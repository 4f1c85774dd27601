package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestCloseEndsCallsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		answered := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		stuck := p.call(t.Context(), IntID(2), Wait{}) // its write lasts: nobody reads
		synctest.Wait()
		queued := p.call(t.Context(), IntID(3), Wait{})
		synctest.Wait()
		began := time.Now()
		closed := make(chan error, 8)
		for range cap(closed) {
			go func() { closed <- p.conn.Close() }()
		}
		(<-answered).failed(t, ErrClosed, false)
		(<-stuck).failed(t, ErrClosed, false)
		(<-queued).failed(t, ErrClosed, true)
		require.Zero(t, time.Since(began))
		for range cap(closed) {
			require.NoError(t, <-closed)
		}
		require.LessOrEqual(t, time.Since(began), time.Second)
		<-p.conn.Done()
		require.NoError(t, p.conn.Close())
	})
}

// Lines that have been read but not yet handled do not keep Close waiting: nobody wants them.
func TestCloseBeforeManyLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard int
		p := newPeer(t, Config{OnNoise: func([]byte) {
			heard++
			time.Sleep(closeGrace / 4)
		}})
		go func() { _, _ = io.WriteString(p.out, strings.Repeat("chatter\n", 100)) }()
		time.Sleep(closeGrace)
		require.NoError(t, p.conn.Close())
		require.Less(t, heard, 10)
	})
}

// Accepted frames are sent before the stream is closed; frames that were taken back
// are not.
func TestCloseFlushes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		require.NoError(t, p.conn.Notify(t.Context(), Notification{Method: "first"}))
		synctest.Wait()
		queued := p.call(t.Context(), IntID(1), Wait{})
		synctest.Wait()
		require.NoError(t, p.conn.Notify(t.Context(), Notification{Method: "last"}))
		closed := make(chan error)
		go func() { closed <- p.conn.Close() }()
		synctest.Wait()
		(<-queued).failed(t, ErrClosed, true)
		require.Equal(t, Notification{Method: "first"}, p.hear())
		require.Equal(t, Notification{Method: "last"}, p.hear())
		_, err := p.in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, <-closed)
	})
}

// CloseWrite makes a child process exit; its last answers still count.
func TestCloseWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		done := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		stuck := p.call(t.Context(), IntID(2), Wait{})
		synctest.Wait()
		began := time.Now()
		require.NoError(t, p.conn.CloseWrite())
		require.Equal(t, flushGrace, time.Since(began))
		// Whether its write had returned by then is a race, and both are correct.
		require.ErrorIs(t, (<-stuck).err, ErrClosed)
		(<-p.call(t.Context(), IntID(3), Wait{})).failed(t, ErrClosed, true)
		require.ErrorIs(t, p.conn.Notify(t.Context(), Notification{Method: "n"}), ErrClosed)
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, (<-done).err)
		require.NoError(t, p.conn.Close(), "closing what is closed is fine")
	})
}

// stubborn is a stream whose calls do not return when it is closed.
type stubborn struct{ free chan struct{} }

func (s stubborn) Read([]byte) (int, error)  { <-s.free; return 0, io.EOF }
func (s stubborn) Write([]byte) (int, error) { <-s.free; return 0, io.ErrClosedPipe }
func (s stubborn) Close() error              { return nil }

func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := stubborn{make(chan struct{})}
		c := NewConn(s, s, Config{})
		require.NoError(t, c.Notify(t.Context(), Notification{Method: "n"}))
		synctest.Wait() // until both calls have begun
		began := time.Now()
		require.ErrorIs(t, c.Close(), errStuckStream)
		require.Equal(t, flushGrace+closeGrace, time.Since(began))
		close(s.free)
		<-c.Done()
	})
}

// echo answers every request until the stream ends.
func (p *peer) echo(wg *sync.WaitGroup) {
	wg.Go(func() {
		out := bufio.NewWriter(p.out)
		for {
			text, err := p.in.ReadBytes('\n')
			if err != nil {
				return
			}
			m, err := Decode(text)
			if err != nil {
				_, _ = fmt.Fprintf(out, "broken: %s", text)
			}
			if r, ok := m.(Request); ok && r.Method != "ignore" {
				_, _ = out.Write(append(Response{ID: r.ID, Result: r.Params}.AppendJSON(nil), '\n'))
			}
			if p.in.Buffered() == 0 && out.Flush() != nil {
				return
			}
		}
	})
}

// storm makes calls on one connection from 64 goroutines.
func storm(t *testing.T, p *peer) {
	var peers, callers sync.WaitGroup
	p.echo(&peers)
	faults := make(chan error, 64)
	for g := range 64 {
		callers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 2))
			for i := range testmain.Fewer(40, 5) {
				if err := stormOnce(t.Context(), p.conn, rnd, fmt.Sprintf("%d.%d", g, i)); err != nil {
					faults <- err
					return
				}
			}
		})
	}
	callers.Wait()
	require.Empty(t, faults)
	require.Zero(t, p.conn.InFlight())
	require.Zero(t, p.conn.Stats().Noise, "a frame was cut")
	late := p.call(t.Context(), StringID("late"), Wait{})
	var closers sync.WaitGroup
	for range 4 {
		closers.Go(func() { _ = p.conn.Close() })
	}
	closers.Wait()
	<-late
	p.end()
	peers.Wait()
}

func stormOnce(ctx context.Context, c *Conn, rnd *rand.Rand, id string) error {
	params := raw(fmt.Sprintf(`{"id":%q}`, id))
	if rnd.IntN(20) == 0 {
		params = raw(fmt.Sprintf(`{"id":%q,"pad":"%0*d"}`, id, inlineLimit+rnd.IntN(100_000), 0))
	}
	switch rnd.IntN(4) {
	case 0:
		return c.Notify(ctx, Notification{Method: "n", Params: params})
	case 1:
		ctx, cancel := context.WithCancel(ctx)
		go cancel()
		_, err := c.Call(ctx, Request{ID: StringID(id), Method: "ignore", Params: params}, Wait{Idle: time.Minute})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("not canceled: %w", err)
		}
		return nil
	default:
		resp, err := c.Call(ctx, Request{ID: StringID(id), Method: "m", Params: params}, Wait{Idle: time.Minute, Max: time.Hour})
		if err == nil && string(resp.Result) != string(params) {
			err = fmt.Errorf("%s got the answer of another: %.100s", id, resp.Result)
		}
		return err
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	storm(t, newPeer(t, Config{}))
}

// 50,000 notifications before an answer.
func TestManyNotificationsBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	n := testmain.Fewer(50_000, 5)
	got := 0
	p := newPeer(t, Config{OnNotification: func(Notification) { got++ }})
	done := p.call(t.Context(), IntID(1), Wait{})
	p.hear()
	out := bufio.NewWriter(p.out)
	for range n {
		_, err := out.WriteString(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}` + "\n")
		require.NoError(t, err)
	}
	require.NoError(t, out.Flush())
	p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	require.NoError(t, (<-done).err)
	require.Equal(t, n, got)
}
