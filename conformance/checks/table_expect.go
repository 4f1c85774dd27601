package checks

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// expectation is one thing an answer must hold.
type expectation struct {
	// path leads into the document of the answer, such as "payload.task.id":
	// members and indexes between dots, "#" for the length of an array. Empty is
	// the whole document.
	path string
	want string
	// holds judges the value at the path; kept are the values of the
	// conversation.
	holds func(v any, there bool, kept map[string]any) bool
}

// lookup returns the value at a path.
func lookup(v any, path string) (any, bool) {
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

// normal is a value as JSON has it.
func normal(v any) any { return decoded(rawjson.Encode(v)) }

// is expects a value; "$name" is one of the conversation.
func is(path string, value any) expectation {
	value = normal(value)
	return expectation{path: path, want: string(rawjson.Encode(value)), holds: func(v any, there bool, kept map[string]any) bool {
		want := value
		if s, isText := value.(string); isText {
			if name, isName := strings.CutPrefix(s, "$"); isName {
				want = normal(kept[name])
			} else {
				want = strings.ReplaceAll(s, "$nonce", fmt.Sprint(kept["nonce"]))
			}
		}
		return there && reflect.DeepEqual(v, want)
	}}
}

// isNot expects another value than the one given.
func isNot(path string, value any) expectation {
	e := is(path, value)
	same := e.holds
	e.want = "another value than " + e.want
	e.holds = func(v any, there bool, kept map[string]any) bool { return v != nil && !same(v, there, kept) }
	return e
}

// has expects a value that is not null.
func has(path string) expectation {
	return expectation{path: path, want: "present", holds: func(v any, there bool, _ map[string]any) bool { return there && v != nil }}
}

// hasNull expects a member that is there, null or not.
func hasNull(path string) expectation {
	return expectation{path: path, want: "present, be it null", holds: func(_ any, there bool, _ map[string]any) bool { return there }}
}

// lacks expects no value, or null.
func lacks(path string) expectation {
	return expectation{path: path, want: "absent", holds: func(v any, there bool, _ map[string]any) bool { return !there || v == nil }}
}

// isNull expects null, in so many words.
func isNull(path string) expectation {
	return expectation{path: path, want: "null", holds: func(v any, there bool, _ map[string]any) bool { return there && v == nil }}
}

// like expects a string that matches.
func like(path, pattern string) expectation {
	re := regexp.MustCompile(pattern)
	return expectation{path: path, want: "like " + pattern, holds: func(v any, _ bool, _ map[string]any) bool {
		s, ok := v.(string)
		return ok && re.MatchString(s)
	}}
}

// between expects a number in a range, both ends included.
func between(path string, low, high float64) expectation {
	return expectation{path: path, want: fmt.Sprintf("a number from %v to %v", low, high), holds: func(v any, _ bool, _ map[string]any) bool {
		n, ok := v.(float64)
		return ok && n >= low && n <= high
	}}
}

// oneOf expects one of the values.
func oneOf(path string, values ...string) expectation {
	return expectation{path: path, want: "one of " + strings.Join(values, ", "), holds: func(v any, _ bool, _ map[string]any) bool {
		s, ok := v.(string)
		return ok && slices.Contains(values, s)
	}}
}

// isBoolean expects true or false.
func isBoolean(path string) expectation {
	return expectation{path: path, want: "a boolean", holds: func(v any, _ bool, _ map[string]any) bool {
		_, ok := v.(bool)
		return ok
	}}
}

// more expects a number that is larger by n than one of the conversation.
func more(path, name string, n float64) expectation {
	return expectation{path: path, want: fmt.Sprintf("%v more than before", n), holds: func(v any, _ bool, kept map[string]any) bool {
		got, ok := v.(float64)
		before, known := kept[name].(float64)
		return ok && known && got == before+n
	}}
}

// that expects of the whole document what words say.
func that(words string, holds func(doc any, kept map[string]any) bool) expectation {
	return expectation{want: words, holds: func(v any, _ bool, kept map[string]any) bool { return holds(v, kept) }}
}

// timestamp expects ISO 8601.
func timestamp(path string) expectation {
	return like(path, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)
}

// wants is a list of expectations, from parts that are one or many.
func wants(parts ...any) []expectation {
	var all []expectation
	for _, p := range parts {
		switch p := p.(type) {
		case expectation:
			all = append(all, p)
		case []expectation:
			all = append(all, p...)
		}
	}
	return all
}

// succeeds expects a result that is no error.
func succeeds(more ...expectation) []expectation {
	return append([]expectation{is("isError", false)}, more...)
}

// rpcCode expects a JSON-RPC error.
func rpcCode(code int, more ...expectation) []expectation {
	return append([]expectation{is("error.code", code)}, more...)
}

// numberAt reads a number of a document: 0 for what is none.
func numberAt(doc any, path string) float64 {
	v, _ := lookup(doc, path)
	n, _ := v.(float64)
	return n
}

// textAt reads a string of a document, "" for what is none.
func textAt(doc any, path string) string {
	v, _ := lookup(doc, path)
	s, _ := v.(string)
	return s
}

// arrayAt reads an array of a document, nil for what is none.
func arrayAt(doc any, path string) []any {
	v, _ := lookup(doc, path)
	l, _ := v.([]any)
	return l
}
