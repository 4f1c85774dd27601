package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// SaveArtifact writes an artifact.
func (s *Store) SaveArtifact(ctx context.Context, a store.Artifact) error {
	if err := a.Check(); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO artifacts (id, thread_id, artifact_type, title, content_markdown, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
			a.ID.String(), a.ThreadID, string(a.Type), a.Title, a.Content, formatInstant(a.CreatedAt))
		return err
	})
}

// Artifact returns the artifact with the id.
func (s *Store) Artifact(ctx context.Context, id uuid.UUID) (*store.Artifact, error) {
	a := store.Artifact{ID: id}
	var kind, created string
	err := s.db.Read(ctx, func(reader *sql.DB) error {
		return reader.QueryRowContext(ctx, `SELECT thread_id, artifact_type, title, content_markdown, created_at FROM artifacts WHERE id = ?`, id.String()).
			Scan(&a.ThreadID, &kind, &a.Title, &a.Content, &created)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	a.Type = store.ArtifactType(kind)
	a.CreatedAt, err = parseInstant(created)
	return &a, err
}
