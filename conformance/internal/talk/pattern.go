package talk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Pattern is what an answer has to look like: a JSON value in which
//
//   - an object asks for its members and allows others,
//   - an array asks for just its elements, in order,
//   - "$string", "$integer", "$count" (an integer that is not negative), "$boolean", "$object", "$array", "$empty" and "$any" stand
//     for any value of that kind, "$empty" for an object without members but _meta,
//   - "$absent" says that a member is not there,
//   - {"$or": [a, b]} is either,
//   - and any other value is that value.
type Pattern struct {
	text  []byte
	Value any
}

// absent is the word for a member that is not there.
const absent = "$absent"

// with returns the pattern with an id in the place of its own.
func (p *Pattern) with(id string) *Pattern {
	if !bytes.Contains(p.text, []byte(ownID)) {
		return p
	}
	own, err := ReadPattern(bytes.ReplaceAll(p.text, []byte(ownID), []byte(id)))
	if err != nil {
		return p // an id is JSON
	}
	return own
}

// wantsError reports whether the pattern is that of an error.
func (p *Pattern) wantsError() bool {
	members, _ := p.Value.(map[string]any)
	return members["error"] != nil && members["error"] != absent
}

// ReadPattern reads a pattern.
func ReadPattern(data []byte) (*Pattern, error) {
	p := &Pattern{text: data}
	return p, json.Unmarshal(data, &p.Value)
}

// Fault says where a message differs from the pattern, "" when nowhere.
func (p *Pattern) Fault(data []byte) string {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return "it is no JSON: " + err.Error()
	}
	return differs(p.Value, value, "")
}

func differs(want, got any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		if options, ok := want["$or"].([]any); ok {
			return differsFromAll(options, got, path)
		}
		members, ok := got.(map[string]any)
		if !ok {
			return at(path, "not an object")
		}
		for _, name := range rawjson.SortedKeys(want) {
			value, there := members[name]
			if !there && mayBeAbsent(want[name]) {
				continue
			} else if !there {
				return at(path+"/"+name, "is missing")
			} else if want[name] == absent {
				return at(path+"/"+name, "is there")
			}
			if fault := differs(want[name], value, path+"/"+name); fault != "" {
				return fault
			}
		}
	case []any:
		elements, ok := got.([]any)
		if !ok || len(elements) != len(want) {
			return at(path, fmt.Sprintf("not an array of %d", len(want)))
		}
		for i := range want {
			if fault := differs(want[i], elements[i], fmt.Sprintf("%s/%d", path, i)); fault != "" {
				return fault
			}
		}
	case string:
		if kind, is := kinds[want]; is {
			if !kind(got) {
				return at(path, "not "+want[1:])
			}
		} else if got != want {
			return at(path, "another text")
		}
	default:
		if got != want {
			return at(path, "another value")
		}
	}
	return ""
}

// mayBeAbsent reports whether a member of a pattern may be left out.
func mayBeAbsent(want any) bool {
	members, _ := want.(map[string]any)
	options, _ := members["$or"].([]any)
	return want == absent || slices.Contains(options, any(absent))
}

func differsFromAll(options []any, got any, path string) string {
	if slices.ContainsFunc(options, func(option any) bool { return option != any(absent) && differs(option, got, path) == "" }) {
		return ""
	}
	return at(path, "none of what is allowed")
}

// kinds are the words that stand for any value of a kind.
var kinds = map[string]func(any) bool{
	"$string":  func(v any) bool { _, ok := v.(string); return ok },
	"$boolean": func(v any) bool { _, ok := v.(bool); return ok },
	"$object":  func(v any) bool { _, ok := v.(map[string]any); return ok },
	"$array":   func(v any) bool { _, ok := v.([]any); return ok },
	"$any":     func(any) bool { return true },
	"$integer": func(v any) bool {
		n, ok := v.(float64)
		return ok && n == float64(int64(n))
	},
	"$count": func(v any) bool {
		n, ok := v.(float64)
		return ok && n == float64(int64(n)) && n >= 0
	},
	"$empty": func(v any) bool {
		members, ok := v.(map[string]any)
		for name := range members {
			ok = ok && (name == "_meta" || name == "resultType")
		}
		return ok
	},
}

func at(path, fault string) string {
	if path == "" {
		path = "/"
	}
	return "(" + path + ": " + fault + ")"
}
