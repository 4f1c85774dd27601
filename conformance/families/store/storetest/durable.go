package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// testKeys repeats calls under a key (C-23).
func testKeys(t *testing.T, open Open) {
	st := open(t)
	ctx := t.Context()
	batch := store.Batch{Project: "p", Tasks: []store.NewTask{task("HLS-001"), task("HLS-002")}, Key: store.Key{Value: "k", Fingerprint: "f"}, Now: now}
	first, err := st.AddTasks(ctx, batch)
	noError(t, err)
	r := reserve("p", "US", 3)
	r.Key = batch.Key // another scope
	range1, err := st.ReserveIDs(ctx, r)
	noError(t, err)

	// After a restart, too, and when the reservation is gone.
	noError(t, st.Close())
	st = open(t)
	_, err = st.DeleteExpired(ctx, r.ExpiresAt.Add(time.Hour))
	noError(t, err)
	again, err := st.AddTasks(ctx, batch)
	noError(t, err)
	equal(t, first, again)
	r.ID = uuid.New()
	range2, err := st.ReserveIDs(ctx, r)
	noError(t, err)
	equal(t, range1, range2)
	queue, err := st.Tasks(ctx, store.TaskFilter{})
	noError(t, err)
	equal(t, 2, len(queue), "no new rows")

	batch.Key.Fingerprint, r.Key.Fingerprint = "other", "other"
	_, err = st.AddTasks(ctx, batch)
	errorIs(t, err, store.ErrKeyReused)
	_, err = st.ReserveIDs(ctx, r)
	errorIs(t, err, store.ErrKeyReused)

	// A call that failed keeps no key.
	batch.Key = store.Key{Value: "k2", Fingerprint: "f"}
	_, err = st.AddTasks(ctx, batch)
	fails(t, err)
	batch.Project = "q"
	_, err = st.AddTasks(ctx, batch)
	noError(t, err)

	// Many at once: one set of rows, one answer.
	batch = store.Batch{Project: "r", Tasks: []store.NewTask{task("HLS-001")}, Key: store.Key{Value: "k3", Fingerprint: "f"}, Now: now}
	stores := []store.Store{st, open(t)}
	answers := make([][]string, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			var err error
			if answers[i], err = stores[i%2].AddTasks(ctx, batch); err != nil {
				t.Errorf("repeated batch: %v", err)
			}
		})
	}
	all.Wait()
	for _, a := range answers {
		equal(t, answers[0], a)
	}
	ranges := make([]store.Reservation, 20)
	for i := range ranges {
		all.Go(func() {
			r := reserve("r", "US", 3)
			r.Key = batch.Key
			var err error
			if ranges[i], err = stores[i%2].ReserveIDs(ctx, r); err != nil {
				t.Errorf("repeated reservation: %v", err)
			}
		})
	}
	all.Wait()
	for _, r := range ranges {
		equal(t, ranges[0], r)
	}
	next, err := st.NextID(ctx, "r", "US", now)
	noError(t, err)
	equal(t, "US-004", next.ID, "one range was taken")

	n, err := st.DeleteKeys(ctx, now)
	noError(t, err)
	equal(t, 0, n)
	n, err = st.DeleteKeys(ctx, now.Add(time.Second))
	noError(t, err)
	equal(t, 5, n)
}

func testArtifacts(t *testing.T, open Open) {
	st, other := open(t), open(t)
	ctx := t.Context()
	want := store.Artifact{
		ID: uuid.New(), ThreadID: "thread-1", Type: store.GeneratedFile, Title: "a|b \"c\"\n😀 '; DROP TABLE artifacts; --",
		Content: "# Title\n\n" + strings.Repeat("long ✓ ", 100_000), CreatedAt: store.Instant(now),
	}
	noError(t, st.SaveArtifact(ctx, want))
	got, err := other.Artifact(ctx, want.ID)
	noError(t, err, "S4-SAVE-03: committed when the call returns")
	equal(t, &want, got, "S4-SAVE-02: exactly")
	_, err = st.Artifact(ctx, uuid.New())
	errorIs(t, err, store.ErrNotFound)

	// S4-PIT-03.
	for _, kind := range []store.ArtifactType{store.UserStories, store.AcceptanceCriteria, store.RequirementsDoc, store.BRD, store.GeneratedFile} {
		holds(t, len(kind) <= 30, "%s fits the column", kind)
		noError(t, st.SaveArtifact(ctx, store.Artifact{ID: uuid.New(), Type: kind, CreatedAt: now}))
	}
	for _, bad := range []store.Artifact{
		{ID: uuid.New(), Type: "other"},
		{ID: uuid.New()},
		{ID: uuid.New(), Type: store.BRD, Title: "a\x00b"},
		{ID: uuid.New(), Type: store.BRD, Content: "\xff"},
		{ID: want.ID, Type: store.BRD, Content: "the id is taken"},
	} {
		fails(t, st.SaveArtifact(ctx, bad))
		if bad.ID != want.ID {
			_, err := st.Artifact(ctx, bad.ID)
			errorIs(t, err, store.ErrNotFound)
		}
	}
}

// testOpen has several processes start at once on an empty database, and the
// data outlive them (S0-DB-02).
func testOpen(t *testing.T, open Open) {
	stores := make([]store.Store, 6)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() { stores[i] = open(t) })
	}
	all.Wait()
	for _, st := range stores {
		holds(t, st != nil, "it opened")
		noError(t, st.Ping(t.Context()))
		_, err := st.NextID(t.Context(), "p", "US", now)
		noError(t, err)
		noError(t, st.Close())
		noError(t, st.Close(), "closing twice is harmless")
	}
	a, err := open(t).NextID(t.Context(), "p", "US", now)
	noError(t, err)
	equal(t, "US-007", a.ID)
	fails(t, stores[0].Ping(t.Context()), "closed")
}

// testCancel ends the caller's context: the call ends with its error, and
// nothing is written.
func testCancel(t *testing.T, open Open) {
	st := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := st.NextID(ctx, "p", "US", now)
	errorIs(t, err, context.Canceled)
	_, err = st.AddTasks(ctx, store.Batch{Project: "p", Tasks: []store.NewTask{task("HLS-001")}, Now: now})
	errorIs(t, err, context.Canceled)
	_, err = st.Tasks(ctx, store.TaskFilter{})
	errorIs(t, err, context.Canceled)
	a, err := st.NextID(t.Context(), "p", "US", now)
	noError(t, err)
	equal(t, "US-001", a.ID)
}
