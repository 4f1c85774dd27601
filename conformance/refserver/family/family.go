// Package family is the vocabulary in which a tool family of the reference
// server is written: what a tool is, what a call of it sees, which errors it
// answers with and how each call is logged.
//
// A family package (artifact, and later coe, docling and so on) returns a
// [Family]; the server registers its tools and does for all of them what none
// should do by itself: the two log lines of a call, the error profile in every
// error, the shape of the result in each protocol revision.
package family

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Family is a group of tools that share an error profile.
type Family struct {
	// Name is the family's name, as `--families` and the error profiles use it.
	Name string
	// Profile is the error profile stamped on every error of the family.
	Profile string
	// Tools are the family's tools, listed in this order.
	Tools []Tool
	// Resources are the resource templates the family serves.
	Resources []Resource
	// Classify turns an error that is not an [*Error] into one by the family's
	// own table. Nil means every such error is internal (-32603).
	Classify func(error) *Error
}

// A Tool is one callable tool.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema is the JSON Schema of the arguments, published verbatim.
	InputSchema json.RawMessage
	// ReadOnly and Idempotent become the annotation hints of tools.md §1.1.
	ReadOnly   bool
	Idempotent bool
	// Handle runs a call. Its result is marshalled once, and the same bytes
	// become the text block and, where the revision knows it, the structured
	// content. Handle may be called from many goroutines at once.
	Handle func(ctx context.Context, call *Call) (any, error)
}

// A Resource is a resource template with its reader.
type Resource struct {
	Name        string
	Description string
	URITemplate string
	MIMEType    string
	// Read returns the text of the resource at uri.
	Read func(ctx context.Context, uri string) (string, error)
}

// MCP returns the definition of t that `tools/list` shows.
func (t *Tool) MCP() *mcp.Tool {
	return &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
		InputSchema: t.InputSchema,
		Annotations: &mcp.ToolAnnotations{
			Title:          t.Title,
			ReadOnlyHint:   t.ReadOnly,
			IdempotentHint: t.Idempotent,
		},
	}
}

// Failure returns err as an error of the family, or nil for nil.
func (f *Family) Failure(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := asError(err); ok {
		return e
	}
	if f.Classify != nil {
		return f.Classify(err)
	}
	return Internal(err)
}
