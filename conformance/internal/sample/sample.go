// Package sample makes arguments that a schema of a tool allows.
package sample

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/lists"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Schema is as much of an input schema as the suite makes arguments from.
type Schema struct {
	Type                 json.RawMessage            `json:"type"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	Enum                 []json.RawMessage          `json:"enum"`
	Const                json.RawMessage            `json:"const"`
	Default              json.RawMessage            `json:"default"`
	Pattern              string                     `json:"pattern"`
	MinLength            *int                       `json:"minLength"`
	MaxLength            *int                       `json:"maxLength"`
	Minimum              *float64                   `json:"minimum"`
	Maximum              *float64                   `json:"maximum"`
	MinItems             int                        `json:"minItems"`
	Items                json.RawMessage            `json:"items"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
}

// Typed returns the one type of the schema, "" when it has none or several.
func (s *Schema) Typed() string { return rawjson.Text(s.Type) }

// Read reads a schema. One that cannot be read is empty.
func Read(raw json.RawMessage) *Schema {
	var s Schema
	_ = json.Unmarshal(raw, &s) // judged by X-WIRE-07; what cannot be read makes no arguments
	return &s
}

// Value makes a value that fits the schema, by its simple keywords.
func (s *Schema) Value() any {
	switch {
	case len(s.Const) > 0:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Default) > 0:
		return s.Default
	}
	switch s.Typed() {
	case "string":
		return s.sampleString()
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		if s.Maximum != nil {
			return *s.Maximum
		}
		return 1
	case "boolean":
		return true
	case "array":
		list := []any{}
		for range min(s.MinItems, 100) {
			list = append(list, Read(s.Items).Value())
		}
		return list
	case "object":
		return s.Object()
	}
	return "x"
}

func (s *Schema) sampleString() string {
	if strings.Contains(s.Pattern, `[A-Z]+-\d{3,}`) {
		return "EPIC-006"
	}
	length := 8
	if s.MinLength != nil {
		length = max(length, *s.MinLength)
	}
	if s.MaxLength != nil {
		length = min(length, *s.MaxLength)
	}
	return strings.Repeat("x", min(length, 1<<20))
}

// Object returns the required properties with values that fit.
func (s *Schema) Object() map[string]any {
	out := map[string]any{}
	for _, name := range s.Required {
		out[name] = Read(s.Properties[name]).Value()
	}
	return out
}

// Callable returns the tools that may be called; without any it skips all
// checks of the scenario.
func Callable(t *conformance.Trial) []lists.Tool {
	var out []lists.Tool
	for _, tool := range t.Rev.Tools {
		if t.Rev.MayCall(tool.Name) {
			out = append(out, tool)
		}
	}
	if len(out) == 0 {
		for _, c := range t.Scenario.Checks {
			reason, detail := conformance.SkipSideEffects, "no permission to call any tool"
			if len(t.Rev.Tools) == 0 {
				reason, detail = conformance.SkipNoFixture, "no tools"
			}
			t.Skip(c.ID, reason, detail)
		}
	}
	return out
}
