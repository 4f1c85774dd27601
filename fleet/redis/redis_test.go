package fleetredis

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// inRedis returns settings for the Redis of the tests, with keys of its own.
func inRedis(t *testing.T) (Settings, *redis.Client) {
	t.Helper()
	addr := os.Getenv("MAINSTAY_TEST_REDIS")
	if addr == "" {
		t.Skip("MAINSTAY_TEST_REDIS is not set")
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	// The timeout is long: the test is about contents, not about the speed of a busy
	// machine.
	return Settings{
		Redis: redis.UniversalOptions{Addrs: []string{addr}}, Prefix: "mainstay-test:{" + rand.Text() + "}:", Timeout: 2 * time.Second,
	}, rdb
}

func joinReal(t *testing.T, s Settings, node string, set breaker.Settings) (*Fleet, *breaker.Breaker) {
	t.Helper()
	s.Node = node
	f, err := Join(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	b := breaker.New(set)
	_, err = f.Attach(b, Share{Server: theServer, Credential: "token"})
	require.NoError(t, err)
	return f, b
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 10*time.Millisecond, what)
}

func keysOf(t *testing.T, rdb *redis.Client, prefix string) []string {
	t.Helper()
	var keys []string
	it := rdb.Scan(t.Context(), 0, strings.NewReplacer("{", "\\{", "}", "\\}").Replace(prefix)+"*", 1000).Iterator()
	for it.Next(t.Context()) {
		keys = append(keys, strings.TrimPrefix(it.Val(), prefix))
	}
	require.NoError(t, it.Err())
	slices.Sort(keys)
	return keys
}

func TestNodesMeetInRedis(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	a, ab := joinReal(t, s, "a", breaker.Settings{Cooldown: time.Minute})
	b, bb := joinReal(t, s, "b", breaker.Settings{Cooldown: time.Minute})
	eventually(t, "both are there", func() bool { return a.Stats().Available && b.Stats().Available })
	ab.Trip("down")
	eventually(t, "suspicion", func() bool { return bb.Snapshot().Suspect })
	require.Equal(t, breaker.Closed, bb.State())
	ab.Throttle(time.Minute, "429")
	eventually(t, "the hold", func() bool { return bb.Snapshot().Throttled })

	id := digest(theServer)
	want := []string{"hold:" + id + ":" + digest("token"), "nodes", "open:" + id + ":a", "reporters:" + id}
	require.Equal(t, want, keysOf(t, rdb, s.Prefix))
	for _, k := range want {
		left, err := rdb.PTTL(t.Context(), s.Prefix+k).Result()
		require.NoError(t, err)
		require.Positive(t, left, "%s never expires", k)
		require.LessOrEqual(t, left, maxHint)
	}

	// A node that joins later reads the hints that it has missed.
	c, cb := joinReal(t, s, "c", breaker.Settings{})
	eventually(t, "read", func() bool { return cb.Snapshot().Suspect && cb.Snapshot().Throttled })
	eventually(t, "counted", func() bool { return c.Stats().Nodes == 3 })
	// A second report is a quorum of three.
	bb.Trip("down")
	eventually(t, "a quorum", func() bool { return cb.State() == breaker.Open })
	require.Zero(t, c.Stats().Published)
}

func TestReportsAreTakenBack(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	a, ab := joinReal(t, s, "a", breaker.Settings{Cooldown: 3 * time.Second})
	id := digest(theServer)
	eventually(t, "it is there", func() bool { return a.Stats().Available })
	ab.Trip("down")
	eventually(t, "published", func() bool { return slices.Contains(keysOf(t, rdb, s.Prefix), "open:"+id+":a") })
	eventually(t, "the probe", func() bool {
		p, err := ab.Acquire()
		if err != nil {
			return false
		}
		p.Settle(breaker.Success)
		return true
	})
	eventually(t, "taken back", func() bool { return slices.Equal(keysOf(t, rdb, s.Prefix), []string{"nodes"}) })
	require.EqualValues(t, 1, a.Stats().LeasesWon)
}

// Of many nodes that request the probe at the same time, one gets it, and the others learn
// for how long.
func TestOneLease(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	s, err := s.complete()
	require.NoError(t, err)
	hub := openServer(t.Context(), s)
	defer hub.close() //nolint:errcheck // the test is over
	probe := s.Prefix + "probe:" + digest(theServer)
	ask := func(node string) reply {
		h := hint{kind: kindProbing, node: node, server: digest(theServer), lasts: probeLease}
		replies, err := hub.exchange(t.Context(), []order{{kind: orderLease, hint: h, raw: h.encode()}})
		require.NoError(t, err)
		require.NoError(t, replies[0].err)
		return replies[0]
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if left := ask("node-" + string(rune('a'+i))).left; left == 0 {
				won.Add(1)
			} else if left > probeLease || left < 0 {
				t.Errorf("%s is left", left)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())

	// A value that does not expire, or is not a lease, prevents no probe.
	for _, foreign := range []func() error{
		func() error { return rdb.Set(t.Context(), probe, "x", 0).Err() },
		func() error { return rdb.Set(t.Context(), probe, "x", time.Hour).Err() },
		func() error {
			return errors.Join(rdb.Del(t.Context(), probe).Err(), rdb.LPush(t.Context(), probe, "x").Err())
		},
	} {
		require.NoError(t, foreign())
		require.Zero(t, ask("b").left)
	}
}

// Foreign data in the keys of the fleet, or in a message, is counted and has no other
// effect.
func TestGarbageInRedis(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	ctx, id := t.Context(), digest(theServer)
	key := func(k string) string { return s.Prefix + k }
	big := strings.Repeat("x", 4<<20)
	present := redis.Z{Score: float64(time.Now().Add(time.Minute).UnixMilli())}
	for _, name := range []string{"liar", "list", "big", "bad name\n", "other"} {
		present.Member = name
		require.NoError(t, rdb.ZAdd(ctx, key("nodes"), present).Err())
	}
	require.NoError(t, errors.Join(
		rdb.ZAdd(ctx, key("nodes"), redis.Z{Score: math.Inf(1), Member: "forever"}).Err(),
		rdb.ZAdd(ctx, key("reporters:"+id), redis.Z{Score: 1, Member: "liar"}, redis.Z{Score: 1, Member: "list"}, redis.Z{Score: 1, Member: "big"}, redis.Z{Score: 1, Member: "bad name\n"}, redis.Z{Score: 1, Member: "other"}).Err(),
		rdb.Set(ctx, key("open:"+id+":liar"), "rubbish", time.Minute).Err(),
		rdb.LPush(ctx, key("open:"+id+":list"), "x").Err(),
		rdb.Set(ctx, key("open:"+id+":big"), big, time.Minute).Err(),
		// A report in the name of another node.
		rdb.Set(ctx, key("open:"+id+":other"), hint{kind: kindOpen, node: "third", server: id, lasts: time.Minute, seq: 1}.encode(), time.Minute).Err(),
		// Invalid or foreign throttles that last so long that a valid one would not replace them.
		rdb.Set(ctx, key("hold:"+id+":"+digest("token")), "rubbish", 4*time.Minute).Err(),
		rdb.Set(ctx, key("hold:"+id+":"+digest("other")), hint{kind: kindHold, node: "n", server: id, cred: digest("token"), lasts: time.Minute}.encode(), time.Minute).Err(),
		rdb.LPush(ctx, key("hold:"+id+":"+digest("list")), "x").Err(),
	))
	set, err := s.complete()
	require.NoError(t, err)
	hub := openServer(ctx, set)
	replies, err := hub.exchange(ctx, []order{{kind: orderReport, hint: hint{server: id, node: "big"}}})
	require.NoError(t, err)
	require.Len(t, replies[0].raw, maxHintBytes+1, "no more of it is read")
	require.NoError(t, hub.close())

	f, b := joinReal(t, s, "a", breaker.Settings{})
	bystanders := []*breaker.Breaker{breaker.New(breaker.Settings{}), breaker.New(breaker.Settings{})}
	for i, cred := range []string{"other", "list"} {
		_, err = f.Attach(bystanders[i], Share{Server: theServer, Credential: cred})
		require.NoError(t, err)
	}
	eventually(t, "it counts nodes all the same", func() bool { return f.Stats().Nodes == 6 })
	eventually(t, "what is stored is ignored", func() bool { return f.Stats().Ignored >= 15 }) // by three: four reports and a hold
	before := f.Stats().Ignored
	for _, raw := range []string{"rubbish", "", big, `{"v":1}`} {
		require.NoError(t, rdb.Publish(ctx, key("hints"), raw).Err())
	}
	eventually(t, "what is said is ignored", func() bool { return f.Stats().Ignored >= before+4 })
	st := b.Snapshot()
	require.Equal(t, breaker.Closed, st.State)
	require.False(t, st.Suspect)
	require.False(t, st.Throttled)
	require.Zero(t, f.Stats().Throttled)
	b.Throttle(time.Minute, "429")
	eventually(t, "a hold takes the place of what is none", func() bool {
		raw, err := rdb.Get(ctx, key("hold:"+id+":"+digest("token"))).Result()
		h, bad := parseHint(raw)
		return err == nil && bad == nil && h.kind == kindHold
	})

	require.NoError(t, errors.Join(rdb.Del(ctx, key("nodes")).Err(), rdb.HSet(ctx, key("nodes"), "a", "b").Err()))
	eventually(t, "and nodes where there is something else", func() bool { return f.Stats().Nodes == 1 })
	require.NoError(t, rdb.LPush(ctx, key("x"), "x").Err())
	require.NoError(t, rdb.Rename(ctx, key("x"), key("reporters:"+id)).Err())
	b.Trip("down")
	eventually(t, "it publishes all the same", func() bool {
		n, err := rdb.ZCard(ctx, key("reporters:"+id)).Result()
		return err == nil && n == 1
	})
	require.NoError(t, rdb.Del(ctx, func() (all []string) {
		for _, k := range keysOf(t, rdb, s.Prefix) {
			all = append(all, key(k))
		}
		return all
	}()...).Err())
}

// Without Redis, with the real go-redis: only the fleet logs, and Close does not wait for a
// dial.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	var closers closers
	t.Cleanup(closers.close)
	for name, dial := range map[string]dialer{
		"refused": func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("connection refused")
		},
		"dial hangs": func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"black hole": func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			closers.add(far)
			go swallow(far)
			return near, nil
		},
		"closed at once": func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			return near, far.Close()
		},
		"no Redis": func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			closers.add(far)
			go swallow(far)
			go func() { _, _ = far.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }()
			return near, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Join(t.Context(), Settings{Redis: redis.UniversalOptions{Addrs: []string{"redis.invalid:6379"}, Dialer: dial}})
			require.NoError(t, err)
			b := breaker.New(breaker.Settings{})
			_, err = f.Attach(b, Share{Server: theServer})
			require.NoError(t, err)
			b.Trip("down")
			eventually(t, "failures are counted", func() bool { return f.Stats().Failed >= 3 })
			st := f.Stats()
			require.False(t, st.Available)
			require.Zero(t, st.Published)
			require.Zero(t, st.Nodes)
			require.False(t, b.Snapshot().Throttled)
			require.NoError(t, f.Close())
			lines.mu.Lock()
			defer lines.mu.Unlock()
			require.Empty(t, lines.all)
		})
	}
}

