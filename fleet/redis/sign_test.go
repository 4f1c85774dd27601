package fleetredis

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// Keys of tests.
var (
	key1 = []byte(strings.Repeat("1", 32))
	key2 = []byte(strings.Repeat("2", 32))
)

// stranger is another user of the Redis of a fleet. It writes the format of hints with its
// own key.
type stranger struct {
	key    []byte
	prefix string
}

func (s stranger) signed(as, body string) string {
	mac := hmac.New(sha256.New, s.key)
	fmt.Fprintf(mac, "mainstay fleet 1 %d:%s %d:%s %s", len(s.prefix), s.prefix, len(as), as, body)
	return body + "\n" + hex.EncodeToString(mac.Sum(nil))
}

// says is a hint about theServer as it would be sent at the time.
func says(kind, node string, at time.Time) string {
	cred := ""
	if kind == kindHold {
		cred = `"cred":"` + digest("token") + `",`
	}
	return fmt.Sprintf(`{"v":1,"kind":%q,"node":%q,"server":%q,%s"ms":60000,"seq":2,"sent":%d}`, kind, node, digest(theServer), cred, at.UnixMicro())
}

// forgeries are hints of a client without the key, by their fault.
func forgeries(kind, node, prefix string) map[string]string {
	body := says(kind, node, time.Now())
	good := stranger{key1, prefix}.signed("hint", body)
	return map[string]string{
		"not signed":         body,
		"an empty signature": body + "\n",
		"a short signature":  good[:len(good)-2],
		"another key":        stranger{key2, prefix}.signed("hint", body),
		"an empty key":       stranger{nil, prefix}.signed("hint", body),
		"of another fleet":   stranger{key1, "other:"}.signed("hint", body),
		"of another purpose": stranger{key1, prefix}.signed("tools:"+listKey, body),
		"of another server":  strings.Replace(stranger{key1, prefix}.signed("hint", strings.Replace(body, digest(theServer), digest("x"), 1)), digest("x"), digest(theServer), 1),
		"of another node":    strings.Replace(stranger{key1, prefix}.signed("hint", strings.Replace(body, node, "n", 1)), `"n"`, `"`+node+`"`, 1),
		"for longer":         strings.Replace(good, "60000", "99000", 1),
		"with more":          strings.Replace(good, `{"v"`, `{ "v"`, 1),
		"too old":            stranger{key1, prefix}.signed("hint", says(kind, node, time.Now().Add(-91*time.Second))),
		"of tomorrow":        stranger{key1, prefix}.signed("hint", says(kind, node, time.Now().Add(24*time.Hour))),
		"at no time":         stranger{key1, prefix}.signed("hint", strings.Replace(body, "sent", "tnes", 1)),
	}
}

// A client that can publish but does not have the key has no effect. One with the key has.
func TestForgedHintsChangeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := newMemory()
		n := joined(t, m, "a", breaker.Settings{}, Settings{
			SigningKeys: [][]byte{key1}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		defer leave(n)
		time.Sleep(time.Second)
		said := uint64(0)
		for range 2 {
			for _, kind := range []string{kindOpen, kindHold} {
				for i := range 3 { // a quorum
					for _, raw := range forgeries(kind, fmt.Sprint("forger-", i), DefaultPrefix) {
						m.say(raw)
						said++
					}
				}
			}
			time.Sleep(time.Second)
		}
		s := n.b.Snapshot()
		require.Equal(t, breaker.Closed, s.State)
		require.False(t, s.Suspect)
		require.False(t, s.Throttled)
		require.Equal(t, said, n.Stats().Refused)
		require.Zero(t, n.Stats().Heard)

		for i := range 2 {
			m.say(stranger{key1, DefaultPrefix}.signed("hint", says(kindOpen, fmt.Sprint("friend-", i), time.Now())))
		}
		m.say(stranger{key1, DefaultPrefix}.signed("hint", says(kindHold, "friend-0", time.Now().Add(time.Microsecond))))
		time.Sleep(time.Second)
		require.Equal(t, breaker.Open, n.b.State(), "by those who have the key")
		require.True(t, n.b.Snapshot().Throttled)
		require.NoError(t, n.Close())
		require.Equal(t, 3, strings.Count(log.String(), "refused"), "once for each reason: %s", log.String())
	})
}

