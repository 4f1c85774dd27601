package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// model is the upper bound of a list's state, for a server where every change starts a new epoch.
// The tool has the epoch of its request.
type model struct {
	t     *testing.T
	rnd   *rand.Rand
	cache *cache.Cache

	mu      sync.Mutex // guards the fields below and rnd
	epoch   int
	running int
	end     chan error // ends the fetch in flight
	came    map[string]sight
	hurried bool      // an invalidation without a delay since the last fetch began
	noticed bool      // a notification has arrived since then
	told    time.Time // start of the last fetch after a notification
	reading int
	stats   map[string]int
}

// sight is when the list of an epoch last arrived, and its TTL.
type sight struct {
	at  time.Time
	ttl time.Duration
}

func (m *model) fetch(ctx context.Context) (cache.Listing, error) {
	m.mu.Lock()
	if m.noticed && !m.hurried {
		if !m.told.IsZero() && time.Since(m.told) < time.Second {
			m.t.Errorf("a fetch for what the server said began %s after the one before it", time.Since(m.told))
		}
		m.told = time.Now()
	}
	m.noticed, m.hurried = false, false
	m.running++
	if m.running > 1 {
		m.t.Error("two fetches at a time")
	}
	m.stats["fetched"]++
	asked := fmt.Sprint(m.epoch)
	m.mu.Unlock()
	var err error
	select {
	case err = <-m.end:
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	if err != nil {
		return cache.Listing{}, err
	}
	ttl := time.Duration(m.rnd.IntN(5000)) * time.Millisecond
	m.came[asked] = sight{time.Now(), ttl}
	return cache.Listing{Tools: []mcp.Tool{{Name: "a", Title: asked}}, TTL: &ttl}, nil
}

func (m *model) roll(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rnd.IntN(n)
}

// changes are the ways to start a new epoch: by the application or by the server.
func (m *model) changes(byServer bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	if byServer {
		m.noticed = true
		m.cache.Changed(key)
	} else {
		m.hurried = true
		m.cache.Invalidate(key)
	}
}

func (m *model) read(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading == 8 {
		return
	}
	since := m.epoch
	m.reading++
	go func() {
		tool, err := m.cache.Get(ctx, key, "a", m.fetch)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reading--
		if err != nil {
			return
		}
		m.stats["read"]++
		var epoch int
		if _, err := fmt.Sscan(tool.Title, &epoch); err != nil || epoch < since {
			m.t.Errorf("who asked in epoch %d was given the list of epoch %d", since, epoch)
		}
	}()
}

func (m *model) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	tool, fresh, ok := m.cache.Lookup(key, "a")
	if !ok || !fresh {
		m.stats["stale"]++
		return
	}
	m.stats["fresh"]++
	if tool.Title != fmt.Sprint(m.epoch) {
		m.t.Errorf("the list of epoch %s is fresh in epoch %d", tool.Title, m.epoch)
	}
	if s := m.came[tool.Title]; time.Since(s.at) >= s.ttl {
		m.t.Errorf("a list is fresh after %s of %s", time.Since(s.at), s.ttl)
	}
}

// In any order of events, a list is never fresh in an epoch in which it was not fetched, one
// fetch is in flight at a time, and fetches after notifications are a second apart.
func TestEpochsAgainstAModel(t *testing.T) {
	t.Parallel()
	steps := testmain.Fewer(150_000, 6)
	if testing.Short() {
		steps = 25_000
	}
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			m := &model{
				t: t, rnd: rand.New(rand.NewPCG(seed, 7)), cache: newCache(t, toolcache.Settings{}),
				end: make(chan error), came: map[string]sight{}, stats: map[string]int{},
			}
			for range steps {
				switch m.roll(10) {
				case 0:
					m.changes(false)
				case 1:
					m.changes(true)
				case 2, 3, 4:
					var err error
					if m.roll(4) == 0 {
						err = errors.New("down")
					}
					select {
					case m.end <- err:
					default:
					}
				case 5:
					time.Sleep(time.Duration(m.roll(3000)) * time.Millisecond)
				case 6, 7:
					m.read(ctx)
				default:
					m.look()
				}
				synctest.Wait()
				if t.Failed() {
					break
				}
			}
			stop()
			time.Sleep(time.Minute) // fetches in flight end
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, what := range []string{"fetched", "read", "stale", "fresh"} {
				require.Greater(t, m.stats[what], steps/100, what)
			}
		})
	}
}
