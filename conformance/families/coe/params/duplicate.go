package params

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxField bounds the name of a field that was found deep inside.
const maxField = 200

// twice returns the member that an object of raw, which is valid JSON, has
// twice, or "". Of two values encoding/json takes the last and other readers
// the first: the caller and the tool could mean different things.
func twice(raw json.RawMessage) string {
	return strings.TrimPrefix(repeated(json.NewDecoder(bytes.NewReader(raw))), ".")
}

// repeated reads one value and returns the way to the member that is there
// twice. It is put together from the inside, and only when there is one.
func repeated(d *json.Decoder) string {
	t, err := d.Token()
	if err != nil {
		return ""
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			key, _ := d.Token() // valid JSON: a string
			name, _ := key.(string)
			if seen[name] {
				return "." + clip(name)
			}
			seen[name] = true
			if found := repeated(d); found != "" {
				return within("."+clip(name), found)
			}
		}
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if found := repeated(d); found != "" {
				return within(fmt.Sprintf("[%d]", i), found)
			}
		}
	default:
		return ""
	}
	_, _ = d.Token() // the end of the object or array
	return ""
}

func within(step, found string) string {
	if len(step)+len(found) > maxField {
		return found
	}
	return step + found
}
