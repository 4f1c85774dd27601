package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// tasksLock is the in-process lock of batches, which share one sequence.
const tasksLock = "tasks"

const taskColumns = `task_id, project_id, artifact_id, generator, status, coalesce(description, ''), correlation_id, inputs_json,
	created_at, updated_at, started_at, completed_at, worker, coalesce(completion_notes, '')`

// AddTasks puts a batch into the queue, all of it or none.
func (s *Store) AddTasks(ctx context.Context, b store.Batch) ([]string, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	return answered(ctx, s.db, tasksLock, store.ScopeTaskBatch, b.Key, b.Now, func(tx *transaction) ([]string, error) {
		last, err := takeNumbers(ctx, tx, b)
		if err != nil {
			return nil, err
		}
		var ids []string
		for i, n := range b.Tasks {
			number := last - int64(len(b.Tasks)-i) + 1
			t := n.Task(b.Project, number, b.Now)
			if err := queueInsert(tx, t, number); err != nil {
				return nil, err
			}
			ids = append(ids, t.ID)
		}
		return ids, nil
	})
}

// takeNumbers takes a number for each task of a batch, returns the last, and
// refuses a second open task for an artifact.
func takeNumbers(ctx context.Context, tx *transaction, b store.Batch) (last int64, err error) {
	tx.queue(`UPDATE task_sequence SET last_number = last_number + $1 WHERE only_row = 1 RETURNING last_number`, len(b.Tasks)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	var open []string
	for _, n := range b.Tasks {
		if n.Status != store.Completed {
			open = append(open, n.ArtifactID)
		}
	}
	return last, checkQueued(ctx, tx, b.Project, open...)
}

func queueInsert(tx *transaction, t store.Task, number int64) error {
	inputs, err := json.Marshal(t.Inputs)
	if err != nil {
		return err
	}
	tx.queue(`INSERT INTO tasks (task_id, task_number, project_id, artifact_id, generator, status, description, correlation_id,
		inputs_json, created_at, updated_at, started_at, completed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12, $13)`,
		t.ID, number, t.Project, t.ArtifactID, t.Generator, string(t.Status), t.Description, t.CorrelationID,
		string(inputs), t.CreatedAt, t.UpdatedAt, optional(t.StartedAt), optional(t.CompletedAt))
	return nil
}

// checkQueued refuses a second open task for an artifact. Of several it names
// the first. Each is a question of its own: a list of artifacts makes the
// planner read the whole queue of the project.
func checkQueued(ctx context.Context, tx *transaction, project string, artifacts ...string) error {
	var queued []string
	for _, artifact := range artifacts {
		tx.queue(`SELECT 1 FROM tasks WHERE project_id = $1 AND artifact_id = $2 AND status IN ('pending', 'in_progress')`, project, artifact).
			Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() > 0 {
					queued = append(queued, artifact)
				}
				return nil
			})
	}
	if err := tx.send(ctx); err != nil {
		return err
	}
	if len(queued) > 0 {
		return &store.DuplicateError{ArtifactID: queued[0]}
	}
	return nil
}

const nextTask = `SELECT ` + taskColumns + ` FROM tasks WHERE project_id = $1 AND status = $2 ORDER BY task_number LIMIT 1`

// NextTask returns the oldest task with the status.
func (s *Store) NextTask(ctx context.Context, project string, status store.Status) (*store.Task, error) {
	var t *store.Task
	err := s.db.single(ctx, func(conn *pgxpool.Conn) (err error) {
		t, err = scanTask(conn.QueryRow(ctx, nextTask, project, string(status)))
		return err
	})
	return t, err
}

