package artifact

import (
	"context"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// minContent is how short an artifact may be, in characters.
const minContent = 100

// storeResult is the result of store_artifact.
type storeResult struct {
	Success     bool   `json:"success"`
	ArtifactID  string `json:"artifact_id"`
	StoragePath string `json:"storage_path"`
	ResourceURI string `json:"resource_uri"`
}

func storeTool(s *store) family.Tool {
	return family.Tool{
		Name:  "store_artifact",
		Title: "Store artifact",
		Description: "Write an artifact and its metadata to central storage. Id, title, status, parent and version come from " +
			"the document's own \"## Metadata\" section. Storing the same version again replaces it, unless it is approved.",
		InputSchema: storeSchema,
		Idempotent:  true,
		Handle:      s.handle,
	}
}

func (s *store) handle(ctx context.Context, call *family.Call) (any, error) {
	args, err := family.ParseArgs(call.Arguments, "artifact_content", "task_id")
	if err != nil {
		return nil, err
	}
	content, err := contentOf(args, minContent)
	if err != nil {
		return nil, err
	}
	if _, err := args.TaskID(); err != nil {
		return nil, err
	}
	call.Started(ctx, slog.Int("content_size", len(content)))
	m, err := parseMetadata(ctx, call, content)
	if err != nil {
		return nil, err
	}
	stored, p, err := s.put(ctx, content, m)
	if err != nil {
		return nil, err
	}
	call.Completed(
		slog.String("artifact_id", m.ID), slog.String("artifact_type", m.Type.Name), slog.Int("version", m.Version),
		slog.Int("size_bytes", stored.SizeBytes), slog.String("resource_uri", p.uri()))
	return &storeResult{Success: true, ArtifactID: m.ID, StoragePath: stored.FilePath, ResourceURI: p.uri()}, nil
}
