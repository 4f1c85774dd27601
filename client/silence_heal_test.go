package client_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// recordedMoves are the moves of a breaker, with the time since the start.
type recordedMoves struct {
	began time.Time
	mu    sync.Mutex
	all   []breaker.Transition
}

// watched returns the default options with a breaker whose moves are recorded.
func (m *recordedMoves) watched() client.Resilience {
	m.began = time.Now()
	r := client.Resilience{}
	r.Breaker = breaker.New(breaker.Settings{OnTransition: func(tr breaker.Transition) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all = append(m.all, tr)
	}})
	return r
}

func (m *recordedMoves) take() []breaker.Transition {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all
}

// oneAtATime has a server's call, the first one, take that long, and nothing else
// be answered meanwhile.
func oneAtATime(long time.Duration, on func(string, answerFunc), answers map[string]string) {
	turn := make(chan struct{}, 1)
	first := true
	for method, answer := range answers {
		on(method, func(jsonrpc.Request) any {
			turn <- struct{}{}
			defer func() { <-turn }()
			if method == "tools/call" && first {
				first = false
				<-time.After(long)
			}
			return json.RawMessage(answer)
		})
	}
}

// A server at a URL that handles one request at a time, and answers no liveness probe
// while a tool runs, looks like one that hangs. It gets no calls meanwhile, and gets
// them again as soon as it answers, not when the cooldown is over.
func TestBusyServerIsUsedAgainOnceItAnswers(t *testing.T) {
	t.Parallel()
	const tool = 20 * time.Second
	answers := map[string]string{"tools/call": doneResult, "ping": `{}`, "server/discover": discoverAll, "tools/list": listing(aTool)}
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		defer s.mem.Close()
		var m recordedMoves
		c, err := s.dial(client.WithResilience(m.watched()))
		require.NoError(t, err)
		oneAtATime(tool, s.on, answers)
		long := make(chan error, 1)
		go func() { long <- callOnce(t.Context(), c) }()
		time.Sleep(15 * time.Second)
		for range 40 {
			err := callOnce(t.Context(), c)
			require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			time.Sleep(100 * time.Millisecond)
		}
		require.Len(t, s.of("tools/call"), 1, "nothing is sent while the circuit is open")
		require.NoError(t, <-long)
		require.Equal(t, tool, time.Since(m.began))
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.True(t, c.Breaker().Snapshot().Probation)
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, tool, time.Since(m.began))
		require.False(t, c.Breaker().Snapshot().Probation)

		moves := m.take()
		require.Len(t, moves, 2)
		require.Equal(t, "fatal failure: silence", moves[0].Reason)
		require.LessOrEqual(t, moves[0].At.Sub(m.began), 15*time.Second)
		require.Equal(t, breaker.Closed, moves[1].To)
		require.Equal(t, "retracted: the server sends again", moves[1].Reason)
		require.NoError(t, c.Close())
		time.Sleep(time.Minute) // what the server still waits for
	})
}

// A late answer to a liveness probe heals as well, while a call is in flight that came
// too late to cause the silence.
func TestLateSignOfLifeHeals(t *testing.T) {
	t.Parallel()
	var m recordedMoves
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t, client.WithResilience(m.watched()))
		late := func(d time.Duration, answer string) answerFunc {
			return func(req jsonrpc.Request) any {
				go func() {
					time.Sleep(d)
					s.reply(req, json.RawMessage(answer))
				}()
				return nil
			}
		}
		s.on("tools/call", late(28*time.Second, doneResult))
		s.on("ping", late(10*time.Second, `{}`))
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.Error(t, callOnce(short, c))
		time.Sleep(6 * time.Second)
		long := make(chan error, 1)
		go func() { long <- callOnce(t.Context(), c) }()
		time.Sleep(13 * time.Second)
		require.Equal(t, breaker.Open, c.Breaker().State())
		time.Sleep(3 * time.Second)
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.NoError(t, <-long)
		require.Len(t, m.take(), 2)
	})
}

// When every caller has left, nobody waits for the server any more. But a call that
// comes after the server has sent something is not refused.
func TestByteHealsForTheNextCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		hang(s)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.Error(t, callOnce(ctx, c))
		time.Sleep(15 * time.Second) // from the end of that call
		require.ErrorIs(t, callOnce(t.Context(), c), mcperrors.ErrCircuitOpen)
		heal(s)
		s.notify("notifications/message", `{"level":"info","data":"awake"}`)
		synctest.Wait()
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, breaker.Closed, c.Breaker().State())
	})
}

// What others have opened meanwhile, the answer of a busy server does not close:
// here another client of it whose probe has failed.
func TestAnswerDoesNotCloseWhatOthersOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m recordedMoves
		shared := client.WithResilience(m.watched())
		busy, slow := alone(t, shared)
		other, hung := alone(t, shared)
		oneAtATime(55*time.Second, slow.on, map[string]string{"tools/call": doneResult, "server/discover": discoverAll})
		for _, method := range []string{"tools/call", "server/discover"} {
			hung.on(method, func(jsonrpc.Request) any { return nil })
		}
		long := make(chan error, 1)
		go func() { long <- callOnce(t.Context(), busy) }()
		time.Sleep(45 * time.Second) // opened by silence, and the cooldown is over
		require.ErrorIs(t, callOnce(t.Context(), other), mcperrors.ErrCircuitOpen, "the probe failed")
		require.NoError(t, <-long)
		require.Equal(t, 55*time.Second, time.Since(m.began))
		require.ErrorIs(t, callOnce(t.Context(), busy), mcperrors.ErrCircuitOpen)
		require.Equal(t, breaker.Open, busy.Breaker().State())
		require.Equal(t, breaker.Open, m.take()[len(m.take())-1].To)
	})
}

// deafened has the first program stop reading in its first call, for that long.
func deafened(long time.Duration) func(n int, s *fakeServer) error {
	return func(n int, s *fakeServer) error {
		if n == 1 {
			s.on("tools/call", func(jsonrpc.Request) any {
				<-time.After(long)
				long = 0
				return json.RawMessage(`{"content":[]}`)
			})
		}
		return nil
	}
}

// A program that works on nothing and takes no input is killed and restarted; calls
// that waited to be sent go to the next one.
func TestDeafProgramIsRestarted(t *testing.T) {
	supervised(t, deafened(time.Hour), func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, callOnce(short, c)) // the program has it, and nobody waits for it
		began := time.Now()
		if err := callOnce(t.Context(), c); err != nil {
			// In memory a write is under way until it is taken, and proves nothing
			// when the end of the program is noticed elsewhere first.
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
			<-time.After(time.Second) // until the next program is there
			require.NoError(t, callOnce(t.Context(), c))
		}
		require.Less(t, time.Since(began), 20*time.Second)
		require.Equal(t, 2, p.count())
		require.Equal(t, breaker.Closed, c.Breaker().State())
		synctest.Wait() // events come after
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "restarted"}, h.take())
	})
}

// A busy program looks the same but for a call that it has and that is waited for:
// it is not ended in the middle of a tool.
func TestBusyProgramWithAFullPipeIsNotRestarted(t *testing.T) {
	supervised(t, deafened(50*time.Second), func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		both := make(chan error, 2)
		for range cap(both) { // the second one waits in the pipe
			go func() { both <- callOnce(t.Context(), c) }()
			synctest.Wait()
		}
		<-time.After(40 * time.Second)
		require.Equal(t, breaker.Open, c.Breaker().State())
		require.NoError(t, <-both)
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, 1, p.count())
		require.NoError(t, <-both)
	})
}
