package fleetredis

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

const theServer = "https://example.com/mcp"

// node is a process of a simulated fleet.
type node struct {
	*Fleet
	way *memoryNode
	b   *breaker.Breaker
}

func joined(t *testing.T, m *memory, name string, set breaker.Settings, s Settings) *node {
	t.Helper()
	s.Node, s.Redis.Addrs = name, []string{"in memory"}
	s, err := s.complete()
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	n := &node{way: &memoryNode{memory: m}, b: breaker.New(set)}
	n.Fleet = start(ctx, end, s, n.way)
	_, err = n.Attach(n.b, Share{Server: theServer, Credential: "token"})
	require.NoError(t, err)
	return n
}

func fleetOf(t *testing.T, size int) (*memory, []*node) {
	t.Helper()
	m := newMemory()
	nodes := make([]*node, size)
	for i := range nodes {
		nodes[i] = joined(t, m, "node-"+strconv.Itoa(i), breaker.Settings{}, Settings{})
	}
	// Two rounds of presence: the first to come learns of the last.
	<-time.After(2*presenceInterval + time.Second) // of the caller's bubble
	for _, n := range nodes {
		require.Equal(t, size, n.Stats().Nodes)
	}
	return m, nodes
}

func leave(nodes ...*node) {
	for _, n := range nodes {
		_ = n.Close()
	}
}

// fail makes up to n calls fail. After a hint of another node, fewer open the breaker.
func fail(t *testing.T, b *breaker.Breaker, times int) {
	t.Helper()
	for range times {
		p, err := b.Acquire()
		if err != nil {
			require.Equal(t, breaker.Open, b.State(), err)
			return
		}
		p.Settle(breaker.Failure)
	}
}

// One node that sees a server down makes the breakers of the others suspicious, and opens
// none of them.
func TestOneOfTwentyOpensNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes := fleetOf(t, 20)
		defer leave(nodes...)
		liar := nodes[0]
		for range 20 { // repeatedly for ten minutes
			liar.b.Trip("a lie")
			time.Sleep(time.Second)
			for _, n := range nodes[1:] {
				require.Equal(t, breaker.Closed, n.b.State())
				require.True(t, n.b.Snapshot().Suspect)
				p, err := n.b.Acquire()
				require.NoError(t, err)
				p.Settle(breaker.Success)
			}
			time.Sleep(30 * time.Second)
			p, err := liar.b.Acquire()
			require.NoError(t, err)
			p.Settle(breaker.Failure)
		}
		// If the server is really down, one failure opens the breaker.
		time.Sleep(time.Second)
		fail(t, nodes[1].b, 1)
		require.Equal(t, breaker.Open, nodes[1].b.State())
	})
}

func TestAQuorumOpensTheRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ size, quorum int }{{2, 2}, {3, 2}, {20, 2}, {21, 3}, {40, 4}} {
		require.Equal(t, tt.quorum, quorum(tt.size))
	}
	synctest.Test(t, func(t *testing.T) {
		_, nodes := fleetOf(t, 25)
		defer leave(nodes...)
		fail(t, nodes[0].b, 5)
		time.Sleep(time.Second)
		fail(t, nodes[1].b, 1)
		time.Sleep(time.Second)
		require.Equal(t, breaker.Closed, nodes[9].b.State(), "10 % of 25 are 3")
		fail(t, nodes[2].b, 1)
		time.Sleep(time.Second)
		for _, n := range nodes[3:] {
			s := n.b.Snapshot()
			require.Equal(t, breaker.Open, s.State)
			require.Equal(t, "fatal failure: fleet hint: 3 of 25 nodes report it OPEN", s.Reason)
			require.Zero(t, n.Stats().Published, "a node does not repeat the hints of others")
		}
	})
}

