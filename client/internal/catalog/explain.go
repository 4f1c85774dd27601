package catalog

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

const (
	// maxReasons is how many things that are wrong an error names, and maxReason
	// how many characters it has for each.
	maxReasons, maxReason = 5, 300
	// maxSignature bounds a signature in an error, in characters and types.
	maxSignature, maxTypes = 300, 64
	// Larger schemas and values are not explained, for what it costs: an error
	// about them names a rule only.
	maxExplainedSchema, maxExplained = 64 << 10, 1 << 20
)

// Explain says what is wrong with a value that Judge has refused: where, what
// belongs there, and the name that was probably meant. It has types and no values:
// those are their sender's business, and errors end up in logs.
func (s *Schema) Explain(value json.RawMessage, verdict error) string {
	reasons := s.misfits(orEmpty(value))
	if len(reasons) == 0 {
		return ruleOf(verdict)
	}
	text := ""
	for i, reason := range reasons {
		if i == maxReasons {
			text = and(text, fmt.Sprintf("and %d more", len(reasons)-maxReasons))
			break
		}
		text = and(text, jsonrpc.Printable(reason, maxReason))
	}
	return text
}

// and joins two parts of a message. The first may end with a question.
func and(first, second string) string {
	switch {
	case first == "":
		return second
	case strings.HasSuffix(first, "?"):
		return first + " " + second
	}
	return first + "; " + second
}

// misfits returns what is wrong with a value, none when that cannot be said.
func (s *Schema) misfits(value json.RawMessage) []string {
	if len(s.text) > maxExplainedSchema || len(value) > maxExplained {
		return nil
	}
	root, err := doc.Parse(s.text)
	if err != nil {
		return nil
	}
	v, err := doc.Parse(value)
	if err != nil {
		return nil
	}
	return schema.Misfits(root, v)
}

// ExplainArguments is Explain for arguments of a tool, with the tool's signature.
func (s *Schema) ExplainArguments(tool string, args json.RawMessage, verdict error) string {
	text := s.Explain(args, verdict)
	if signature := s.signature(tool); signature != "" {
		text = and(text, "signature: "+signature)
	}
	return text
}

// signature writes a tool and its arguments in one line, "" for a schema that is
// too large.
func (s *Schema) signature(tool string) string {
	if len(s.text) > maxExplainedSchema {
		return ""
	}
	root, err := doc.Parse(s.text)
	if err != nil {
		return ""
	}
	return jsonrpc.Printable(schema.BriefSignature(tool, schema.New(root), maxTypes), maxSignature)
}

// ruleOf returns the rule that a validator's message is about, and its place in
// the schema. The message has values in it.
func ruleOf(verdict error) string {
	place, rest := "", verdict.Error()
	for strings.HasPrefix(rest, "validating ") {
		at, after, found := strings.Cut(strings.TrimPrefix(rest, "validating "), ": ")
		if !found {
			break
		}
		if rest = after; at != "root" {
			place = at + ": "
		}
	}
	rule, _, _ := strings.Cut(rest, ": ")
	return jsonrpc.Printable(place+"does not satisfy "+rule, maxReason)
}
