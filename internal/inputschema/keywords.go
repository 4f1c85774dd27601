package inputschema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// exactKeywords removes members that the library would read as keywords although their case
// differs: it decodes with encoding/json, which accepts "$Ref" for "$ref". In the dialect such a
// name has no meaning.
func exactKeywords(schema any) {
	cleaner{keywords: keywords()}.clean(schema)
}

// keywords returns the keywords of the library, from its own type.
func keywords() []string {
	var names []string
	t := reflect.TypeFor[jsonschema.Schema]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	// The library decodes these separately from its fields.
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
			// These names belong to the author of the schema.
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