// A node that has seen the server answer ignores older reports.
func TestOwnProbeBeatsOldReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		quick := joined(t, m, "quick", breaker.Settings{Cooldown: 5 * time.Second}, Settings{})
		slow := []*node{
			joined(t, m, "slow-1", breaker.Settings{Cooldown: time.Minute}, Settings{}),
			joined(t, m, "slow-2", breaker.Settings{Cooldown: time.Minute}, Settings{}),
		}
		defer leave(append(slow, quick)...)
		time.Sleep(21 * time.Second)
		fail(t, slow[0].b, 5)
		fail(t, slow[1].b, 5)
		time.Sleep(time.Second)
		require.Equal(t, breaker.Open, quick.b.State())
		time.Sleep(6 * time.Second)
		p, err := quick.b.Acquire()
		require.NoError(t, err)
		p.Settle(breaker.Success)
		time.Sleep(20 * time.Second) // over several resyncs
		require.Equal(t, breaker.Closed, quick.b.State())
		require.EqualValues(t, 1, quick.Stats().PreOpened)
	})
}

// outage drives callers on every node against a server that is down for a while.
type outage struct {
	down    atomic.Bool
	mu      sync.Mutex
	failed  []time.Time // probes, while down
	healthy map[int]time.Time
}

func (o *outage) run(ctx context.Context, wg *sync.WaitGroup, nodes []*node) {
	o.healthy = map[int]time.Time{}
	for i, n := range nodes {
		wg.Go(func() {
			for ctx.Err() == nil {
				<-time.After(time.Duration(40+i) * time.Millisecond) // of the caller's bubble
				p, err := n.b.Acquire()
				if err != nil {
					continue
				}
				if o.down.Load() {
					if p.Probe() {
						o.mu.Lock()
						o.failed = append(o.failed, time.Now())
						o.mu.Unlock()
					}
					p.Settle(breaker.Failure)
					continue
				}
				p.Settle(breaker.Success)
				o.mu.Lock()
				if _, ok := o.healthy[i]; !ok {
					o.healthy[i] = time.Now()
				}
				o.mu.Unlock()
			}
		})
	}
}

// With the hub, the nodes of a fleet send few probes together. Without it, each node probes alone.
func TestProbesOfAFleet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		there bool
	}{{"with the hub", true}, {"without", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, nodes := fleetOf(t, 20)
				defer leave(nodes...)
				if !tt.there {
					for _, n := range nodes {
						n.way.breaks(refused, true)
					}
				}
				var o outage
				o.down.Store(true)
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				defer wg.Wait()
				defer stop()
				o.run(ctx, &wg, nodes)
				began := time.Now()
				time.Sleep(time.Duration(testmain.Fewer(5, 2)) * time.Minute)
				o.mu.Lock()
				probes := o.failed
				clear(o.healthy)
				o.mu.Unlock()
				o.down.Store(false)
				healed := time.Now()
				t.Logf("%d probes of 20 nodes in %s", len(probes), healed.Sub(began))
				if tt.there {
					require.NotEmpty(t, probes)
					for i := 1; i < len(probes); i++ {
						require.GreaterOrEqual(t, probes[i].Sub(probes[i-1]), probeLease, "probe %d", i)
					}
				} else {
					require.LessOrEqual(t, len(probes), 20*10, "one a node and cooldown")
				}
				time.Sleep(40 * time.Second)
				o.mu.Lock()
				defer o.mu.Unlock()
				require.Len(t, o.healthy, 20)
				for i, at := range o.healthy {
					require.LessOrEqual(t, at.Sub(healed), 30*time.Second+probeLease+maxRefusal, "node %d", i)
				}
			})
		})
	}
}

