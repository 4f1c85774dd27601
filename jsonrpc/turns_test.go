//go:build unix

package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// turnsPeer answers the method "echo" at once, "long" with a line longer than a pipe and a
// buffer, and "silence" never.
type turnsPeer struct {
	*testing.T
	conn  *Conn
	out   *os.File
	id    atomic.Int64
	mu    sync.Mutex  // guards writes
	heard chan string // methods that get no answer
}

func newTurnsPeer(t *testing.T, cfg Config, length time.Duration) *turnsPeer {
	t.Helper()
	conn, in, out := newPipePeer(t, cfg)
	conn.turns.length = length
	p := &turnsPeer{T: t, conn: conn, out: out, heard: make(chan string, 1024)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.serve(in)
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	return p
}

func (p *turnsPeer) serve(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := Decode(text)
		if err != nil {
			return
		}
		req := m.(Request)
		switch req.Method {
		case "echo":
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"m":"echo"}}`, req.ID))
		case "long":
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, req.ID, strings.Repeat("x", 3*lineBuffer)))
		default:
			p.heard <- req.Method
		}
	}
}

func (p *turnsPeer) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, line+"\n") // an error is the end of the test
}

func (p *turnsPeer) holder() reading {
	p.conn.turns.mu.Lock()
	defer p.conn.turns.mu.Unlock()
	return p.conn.turns.holder
}

// rest makes calls until the loop rests.
func (p *turnsPeer) rest() {
	p.Helper()
	for range 1000 * loneCalls { // the next call often begins before the loop rests
		if p.holder() == nobodyReads {
			return
		}
		p.echo()
	}
	require.Fail(p, "the loop never rests")
}

func (p *turnsPeer) echo() {
	p.Helper()
	resp, err := p.conn.Call(p.Context(), Request{ID: IntID(p.id.Add(1)), Method: "echo"}, Wait{})
	require.NoError(p, err)
	require.JSONEq(p, `{"m":"echo"}`, string(resp.Result))
}

// lead starts a call that is not answered; its caller reads.
func (p *turnsPeer) lead(ctx context.Context, wait Wait) <-chan error {
	p.Helper()
	p.rest()
	done := make(chan error, 1)
	go func() {
		_, err := p.conn.Call(ctx, Request{ID: IntID(p.id.Add(1)), Method: "silence"}, wait)
		done <- err
	}()
	require.Equal(p, "silence", <-p.heard)
	require.Eventually(p, func() bool { return p.holder() == callerReads }, 10*time.Second, time.Millisecond)
	return done
}

// look makes the loop check, as it does after each turn length.
func (p *turnsPeer) look() bool {
	p.conn.turns.mu.Lock()
	seen := p.conn.turns.taken
	p.conn.turns.mu.Unlock()
	return p.conn.turns.look(&seen)
}

// ended returns the error with which a call ends soon.
func (p *turnsPeer) ended(done <-chan error) error {
	p.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		require.Fail(p, "the call hangs")
		return nil
	}
}

// While calls come one by one, callers read.
func TestCallersRead(t *testing.T) {
	t.Parallel()
	p := newTurnsPeer(t, Config{}, time.Hour)
	p.rest()
	before := p.conn.turns.taken
	for range 100 {
		p.echo()
	}
	require.Equal(t, before+100, p.conn.turns.taken)
	require.Equal(t, nobodyReads, p.holder())
}

// A call whose caller reads ends like any other, at the latest with the next look of the
// loop. After that, calls work as before.
func TestTurnOfACallThatIsGivenUp(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for name, tt := range map[string]struct {
		wait Wait
		end  func(p *turnsPeer, cancel context.CancelFunc)
		want error
		over bool // the connection is
	}{
		"context":      {end: func(p *turnsPeer, cancel context.CancelFunc) { cancel(); p.look() }, want: context.Canceled},
		"idle timeout": {wait: Wait{Idle: time.Millisecond}, end: func(p *turnsPeer, _ context.CancelFunc) { p.look() }, want: ErrIdle},
		"maximum":      {wait: Wait{Max: time.Millisecond}, end: func(p *turnsPeer, _ context.CancelFunc) { p.look() }, want: ErrMaxWait},
		"Fail":         {end: func(p *turnsPeer, _ context.CancelFunc) { p.conn.Fail(gone) }, want: gone, over: true},
		"Close":        {end: func(p *turnsPeer, _ context.CancelFunc) { _ = p.conn.Close() }, want: ErrClosed, over: true},
		"end of file":  {end: func(p *turnsPeer, _ context.CancelFunc) { _ = p.out.Close() }, want: ErrPeerClosed, over: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTurnsPeer(t, Config{}, time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := p.lead(ctx, tt.wait)
			tt.end(p, cancel)
			require.ErrorIs(t, p.ended(done), tt.want)
			if !tt.over {
				require.Equal(t, loopReads, p.holder(), "who was interrupted does not read on")
				p.rest()
				p.echo()
			}
		})
	}
}

// A caller that reads also passes on the answers of calls that begin meanwhile. When it has
// its own answer, the loop reads for them.
func TestTurnOfOneAmongMany(t *testing.T) {
	t.Parallel()
	p := newTurnsPeer(t, Config{}, time.Hour)
	first := p.lead(t.Context(), Wait{})
	p.echo() // another caller reads its answer
	require.Equal(t, callerReads, p.holder())
	second := make(chan error, 1)
	go func() {
		_, err := p.conn.Call(t.Context(), Request{ID: StringID("second"), Method: "silence"}, Wait{})
		second <- err
	}()
	require.Equal(t, "silence", <-p.heard)
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, p.id.Load()-1))
	require.NoError(t, p.ended(first))
	require.Equal(t, loopReads, p.holder())
	p.say(`{"jsonrpc":"2.0","id":"second","result":{}}`)
	require.NoError(t, p.ended(second))
}

// The loop reads a line that is longer than the buffer.
func TestTurnOfALongAnswer(t *testing.T) {
	t.Parallel()
	p := newTurnsPeer(t, Config{}, time.Hour)
	p.rest()
	resp, err := p.conn.Call(t.Context(), Request{ID: IntID(1 << 40), Method: "long"}, Wait{})
	require.NoError(t, err)
	require.Len(t, resp.Result, 3*lineBuffer+2)
	require.Equal(t, loopReads, p.holder())
}

// An interrupt in the middle of a line loses nothing of it.
func TestInterruptWithinALine(t *testing.T) {
	t.Parallel()
	p := newTurnsPeer(t, Config{}, time.Hour)
	done := p.lead(t.Context(), Wait{})
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, p.id.Load())
	_, err := io.WriteString(p.out, answer[:20])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.look() || p.holder() == loopReads }, 10*time.Second, time.Millisecond)
	p.say(answer[20:])
	require.NoError(t, p.ended(done))
}

// A message that arrives while no call is in flight is read when the loop looks.
func TestLoopGoesOn(t *testing.T) {
	t.Parallel()
	heard := make(chan Notification, 1)
	p := newTurnsPeer(t, Config{OnNotification: func(n Notification) { heard <- n }}, time.Millisecond)
	for range 20 {
		for range 4 * loneCalls {
			p.echo()
		}
		p.say(`{"jsonrpc":"2.0","method":"notifications/x"}`)
		require.Equal(t, "notifications/x", (<-heard).Method)
	}
	require.NoError(t, p.out.Close())
	<-p.conn.Done()
}

// A function of Config that panics does not block the turn.
func TestTurnOfAPanic(t *testing.T) {
	t.Parallel()
	var angry atomic.Bool
	p := newTurnsPeer(t, Config{OnReceived: func([]byte) {
		if angry.Swap(false) {
			panic("angry")
		}
	}}, time.Hour)
	p.rest()
	angry.Store(true)
	require.PanicsWithValue(t, "angry", p.echo)
	require.Equal(t, loopReads, p.holder())
	p.rest()
	p.echo()
}

// Phases of single calls and of many at once, with long answers and callers that give up:
// each call ends correctly.
func TestTurnsUnderLoad(t *testing.T) {
	t.Parallel()
	p := newTurnsPeer(t, Config{OnNotification: func(Notification) {}}, 100*time.Microsecond)
	for round := range testmain.Fewer(60, 5) {
		for range 20 {
			p.echo()
		}
		var all sync.WaitGroup
		for n := range round % 6 {
			all.Go(func() {
				for range 20 {
					p.echo()
				}
				method, ctx := "long", t.Context()
				if n%2 == 0 {
					method = "silence"
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
					defer cancel()
				}
				_, err := p.conn.Call(ctx, Request{ID: IntID(p.id.Add(1)), Method: method}, Wait{})
				if method == "silence" {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					return
				}
				assert.NoError(t, err)
			})
		}
		all.Wait()
		p.say(`{"jsonrpc":"2.0","method":"notifications/x"}`)
	}
	require.Zero(t, p.conn.InFlight())
	require.Zero(t, p.conn.Stats())
}
