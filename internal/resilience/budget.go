package resilience

import (
	"sync"
	"sync/atomic"
	"time"
)

// Prices are what a budget holds and what is paid from it. Zero members take
// the defaults.
type Prices struct {
	// Size is how much the budget holds at most, and at first; 0 means 100. A
	// first attempt that succeeds adds 1.
	Size int
	// Retry and Timeout are the prices of a retry, and of one after a timeout; 0
	// means 10 and 20. Retry is one in so many successes: 10 are 10 %.
	Retry, Timeout int
	// Floor is how many retries are possible in any Window with an empty budget
	// too, so that a client with few calls can retry; 0 means 3 in 10 s, less than 0
	// none. At most [maxFloor].
	Floor  int
	Window time.Duration
}

const maxFloor = 16

// Budget bounds how much of the traffic to one server is retries, since a
// server that is too slow does not get well under three times the load.
// The zero Budget is full, with the default prices;
// its methods may be called from many goroutines at once.
type Budget struct {
	prices Prices
	// spent is how much is missing, so that nothing is written while calls succeed.
	spent atomic.Int64

	mu sync.Mutex
	// granted are the times of the last retries, the newest at next-1.
	granted [maxFloor]time.Time
	next    int
}

// NewBudget returns a full budget.
func NewBudget(p Prices) *Budget { return &Budget{prices: p} }

// Success notes that the first attempt of a call has succeeded. Success of nil does
// nothing.
func (b *Budget) Success() {
	for b != nil {
		spent := b.spent.Load()
		if spent <= 0 || b.spent.CompareAndSwap(spent, spent-1) {
			return
		}
	}
}

// Take pays for a retry that is made at now, and reports whether there was
// enough. [ChargeNone] is free.
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

// belowFloor reports whether fewer retries than the floor were granted in the
// window that ends now.
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

// Tokens returns what the budget holds.
func (b *Budget) Tokens() int { return int(b.size() - b.spent.Load()) }
