package assistant

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/marker"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/registry"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// The texts of failures, as S4 has them.
const (
	textNoSession = "Error: session context not found"
	textNotSaved  = "Error: failed to save artifact"
)

const (
	maxTitle   = 255
	maxContent = 5 << 20
)

// saveSchema is that of Appendix A, verbatim.
var saveSchema = json.RawMessage(`{"type":"object","properties":{"session_token":{"type":"string","minLength":1},"title":{"type":"string","minLength":1,"maxLength":255},"content_markdown":{"type":"string"}},"required":["session_token","title","content_markdown"],"additionalProperties":false}`)

func (s *service) saveTool() family.Tool {
	return family.Tool{
		Name:  "save_artifact",
		Title: "Save artifact",
		Description: "Save a generated file for the current thread. session_token is the one in your instructions; content_markdown is the whole " +
			"file. Call it ONCE, then stop, without any other text.",
		InputSchema: saveSchema,
		Handle:      s.save,
	}
}

func (s *service) save(ctx context.Context, call *family.Call) (any, error) {
	args, err := family.ParseArgs(call.Arguments, "session_token", "title", "content_markdown")
	if err != nil {
		return nil, err
	}
	token, err := args.String("session_token", 1, 0)
	if err != nil {
		return nil, err
	}
	title, err := args.String("title", 1, maxTitle)
	if err != nil {
		return nil, err
	}
	content, err := args.String("content_markdown", 0, 0)
	if err != nil {
		return nil, err
	}
	if len(content) > s.maxContent {
		return nil, family.Invalid("content_markdown", "length", "content_markdown must be at most %d bytes", s.maxContent)
	}
	for name, text := range map[string]string{"title": title, "content_markdown": content} {
		if !store.Storable(text) {
			return nil, family.Invalid(name, "characters", "%s must not contain NUL", name)
		}
	}
	call.Started(ctx, slog.String("session", registry.Short(token)), slog.Int("content_size", len(content)))
	thread, ok := s.tokens.Thread(token, time.Now())
	if !ok {
		call.Failed(slog.String("error", "session context not found"))
		return &family.Result{Text: textNoSession, IsError: true}, nil
	}
	created := marker.Created{ID: uuid.NewString(), ArtifactType: string(store.GeneratedFile), Title: title}
	text, err := marker.Text(created)
	if err != nil {
		return nil, err
	}
	if err := s.persist(ctx, created, thread, content); err != nil {
		call.Failed(slog.String("error", "failed to save artifact"), slog.String("cause", err.Error()))
		return &family.Result{Text: textNotSaved, IsError: true}, nil
	}
	// "ONCE" cannot be enforced on a model; what it saves twice exists twice (C-45).
	if n := s.tokens.Note(token, registry.Saved(created)); n > 1 {
		call.Warn(ctx, "save_artifact_repeated", slog.Int("saved", n))
	}
	call.Completed(slog.String("artifact_id", created.ID), slog.String("thread_id", thread))
	return &family.Result{Text: text}, nil
}

// persist writes the artifact in a transaction of its own, committed when it
// returns (S4-SAVE-03).
func (s *service) persist(ctx context.Context, c marker.Created, thread, content string) error {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return err
	}
	return s.store.SaveArtifact(ctx, store.Artifact{
		ID: id, ThreadID: thread, Type: store.GeneratedFile, Title: c.Title, Content: content, CreatedAt: time.Now(),
	})
}
