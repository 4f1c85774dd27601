package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/inputschema"
)

// Finding is one thing that is wrong with the arguments.
type Finding struct {
	// Pointer is the JSON pointer of the value, "" for the arguments as a whole.
	Pointer string `json:"pointer"`
	// Message says what it must be and what it is: must be an integer, got "foo".
	Message string `json:"message"`
}

// Judge decides whether arguments fit a schema. Its verdicts are those of
// google/jsonschema-go; the findings explain them. Safe for concurrent use.
type Judge struct {
	schema   Schema
	compiled *inputschema.Schema
}

// ErrCannotJudge is matched by the error of [NewJudge]: the schema cannot be
// used for validation, which is the server's fault and no reason not to call.
var ErrCannotJudge = errors.New("the input schema cannot be used to check arguments")

// NewJudge prepares a schema. A nil schema, which allows everything, is fine.
func NewJudge(root *doc.Value) (*Judge, error) {
	j := &Judge{schema: New(root)}
	if root == nil {
		return j, nil
	}
	compiled, err := inputschema.Compile(root.AppendJSON(nil))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotJudge, err)
	}
	j.compiled = compiled
	return j, nil
}

// Fits reports whether args fit the schema.
func (j *Judge) Fits(args *doc.Value) bool {
	return j.compiled == nil || j.compiled.Validate(args.Any()) == nil
}

// Findings returns everything that is wrong with args, up to a hundred things,
// nil when they fit.
func (j *Judge) Findings(args *doc.Value) []Finding {
	if j.compiled == nil {
		return nil
	}
	verdict := j.compiled.Validate(args.Any())
	if verdict == nil {
		return nil
	}
	found := explain(j.schema, j.schema.root, args, true)
	if len(found) == 0 {
		// A keyword that is judged, but that we have no words of our own for.
		return []Finding{{Message: lastReason(verdict.Error())}}
	}
	return found
}

// lastReason takes the validator's path through the schema off its message.
func lastReason(message string) string {
	for strings.HasPrefix(message, "validating ") {
		_, rest, found := strings.Cut(message, ": ")
		if !found {
			break
		}
		message = rest
	}
	line, _, _ := strings.Cut(message, "\n")
	return line
}