// With a hub that refuses, is slow or swallows everything, a breaker behaves like one
// without a fleet, at the same times.
func TestWithoutTheHubANodeIsAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault func(context.Context) error
	}{
		{"refused", refused},
		{"slow", func(ctx context.Context) error {
			select {
			case <-time.After(2 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		{"black hole", blackHole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				m := newMemory()
				way := &memoryNode{memory: m, fault: tt.fault, deaf: true}
				s, err := Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))}.inMemory()
				require.NoError(t, err)
				ctx, end := context.WithCancel(t.Context())
				f := start(ctx, end, s, way)
				alone, among := breaker.New(breaker.Settings{}), breaker.New(breaker.Settings{})
				_, err = f.Attach(among, Share{Server: theServer, Credential: "token"})
				require.NoError(t, err)
				for i := range 3000 { // 5 minutes
					var got [2]error
					for k, b := range []*breaker.Breaker{alone, among} {
						p, err := b.Acquire()
						got[k] = err
						if err == nil && i%1500 > 200 {
							p.Settle(breaker.Success)
						} else if err == nil {
							p.Settle(breaker.Failure)
						}
					}
					require.Equal(t, got[0] == nil, got[1] == nil, "call %d", i)
					a, b := alone.Snapshot(), among.Snapshot()
					require.Equal(t, a, b, "call %d", i)
					time.Sleep(100 * time.Millisecond)
				}
				st := f.Stats()
				require.False(t, st.Available)
				require.Zero(t, st.Published+st.PreOpened+st.Throttled)
				require.NotZero(t, st.Failed)
				require.LessOrEqual(t, st.Failed, uint64(5*60/5+3), "no exchange with Redis in between")
				require.NoError(t, f.Close())
				require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
			})
		})
	}
}

// inMemory is complete without an address.
func (s Settings) inMemory() (Settings, error) {
	s.Redis.Addrs = []string{"in memory"}
	return s.complete()
}

// A node that receives no messages for a while converges by reading Redis. A node that was
// cut off decides alone, and rejoins later.
func TestGapsAndPartitionsHeal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes := fleetOf(t, 3)
		defer leave(nodes...)
		nodes[2].way.breaks(nil, true) // messages get lost
		fail(t, nodes[0].b, 5)
		fail(t, nodes[1].b, 5)
		time.Sleep(presenceInterval + time.Second)
		require.Equal(t, breaker.Open, nodes[2].b.State(), "read, not heard")

		nodes[2].way.breaks(blackHole, true) // cut off
		time.Sleep(35 * time.Second)
		for _, n := range nodes {
			p, err := n.b.Acquire()
			if err == nil {
				p.Settle(breaker.Success)
			}
		}
		time.Sleep(3 * time.Second)
		for _, n := range nodes {
			if p, err := n.b.Acquire(); err == nil {
				p.Settle(breaker.Success)
			}
			require.Equal(t, breaker.Closed, n.b.State())
		}
		require.False(t, nodes[2].Stats().Available)

		fail(t, nodes[0].b, 5) // the others see another outage
		fail(t, nodes[1].b, 5)
		time.Sleep(10 * time.Second)
		require.Equal(t, breaker.Closed, nodes[2].b.State(), "cut off: it knows nothing of it")
		nodes[2].way.breaks(nil, false)
		time.Sleep(redisCooldown + presenceInterval + time.Second)
		require.True(t, nodes[2].Stats().Available)
		require.Equal(t, breaker.Open, nodes[2].b.State(), "within a cooldown")
	})
}

// Data that was flushed is written again.
func TestReportsSurviveAFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, nodes := fleetOf(t, 3)
		defer leave(nodes...)
		fail(t, nodes[0].b, 5)
		time.Sleep(time.Second)
		m.flush()
		time.Sleep(presenceInterval + time.Second)
		m.mu.Lock()
		_, there := m.keys["open:"+digest(theServer)+":node-0"]
		m.mu.Unlock()
		require.True(t, there)
		time.Sleep(30 * time.Second)
		m.do(order{kind: orderPresent, hint: hint{node: "reader"}})
		m.mu.Lock()
		defer m.mu.Unlock()
		require.Empty(t, m.keys, "keys expire with what they are about")
	})
}

