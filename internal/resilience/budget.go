package resilience

import (
	"sync"
	"sync/atomic"
	"time"
)

// Prices are the sizes and prices of a budget. Zero members mean the defaults.
type Prices struct {
	// Size is the maximum and initial number of tokens; 0 means 100. A first attempt that
	// succeeds adds 1.
	Size int
	// Retry and Timeout are the prices of a retry, and of a retry after a timeout; 0 means 10 and
	// 20. A Retry of 10 allows one retry per ten successes, which is 10 %.
	Retry, Timeout int
	// Floor is the number of retries in any Window that are possible with an empty budget, so
	// that a client with few calls can retry; 0 means 3 in 10 s, and a negative value none. At
	// most [maxFloor].
	Floor  int
	Window time.Duration
}

const maxFloor = 16

// Budget limits the fraction of retries in the traffic to one server, since an overloaded server
// does not recover under three times the load. The zero Budget is full and has the default
// prices. Its methods may be called from many goroutines at once.
type Budget struct {
	prices Prices
	// spent is the number of missing tokens, so that nothing is written while calls succeed.
	spent atomic.Int64

	mu sync.Mutex
	// granted are the times of the last retries, the latest at next-1.
	granted [maxFloor]time.Time
	next    int
}

// NewBudget returns a full budget.
func NewBudget(p Prices) *Budget { return &Budget{prices: p} }

// Success records that the first attempt of a call has succeeded. It does nothing on a nil
// Budget.
func (b *Budget) Success() {
	for b != nil {
		spent := b.spent.Load()
		if spent <= 0 || b.spent.CompareAndSwap(spent, spent-1) {
			return
		}
	}
}

// Take pays for a retry at now, and reports whether there were enough tokens. [ChargeNone] is
// free.
func (b *Budget) Take(c Charge, now time.Time) bool {
	if c == ChargeNone {
		return true
	}
	price := int64(orDefault(b.prices.Retry, 10))
	if c == ChargeTimeout {
		price = int64(orDefault(b.prices.Timeout, 20))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent.Load()+price <= b.size() {
		b.spent.Add(price) // only this function adds, under the lock
	} else if !b.belowFloor(now) {
		return false
	}
	b.granted[b.next%maxFloor] = now
	b.next++
	return true
}

// belowFloor reports whether fewer retries than the floor were granted in the window that ends
// now.
func (b *Budget) belowFloor(now time.Time) bool {
	floor := b.prices.Floor
	switch {
	case floor < 0:
		return false
	case floor == 0:
		floor = 3
	}
	floor = min(floor, maxFloor)
	if b.next < floor {
		return true
	}
	window := b.prices.Window
	if window <= 0 {
		window = 10 * time.Second
	}
	return now.Sub(b.granted[(b.next-floor)%maxFloor]) >= window
}

func (b *Budget) size() int64 { return int64(orDefault(b.prices.Size, 100)) }

// Tokens returns the number of tokens.
func (b *Budget) Tokens() int { return int(b.size() - b.spent.Load()) }