// While a server is down, a forged hint or lease does not keep this node from probing. A
// valid one does.
func TestForgedLeasesKeepNobodyFromProbing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		raw    func() string
		waited bool
	}{
		"forged":  {func() string { return says(kindProbing, "liar", time.Now()) }, false},
		"rubbish": {func() string { return "" }, false},
		"true": {func() string {
			return stranger{key1, DefaultPrefix}.signed("hint", says(kindProbing, "liar", time.Now()))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				n := joined(t, m, "a", breaker.Settings{}, Settings{SigningKeys: [][]byte{key1}})
				defer leave(n)
				time.Sleep(time.Second)
				fail(t, n.b, 5)
				opened := time.Now()
				for {
					raw := tt.raw()
					m.say(raw)
					m.mu.Lock()
					m.keys["probe:"+digest(theServer)] = value{"liar " + raw, time.Now().Add(probeLease)}
					m.mu.Unlock()
					time.Sleep(100 * time.Millisecond)
					if p, err := n.b.Acquire(); err == nil {
						p.Release()
						break
					}
				}
				if tt.waited {
					require.Greater(t, time.Since(opened), 2*time.Minute)
				} else {
					require.Less(t, time.Since(opened), 31*time.Second, "as alone")
				}
			})
		})
	}
}

// A fleet with keys behaves like one without.
func TestSignedFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var nodes []*node
		for i := range 4 {
			nodes = append(nodes, joined(t, m, fmt.Sprint("node-", i), breaker.Settings{}, Settings{SigningKeys: [][]byte{key1}}))
		}
		defer leave(nodes...)
		nodes[3].way.breaks(nil, true) // reads Redis, and gets no messages
		time.Sleep(21 * time.Second)
		fail(t, nodes[0].b, 5)
		fail(t, nodes[1].b, 5)
		// Last, because a node that has heard of it makes no calls that can fail.
		nodes[2].b.Throttle(20*time.Second, "429")
		time.Sleep(presenceInterval + time.Second)
		for _, n := range nodes[2:] {
			require.Equal(t, breaker.Open, n.b.State())
		}
		require.True(t, nodes[3].b.Snapshot().Throttled)
		var o outage
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		o.run(ctx, &wg, nodes)
		time.Sleep(time.Minute)
		stop()
		wg.Wait()
		var won uint64
		for _, n := range nodes {
			require.Equal(t, breaker.Closed, n.b.State())
			require.Zero(t, n.Stats().Refused)
			require.Zero(t, n.Stats().Ignored)
			won += n.Stats().LeasesWon
		}
		require.NotZero(t, won, "whichever node came first")
		require.NoError(t, nodes[0].Close())
	})
}

// A valid hint that is sent again has no second effect.
func TestHintsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		set := Settings{SigningKeys: [][]byte{key1}}
		var mu sync.Mutex
		var all []string
		ear := &memoryNode{memory: m}
		ctx, deafen := context.WithCancel(t.Context())
		defer deafen()
		go ear.listen(ctx, func() {}, func(raw string) { //nolint:errcheck // it ends with ctx
			mu.Lock()
			defer mu.Unlock()
			all = append(all, raw)
		})
		a := joined(t, m, "a", breaker.Settings{Cooldown: 5 * time.Second}, set)
		b := joined(t, m, "b", breaker.Settings{}, set)
		defer leave(a, b)
		time.Sleep(time.Second)
		a.b.Throttle(20*time.Second, "429")
		time.Sleep(time.Second)
		a.b.Trip("down")
		succeed(t, a.b)
		require.False(t, b.b.Snapshot().Throttled)
		mu.Lock()
		heard := all
		all = nil
		mu.Unlock()
		require.Len(t, heard, 4, "a hold, OPEN, a probe, CLOSED")

		before := b.Stats()
		for _, raw := range heard {
			m.say(raw)
		}
		time.Sleep(time.Second)
		require.False(t, b.b.Snapshot().Throttled)
		require.False(t, b.b.Snapshot().Suspect)
		require.Equal(t, before.Heard, b.Stats().Heard)
		require.Equal(t, before.Refused+uint64(len(heard)), b.Stats().Refused)

		// One that joins has not heard them: by then they are over.
		time.Sleep(time.Minute)
		late := joined(t, m, "late", breaker.Settings{}, set)
		defer leave(late)
		time.Sleep(time.Second)
		for _, raw := range heard {
			m.say(raw)
		}
		time.Sleep(time.Second)
		require.False(t, late.b.Snapshot().Throttled)
		require.EqualValues(t, len(heard), late.Stats().Refused)

		// What is remembered ends too.
		l := loop{f: late.Fleet, newest: map[string]int64{"old": time.Now().Add(-maxHint - 3*maxSkew).UnixMicro(), "new": time.Now().UnixMicro()}}
		l.forget(time.Now())
		require.Len(t, l.newest, 1)
	})
}

