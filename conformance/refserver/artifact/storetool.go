package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// minContent is how short an artifact may be, in characters.
const minContent = 100

// resourceRoot is where stored artifacts are read.
const resourceRoot = "mcp://resources/artifacts/"

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
	content, err := args.String("artifact_content", minContent, 0)
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
	stored, err := s.put(content, m)
	if err != nil {
		return nil, err
	}
	uri := fmt.Sprintf("%s%s/%s_v%d.md", resourceRoot, m.Type.Plural, m.ID, m.Version)
	call.Completed(
		slog.String("artifact_id", m.ID), slog.String("artifact_type", m.Type.Name), slog.Int("version", m.Version),
		slog.Int("size_bytes", stored.SizeBytes), slog.String("resource_uri", uri))
	return &storeResult{Success: true, ArtifactID: m.ID, StoragePath: stored.FilePath, ResourceURI: uri}, nil
}

func artifactResource(s *store) family.Resource {
	return family.Resource{
		Name:        "artifact",
		Description: "A stored artifact, by the URI store_artifact returned",
		// Reserved expansion: with {dir}/{file} a URI with ".." would match no
		// template and be reported as missing rather than refused.
		URITemplate: resourceRoot + "{+path}",
		MIMEType:    "text/markdown",
		Read:        s.resource,
	}
}

var documentName = regexp.MustCompile(`^([A-Z]+)-[0-9]{3,}_v[1-9][0-9]{0,2}\.md$`)

// resource returns the document behind a resource URI.
func (s *store) resource(_ context.Context, uri string) (string, error) {
	missing := &family.Error{
		Code: family.CodeNotFound, Message: "Resource not found: " + quoted(uri),
		Data: map[string]any{"uri": quoted(uri)},
	}
	rest := strings.TrimPrefix(uri, resourceRoot)
	dir, file, _ := strings.Cut(rest, "/")
	if traverses(dir) || traverses(file) {
		return "", traversal("Resource name", uri)
	}
	for _, t := range types {
		m := documentName.FindStringSubmatch(file)
		if t.Plural != dir || m == nil || m[1] != t.Prefix {
			continue
		}
		data, err := s.read(path.Join(t.Name, file))
		if errors.Is(err, fs.ErrNotExist) {
			return "", missing
		}
		return string(data), err
	}
	return "", missing
}
