package table

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Expectation is one thing an answer must hold.
type Expectation struct {
	// Path leads into the document of the answer, such as "payload.task.id":
	// members and indexes between dots, "#" for the length of an array. Empty is
	// the whole document.
	Path string
	Want string
	// Holds judges the value at the path; kept are the values of the
	// conversation.
	Holds func(v any, there bool, kept map[string]any) bool
}

// Lookup returns the value at a path.
func Lookup(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			inner, there := in[part]
			if !there {
				return nil, false
			}
			v = inner
		case []any:
			if part == "#" {
				v = float64(len(in))
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Normal is a value as JSON has it.
func Normal(v any) any { return Decoded(rawjson.Encode(v)) }

// Is expects a value; "$name" is one of the conversation.
func Is(path string, value any) Expectation {
	value = Normal(value)
	return Expectation{Path: path, Want: string(rawjson.Encode(value)), Holds: func(v any, there bool, kept map[string]any) bool {
		want := value
		if s, isText := value.(string); isText {
			if name, isName := strings.CutPrefix(s, "$"); isName {
				want = Normal(kept[name])
			} else {
				want = strings.ReplaceAll(s, "$nonce", fmt.Sprint(kept["nonce"]))
			}
		}
		return there && reflect.DeepEqual(v, want)
	}}
}

// IsNot expects another value than the one given.
func IsNot(path string, value any) Expectation {
	e := Is(path, value)
	same := e.Holds
	e.Want = "another value than " + e.Want
	e.Holds = func(v any, there bool, kept map[string]any) bool { return v != nil && !same(v, there, kept) }
	return e
}

// Has expects a value that is not null.
func Has(path string) Expectation {
	return Expectation{Path: path, Want: "present", Holds: func(v any, there bool, _ map[string]any) bool { return there && v != nil }}
}

// HasNull expects a member that is there, null or not.
func HasNull(path string) Expectation {
	return Expectation{Path: path, Want: "present, be it null", Holds: func(_ any, there bool, _ map[string]any) bool { return there }}
}

// Lacks expects no value, or null.
func Lacks(path string) Expectation {
	return Expectation{Path: path, Want: "absent", Holds: func(v any, there bool, _ map[string]any) bool { return !there || v == nil }}
}

// IsNull expects null, in so many words.
func IsNull(path string) Expectation {
	return Expectation{Path: path, Want: "null", Holds: func(v any, there bool, _ map[string]any) bool { return there && v == nil }}
}

// Like expects a string that matches.
func Like(path, pattern string) Expectation {
	re := regexp.MustCompile(pattern)
	return Expectation{Path: path, Want: "like " + pattern, Holds: func(v any, _ bool, _ map[string]any) bool {
		s, ok := v.(string)
		return ok && re.MatchString(s)
	}}
}

// Between expects a number in a range, both ends included.
func Between(path string, low, high float64) Expectation {
	return Expectation{Path: path, Want: fmt.Sprintf("a number from %v to %v", low, high), Holds: func(v any, _ bool, _ map[string]any) bool {
		n, ok := v.(float64)
		return ok && n >= low && n <= high
	}}
}

// OneOf expects one of the values.
func OneOf(path string, values ...string) Expectation {
	return Expectation{Path: path, Want: "one of " + strings.Join(values, ", "), Holds: func(v any, _ bool, _ map[string]any) bool {
		s, ok := v.(string)
		return ok && slices.Contains(values, s)
	}}
}

// IsBoolean expects true or false.
func IsBoolean(path string) Expectation {
	return Expectation{Path: path, Want: "a boolean", Holds: func(v any, _ bool, _ map[string]any) bool {
		_, ok := v.(bool)
		return ok
	}}
}

// More expects a number that is larger by n than one of the conversation.
func More(path, name string, n float64) Expectation {
	return Expectation{Path: path, Want: fmt.Sprintf("%v more than before", n), Holds: func(v any, _ bool, kept map[string]any) bool {
		got, ok := v.(float64)
		before, known := kept[name].(float64)
		return ok && known && got == before+n
	}}
}

// That expects of the whole document what words say.
func That(words string, holds func(doc any, kept map[string]any) bool) Expectation {
	return Expectation{Want: words, Holds: func(v any, _ bool, kept map[string]any) bool { return holds(v, kept) }}
}

// Timestamp expects ISO 8601.
func Timestamp(path string) Expectation {
	return Like(path, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)
}

// Wants is a list of expectations, from parts that are one or many.
func Wants(parts ...any) []Expectation {
	var all []Expectation
	for _, p := range parts {
		switch p := p.(type) {
		case Expectation:
			all = append(all, p)
		case []Expectation:
			all = append(all, p...)
		}
	}
	return all
}

// Succeeds expects a result that is no error.
func Succeeds(more ...Expectation) []Expectation {
	return append([]Expectation{Is("isError", false)}, more...)
}

// RPCCode expects a JSON-RPC error.
func RPCCode(code int, more ...Expectation) []Expectation {
	return append([]Expectation{Is("error.code", code)}, more...)
}

// NumberAt reads a number of a document: 0 for what is none.
func NumberAt(doc any, path string) float64 {
	v, _ := Lookup(doc, path)
	n, _ := v.(float64)
	return n
}

// TextAt reads a string of a document, "" for what is none.
func TextAt(doc any, path string) string {
	v, _ := Lookup(doc, path)
	s, _ := v.(string)
	return s
}

// ArrayAt reads an array of a document, nil for what is none.
func ArrayAt(doc any, path string) []any {
	v, _ := Lookup(doc, path)
	l, _ := v.([]any)
	return l
}
