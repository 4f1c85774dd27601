package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

func testSequence(t *testing.T, open Open) {
	st := open(t)
	next := func(project, kind string) store.Allocation {
		a, err := st.NextID(t.Context(), project, kind, now)
		noError(t, err)
		return a
	}
	// S0-NEXT-02: the first of a sequence.
	equal(t, store.Allocation{ID: "US-001"}, next("p", "US"))
	// S0-NEXT-01: the next one, with the one before.
	_, err := st.ReserveIDs(t.Context(), reserve("p", "US", 69))
	noError(t, err)
	equal(t, store.Allocation{ID: "US-071", Last: "US-070"}, next("p", "US"))
	// S0-NEXT-06: a sequence for every project and type.
	equal(t, "US-001", next("q", "US").ID)
	equal(t, "HLS-001", next("p", "HLS").ID)
	// S0-NEXT-03: beyond three digits.
	_, err = st.ReserveIDs(t.Context(), reserve("p", "US", 928))
	noError(t, err)
	equal(t, store.Allocation{ID: "US-1000", Last: "US-999"}, next("p", "US"))
	// Names are values, never SQL.
	hostile := `p'; DROP TABLE id_registry; --"\%_`
	equal(t, "US-001", next(hostile, "US").ID)
	equal(t, "US-002", next(hostile, "US").ID)
}

func testReservation(t *testing.T, open Open) {
	st := open(t)
	r := reserve("p", "HLS", 11)
	_, err := st.ReserveIDs(t.Context(), r)
	noError(t, err)
	// S0-RES-01: contiguous from the last one on.
	r = reserve("p", "HLS", 3)
	got, err := st.ReserveIDs(t.Context(), r)
	noError(t, err)
	equal(t, store.Reservation{
		ID: r.ID, Project: "p", Type: "HLS", IDs: []string{"HLS-012", "HLS-013", "HLS-014"}, ExpiresAt: store.Instant(r.ExpiresAt),
	}, got)
	a, err := st.NextID(t.Context(), "p", "HLS", now)
	noError(t, err)
	equal(t, "HLS-015", a.ID)
}

func testExpiry(t *testing.T, open Open) {
	st := open(t)
	ctx := t.Context()
	made := func(project string, expires time.Time) uuid.UUID {
		r := reserve(project, "US", 2)
		r.ExpiresAt = expires
		_, err := st.ReserveIDs(ctx, r)
		noError(t, err)
		return r.ID
	}
	at := store.Instant(now).Add(15 * time.Minute)

	// S0-IDAPI-04: in time, and again, also after the expiry.
	kept := made("p", at)
	noError(t, st.ConfirmReservation(ctx, kept, at.Add(-time.Microsecond)))
	noError(t, st.ConfirmReservation(ctx, kept, at.Add(time.Hour)))
	// S0-IDAPI-05: at the instant of expiry it is too late, and stays so.
	late := made("p", at)
	errorIs(t, st.ConfirmReservation(ctx, late, at), store.ErrNotFound)
	errorIs(t, st.ConfirmReservation(ctx, late, at.Add(time.Hour)), store.ErrNotFound)
	errorIs(t, st.ConfirmReservation(ctx, uuid.New(), now), store.ErrNotFound)
	noError(t, st.ConfirmReservation(ctx, late, now), "a refused confirmation leaves the row as it was")

	// S0-IDAPI-06: five expired, three confirmed, two live.
	for range 5 {
		made("q", at)
	}
	for range 3 {
		noError(t, st.ConfirmReservation(ctx, made("q", at), now))
	}
	live := []uuid.UUID{made("q", at.Add(time.Minute)), made("q", at.Add(time.Hour))}
	n, err := st.DeleteExpired(ctx, at)
	noError(t, err)
	equal(t, 0, n, "at the instant of expiry nothing is deleted yet")
	n, err = st.DeleteExpired(ctx, at.Add(time.Microsecond))
	noError(t, err)
	equal(t, 5, n)
	for _, id := range live {
		noError(t, st.ConfirmReservation(ctx, id, now))
	}
	// S0-IDAPI-07, C-14: the numbers do not come back.
	a, err := st.NextID(ctx, "q", "US", now)
	noError(t, err)
	equal(t, "US-021", a.ID)
}

// testConcurrent has 50 callers take numbers, one by one and in ranges
// (S0-NEXT-05, S0-RES-03, S0-RES-04, S0-IDAPI-11).
func testConcurrent(t *testing.T, open Open) {
	st := open(t)
	const callers = 50
	each := Soak() / callers
	var got numbers
	var all sync.WaitGroup
	start := make(chan struct{})
	total := 0
	for caller := range callers {
		for i := range each {
			total += size(caller, i)
		}
		all.Go(func() {
			<-start
			for i := range each {
				if !take(t, st, &got, size(caller, i)) {
					return
				}
			}
		})
	}
	begin := time.Now()
	close(start)
	all.Wait()
	t.Logf("%d allocations by %d callers in %v", each*callers, callers, time.Since(begin).Round(time.Millisecond))
	got.requireAll(t, "HLS", total)
}

// size mixes single numbers with ranges up to 6.
func size(caller, i int) int {
	if caller%2 == 0 {
		return 1
	}
	return 1 + (caller+i)%6
}

func take(t *testing.T, st store.Store, got *numbers, count int) bool {
	if count == 1 {
		a, err := st.NextID(t.Context(), "p", "HLS", now)
		if err != nil {
			t.Errorf("next: %v", err)
			return false
		}
		got.take(a.ID)
		return true
	}
	r, err := st.ReserveIDs(t.Context(), reserve("p", "HLS", count))
	if err == nil {
		err = contiguous("HLS", r.IDs)
	}
	if err != nil {
		t.Errorf("reserve: %v", err)
		return false
	}
	got.take(r.IDs...)
	return true
}

// ManySequences has callers take numbers of a sequence each, with and without a
// key: no one may be refused for what another does.
func ManySequences(t *testing.T, open Open) {
	st := open(t)
	const callers = 25
	each := Rounds(8, 4)
	var got [callers]numbers
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			r := reserve(fmt.Sprintf("p%d", caller), "HLS", 2)
			for i := range each {
				r.ID, r.Key = uuid.New(), store.Key{}
				if i%2 == 1 {
					r.Key.Value = fmt.Sprintf("%d/%d", caller, i)
				}
				res, err := st.ReserveIDs(t.Context(), r)
				if err != nil {
					t.Errorf("reserve: %v", err)
					return
				}
				got[caller].take(res.IDs...)
			}
		})
	}
	all.Wait()
	for i := range got {
		got[i].requireAll(t, "HLS", 2*each)
	}
}

// testTwoProcesses has two stores on one database, which share no lock but the
// database's own, run into each other (S0-IDAPI-09).
func testTwoProcesses(t *testing.T, open Open) {
	stores := []store.Store{open(t), open(t)}
	rounds := Rounds(40, 15)
	var got numbers
	for range rounds {
		start := make(chan struct{})
		var both sync.WaitGroup
		for _, st := range stores {
			both.Go(func() {
				<-start
				take(t, st, &got, 1)
				take(t, st, &got, 3)
			})
		}
		close(start)
		both.Wait()
	}
	got.requireAll(t, "HLS", rounds*len(stores)*4)
}
