package breaker_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	g := breaker.NewGroup(breaker.GroupSettings{Settings: breaker.Settings{Name: "db", FailureThreshold: 2}})
	require.Nil(t, g.Find("read"))
	require.Empty(t, g.Snapshots())
	b := g.Get("read")
	require.Equal(t, "db/read", b.Name())
	require.Same(t, b, g.Get("read"))
	require.Same(t, b, g.Find("read"))
	require.Nil(t, g.Find("write"))
	settle(t, b, breaker.Failure)
	settle(t, b, breaker.Failure)
	settle(t, g.Get("write"), breaker.Success)
	list := g.Snapshots()
	require.Len(t, list, 2)
	require.Equal(t, "db/read", list[0].Name)
	require.Equal(t, breaker.Open, list[0].State)
	require.Equal(t, "db/write", list[1].Name)
	require.Equal(t, breaker.Closed, list[1].State)
	require.Equal(t, "x", breaker.NewGroup(breaker.GroupSettings{}).Get("x").Name())
}

// A group that needs room removes breakers that are CLOSED and quiet, and no others.
func TestGroupForgetsTheQuiet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		do    func(b *breaker.Breaker, sleep func(time.Duration))
		after time.Duration
		kept  bool
	}{
		{"a minute short", func(b *breaker.Breaker, _ func(time.Duration)) {}, 9 * time.Minute, true},
		{"quiet", func(b *breaker.Breaker, _ func(time.Duration)) {}, 10 * time.Minute, false},
		{"successes are no event", func(b *breaker.Breaker, sleep func(time.Duration)) {
			sleep(5 * time.Minute)
			p, _ := b.Acquire()
			p.Settle(breaker.Success)
		}, 5 * time.Minute, false},
		{"a failure is one", func(b *breaker.Breaker, sleep func(time.Duration)) {
			sleep(5 * time.Minute)
			p, _ := b.Acquire()
			p.Settle(breaker.Failure)
		}, 9 * time.Minute, true},
		{"open", func(b *breaker.Breaker, _ func(time.Duration)) { b.Trip("") }, 100 * time.Hour, true},
		{"held", func(b *breaker.Breaker, _ func(time.Duration)) { b.Throttle(time.Hour, "") }, 30 * time.Minute, true},
		{"forced", func(b *breaker.Breaker, _ func(time.Duration)) { b.Force(breaker.Bypass) }, 100 * time.Hour, true},
		{"in probation", func(b *breaker.Breaker, sleep func(time.Duration)) {
			b.Trip("")
			sleep(time.Minute)
			p, _ := b.Acquire()
			p.Settle(breaker.Tentative)
		}, 100 * time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := breaker.NewGroup(breaker.GroupSettings{})
				b := g.Get("x")
				tt.do(b, time.Sleep)
				time.Sleep(tt.after)
				require.Same(t, b, g.Get("x"), "nothing is forgotten by looking")
				g.Get("other")
				if tt.kept {
					require.Same(t, b, g.Find("x"))
				} else {
					require.Nil(t, g.Find("x"))
				}
			})
		})
	}
}

// 10,000 names from the peer: open breakers stay while there is another to remove. Then the
// one that opened first is removed.
func TestGroupIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := breaker.NewGroup(breaker.GroupSettings{})
		for i := range 1024 + 10 {
			g.Get(strconv.Itoa(i))
		}
		require.Len(t, g.Snapshots(), 1024)

		g = breaker.NewGroup(breaker.GroupSettings{Size: 64})
		bad := g.Get("bad")
		bad.Trip("")
		for i := range 10_000 {
			time.Sleep(time.Millisecond)
			g.Get(strconv.Itoa(i))
		}
		require.Len(t, g.Snapshots(), 64)
		require.Same(t, bad, g.Find("bad"))
		require.Nil(t, g.Find("0"))
		require.NotNil(t, g.Find("9999"))

		g = breaker.NewGroup(breaker.GroupSettings{Size: 3})
		for _, key := range []string{"a", "b", "c", "d"} {
			time.Sleep(time.Second)
			g.Get(key).Trip("")
		}
		require.Nil(t, g.Find("a"))
		require.NotNil(t, g.Find("b"))
		require.Len(t, g.Snapshots(), 3)
	})
}

func TestGroupFromManyGoroutines(t *testing.T) {
	t.Parallel()
	g := breaker.NewGroup(breaker.GroupSettings{Size: 50})
	var wg sync.WaitGroup
	for n := range 64 {
		wg.Go(func() {
			for i := range 200 {
				key := strconv.Itoa((n * i) % 80)
				if b := g.Find(key); b != nil {
					_ = b.Peek()
				}
				if p, err := g.Get(key).Acquire(); err == nil {
					p.Settle(breaker.Verdict(i % 5))
				}
				if i%50 == 0 {
					_ = g.Snapshots()
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, len(g.Snapshots()), 50)
}

func TestGroupSettingsValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, breaker.GroupSettings{}.Validate())
	bad := breaker.GroupSettings{Size: -1, Quiet: -1, Settings: breaker.Settings{Cooldown: -1}}
	for _, want := range []string{"group size -1", "quiet time -1ns", "cooldown -1ns"} {
		require.ErrorContains(t, bad.Validate(), want)
	}
	require.NotNil(t, breaker.NewGroup(bad).Get("works all the same"))
}