type closers struct {
	mu  sync.Mutex
	all []net.Conn
}

func (c *closers) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, conn)
}

func (c *closers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		_ = conn.Close()
	}
}

func swallow(conn net.Conn) {
	buf := make([]byte, 4096)
	for {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

// A node that leaves withdraws its reports, except throttles, which are the server's. A node
// that disappears does not count as a reporter.
func TestLeaving(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	a, ab := joinReal(t, s, "a", breaker.Settings{Cooldown: time.Minute})
	b, bb := joinReal(t, s, "b", breaker.Settings{Cooldown: time.Minute})
	eventually(t, "both are there", func() bool { return a.Stats().Available && b.Stats().Available })
	id := digest(theServer)
	ab.Trip("down")
	eventually(t, "told", func() bool { return bb.Snapshot().Suspect && a.Stats().Published == 1 })
	require.NoError(t, a.Close())
	require.Equal(t, []string{"nodes"}, keysOf(t, rdb, s.Prefix))
	require.Equal(t, []string{"b"}, rdb.ZRange(t.Context(), s.Prefix+"nodes", 0, -1).Val())

	bb.Trip("down")
	eventually(t, "told", func() bool { return b.Stats().Published == 1 })
	reporters := func() []string {
		replies, err := b.ask(t.Context(), []order{{kind: orderReporters, hint: hint{server: id}}})
		require.NoError(t, err)
		require.NoError(t, replies[0].err)
		return replies[0].nodes
	}
	require.NoError(t, rdb.ZAdd(t.Context(), s.Prefix+"reporters:"+id, redis.Z{Score: math.MaxInt64, Member: "gone"}).Err())
	require.Equal(t, []string{"b"}, reporters())
}
