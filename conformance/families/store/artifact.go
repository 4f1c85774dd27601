package store

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// An ArtifactStore keeps what the assistant generates (tools.md §6.1).
type ArtifactStore interface {
	// SaveArtifact writes an artifact; it is committed when the call returns.
	SaveArtifact(ctx context.Context, a Artifact) error
	// Artifact returns the artifact, or [ErrNotFound].
	Artifact(ctx context.Context, id uuid.UUID) (*Artifact, error)
}

// An Artifact is a document of a thread.
type Artifact struct {
	ID       uuid.UUID
	ThreadID string
	Type     ArtifactType
	Title    string
	// Content is Markdown.
	Content   string
	CreatedAt time.Time
}

// ArtifactType is the kind of an artifact, at most 30 characters long.
type ArtifactType string

// The kinds of S4; GeneratedFile is what save_artifact writes.
const (
	UserStories        ArtifactType = "user_stories"
	AcceptanceCriteria ArtifactType = "acceptance_criteria"
	RequirementsDoc    ArtifactType = "requirements_doc"
	BRD                ArtifactType = "brd"
	GeneratedFile      ArtifactType = "generated_file"
)

// Known reports whether t is one of the five.
func (t ArtifactType) Known() bool {
	switch t {
	case UserStories, AcceptanceCriteria, RequirementsDoc, BRD, GeneratedFile:
		return true
	}
	return false
}

// Check says why a back end would refuse a. The rules are those of the
// stricter one, so that both refuse the same.
func (a Artifact) Check() error {
	if !a.Type.Known() {
		return fmt.Errorf("unknown artifact type %q", a.Type)
	}
	for _, text := range []string{a.ThreadID, a.Title, a.Content} {
		if !Storable(text) {
			return fmt.Errorf("artifact %s: text must be UTF-8 without NUL", a.ID)
		}
	}
	return nil
}

// Storable reports whether both back ends can hold a text: PostgreSQL takes
// neither invalid UTF-8 nor NUL.
func Storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
