package postgres

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
)

// collect reads pairs of a name and a member.
func collect(t *testing.T, st *Store, into map[string][]string, query string) {
	t.Helper()
	rows, err := st.db.pool.Query(t.Context(), query)
	require.NoError(t, err)
	var name, member string
	_, err = pgx.ForEachRow(rows, []any{&name, &member}, func() error {
		into[name] = append(into[name], member)
		return nil
	})
	require.NoError(t, err)
}

func TestSchema_S0_DB_01(t *testing.T) {
	t.Parallel()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	got := storetest.Schema{Columns: map[string][]string{}, Indexes: map[string][]string{}}
	collect(t, st, got.Columns, `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY ordinal_position`)
	collect(t, st, got.Indexes, `SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace ORDER BY a.attnum`)
	storetest.RequireSchema(t, got)
	definitions := map[string][]string{}
	collect(t, st, definitions, `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()`)
	require.Contains(t, definitions["idx_inputs_json"][0], "USING gin (inputs_json)")
	require.Contains(t, definitions["idx_reservations_expires"][0], "WHERE (confirmed = false)")
}

func TestConstraints_S0_TASKAPI_13(t *testing.T) {
	t.Parallel()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	_, err := st.db.pool.Exec(t.Context(), `INSERT INTO tasks (task_id, task_number, project_id, artifact_id, generator, status, inputs_json)
		VALUES ('TASK-001', 1, 'p', 'HLS-001', 'g', 'gone', '[]')`)
	require.ErrorContains(t, err, "tasks_status_check")
}

func TestMigrations_S4_MIG_01(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	steps, err := Migrations()
	require.NoError(t, err)
	values := func() []string {
		kinds := map[string][]string{}
		collect(t, st, kinds, `SELECT t.typname, e.enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
			WHERE t.typnamespace = current_schema()::regnamespace ORDER BY e.enumsortorder`)
		return kinds["artifacttype"]
	}
	require.Contains(t, values(), "generated_file", "up adds the value")
	a := store.Artifact{ID: uuid.New(), Type: store.GeneratedFile, Title: "t", Content: "c", CreatedAt: store.Instant(time.Now())}
	require.NoError(t, st.SaveArtifact(ctx, a))
	require.NoError(t, st.Migrate(ctx, steps, len(steps)-1))
	require.Contains(t, values(), "generated_file", "down is a checkpoint")
	require.NoError(t, st.Migrate(ctx, steps, len(steps)))
	got, err := st.Artifact(ctx, a.ID)
	require.NoError(t, err)
	require.Equal(t, &a, got)

	require.NoError(t, st.Migrate(ctx, steps, 3))
	require.NoError(t, st.Migrate(ctx, steps, 4))
	require.NotContains(t, values(), "generated_file")
	require.NoError(t, st.Migrate(ctx, steps, 0))
	tables := map[string][]string{}
	collect(t, st, tables, `SELECT 'tables', table_name FROM information_schema.tables WHERE table_schema = current_schema()`)
	require.Equal(t, []string{"schema_migrations"}, tables["tables"])
	require.NoError(t, st.Migrate(ctx, steps, len(steps)))

	_, err = st.db.pool.Exec(ctx, `INSERT INTO schema_migrations (version, name) VALUES (99, 'later')`)
	require.NoError(t, err)
	require.ErrorContains(t, st.Migrate(ctx, steps, len(steps)), "use a newer program")
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, url := range []string{
		"postgres://user:" + secret + "@127.0.0.1:1/nothing?sslmode=disable&connect_timeout=1",
		"postgres://user:" + secret + "@127.0.0.1:notaport/",
	} {
		_, err := Open(t.Context(), url)
		require.Error(t, err)
		require.NotContains(t, err.Error(), secret)
	}
}
