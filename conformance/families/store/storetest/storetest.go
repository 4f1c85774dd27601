// Package storetest is the suite every back end of package store passes. A
// back end's test gives [Run] a way to make databases.
package storetest

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// Open opens a store on a database. Every call opens one more on the same
// database, as a second process would; the back end closes it with the test.
type Open func(t testing.TB) store.Store

// Run runs the suite. fresh makes an empty database that goes with the test.
func Run(t *testing.T, fresh func(t testing.TB) Open) {
	for _, part := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"tasks/batch", testBatch},
		{"tasks/order", testOrder},
		{"tasks/status", testStatus},
		{"tasks/race", testTaskRace},
		{"tasks/remove", testRemove},
		{"tasks/filter", testFilter},
		{"ids/sequence", testSequence},
		{"ids/reservation", testReservation},
		{"ids/expiry", testExpiry},
		{"ids/concurrent", testConcurrent},
		{"ids/many", ManySequences},
		{"ids/two_processes", testTwoProcesses},
		{"keys", testKeys},
		{"artifacts", testArtifacts},
		{"open S0-DB-02", testOpen},
		{"cancel", testCancel},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, fresh(t))
		})
	}
}

// Soak is the number of allocations of the concurrent tests: the 10,000 of the
// requirement when MAINSTAY_SOAK is set, else fewer.
func Soak() int { return Rounds(10_000, 250) }

// Rounds is how often a test repeats what may go wrong by chance: many times
// when MAINSTAY_SOAK is set, else few.
func Rounds(many, few int) int {
	if os.Getenv("MAINSTAY_SOAK") != "" {
		return many
	}
	return few
}

var now = time.Date(2026, 10, 20, 14, 30, 6, 123_456_789, time.UTC)

func reserve(project, kind string, count int) store.ReserveRequest {
	return store.ReserveRequest{ID: uuid.New(), Project: project, Type: kind, Count: count, Now: now, ExpiresAt: now.Add(15 * time.Minute)}
}

func task(artifact string, inputs ...store.Input) store.NewTask {
	return store.NewTask{
		ArtifactID: artifact, Generator: "hls-generator", Status: store.Pending, Description: "Generate " + artifact,
		CorrelationID: "gen-001", Inputs: inputs,
	}
}

func input(classification, artifact string) store.Input {
	return store.Input{
		Name: "prd", Classification: classification, ArtifactType: "prd", ArtifactID: artifact,
		ResourcePath: "artifacts/prds/" + artifact + "_v3.md", ResourceURI: "mcp://resources/artifacts/prds/" + artifact + "_v3.md", Status: "Approved",
	}
}

func add(t *testing.T, st store.Store, project string, tasks ...store.NewTask) []string {
	t.Helper()
	ids, err := st.AddTasks(t.Context(), store.Batch{Project: project, Tasks: tasks, Now: now})
	noError(t, err)
	return ids
}

// numbers collects ids and says which came twice.
type numbers struct {
	mu    sync.Mutex
	seen  map[string]bool
	twice []string
}

func (n *numbers) take(ids ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	for _, id := range ids {
		if n.seen[id] {
			n.twice = append(n.twice, id)
		}
		n.seen[id] = true
	}
}

// requireAll requires the ids 1 to last of the type, each once.
func (n *numbers) requireAll(t *testing.T, kind string, last int) {
	t.Helper()
	holds(t, len(n.twice) == 0, "%v were handed out twice", n.twice)
	equal(t, last, len(n.seen))
	for i := 1; i <= last; i++ {
		holds(t, n.seen[store.FormatID(kind, int64(i))], "id %d is missing", i)
	}
}

// contiguous checks that a range has no gap.
func contiguous(kind string, ids []string) error {
	var first int64
	if _, err := fmt.Sscanf(ids[0], kind+"-%d", &first); err != nil {
		return err
	}
	for i, id := range ids {
		if want := store.FormatID(kind, first+int64(i)); id != want {
			return fmt.Errorf("range %v: %s where %s should be", ids, id, want)
		}
	}
	return nil
}