// A signed hint ends at the time of its sender, within the tolerance of the clocks.
func TestSignedHintsEndInTime(t *testing.T) {
	t.Parallel()
	s, now := signer{keys: [][]byte{key1}, prefix: DefaultPrefix}, began
	for _, tt := range []struct {
		kind  string
		age   time.Duration
		lasts time.Duration
		err   error
	}{
		{kindOpen, 0, time.Minute, nil},
		{kindOpen, -maxSkew, time.Minute, nil},
		{kindOpen, -maxSkew - time.Microsecond, 0, errStale},
		{kindOpen, maxSkew, time.Minute, nil},
		{kindOpen, maxSkew + 20*time.Second, 40 * time.Second, nil},
		{kindOpen, maxSkew + time.Minute, 0, errStale},
		{kindClosed, maxSkew - time.Second, 0, nil},
		{kindClosed, 2 * time.Minute, 0, errStale},
	} {
		h := hint{kind: tt.kind, node: "a", server: digest("s"), lasts: time.Minute, sent: now.Add(-tt.age).UnixMicro()}
		got, err := s.hint(now, s.sign(aHint, h.encode()))
		require.ErrorIs(t, err, tt.err, "%s %s", tt.kind, tt.age)
		if err == nil && tt.kind == kindOpen {
			require.Equal(t, tt.lasts, got.lasts, "%s", tt.age)
		}
	}
}

// While processes change keys one after the other, all accept each other's hints.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	steps := [][][]byte{{key1}, {key1, key2}, {key2, key1}, {key2}}
	for i := range steps[1:] {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			was := joined(t, m, "was", breaker.Settings{}, Settings{SigningKeys: steps[i]})
			is := joined(t, m, "is", breaker.Settings{}, Settings{SigningKeys: steps[i+1]})
			defer leave(was, is)
			time.Sleep(time.Second)
			was.b.Trip("down")
			time.Sleep(time.Second)
			require.True(t, is.b.Snapshot().Suspect, "step %d", i)
			is.b.Throttle(time.Minute, "429")
			time.Sleep(time.Second)
			require.True(t, was.b.Snapshot().Throttled, "step %d", i)
			require.Zero(t, was.Stats().Refused+is.Stats().Refused)
		})
	}
}

// succeed closes an OPEN breaker by its probe.
func succeed(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	for b.State() != breaker.Closed {
		<-time.After(100 * time.Millisecond) // of the caller's bubble
		if p, err := b.Acquire(); err == nil {
			p.Settle(breaker.Success)
		}
	}
	<-time.After(time.Second)
}

// While keys are introduced, processes with and without keys are two fleets. Each logs once
// why.
func TestSomeNodesHaveNoKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var logs [2]bytes.Buffer
		var nodes []*node
		for i, keys := range [][][]byte{nil, {key1}} {
			nodes = append(nodes, joined(t, m, fmt.Sprint("node-", i), breaker.Settings{Cooldown: time.Second}, Settings{
				SigningKeys: keys, Logger: slog.New(slog.NewTextHandler(&logs[i], nil)),
			}))
		}
		defer leave(nodes...)
		time.Sleep(time.Second)
		for range 3 {
			nodes[0].b.Trip("down")
			time.Sleep(time.Second)
			require.False(t, nodes[1].b.Snapshot().Suspect)
			succeed(t, nodes[0].b)
			nodes[1].b.Trip("down")
			time.Sleep(time.Second)
			require.False(t, nodes[0].b.Snapshot().Suspect)
			succeed(t, nodes[1].b)
		}
		ctx, want := t.Context(), entry(`{"tools":[]}`)
		for i, n := range nodes {
			require.NoError(t, n.Store().Save(ctx, listKey, want))
			got, err := nodes[1-i].Store().Load(ctx, listKey)
			require.NoError(t, err)
			require.Nil(t, got.List)
			got, err = n.Store().Load(ctx, listKey)
			require.NoError(t, err)
			require.Equal(t, want.List, got.List)
		}
		leave(nodes...)
		for i, n := range nodes {
			require.GreaterOrEqual(t, n.Stats().Refused, uint64(7))
			require.Equal(t, 1, strings.Count(logs[i].String(), "refused"), logs[i].String())
			require.Equal(t, 1, strings.Count(logs[i].String(), "SigningKeys"))
		}
	})
}

