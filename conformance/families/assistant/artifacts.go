package assistant

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// artifactView is the body of GET /api/artifacts/{id} (GEN-04).
type artifactView struct {
	ID        string             `json:"id"`
	ThreadID  string             `json:"thread_id"`
	Type      store.ArtifactType `json:"artifact_type"`
	Title     string             `json:"title"`
	Content   string             `json:"content_markdown"`
	CreatedAt string             `json:"created_at"`
}

func (s *service) artifact(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil || len(r.PathValue("id")) != 36 { // Parse also takes URNs and braces
		refuse(w, http.StatusNotFound, "Artifact not found")
		return
	}
	a, err := s.store.Artifact(r.Context(), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		refuse(w, http.StatusNotFound, "Artifact not found")
		return
	case err != nil:
		s.log.ErrorContext(r.Context(), "artifact_unreadable", slog.String("error", err.Error()))
		refuse(w, http.StatusServiceUnavailable, "The artifact cannot be read now")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&artifactView{ // the client is gone, or it is not
		ID: a.ID.String(), ThreadID: a.ThreadID, Type: a.Type, Title: a.Title, Content: a.Content,
		CreatedAt: a.CreatedAt.UTC().Format(time.RFC3339Nano),
	})
}
