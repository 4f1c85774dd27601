package artifact

import (
	"context"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// deprecatedTool is resolve_artifact_path, which approve_artifact has replaced.
// It is listed where old clients must be told so (tools.md §2.8).
func deprecatedTool() family.Tool {
	return family.Tool{
		Name:        "resolve_artifact_path",
		Title:       "Resolve artifact path (deprecated)",
		Description: "Deprecated: use approve_artifact, which resolves all paths while it creates the tasks. This tool always fails.",
		InputSchema: deprecatedSchema,
		Handle: func(context.Context, *family.Call) (any, error) {
			return nil, &family.Error{
				Code: codeInvalidParams, Message: "Invalid params: resolve_artifact_path is deprecated; use approve_artifact",
				Data: map[string]any{"reason": "deprecated", "replacement": "approve_artifact"},
			}
		},
	}
}
