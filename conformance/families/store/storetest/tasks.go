package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

func testBatch(t *testing.T, open Open) {
	st := open(t)
	ctx := t.Context()
	// S0-TASKAPI-08: ids in the order of the batch, from one sequence.
	first := task("HLS-012", input(store.Mandatory, "PRD-006"), store.Input{Name: "notes ✓ <&>", Classification: "recommended"})
	equal(t, []string{"TASK-001", "TASK-002"}, add(t, st, "p", first, task("HLS-013")))
	equal(t, []string{"TASK-003"}, add(t, st, "q", first))

	got, err := st.NextTask(ctx, "p", store.Pending)
	noError(t, err)
	equal(t, &store.Task{
		ID: "TASK-001", Project: "p", ArtifactID: "HLS-012", Generator: "hls-generator", Status: store.Pending, Description: "Generate HLS-012",
		CorrelationID: "gen-001", Inputs: first.Inputs, CreatedAt: store.Instant(now), UpdatedAt: store.Instant(now),
	}, got, "every column comes back")

	// S0-TASKAPI-09, -10: all or none, and the ids that were not used are not lost.
	_, err = st.AddTasks(ctx, store.Batch{Project: "p", Tasks: []store.NewTask{task("HLS-020"), task("HLS-013")}, Now: now})
	var queued *store.DuplicateError
	errorAs(t, err, &queued)
	equal(t, "HLS-013", queued.ArtifactID)
	_, err = st.AddTasks(ctx, store.Batch{Project: "p", Tasks: []store.NewTask{task("HLS-020"), task("HLS-020")}, Now: now})
	errorAs(t, err, &queued)
	queue, err := st.Tasks(ctx, store.TaskFilter{Project: "p"})
	noError(t, err)
	equal(t, 2, len(queue))
	equal(t, []string{"TASK-004"}, add(t, st, "p", task("HLS-020")))

	// Done artifacts may be queued again, and tasks may arrive as done.
	done := task("HLS-030")
	done.Status = store.Completed
	add(t, st, "p", done, task("HLS-030"))
	running := task("HLS-031")
	running.Status = store.InProgress
	add(t, st, "p", running)
	got, err = st.NextTask(ctx, "p", store.InProgress)
	noError(t, err)
	equal(t, store.Instant(now), got.StartedAt)

	_, err = st.NextTask(ctx, "nobody", store.Pending)
	errorIs(t, err, store.ErrNotFound)
}

// testOrder passes TASK-999, which sorts behind TASK-1000 as text.
func testOrder(t *testing.T, open Open) {
	st := open(t)
	var many []store.NewTask
	for i := range 1001 {
		many = append(many, task(fmt.Sprintf("US-%03d", i)))
	}
	ids := add(t, st, "p", many...)
	equal(t, "TASK-1001", ids[1000])
	got, err := st.Tasks(t.Context(), store.TaskFilter{Project: "p", Limit: 3, Offset: 998})
	noError(t, err)
	equal(t, []string{"TASK-999", "TASK-1000", "TASK-1001"}, taskIDs(got))
}

func testStatus(t *testing.T, open Open) {
	st := open(t)
	ctx := t.Context()
	id := add(t, st, "p", task("HLS-001"))[0]
	later := store.Instant(now).Add(time.Second)
	set := func(c store.Change) (*store.Task, error) {
		c.Now = later
		return st.SetStatus(ctx, id, c)
	}
	stored := func() store.Task {
		got, err := st.Tasks(ctx, store.TaskFilter{Project: "p", ArtifactID: "HLS-001"})
		noError(t, err)
		equal(t, 1, len(got))
		return got[0]
	}

	_, err := set(store.Change{Status: store.Completed})
	var refused *store.TransitionError
	errorAs(t, err, &refused)
	equal(t, "Invalid status transition: pending → completed", refused.Error())
	equal(t, store.Pending, stored().Status)

	got, err := set(store.Change{Status: store.InProgress, Worker: "w1"})
	noError(t, err)
	equal(t, later, got.StartedAt)
	equal(t, *got, stored())
	_, err = set(store.Change{Status: store.InProgress, Worker: "w2"})
	errorIs(t, err, store.ErrClaimed)

	later = later.Add(time.Second)
	got, err = set(store.Change{Status: store.Completed, Notes: "it's done; -- ✓"})
	noError(t, err)
	equal(t, later, got.CompletedAt)
	equal(t, *got, stored())

	_, err = set(store.Change{Status: store.Pending})
	errorAs(t, err, &refused)
	add(t, st, "p2", task("HLS-001"))
	got, err = set(store.Change{Status: store.Pending, Reset: true})
	noError(t, err)
	holds(t, got.StartedAt.IsZero() && got.CompletedAt.IsZero() && got.CompletionNotes == "" && got.Worker == "", "a reset forgets")
	equal(t, *got, stored())

	// A task that is done and queued again cannot come back beside its successor.
	for _, s := range []store.Status{store.InProgress, store.Completed} {
		_, err = set(store.Change{Status: s})
		noError(t, err)
	}
	add(t, st, "p", task("HLS-001"))
	_, err = set(store.Change{Status: store.Pending, Reset: true})
	var queued *store.DuplicateError
	errorAs(t, err, &queued)

	_, err = st.SetStatus(ctx, "TASK-999' OR '1'='1", store.Change{Status: store.InProgress, Now: now})
	errorIs(t, err, store.ErrNotFound)
}

