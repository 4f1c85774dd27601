package assistant

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// chatRequest is the body of POST /api/threads/{thread_id}/chat.
type chatRequest struct {
	Content string
	// Generate asks for a file; it is false by default (GEN-02).
	Generate   bool
	ThreadType string
}

// decodeChat reads a body that is one object and nothing else. Members of other
// names are ignored, as S4's framework does. One that stands there twice is
// refused: two readers of the same body would not agree on what it says.
func decodeChat(body io.Reader) (*chatRequest, error) {
	dec := json.NewDecoder(body)
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not an object"), err)
	}
	req := &chatRequest{ThreadType: threadAssistant}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // nothing else is a name
		if seen[name] {
			return nil, errors.New("a member stands there twice")
		}
		seen[name] = true
		if err := dec.Decode(req.member(name)); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("text after the object"), err)
	}
	return req, nil
}

// member returns where the value of a member goes.
func (r *chatRequest) member(name string) any {
	switch name {
	case "content":
		return &required[string]{&r.Content}
	case "artifact_generation":
		return &required[bool]{&r.Generate}
	case "thread_type":
		return &required[string]{&r.ThreadType}
	}
	return new(json.RawMessage)
}

// required decodes a value that may be absent, but not null.
type required[T any] struct{ to *T }

// UnmarshalJSON implements [json.Unmarshaler].
func (r required[T]) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return fmt.Errorf("null where a %T is needed", *r.to)
	}
	return json.Unmarshal(raw, r.to)
}
