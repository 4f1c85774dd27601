package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// SaveArtifact writes an artifact.
func (s *Store) SaveArtifact(ctx context.Context, a store.Artifact) error {
	if err := a.Check(); err != nil {
		return err
	}
	return s.db.plain(ctx, func(tx *transaction) error {
		tx.queue(`INSERT INTO artifacts (id, thread_id, artifact_type, title, content_markdown, created_at) VALUES ($1, $2, $3::text::artifacttype, $4, $5, $6)`,
			a.ID, a.ThreadID, string(a.Type), a.Title, a.Content, store.Instant(a.CreatedAt))
		return tx.send(ctx)
	})
}

// Artifact returns the artifact with the id.
func (s *Store) Artifact(ctx context.Context, id uuid.UUID) (*store.Artifact, error) {
	a := store.Artifact{ID: id}
	err := s.db.single(ctx, func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, `SELECT thread_id, artifact_type::text, title, content_markdown, created_at FROM artifacts WHERE id = $1`, id).
			Scan(&a.ThreadID, &a.Type, &a.Title, &a.Content, &a.CreatedAt)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	a.CreatedAt = a.CreatedAt.UTC()
	return &a, nil
}
