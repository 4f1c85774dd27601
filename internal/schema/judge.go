package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/inputschema"
)

// Finding is one reason why arguments do not match.
type Finding struct {
	// Pointer is the JSON pointer of the value, "" for the arguments as a whole.
	Pointer string `json:"pointer"`
	// Message describes the expected and the actual value: must be an integer, got "foo".
	Message string `json:"message"`
}

// Judge validates arguments with google/jsonschema-go, and explains why they do not match. It is
// safe for concurrent use.
type Judge struct {
	schema   Schema
	compiled *inputschema.Schema
}

// ErrCannotJudge matches the error of [NewJudge]: the schema cannot be used for validation. That
// is an error of the server, and no reason not to call the tool.
var ErrCannotJudge = errors.New("the input schema cannot be used to check arguments")

// NewJudge prepares a schema. A nil schema allows everything.
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

// TakesNone reports whether an object without members matches a schema for sure, without a [Judge]:
// whatever the schema has about members, it needs none. It may be false for a schema that takes one.
func TakesNone(root *doc.Value) bool {
	for _, m := range root.Members() {
		switch m.Name {
		case "type":
			if m.Value.Str() != "object" {
				return false
			}
		case "required":
			if m.Value.Kind() != doc.Array || len(m.Value.Items()) > 0 {
				return false
			}
		case "properties", "additionalProperties", "title", "description", "$schema":
		default:
			return false
		}
	}
	return root.Kind() == doc.Object
}

// Fits reports whether args match the schema.
func (j *Judge) Fits(args *doc.Value) bool {
	return j.compiled == nil || j.compiled.Validate(args.Any()) == nil
}

// Findings returns the reasons why args do not match, up to a hundred, nil if they match.
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
		// A keyword that the validator supports and explain does not.
		return []Finding{{Message: lastReason(verdict.Error())}}
	}
	return found
}

// lastReason removes the validator's path through the schema from its message.
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
