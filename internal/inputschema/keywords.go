package inputschema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// exactKeywords takes out of a schema what the library would read as a keyword
// though it is spelled in another case: it decodes with encoding/json, which
// takes "$Ref" for "$ref". To the dialect such a name means nothing.
func exactKeywords(schema any) {
	cleaner{keywords: keywords()}.clean(schema)
}

// keywords returns the names the library knows, from its own type.
func keywords() []string {
	var names []string
	t := reflect.TypeFor[jsonschema.Schema]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	// Decoded by hand there, beside the fields.
	for _, name := range []string{
		"type", "items", "dependencies", "const", "default", "minLength", "maxLength", "minItems", "maxItems",
		"minProperties", "maxProperties", "minContains", "maxContains",
	} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

type cleaner struct{ keywords []string }

func (c cleaner) clean(schema any) {
	node, ok := schema.(map[string]any)
	if !ok {
		return
	}
	for name := range node {
		if !slices.Contains(c.keywords, name) && slices.ContainsFunc(c.keywords, func(k string) bool { return strings.EqualFold(k, name) }) {
			delete(node, name)
		}
	}
	for name, value := range node {
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			// The names in here are the author's own.
			children("", value, func(_ string, v any) { c.clean(v) })
		case "const", "enum", "default", "examples":
		default:
			c.clean(value)
			if list, isList := value.([]any); isList {
				for _, v := range list {
					c.clean(v)
				}
			}
		}
	}
}
