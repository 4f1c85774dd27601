package storetest

import (
	"slices"
	"testing"
)

// A Schema is what a back end's test found in its database (S0-DB-01).
type Schema struct {
	// Columns are the columns of each table.
	Columns map[string][]string
	// Indexes are the columns of each named index.
	Indexes map[string][]string
}

// RequireSchema requires the tables, columns and indexes of S0 (tools.md §2.9,
// §2.10) and of the assistant (§6.1). More may be there.
func RequireSchema(t *testing.T, got Schema) {
	t.Helper()
	for table, columns := range map[string][]string{
		"tasks": {
			"task_id", "project_id", "artifact_id", "generator", "status", "description", "inputs_json",
			"created_at", "updated_at", "started_at", "completed_at", "completion_notes",
		},
		"id_registry":     {"project_id", "artifact_type", "last_assigned_id", "created_at", "updated_at"},
		"id_reservations": {"reservation_id", "artifact_type", "project_id", "reserved_ids", "expires_at", "confirmed", "created_at"},
		"artifacts":       {"id", "thread_id", "artifact_type", "title", "content_markdown", "created_at"},
	} {
		for _, column := range columns {
			holds(t, slices.Contains(got.Columns[table], column), "%s has a column %s", table, column)
		}
	}
	for index, columns := range map[string][]string{
		"idx_status":           {"status"},
		"idx_project_artifact": {"project_id", "artifact_id"},
		"idx_project_status":   {"project_id", "status"},
	} {
		equal(t, columns, got.Indexes[index], index)
	}
	equal(t, []string{"expires_at"}, got.Indexes["idx_reservations_expires"])
}
