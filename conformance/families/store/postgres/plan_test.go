package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// TestPlans_S0_TASKAPI has every query of the endpoints search an index. Which
// of those that begin with the project is the planner's choice.
func TestPlans_S0_TASKAPI(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	_, err := st.db.pool.Exec(ctx, `INSERT INTO tasks (task_id, task_number, project_id, artifact_id, generator, status, inputs_json)
		SELECT 'TASK-' || n, n, 'p' || n / 1000, 'HLS-' || n % 1000, 'g', (ARRAY['pending', 'in_progress', 'completed'])[n % 3 + 1],
			jsonb_build_array(jsonb_build_object('name', 'prd', 'classification', 'mandatory', 'artifact_id', 'PRD-' || n % 1000))
		FROM generate_series(0, 4999) AS n`)
	require.NoError(t, err)
	// What autovacuum does with a table that grows: statistics, and the GIN
	// index takes in what waits to be entered.
	_, err = st.db.pool.Exec(ctx, `VACUUM ANALYZE tasks`)
	require.NoError(t, err)
	for _, tc := range []struct {
		name   string
		filter store.TaskFilter
		index  string
	}{
		{"project", store.TaskFilter{Project: "p1", Limit: 1000}, "on idx_project_"},
		{"project and status", store.TaskFilter{Project: "p1", Status: store.Completed, Limit: 1000}, "Index Cond: (((project_id)::text = 'p1'::text) AND ((status)::text = 'completed'::text))"},
		{"artifact", store.TaskFilter{Project: "p1", ArtifactID: "HLS-1", Limit: 1000}, "artifact_id)::text = 'HLS-1'::text))"},
		{"S0-TASKAPI-11", store.TaskFilter{InputArtifactID: "PRD-1", Limit: 1000}, "on idx_inputs_json"},
		{"S0-TASKAPI-11 in a project", store.TaskFilter{Project: "p1", InputArtifactID: "PRD-1", Limit: 1000}, "on idx_inputs_json"},
		{"S0-TASKAPI-12", store.TaskFilter{Project: "p1", WithoutMandatory: true, Limit: 1000}, "on idx_project_"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			query, args, err := selection(tc.filter)
			require.NoError(t, err)
			plan := explain(t, st, query, args...)
			require.Contains(t, plan, tc.index)
			require.NotContains(t, plan, "Seq Scan")
		})
	}
	t.Run("next pending", func(t *testing.T) {
		plan := explain(t, st, nextTask, "p1", string(store.Pending))
		require.Contains(t, plan, "Index Scan using idx_queue")
		require.NotContains(t, plan, "Sort")
	})
}

// explain is how PostgreSQL would answer a query.
func explain(t *testing.T, st *Store, query string, args ...any) string {
	t.Helper()
	rows, err := st.db.pool.Query(t.Context(), `EXPLAIN `+query, append([]any{pgx.QueryExecModeExec}, args...)...)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(plan, "\n")
}
