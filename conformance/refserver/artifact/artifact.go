// Package artifact is the S0 family: the workflow that validates generated
// documents against checklists and stores them (tools.md part 2).
package artifact

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// Name is the family's name, and that of its error profile.
const Name = "artifact"

//go:embed checklists/*.json
var shipped embed.FS

// Options configures the family.
type Options struct {
	// BaseDir is ARTIFACTS_BASE_DIR, made when the first artifact is stored.
	BaseDir string
	// ChecklistDir is VALIDATION_RESOURCES_DIR; empty is the checklists built in.
	ChecklistDir string
}

// New returns the family.
func New(opts Options) *family.Family {
	st := newStore(opts.BaseDir)
	v := &validator{checklists: newChecklists(resources(opts.ChecklistDir))}
	return &family.Family{
		Name:      Name,
		Profile:   Name,
		Classify:  classify,
		Tools:     []family.Tool{validateTool(v), storeTool(st)},
		Resources: []family.Resource{artifactResource(st)},
	}
}

func resources(dir string) fs.FS {
	if dir != "" {
		return os.DirFS(dir)
	}
	sub, err := fs.Sub(shipped, "checklists")
	if err != nil { // only an invalid constant path can do that
		panic(err)
	}
	return sub
}

// classify is S0's table from exceptions to codes for what no tool has
// classified itself. The text never shows a path or the system's words.
func classify(err error) *family.Error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return permission(err, "the server may not access its files")
	case errors.Is(err, fs.ErrNotExist):
		return notFound("a file of the server is missing")
	case errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return &family.Error{Code: family.CodeServer, Message: "Request timeout: the call took too long", Data: map[string]any{"reason": "timeout"}, Err: err}
	}
	return family.Internal(err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func permission(err error, text string) *family.Error {
	return &family.Error{Code: family.CodeServer, Message: "Permission denied: " + text, Data: map[string]any{"reason": "permission"}, Err: err}
}

func notFound(text string) *family.Error {
	return &family.Error{Code: family.CodeNotFound, Message: "Resource not found: " + text}
}

// The input schemas of Appendix A, verbatim.
var (
	validateSchema = json.RawMessage(`{"type":"object","required":["artifact_content","artifact_id","task_id"],"additionalProperties":false,"properties":{"artifact_content":{"type":"string"},"artifact_id":{"type":"string","pattern":"^[A-Z]+-\\d{3,}$"},"task_id":{"type":"string","minLength":1,"maxLength":128}}}`)
	storeSchema    = json.RawMessage(`{"type":"object","properties":{"artifact_content":{"type":"string","minLength":100},"task_id":{"type":"string","minLength":1,"maxLength":128}},"required":["artifact_content","task_id"],"additionalProperties":false}`)
)