// SetStatus applies a change to a task.
func (s *Store) SetStatus(ctx context.Context, id string, c store.Change) (*store.Task, error) {
	var after store.Task
	err := s.db.plain(ctx, func(tx *transaction) error {
		var t *store.Task
		tx.queue(`SELECT `+taskColumns+` FROM tasks WHERE task_id = $1 FOR UPDATE`, id).QueryRow(func(row pgx.Row) (err error) {
			t, err = scanTask(row)
			return err
		})
		err := tx.send(ctx)
		if err != nil {
			return err
		}
		var changed bool
		after, changed, err = t.Apply(c)
		if err != nil || !changed {
			return err
		}
		if t.Status == store.Completed { // back into the queue
			if err := checkQueued(ctx, tx, after.Project, after.ArtifactID); err != nil {
				return err
			}
		}
		tx.queue(`UPDATE tasks SET status = $1, updated_at = $2, started_at = $3, completed_at = $4, worker = $5, completion_notes = $6 WHERE task_id = $7`,
			string(after.Status), after.UpdatedAt, optional(after.StartedAt), optional(after.CompletedAt), after.Worker, after.CompletionNotes, id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &after, nil
}

// RemoveTasks takes tasks out of the queue.
func (s *Store) RemoveTasks(ctx context.Context, project string, tasks []store.TaskRef) (removed int, err error) {
	err = s.db.plain(ctx, func(tx *transaction) error {
		removed = 0
		for _, ref := range tasks {
			tx.queue(`SELECT status FROM tasks WHERE task_id = $1 AND project_id = $2 AND artifact_id = $3 FOR UPDATE`, ref.ID, project, ref.ArtifactID).
				QueryRow(func(row pgx.Row) error {
					var status store.Status
					err := row.Scan(&status)
					switch {
					case errors.Is(err, pgx.ErrNoRows):
						return nil
					case err != nil:
						return err
					case status != store.Pending:
						return &store.BegunError{ID: ref.ID, ArtifactID: ref.ArtifactID, Status: status}
					}
					removed++
					return nil
				})
		}
		if err := tx.send(ctx); err != nil {
			return err
		}
		for _, ref := range tasks {
			tx.queue(`DELETE FROM tasks WHERE task_id = $1 AND project_id = $2 AND artifact_id = $3`, ref.ID, project, ref.ArtifactID)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Tasks returns the tasks that pass the filter, oldest first.
func (s *Store) Tasks(ctx context.Context, f store.TaskFilter) ([]store.Task, error) {
	query, args, err := selection(f)
	if err != nil {
		return nil, err
	}
	var tasks []store.Task
	err = s.db.single(ctx, func(conn *pgxpool.Conn) error {
		tasks = nil
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t, err := scanTask(rows)
			if err != nil {
				return err
			}
			tasks = append(tasks, *t)
		}
		return rows.Err()
	})
	return tasks, err
}

// selection is the query of a filter.
func selection(f store.TaskFilter) (query string, args []any, err error) {
	where, args, err := conditions(f)
	if err != nil {
		return "", nil, err
	}
	var limit *int // NULL is no limit
	if f.Limit > 0 {
		limit = &f.Limit
	}
	page := fmt.Sprintf(` ORDER BY task_number LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	return `SELECT ` + taskColumns + ` FROM tasks WHERE ` + where + page, append(args, limit, f.Offset), nil
}

// conditions is the WHERE clause of a filter. Every value is a parameter.
func conditions(f store.TaskFilter) (where string, args []any, err error) {
	parts := []string{"TRUE"}
	add := func(cond string, arg any) {
		args = append(args, arg)
		parts = append(parts, fmt.Sprintf(cond, len(args)))
	}
	if f.Project != "" {
		add("project_id = $%d", f.Project)
	}
	if f.Status != "" {
		add("status = $%d", string(f.Status))
	}
	if f.ArtifactID != "" {
		add("artifact_id = $%d", f.ArtifactID)
	}
	if f.InputArtifactID != "" {
		wanted, err := json.Marshal([]map[string]string{{"artifact_id": f.InputArtifactID}})
		if err != nil {
			return "", nil, err
		}
		add("inputs_json @> $%d::jsonb", string(wanted)) // served by the GIN index
	}
	if f.WithoutMandatory {
		add("NOT inputs_json @> $%d::jsonb", `[{"classification": "`+store.Mandatory+`"}]`)
	}
	return strings.Join(parts, " AND "), args, nil
}

// scanTask reads a row of taskColumns.
func scanTask(row pgx.Row) (*store.Task, error) {
	var t store.Task
	var inputs []byte
	var started, completed *time.Time
	err := row.Scan(&t.ID, &t.Project, &t.ArtifactID, &t.Generator, &t.Status, &t.Description, &t.CorrelationID, &inputs,
		&t.CreatedAt, &t.UpdatedAt, &started, &completed, &t.Worker, &t.CompletionNotes)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	t.CreatedAt, t.UpdatedAt = t.CreatedAt.UTC(), t.UpdatedAt.UTC()
	if started != nil {
		t.StartedAt = started.UTC()
	}
	if completed != nil {
		t.CompletedAt = completed.UTC()
	}
	return &t, json.Unmarshal(inputs, &t.Inputs)
}
