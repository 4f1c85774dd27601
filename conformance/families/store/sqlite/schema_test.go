package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
)

func TestSchema_S0_DB_01(t *testing.T) {
	t.Parallel()
	st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	got := storetest.Schema{Columns: map[string][]string{}, Indexes: map[string][]string{}}
	collect(t, st, got.Columns, `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY c.cid`)
	collect(t, st, got.Indexes, `SELECT m.name, c.name FROM sqlite_master m, pragma_index_info(m.name) c WHERE m.type = 'index' ORDER BY c.seqno`)
	storetest.RequireSchema(t, got)
	require.Equal(t, []string{"task_number", "classification", "position", "project_id", "artifact_id"}, got.Columns["task_inputs"])
	require.Equal(t, []string{"artifact_id", "project_id", "task_number"}, got.Indexes["idx_input_artifact"][:3], "what GIN is to PostgreSQL")
}

// collect reads pairs of a name and a member.
func collect(t *testing.T, st *Store, into map[string][]string, query string) {
	t.Helper()
	rows, err := st.db.reader.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var name, member string
		require.NoError(t, rows.Scan(&name, &member))
		into[name] = append(into[name], member)
	}
	require.NoError(t, rows.Err())
}

// dump is the whole schema and every artifact, for comparison.
func dump(t *testing.T, st *Store) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	collect(t, st, out, `SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name`)
	collect(t, st, out, `SELECT 'artifact ' || id, title || content_markdown || artifact_type FROM artifacts`)
	return out
}

func TestConstraints_S0_TASKAPI_13(t *testing.T) {
	t.Parallel()
	st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	for name, row := range map[string]string{
		"CHECK": `'TASK-001', 1, 'p', 'HLS-001', 'g', 'gone', '[]'`,
		"json":  `'TASK-001', 1, 'p', 'HLS-001', 'g', 'pending', '[nonsense'`,
	} {
		err := st.db.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO tasks (task_id, task_number, project_id, artifact_id, generator, status, inputs_json) VALUES (`+row+`)`)
			return err
		})
		require.ErrorContains(t, err, "CHECK constraint failed", name)
	}
}

func TestMigrations_S4_MIG_01(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	require.NoError(t, st.SaveArtifact(ctx, store.Artifact{ID: uuid.New(), Type: store.GeneratedFile, Title: "t", Content: "c", CreatedAt: time.Now()}))
	steps, err := Migrations()
	require.NoError(t, err)
	const generatedFile = 5
	require.NoError(t, st.db.Migrate(ctx, steps, generatedFile))
	before := dump(t, st)
	require.NoError(t, st.db.Migrate(ctx, steps, generatedFile-1))
	require.Equal(t, before, dump(t, st), "down leaves data and schema unchanged")
	require.NoError(t, st.db.Migrate(ctx, steps, generatedFile))
	require.Equal(t, before, dump(t, st), "up as well")

	// All the way down and up again.
	require.NoError(t, st.db.Migrate(ctx, steps, 0))
	tables := map[string][]string{}
	collect(t, st, tables, `SELECT name, name FROM sqlite_master WHERE type = 'table'`)
	require.Equal(t, map[string][]string{"schema_migrations": {"schema_migrations"}}, tables)
	require.NoError(t, st.db.Migrate(ctx, steps, len(steps)))
	_, err = st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)

	// The file of a newer program is refused, and left alone.
	require.NoError(t, st.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO schema_migrations (version, name) VALUES (99, 'later')`)
		return err
	}))
	require.ErrorContains(t, st.db.Migrate(ctx, steps, len(steps)), "use a newer program")
}

// TestMigrationFails leaves the schema as it was.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := OpenDB(ctx, filepath.Join(t.TempDir(), "a.db"), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	steps, err := Migrations()
	require.NoError(t, err)
	steps[1].Up += "; CREATE NONSENSE"
	require.ErrorContains(t, db.Migrate(ctx, steps, len(steps)), "migration up to 2 (id_management)")
	var n int
	require.NoError(t, db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&n))
	require.Zero(t, n)
}

// TestLocked has another process hold the file for longer than a call waits:
// a clear error, nothing written, and all is well afterwards.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	st := openAt(t, path, Options{BusyTimeout: 50 * time.Millisecond})
	rival := openAt(t, path, Options{})
	ctx := t.Context()
	tx, err := rival.db.writer.BeginTx(ctx, nil)
	require.NoError(t, err)

	_, err = st.NextID(ctx, "p", "US", time.Now())
	require.ErrorIs(t, err, store.ErrBusy)
	require.True(t, isBusy(err))
	_, err = st.AddTasks(ctx, store.Batch{Project: "p", Tasks: []store.NewTask{{ArtifactID: "HLS-001", Status: store.Pending}}})
	require.ErrorIs(t, err, store.ErrBusy)
	_, err = Open(ctx, path, Options{BusyTimeout: 50 * time.Millisecond})
	require.ErrorIs(t, err, store.ErrBusy, "opening needs the lock, too")
	queue, err := st.Tasks(ctx, store.TaskFilter{})
	require.NoError(t, err, "who reads is not in anyone's way")
	require.Empty(t, queue)

	require.NoError(t, tx.Rollback())
	a, err := st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)
	require.Equal(t, "US-001", a.ID)
}

// TestQueue ends the wait of a caller whose turn has not come.
func TestQueue(t *testing.T) {
	t.Parallel()
	st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- st.db.Write(t.Context(), func(*sql.Tx) error {
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := st.NextID(ctx, "p", "US", time.Now())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(leave)
	require.NoError(t, <-done)
}

// TestReaders has all readers busy: who comes next waits, not longer than it
// wants to, and the health is known meanwhile.
func TestReaders(t *testing.T) {
	t.Parallel()
	st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error)
	for range readers {
		go func() {
			done <- st.db.Read(t.Context(), func(reader *sql.DB) error {
				conn, err := reader.Conn(t.Context())
				if err != nil {
					return err
				}
				inside <- struct{}{}
				<-leave
				return conn.Close()
			})
		}()
	}
	for range readers {
		<-inside
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := st.Tasks(ctx, store.TaskFilter{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, st.Ping(t.Context()))
	close(leave)
	for range readers {
		require.NoError(t, <-done)
	}
	_, err = st.Tasks(t.Context(), store.TaskFilter{})
	require.NoError(t, err)
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "missing", "a.db"), Options{})
	require.ErrorContains(t, err, "open database")
	_, err = Open(t.Context(), t.TempDir(), Options{})
	require.Error(t, err, "a folder")
	rubbish := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, os.WriteFile(rubbish, bytes.Repeat([]byte("no database "), 1000), 0o600))
	_, err = Open(t.Context(), rubbish, Options{})
	require.ErrorContains(t, err, "file is not a database")
}