// Lists of tools are signed with their key and their time.
func TestForgedLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		n := joined(t, m, "a", breaker.Settings{}, Settings{SigningKeys: [][]byte{key1}})
		defer leave(n)
		ctx, list := t.Context(), `{"tools":[]}`
		body := func(sent time.Time) string {
			return fmt.Sprintf(`{"v":1,"hash":%q,"ms":60000,"sent":%d}`+"\n%s", entry(list).Hash, sent.UnixMicro(), list)
		}
		now := time.Now()
		friend := stranger{key1, DefaultPrefix}
		for name, raw := range map[string]string{
			"not signed":  body(now),
			"another key": stranger{key2, DefaultPrefix}.signed("tools:"+listKey, body(now)),
			"another's":   friend.signed("tools:x", body(now)),
			"a hint":      friend.signed("hint", body(now)),
			"changed":     strings.Replace(friend.signed("tools:"+listKey, body(now)), "[]", "{}", 1),
			"old":         friend.signed("tools:"+listKey, body(now.Add(-2*time.Minute))),
		} {
			before := n.Stats().Refused
			m.do(order{kind: orderSave, key: listKey, raw: raw, hint: hint{lasts: time.Minute}})
			got, err := n.Store().Load(ctx, listKey)
			require.NoError(t, err)
			require.Nil(t, got.List, name)
			require.Equal(t, before+1, n.Stats().Refused, name)
		}
		m.do(order{kind: orderSave, key: listKey, raw: friend.signed("tools:"+listKey, body(now.Add(-50*time.Second))), hint: hint{lasts: time.Minute}})
		got, err := n.Store().Load(ctx, listKey)
		require.NoError(t, err)
		require.Equal(t, list, string(got.List))
		require.Equal(t, 20*time.Second, time.Since(got.At), "put back later, it is not fresh for longer")
	})
}

// Data that is too large is not hashed. The largest hint of this package is not too large.
func TestSizesOfSignedHints(t *testing.T) {
	t.Parallel()
	s := signer{keys: [][]byte{key1}, prefix: DefaultPrefix}
	h := hint{
		kind: kindHold, node: strings.Repeat("<", maxName), server: digest("s"), cred: digest("c"), lasts: maxHint,
		seq: 1<<64 - 1, sent: 1<<63 - 1, reason: strings.Repeat("\x01", 2*maxReason),
	}
	require.LessOrEqual(t, len(s.sign(aHint, h.encode())), maxHintBytes)
	_, err := parseHint(h.encode())
	require.NoError(t, err)
	_, err = s.hint(began, s.sign(aHint, strings.Repeat("x", maxHintBytes)))
	require.Equal(t, errHint, err)
}

// The same in Redis: forged messages and values have no effect, and nodes with the key accept
// each other's hints.
func TestForgeriesInRedis(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	s.SigningKeys = [][]byte{key1}
	ctx, id := t.Context(), digest(theServer)
	i := 0
	write := func(raw string) {
		name := fmt.Sprint("forger-", i%9)
		i++
		require.NoError(t, errors.Join(
			rdb.ZAdd(ctx, s.Prefix+"nodes", redis.Z{Score: float64(time.Now().Add(50 * time.Second).UnixMilli()), Member: name}).Err(),
			rdb.ZAdd(ctx, s.Prefix+"reporters:"+id, redis.Z{Score: float64(time.Now().Add(50 * time.Second).UnixMilli()), Member: name}).Err(),
			rdb.Set(ctx, s.Prefix+"open:"+id+":"+name, raw, time.Minute).Err(),
		))
	}
	for _, raw := range forgeries(kindOpen, "forger-1", s.Prefix) {
		write(raw)
	}
	require.NoError(t, rdb.Set(ctx, s.Prefix+"hold:"+id+":"+digest("token"), says(kindHold, "forger-1", time.Now()), time.Minute).Err())
	a, ab := joinReal(t, s, "a", breaker.Settings{Cooldown: time.Second})
	b, bb := joinReal(t, s, "b", breaker.Settings{})
	eventually(t, "what is stored is refused", func() bool { return a.Stats().Refused >= 5 && b.Stats().Refused >= 5 })
	before := b.Stats().Refused
	for _, kind := range []string{kindOpen, kindHold, kindProbing} {
		for _, raw := range forgeries(kind, "forger-1", s.Prefix) {
			require.NoError(t, rdb.Publish(ctx, s.Prefix+"hints", raw).Err())
		}
	}
	eventually(t, "what is said is refused", func() bool { return b.Stats().Refused >= before+3*14 })
	for _, x := range []*breaker.Breaker{ab, bb} {
		require.Equal(t, breaker.Closed, x.State())
		require.False(t, x.Snapshot().Suspect)
		require.False(t, x.Snapshot().Throttled)
	}

	// A forged lease has no effect. Then the probe is reported, and the list is shared.
	require.NoError(t, rdb.Set(ctx, s.Prefix+"probe:"+id, "forger "+says(kindProbing, "forger", time.Now()), probeLease).Err())
	ab.Trip("down")
	eventually(t, "told", func() bool { return bb.Snapshot().Suspect })
	eventually(t, "the probe", func() bool {
		p, err := ab.Acquire()
		if err == nil {
			p.Settle(breaker.Success)
		}
		return err == nil
	})
	require.NoError(t, a.Store().Save(ctx, listKey, entry(`{"tools":[]}`)))
	got, err := b.Store().Load(ctx, listKey)
	require.NoError(t, err)
	require.NotNil(t, got.List)
	var all []string
	for _, k := range keysOf(t, rdb, s.Prefix) {
		all = append(all, s.Prefix+k)
	}
	require.NoError(t, rdb.Del(ctx, all...).Err())
}