// Only nodes with the same credential share a throttle.
func TestHoldsAreSharedByCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := joined(t, m, "a", breaker.Settings{}, Settings{})
		b := joined(t, m, "b", breaker.Settings{}, Settings{})
		defer leave(a, b)
		other, none := breaker.New(breaker.Settings{}), breaker.New(breaker.Settings{})
		_, err := b.Attach(other, Share{Server: theServer, Credential: "of somebody else"})
		require.NoError(t, err)
		_, err = b.Attach(none, Share{Server: theServer})
		require.NoError(t, err)
		time.Sleep(time.Second)
		a.b.Throttle(20*time.Second, "429")
		time.Sleep(time.Second)
		s := b.b.Snapshot()
		require.True(t, s.Throttled)
		require.InDelta(t, 19, s.RetryAfter.Seconds(), 0.3)
		require.False(t, other.Snapshot().Throttled)
		require.False(t, none.Snapshot().Throttled)
		require.Zero(t, b.Stats().Published, "a hold that was heard is not told again")

		// A client keeps a 429 beside its breaker.
		var mine, theirs gate
		for n, g := range map[*node]*gate{a: &mine, b: &theirs} {
			_, err := n.Attach(breaker.New(breaker.Settings{}), Share{Server: "another", Credential: "token", Gate: g})
			require.NoError(t, err)
		}
		mine.Throttle(10 * time.Second)
		time.Sleep(time.Second)
		require.InDelta(t, 9, theirs.ThrottledFor().Seconds(), 0.3)
		require.Zero(t, b.Stats().Published, "a hold that was heard is not told again")

		late := joined(t, m, "late", breaker.Settings{}, Settings{})
		defer leave(late)
		time.Sleep(2 * time.Second)
		require.True(t, late.b.Snapshot().Throttled, "who comes later reads it")
		time.Sleep(17 * time.Second)
		require.False(t, late.b.Snapshot().Throttled)
	})
}

// gate is a client's.
type gate struct{ until atomic.Pointer[time.Time] }

func (g *gate) ThrottledFor() time.Duration {
	if until := g.until.Load(); until != nil {
		return max(0, time.Until(*until))
	}
	return 0
}

func (g *gate) Throttle(d time.Duration) {
	until := time.Now().Add(d)
	g.until.Store(&until)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Settings{
		"no address": {},
		"node":       {Node: "a b"},
		"prefix":     {Prefix: "a\n"},
		"timeout":    {Timeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "no address" {
				s.Redis.Addrs = []string{"127.0.0.1:1"}
			}
			_, err := Join(t.Context(), s)
			require.ErrorContains(t, err, "fleetredis: ")
		})
	}
}

func TestAttachAndDetach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes := fleetOf(t, 2)
		b := breaker.New(breaker.Settings{})
		_, err := nodes[0].Attach(nil, Share{Server: "x"})
		require.Error(t, err)
		_, err = nodes[0].Attach(b, Share{})
		require.Error(t, err)
		detach, err := nodes[0].Attach(b, Share{Server: "x"})
		require.NoError(t, err)
		detach()
		detach()
		b.Trip("test")
		time.Sleep(time.Second)
		require.Zero(t, nodes[0].Stats().Published)
		leave(nodes...)
		leave(nodes...)
		_, err = nodes[0].Attach(b, Share{Server: "x"})
		require.Error(t, err)
	})
}

// A process that keeps restarting is not a quorum: a node that leaves withdraws its
// report, and absent nodes do not count.
func TestARestartingNodeIsNoQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, nodes := fleetOf(t, 20)
		defer leave(nodes...)
		for _, name := range []string{"random-1", "random-2", "random-3"} {
			n := joined(t, m, name, breaker.Settings{}, Settings{})
			time.Sleep(time.Second)
			fail(t, n.b, 5)
			time.Sleep(time.Second)
			require.True(t, nodes[0].b.Snapshot().Suspect)
			require.NoError(t, n.Close())
			time.Sleep(time.Second)
			require.Empty(t, m.do(order{kind: orderReporters, hint: hint{server: digest(theServer)}}).nodes)
		}
		for _, n := range nodes {
			require.Equal(t, breaker.Closed, n.b.State())
		}
		require.Equal(t, len(nodes), m.do(order{kind: orderPresent, hint: hint{node: "node-0"}}).count, "nor is it present")
	})
}
