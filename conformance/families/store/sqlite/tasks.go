package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

const taskColumns = `task_id, project_id, artifact_id, generator, status, coalesce(description, ''), correlation_id, inputs_json,
	created_at, updated_at, coalesce(started_at, ''), coalesce(completed_at, ''), worker, coalesce(completion_notes, '')`

// AddTasks puts a batch into the queue, all of it or none.
func (s *Store) AddTasks(ctx context.Context, b store.Batch) ([]string, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	var ids []string
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		found, err := replay(ctx, tx, store.ScopeTaskBatch, b.Key, &ids)
		if found || err != nil {
			return err
		}
		var last int64
		if err := tx.QueryRowContext(ctx, `SELECT last_number FROM task_sequence`).Scan(&last); err != nil {
			return err
		}
		ids = make([]string, 0, len(b.Tasks))
		insert, err := tx.PrepareContext(ctx, insertTask)
		if err != nil {
			return err
		}
		defer func() { _ = insert.Close() }() // it goes with the transaction
		for i, n := range b.Tasks {
			number := last + int64(i) + 1
			t := n.Task(b.Project, number, b.Now)
			if err := addTask(ctx, tx, insert, t, number); err != nil {
				return err
			}
			ids = append(ids, t.ID)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE task_sequence SET last_number = ?`, last+int64(len(b.Tasks))); err != nil {
			return err
		}
		return remember(ctx, tx, store.ScopeTaskBatch, b.Key, ids, b.Now)
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

const insertTask = `INSERT INTO tasks (task_id, task_number, project_id, artifact_id, generator, status, description, correlation_id,
	inputs_json, created_at, updated_at, started_at, completed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// addTask runs insert, which is [insertTask], for a task.
func addTask(ctx context.Context, tx *sql.Tx, insert *sql.Stmt, t store.Task, number int64) error {
	if t.Status != store.Completed {
		if err := checkQueued(ctx, tx, t); err != nil {
			return err
		}
	}
	inputs, err := json.Marshal(t.Inputs)
	if err != nil {
		return err
	}
	_, err = insert.ExecContext(ctx,
		t.ID, number, t.Project, t.ArtifactID, t.Generator, string(t.Status), t.Description, t.CorrelationID,
		string(inputs), formatInstant(t.CreatedAt), formatInstant(t.UpdatedAt), formatOptional(t.StartedAt), formatOptional(t.CompletedAt))
	return err
}

// checkQueued refuses a second open task for an artifact.
func checkQueued(ctx context.Context, tx *sql.Tx, t store.Task) error {
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM tasks WHERE project_id = ? AND artifact_id = ? AND status IN ('pending', 'in_progress')`,
		t.Project, t.ArtifactID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &store.DuplicateError{ArtifactID: t.ArtifactID}
}

// NextTask returns the oldest task with the status.
func (s *Store) NextTask(ctx context.Context, project string, status store.Status) (*store.Task, error) {
	query, args := selection(store.TaskFilter{Project: project, Status: status, Limit: 1})
	var t *store.Task
	err := s.db.Read(ctx, func(reader *sql.DB) error {
		stmt, err := s.db.compiled.of(ctx, reader, query) //nolint:sqlclosecheck // it is not ours
		if err == nil {
			t, err = scanTask(stmt.QueryRowContext(ctx, args...))
		}
		return err
	})
	return t, err
}

// SetStatus applies a change to a task.
func (s *Store) SetStatus(ctx context.Context, id string, c store.Change) (*store.Task, error) {
	var after store.Task
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		t, err := scanTask(tx.QueryRowContext(ctx, `SELECT `+taskColumns+` FROM tasks WHERE task_id = ?`, id))
		if err != nil {
			return err
		}
		var changed bool
		after, changed, err = t.Apply(c)
		if err != nil || !changed {
			return err
		}
		if t.Status == store.Completed { // back into the queue
			if err := checkQueued(ctx, tx, after); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `UPDATE tasks SET status = ?, updated_at = ?, started_at = ?, completed_at = ?, worker = ?, completion_notes = ? WHERE task_id = ?`,
			string(after.Status), formatInstant(after.UpdatedAt), formatOptional(after.StartedAt), formatOptional(after.CompletedAt),
			after.Worker, after.CompletionNotes, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &after, nil
}

// RemoveTasks takes tasks out of the queue.
func (s *Store) RemoveTasks(ctx context.Context, project string, tasks []store.TaskRef) (removed int, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		removed = 0
		for _, ref := range tasks {
			var number int64
			var status store.Status
			err := tx.QueryRowContext(ctx, `SELECT task_number, status FROM tasks WHERE task_id = ? AND project_id = ? AND artifact_id = ?`,
				ref.ID, project, ref.ArtifactID).Scan(&number, &status)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				continue
			case err != nil:
				return err
			case status != store.Pending:
				return &store.BegunError{ID: ref.ID, ArtifactID: ref.ArtifactID, Status: status}
			}
			for _, from := range []string{`DELETE FROM task_inputs WHERE task_number = ?`, `DELETE FROM tasks WHERE task_number = ?`} {
				if _, err := tx.ExecContext(ctx, from, number); err != nil {
					return err
				}
			}
			removed++
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
	query, args := selection(f)
	var tasks []store.Task
	err := s.db.Read(ctx, func(reader *sql.DB) (err error) {
		stmt, err := s.db.compiled.of(ctx, reader, query) //nolint:sqlclosecheck // it is not ours
		if err != nil {
			return err
		}
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			t, err := scanTask(rows)
			if err != nil {
				return err
			}
			tasks = append(tasks, *t)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return tasks, nil
}

// selection is the query of a filter.
func selection(f store.TaskFilter) (query string, args []any) {
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	where, args := conditions(f)
	return `SELECT ` + taskColumns + ` FROM tasks WHERE ` + where + ` ORDER BY ` + besideArtifact(f) + `task_number LIMIT ? OFFSET ?`, append(args, limit, f.Offset)
}

// conditions is the WHERE clause of a filter. Every value is a parameter.
func conditions(f store.TaskFilter) (where string, args []any) {
	parts := []string{"TRUE"}
	add := func(cond string, arg ...any) {
		parts = append(parts, cond)
		args = append(args, arg...)
	}
	if f.Project != "" {
		add("project_id = ?", f.Project)
	}
	if f.Status != "" {
		add(besideArtifact(f)+"status = ?", string(f.Status))
	}
	if f.ArtifactID != "" {
		add("artifact_id = ?", f.ArtifactID)
	}
	if f.InputArtifactID != "" {
		inputs, of := `artifact_id = ?`, []any{f.InputArtifactID}
		if f.Project != "" { // there is a PRD-001 in every project
			inputs, of = inputs+` AND project_id = ?`, append(of, f.Project)
		}
		add("task_number IN (SELECT task_number FROM task_inputs WHERE "+inputs+")", of...)
	}
	if f.WithoutMandatory {
		add("NOT EXISTS (SELECT 1 FROM task_inputs i WHERE i.task_number = tasks.task_number AND i.classification = ?)", store.Mandatory)
	}
	return strings.Join(parts, " AND "), args
}

// besideArtifact goes before a column that is no way to the tasks of a filter
// when the filter names an artifact: it has few tasks, and SQLite, which keeps
// no statistics here, would walk through a whole project to save sorting them.
// A + keeps the column from being looked up in an index.
func besideArtifact(f store.TaskFilter) string {
	if f.ArtifactID != "" {
		return "+"
	}
	return ""
}

// scanTask reads a row of taskColumns.
func scanTask(row interface{ Scan(dest ...any) error }) (*store.Task, error) {
	var t store.Task
	var status, inputs, created, updated, started, completed string
	err := row.Scan(&t.ID, &t.Project, &t.ArtifactID, &t.Generator, &status, &t.Description, &t.CorrelationID, &inputs,
		&created, &updated, &started, &completed, &t.Worker, &t.CompletionNotes)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, classify(err)
	}
	t.Status = store.Status(status)
	if err := json.Unmarshal([]byte(inputs), &t.Inputs); err != nil {
		return nil, err
	}
	if t.CreatedAt, err = parseInstant(created); err != nil {
		return nil, err
	}
	if t.UpdatedAt, err = parseInstant(updated); err != nil {
		return nil, err
	}
	if started != "" {
		if t.StartedAt, err = parseInstant(started); err != nil {
			return nil, err
		}
	}
	if completed != "" {
		if t.CompletedAt, err = parseInstant(completed); err != nil {
			return nil, err
		}
	}
	return &t, nil
}