func TestKeysAreCopiedAndLong(t *testing.T) {
	t.Parallel()
	for _, keys := range [][][]byte{{nil}, {{}}, {key1, key2[:31]}} {
		_, err := Settings{SigningKeys: keys}.inMemory()
		require.ErrorContains(t, err, "at least 32")
	}
	mine := bytes.Clone(key1)
	s, err := Settings{SigningKeys: [][]byte{mine}}.inMemory()
	require.NoError(t, err)
	clear(mine)
	require.Equal(t, key1, s.SigningKeys[0])
}

// brokenGate is a gate whose methods do not return.
type brokenGate struct{ end func() }

func (g brokenGate) ThrottledFor() time.Duration { g.end(); return time.Minute }
func (g brokenGate) Throttle(time.Duration)      { g.end() }

// brokenHandler is a handler that does not return.
type brokenHandler struct{ end func() }

func (h brokenHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (h brokenHandler) Handle(context.Context, slog.Record) error { h.end(); return nil }
func (h brokenHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h brokenHandler) WithGroup(string) slog.Handler             { return h }

// Functions of the application that panic or end their goroutine do not affect the fleet.
func TestBrokenCallbacks(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"panic": func() { panic("of the application") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				m := newMemory()
				a := joined(t, m, "a", breaker.Settings{}, Settings{Logger: slog.New(brokenHandler{end})})
				b := joined(t, m, "b", breaker.Settings{}, Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				defer leave(a, b)
				for _, n := range []*node{a, b} {
					_, err := n.Attach(breaker.New(breaker.Settings{}), Share{Server: "gated", Credential: "token", Gate: brokenGate{end}})
					require.NoError(t, err)
				}
				time.Sleep(time.Second)
				m.say(hint{kind: kindHold, node: "c", server: digest("gated"), cred: digest("token"), lasts: time.Minute}.encode())
				a.way.breaks(refused, false)
				time.Sleep(11 * time.Second)
				a.way.breaks(nil, false)
				time.Sleep(11 * time.Second)
				a.b.Trip("down")
				time.Sleep(time.Second)
				require.True(t, b.b.Snapshot().Suspect, "the fleet goes on")
				leave(a, b)
				require.Equal(t, 1, strings.Count(log.String(), "Gate.ThrottledFor "), "once, though it is asked ten times a second")
				require.Equal(t, 1, strings.Count(log.String(), "Gate.Throttle "))
			})
			login := func(o *redis.UniversalOptions) {
				o.CredentialsProvider = func() (string, string) { end(); return "", "" }
			}
			for name, broken := range map[string]func(*redis.UniversalOptions){
				"dialer": func(o *redis.UniversalOptions) {
					o.Dialer = func(context.Context, string, string) (net.Conn, error) { end(); return nil, nil }
				},
				"credentials": login,
				"on connect": func(o *redis.UniversalOptions) {
					o.OnConnect = func(context.Context, *redis.Conn) error { end(); return nil }
				},
			} {
				s, _ := inRedis(t)
				broken(&s.Redis)
				f, err := Join(t.Context(), s)
				require.NoError(t, err)
				eventually(t, name, func() bool { return f.Stats().Failed > 1 })
				require.NoError(t, f.Close())
			}
		})
	}
}
