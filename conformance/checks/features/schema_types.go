package features

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// schemaTypes are the types there are in JSON Schema, in every draft since 4.
var schemaTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

// Keywords under which schemas stand: one, a list of them, or one for each name.
var (
	schemaUnder  = []string{"items", "additionalItems", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"}
	schemasIn    = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemasNamed = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// checkTypes reports a type that JSON Schema does not have, anywhere in a schema
// (meta-schema of 2020-12 and of the drafts before: "type" is one of
// "simpleTypes", or an array of them). Of a schema that names a dialect of somebody
// else nobody knows what its keywords mean.
func checkTypes(raw json.RawMessage) error {
	schema, ok := rawjson.Object(raw)
	if !ok {
		return nil // true, false, or what has been found wrong already
	}
	if dialect, there := schema["$schema"]; there && !strings.Contains(rawjson.Text(dialect), "//json-schema.org/") {
		return nil
	}
	if named, there := schema["type"]; there {
		var types []string
		if json.Unmarshal(named, &types) != nil {
			types = []string{rawjson.Text(named)}
		}
		for _, name := range types {
			if !slices.Contains(schemaTypes, name) {
				return fmt.Errorf("the type %s is none of JSON Schema", rawjson.Clip(string(named), 100))
			}
		}
	}
	var inner []json.RawMessage
	for _, keyword := range schemaUnder {
		inner = append(inner, schema[keyword])
	}
	for _, keyword := range schemasIn {
		var list []json.RawMessage
		if json.Unmarshal(schema[keyword], &list) == nil {
			inner = append(inner, list...)
		}
	}
	for _, keyword := range schemasNamed {
		members, _ := rawjson.Object(schema[keyword])
		for _, name := range rawjson.SortedKeys(members) {
			inner = append(inner, members[name])
		}
	}
	for _, sub := range inner {
		if err := checkTypes(sub); err != nil {
			return err
		}
	}
	return nil
}
