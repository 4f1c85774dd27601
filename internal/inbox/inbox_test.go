package inbox

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// parcel is an item with a size.
type parcel struct {
	n, size int
	dropped *[]int
}

func (p parcel) Size() int { return p.size }
func (p parcel) Drop()     { *p.dropped = append(*p.dropped, p.n) }

// desk records what handlers and logs got from a queue.
type desk struct {
	*Queue[parcel]
	work      sync.WaitGroup
	budget    transport.Budget
	delivered []int
	dropped   []int // items
	reported  []int // counts
}

// open returns a queue whose handler is f.
func open(f func(n int)) *desk {
	d := &desk{}
	d.Queue = New(Host[parcel]{
		Budget: &d.budget, Go: d.work.Go,
		Deliver: func(p parcel) {
			d.delivered = append(d.delivered, p.n)
			f(p.n)
		},
		Dropped: func(count int) { d.reported = append(d.reported, count) },
	})
	return d
}

func (d *desk) put(n, size int) { d.Put(parcel{n, size, &d.dropped}) }

// Items are delivered in order, even after a handler calls runtime.Goexit, and no goroutine
// remains when all are delivered.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(func(n int) {
			if n == 1 {
				runtime.Goexit()
			}
		})
		for n := range 4 {
			d.put(n, 10)
		}
		d.work.Wait()
		require.Equal(t, []int{0, 1, 2, 3}, d.delivered)
		require.Empty(t, d.reported)
		require.Zero(t, d.budget.Held())
		require.False(t, d.running)
		d.put(4, 10)
		d.work.Wait()
		require.Len(t, d.delivered, 5)
	})
}

// A slow handler loses the oldest items, and the log has their count.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size, put int
		limit     int64
		dropped   int
		oldest    int // the first dropped item
	}{
		"number":              {1, MaxItems + 3, 0, 3, 1},
		"bytes":               {MaxBytes / 4, 7, 0, 3, 1},
		"one fits always":     {MaxBytes + 1, 2, 0, 1, 1},
		"the client's memory": {10, 5, 30, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := make(chan struct{})
				d := open(func(int) { <-slow })
				d.budget.SetLimit(tt.limit)
				d.put(0, 1)
				synctest.Wait() // the handler has it
				for n := range tt.put {
					d.put(n+1, tt.size)
				}
				require.Len(t, d.Queue.items, tt.put-tt.dropped)
				require.Equal(t, d.budget.Held(), int64(d.bytes))
				close(slow)
				d.work.Wait()
				require.Len(t, d.dropped, tt.dropped)
				require.Equal(t, tt.oldest, d.dropped[0])
				require.Equal(t, []int{tt.dropped}, d.reported)
				require.Zero(t, d.budget.Held())
			})
		})
	}
}

// Stop drops the queued items and all later ones.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		d := open(func(int) { <-slow })
		d.put(0, 1)
		synctest.Wait()
		d.put(1, 1)
		d.Stop()
		d.Stop()
		d.put(2, 1)
		require.Equal(t, []int{1, 2}, d.dropped)
		require.Zero(t, d.budget.Held())
		close(slow)
		d.work.Wait()
		require.Equal(t, []int{0}, d.delivered)
	})
}

// Await waits for the items before it and not for later ones, also if the oldest are dropped.
func TestAwait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after int   // items
		limit         int64 // of the memory, 0 for none
		want          int   // items delivered when Await returns
	}{
		"nothing":            {},
		"one":                {before: 1, want: 1},
		"some of many":       {before: 3, after: 5, want: 3},
		"the oldest dropped": {before: 3, after: MaxItems, want: 1},
		"the newest dropped": {before: 3, limit: 1, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turn := make(chan struct{})
				d := open(func(int) { <-turn })
				d.budget.SetLimit(tt.limit)
				for n := range tt.before {
					d.put(n, 1)
					if n == 0 {
						synctest.Wait() // the handler has it
					}
				}
				awaited := make(chan struct{})
				go func() {
					defer close(awaited)
					d.Await(nil)
				}()
				synctest.Wait()
				for n := range tt.after {
					d.put(tt.before+n, 1)
				}
				for range tt.want {
					select {
					case <-awaited:
						t.Fatal("it did not wait")
					default:
					}
					turn <- struct{}{}
					synctest.Wait()
				}
				<-awaited
				require.Empty(t, d.waits)
				close(turn)
				d.work.Wait()
			})
		})
	}
}

// Await ends with its stop and with the queue.
func TestAwaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		d := open(func(int) { <-slow })
		d.put(0, 1)
		stop := make(chan struct{})
		go close(stop)
		d.Await(stop)
		require.Empty(t, d.waits)
		go d.Stop()
		d.Await(nil)
		d.Await(nil)
		close(slow)
		d.work.Wait()
	})
}
