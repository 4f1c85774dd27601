package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// An Element is an object of a list in a JSON file.
type Element struct {
	// Line is where it begins.
	Line int

	file   *File
	offset int
	raw    json.RawMessage
}

// List reads a JSON file that is a list, or an object with a list of that name.
// The other members of the object go into head, a pointer to a struct.
func (f *File) List(name string, head any) ([]Element, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(f.Data, &whole); err != nil {
		return nil, f.located(err, 0, nil)
	}
	// From here on the document is valid: only shapes can be wrong.
	dec := json.NewDecoder(bytes.NewReader(f.Data))
	first, err := dec.Token()
	if err != nil {
		return nil, f.located(err, 0, nil)
	}
	switch first {
	case json.Delim('['):
		return f.elements(dec)
	case json.Delim('{'):
	default:
		return nil, f.Errorf(1, "must be an object with a list named %q, or a list", name)
	}
	var list []Element
	found := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, f.located(err, 0, nil)
		}
		if key != name {
			if err := f.member(dec, key, head); err != nil {
				return nil, err
			}
			continue
		}
		line := f.Line(int(dec.InputOffset()))
		if found {
			return nil, f.Errorf(line, "a second %q; keep one list", name)
		}
		found = true
		if open, err := dec.Token(); err != nil || open != json.Delim('[') {
			return nil, f.Errorf(line, "%q must be a list", name)
		}
		if list, err = f.elements(dec); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, f.Errorf(1, "no list named %q; add one", name)
	}
	return list, nil
}

// member decodes a member of the object into the struct that head points to.
func (f *File) member(dec *json.Decoder, key json.Token, head any) error {
	name, err := json.Marshal(key)
	if err != nil {
		return err
	}
	line := f.Line(int(dec.InputOffset()))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return f.located(err, 0, nil)
	}
	if err := strict(fmt.Appendf(nil, "{%s:%s}", name, value), head); err != nil {
		return f.Errorf(line, "%s", explain(err))
	}
	return nil
}

// elements reads the rest of a list whose bracket has been read.
func (f *File) elements(dec *json.Decoder) ([]Element, error) {
	var list []Element
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, f.located(err, 0, nil)
		}
		at := int(dec.InputOffset()) - len(raw)
		list = append(list, Element{Line: f.Line(at), file: f, offset: at, raw: raw})
	}
	_, err := dec.Token()
	return list, err
}

// Decode decodes the element. A member that v does not have is an error.
func (e *Element) Decode(v any) error {
	if err := strict(e.raw, v); err != nil {
		return e.file.located(err, e.offset, e.raw)
	}
	return nil
}

func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

const unknownMember = "json: unknown field "

// located is an error of package json with its line. raw begins at a byte of
// the file, from which the offset of the error counts.
func (f *File) located(err error, at int, raw []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch name, unknown := strings.CutPrefix(err.Error(), unknownMember); {
	case errors.As(err, &syntax):
		at += int(syntax.Offset) - 1
	case errors.As(err, &kind):
		at += int(kind.Offset) - 1
	case unknown: // it has no offset
		if hit := regexp.MustCompile(regexp.QuoteMeta(name) + `\s*:`).FindIndex(raw); hit != nil {
			at += hit[0]
		}
	}
	return f.Errorf(f.Line(at), "%s", explain(err))
}

// explain puts an error of package json into a sentence.
func explain(err error) string {
	var kind *json.UnmarshalTypeError
	switch name, unknown := strings.CutPrefix(err.Error(), unknownMember); {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%q must be %s, not %s", kind.Field, typeName(kind), kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("must be %s, not %s", typeName(kind), kind.Value)
	case unknown:
		return "unknown member " + name + "; remove it or correct its name"
	}
	return "not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

// typeName names a type of Go as JSON does.
func typeName(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); kind {
	case "slice", "array":
		return "a list"
	case "struct", "map":
		return "an object"
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	}
	return "a number"
}
