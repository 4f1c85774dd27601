// Package family has the types of which a tool family of the reference server consists:
// tools, calls, errors, and the log of calls.
//
// A family package (artifact, and later coe, docling and so on) returns a [Family]. The
// server registers its tools and provides what all have in common: the two log lines of a
// call, the error profile in every error, the shape of the result in each protocol
// revision.
package family

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Family is a group of tools that share an error profile.
type Family struct {
	// Name is the family's name, as `--families`, the mounts and the error
	// profiles use it.
	Name string
	// Profile is the error profile stamped on every error of the family.
	Profile string
	// Tools are the family's tools, listed in this order.
	Tools []Tool
	// Resources are the resource templates the family serves.
	Resources []Resource
	// Direct says that every tool is also a JSON-RPC method of its own, served
	// without a handshake, whose result is the bare payload.
	Direct bool
	// Methods are JSON-RPC methods that are no tools, by name. They are served
	// as the tools of a direct family are, without a handshake and with the bare
	// payload as result, but no list names them and Admit is not asked.
	Methods map[string]func(ctx context.Context, call *Call) (any, error)
	// Extends are the methods of an extension that Register adds, in both eras.
	Extends []string
	// Tasks says that calls may run as tasks: an endpoint with the family serves the
	// methods of tasks.
	Tasks bool
	// Admit, when set, is asked before each call of a tool, in the order of
	// arrival. Nil admits everything.
	Admit func(ctx context.Context, call *Call) Quota
	// Refuse answers a call that Admit did not admit, as Handle would.
	Refuse func(ctx context.Context, call *Call, q Quota) (any, error)
	// Register, when set, adds to a go-sdk server what a [Tool] cannot say
	// (prompts, sampling, logging, subscriptions). It is called once for every
	// endpoint that serves the family; [Family.Registered] names the tools it adds.
	Register   func(*mcp.Server)
	Registered []string
	// Configure, when set, changes the options of a go-sdk server before it is
	// made: what Register cannot say any more (capabilities, completion,
	// subscriptions). It is called for every server that serves the family, with
	// the options of the reference server filled in, Capabilities included.
	Configure func(*mcp.ServerOptions)
	// Routes are HTTP endpoints beside MCP, by [http.ServeMux] pattern. They are
	// served behind the same checks of Host, Origin and bearer token.
	Routes map[string]http.Handler
	// Classify turns an error that is not an [*Error] into one by the family's
	// own table. Nil means every such error is internal (-32603).
	Classify func(error) *Error
	// Close, when set, flushes what calls left to be done and stops what the
	// family started. It is called once, after the last call has ended; ctx
	// bounds it.
	Close func(ctx context.Context) error
}

// A Tool is one callable tool.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema is the JSON Schema of the arguments, published verbatim.
	InputSchema json.RawMessage
	// ReadOnly and Idempotent become the annotation hints.
	ReadOnly   bool
	Idempotent bool
	// Handle runs a call. Its result is marshalled once, and the same bytes
	// become the text block and, where the revision knows it, the structured
	// content; a [Result] says it otherwise. Handle may be called from many
	// goroutines at once.
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
