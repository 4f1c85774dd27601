package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// found are the ids of the tasks that pass a filter.
func found(t *testing.T, st *Store, f store.TaskFilter) []string {
	t.Helper()
	tasks, err := st.Tasks(t.Context(), f)
	require.NoError(t, err)
	ids := []string{}
	for _, task := range tasks {
		ids = append(ids, task.ID)
	}
	return ids
}

func run(t *testing.T, st *Store, query string) {
	t.Helper()
	require.NoError(t, st.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), query)
		return err
	}))
}

// TestInputs_Migrated opens a file of the schema before task_inputs, with tasks
// in it: they answer the questions about their inputs as new ones do. Back and
// forth loses nothing.
func TestInputs_Migrated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a.db")
	steps, err := Migrations()
	require.NoError(t, err)
	const before = 5
	db, err := OpenDB(ctx, path, Options{})
	require.NoError(t, err)
	require.NoError(t, db.Migrate(ctx, steps, before))
	old := &Store{db: db}
	mandatory := store.Input{Name: "prd", Classification: store.Mandatory, ArtifactID: "PRD-006"}
	recommended := store.Input{Name: "notes", Classification: "recommended", ArtifactID: "PRD-006"}
	_, err = old.AddTasks(ctx, store.Batch{Project: "p", Now: time.Now(), Tasks: []store.NewTask{
		{ArtifactID: "HLS-001", Status: store.Pending, Inputs: []store.Input{mandatory, mandatory, recommended}},
		{ArtifactID: "HLS-002", Status: store.Pending, Inputs: []store.Input{{Name: "x", Classification: "recommended"}, recommended}},
		{ArtifactID: "HLS-003", Status: store.Pending},
	}})
	require.NoError(t, err)
	// No writer of ours made these; a start must not fail over them.
	run(t, old, `INSERT INTO tasks (task_id, task_number, project_id, artifact_id, generator, status, inputs_json) VALUES
		('TASK-004', 4, 'p', 'HLS-004', 'g', 'pending', '["PRD-006", 7, null, [], {"artifact_id": 6}]'),
		('TASK-005', 5, 'p', 'HLS-005', 'g', 'pending', '{}')`)
	run(t, old, `UPDATE task_sequence SET last_number = 5`)
	require.NoError(t, db.Close())

	st := openAt(t, path, Options{})
	run(t, st, `DELETE FROM tasks WHERE task_number IN (4, 5)`)
	dependents := store.TaskFilter{Project: "p", InputArtifactID: "PRD-006", Status: store.Pending}
	free := store.TaskFilter{Project: "p", WithoutMandatory: true}
	for range 2 {
		require.Equal(t, []string{"TASK-001", "TASK-002"}, found(t, st, dependents))
		require.Equal(t, []string{"TASK-002", "TASK-003"}, found(t, st, free))
		require.NoError(t, st.db.Migrate(ctx, steps, before))
		require.NoError(t, st.db.Migrate(ctx, steps, len(steps)))
	}
	_, err = st.AddTasks(ctx, store.Batch{Project: "p", Now: time.Now(), Tasks: []store.NewTask{
		{ArtifactID: "HLS-006", Status: store.Pending, Inputs: []store.Input{recommended}},
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"TASK-001", "TASK-002", "TASK-006"}, found(t, st, dependents))
	require.Equal(t, []string{"TASK-002", "TASK-003", "TASK-006"}, found(t, st, free))
}

// TestInputs_Follow changes tasks by SQL, as a person with a shell would: the
// rows of their inputs follow.
func TestInputs_Follow(t *testing.T) {
	t.Parallel()
	st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	_, err := st.AddTasks(t.Context(), store.Batch{Project: "p", Now: time.Now(), Tasks: []store.NewTask{
		{ArtifactID: "HLS-001", Status: store.Pending, Inputs: []store.Input{{Classification: store.Mandatory, ArtifactID: "PRD-006"}}},
		{ArtifactID: "HLS-002", Status: store.Pending, Inputs: []store.Input{{Classification: store.Mandatory, ArtifactID: "PRD-007"}}},
	}})
	require.NoError(t, err)
	run(t, st, `UPDATE tasks SET inputs_json = '[{"classification":"recommended","artifact_id":"PRD-006"}]' WHERE task_id = 'TASK-002'`)
	require.Equal(t, []string{"TASK-001", "TASK-002"}, found(t, st, store.TaskFilter{Project: "p", InputArtifactID: "PRD-006"}))
	require.Equal(t, []string{"TASK-002"}, found(t, st, store.TaskFilter{WithoutMandatory: true}))
	require.Empty(t, found(t, st, store.TaskFilter{InputArtifactID: "PRD-007"}))
	run(t, st, `UPDATE tasks SET project_id = 'q' WHERE task_id = 'TASK-002'`)
	require.Equal(t, []string{"TASK-002"}, found(t, st, store.TaskFilter{Project: "q", InputArtifactID: "PRD-006"}))
	run(t, st, `DELETE FROM tasks WHERE task_id = 'TASK-001'`)
	require.Equal(t, []string{"TASK-002"}, found(t, st, store.TaskFilter{InputArtifactID: "PRD-006"}))
	rows := map[string][]string{}
	collect(t, st, rows, `SELECT 'task_inputs', task_number FROM task_inputs`)
	require.Equal(t, []string{"2"}, rows["task_inputs"])
}
