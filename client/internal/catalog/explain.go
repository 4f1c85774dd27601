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
	// maxReasons limits the reasons in an error, and maxReason the characters of each.
	maxReasons, maxReason = 5, 300
	// maxSignature limits the characters of a signature in an error, and maxTypes its types.
	maxSignature, maxTypes = 300, 64
	// Larger schemas and values are too expensive to explain: the error names only the violated
	// rule.
	maxExplainedSchema, maxExplained = 64 << 10, 1 << 20
)

// Explain describes why Judge has rejected a value: where, what the schema expects there, and the
// name that was probably meant. It contains types but no values, because errors end up in logs.
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

// and joins two parts of a message. The first may end with a question mark.
func and(first, second string) string {
	switch {
	case first == "":
		return second
	case strings.HasSuffix(first, "?"):
		return first + " " + second
	}
	return first + "; " + second
}

// misfits returns the reasons why a value does not match, none if they are not known.
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

// signature returns a tool and its arguments in one line, "" if the schema is too large.
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

// ruleOf returns the rule in a validator's message, and its place in the schema. The rest of the
// message has values.
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