// testRemove: all of the tasks or none, and again without harm.
func testRemove(t *testing.T, open Open) {
	st := open(t)
	ctx := t.Context()
	needs := input(store.Mandatory, "PRD-006")
	add(t, st, "p", task("HLS-001", needs), task("HLS-002", needs), task("HLS-003", needs))
	add(t, st, "q", task("HLS-001", needs))
	left := func(project string) []string {
		tasks, err := st.Tasks(ctx, store.TaskFilter{Project: project, InputArtifactID: "PRD-006"})
		noError(t, err)
		return taskIDs(tasks)
	}
	refs := []store.TaskRef{{ID: "TASK-001", ArtifactID: "HLS-001"}, {ID: "TASK-002", ArtifactID: "HLS-002"}}
	_, err := st.SetStatus(ctx, "TASK-002", store.Change{Status: store.InProgress, Now: now})
	noError(t, err)
	_, err = st.RemoveTasks(ctx, "p", refs)
	var begun *store.BegunError
	errorAs(t, err, &begun)
	equal(t, store.BegunError{ID: "TASK-002", ArtifactID: "HLS-002", Status: store.InProgress}, *begun)
	equal(t, []string{"TASK-001", "TASK-002", "TASK-003"}, left("p"))

	refs[1] = store.TaskRef{ID: "TASK-003", ArtifactID: "HLS-003"}
	for _, want := range []int{2, 0} {
		n, err := st.RemoveTasks(ctx, "p", refs)
		noError(t, err)
		equal(t, want, n)
	}
	equal(t, []string{"TASK-002"}, left("p"))
	// Another project's task, or one that makes something else, is not meant.
	n, err := st.RemoveTasks(ctx, "p", []store.TaskRef{{ID: "TASK-004", ArtifactID: "HLS-001"}, {ID: "TASK-002", ArtifactID: "HLS-009"}})
	noError(t, err)
	equal(t, 0, n)
	equal(t, []string{"TASK-004"}, left("q"))
	equal(t, []string{"TASK-005"}, add(t, st, "p", task("HLS-001", needs)), "no id comes twice")
}

// testTaskRace has two stores take the same tasks (S0-TASKAPI-16).
func testTaskRace(t *testing.T, open Open) {
	stores := []store.Store{open(t), open(t)}
	var many []store.NewTask
	for i := range Rounds(30, 12) {
		many = append(many, task(fmt.Sprintf("US-%03d", i)))
	}
	for _, id := range add(t, stores[0], "p", many...) {
		start := make(chan struct{})
		errs := make([]error, len(stores))
		var both sync.WaitGroup
		for i, st := range stores {
			both.Go(func() {
				<-start
				_, errs[i] = st.SetStatus(t.Context(), id, store.Change{Status: store.InProgress, Now: now})
			})
		}
		close(start)
		both.Wait()
		if errs[0] == nil {
			errorIs(t, errs[1], store.ErrClaimed)
		} else {
			errorIs(t, errs[0], store.ErrClaimed)
			noError(t, errs[1])
		}
	}
}

func testFilter(t *testing.T, open Open) {
	st := open(t)
	add(t, st, "p",
		task("HLS-001", input(store.Mandatory, "PRD-006")),
		task("HLS-002", input(store.Mandatory, "PRD-0061"), input("recommended", "PRD-006")),
		task("HLS-003", input("recommended", "PRD-007")),
		task("HLS-004"),
	)
	add(t, st, "q", task("HLS-001", input(store.Mandatory, "PRD-006")))
	_, err := st.SetStatus(t.Context(), "TASK-002", store.Change{Status: store.InProgress, Now: now})
	noError(t, err)
	for _, tc := range []struct {
		name   string
		filter store.TaskFilter
		want   []string
	}{
		{"everything", store.TaskFilter{}, []string{"TASK-001", "TASK-002", "TASK-003", "TASK-004", "TASK-005"}},
		{"S0-TASKAPI-07 project", store.TaskFilter{Project: "q"}, []string{"TASK-005"}},
		{"S0-TASKAPI-07 status", store.TaskFilter{Project: "p", Status: store.InProgress}, []string{"TASK-002"}},
		{"artifact", store.TaskFilter{ArtifactID: "HLS-001"}, []string{"TASK-001", "TASK-005"}},
		{"S0-TASKAPI-11 depends on", store.TaskFilter{InputArtifactID: "PRD-006"}, []string{"TASK-001", "TASK-002", "TASK-005"}},
		{"S0-TASKAPI-11 in the project", store.TaskFilter{Project: "p", InputArtifactID: "PRD-006"}, []string{"TASK-001", "TASK-002"}},
		{"no wildcards", store.TaskFilter{InputArtifactID: "PRD-00_"}, nil},
		{"quotes are text", store.TaskFilter{InputArtifactID: `"}]' OR 1=1 --`}, nil},
		{"S0-TASKAPI-12 no mandatory input", store.TaskFilter{WithoutMandatory: true}, []string{"TASK-003", "TASK-004"}},
		{"page", store.TaskFilter{Limit: 2, Offset: 1}, []string{"TASK-002", "TASK-003"}},
		{"past the end", store.TaskFilter{Limit: 2, Offset: 9}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := st.Tasks(t.Context(), tc.filter)
			noError(t, err)
			equal(t, tc.want, taskIDs(got))
		})
	}
}

func taskIDs(tasks []store.Task) []string {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return ids
}
