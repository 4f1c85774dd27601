package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Calls names what may be called and read, and with which arguments: what a schema cannot tell,
// such as an id that exists. The zero value is empty.
//
// # Experimental
//
// The members may still change.
type Calls struct {
	// Tools, Prompts and Templates are by the name of the tool or prompt, and by the URI
	// template.
	Tools     map[string]ToolCalls     `json:"tools,omitempty"`
	Prompts   map[string]PromptCalls   `json:"prompts,omitempty"`
	Templates map[string]TemplateCalls `json:"templates,omitempty"`
}

// ToolCalls says how a tool may be called.
//
// # Experimental
type ToolCalls struct {
	// Call permits calls of the tool, or forbids them, whatever else does. If it is absent,
	// the other permissions decide.
	Call *bool `json:"call,omitempty"`
	// Examples are arguments with which the tool succeeds. Without them, arguments are made
	// from the schema.
	Examples []map[string]any `json:"examples"`
	// Changes are the URIs of resources that each of these calls changes.
	Changes []string `json:"changes,omitempty"`
}

// PromptCalls has arguments with which a prompt can be had.
//
// # Experimental
type PromptCalls struct {
	Examples []map[string]string `json:"examples"`
}

// TemplateCalls has URIs of a template that can be read.
//
// # Experimental
type TemplateCalls struct {
	Examples []string `json:"examples"`
}

// mostCalls bounds a file of calls.
const mostCalls = 4 << 20

// ReadCalls reads a file of calls, a JSON object of the form of [Calls]. name is that of the
// file, for errors.
//
// # Experimental
func ReadCalls(name string, r io.Reader) (Calls, error) {
	var calls Calls
	data, err := io.ReadAll(io.LimitReader(r, mostCalls+1))
	switch {
	case err != nil:
		return calls, fmt.Errorf("%s: %w", name, err)
	case len(data) > mostCalls:
		return calls, fmt.Errorf("%s: more than %d MiB", name, mostCalls>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&calls); err != nil {
		return Calls{}, fmt.Errorf("%s:%d: %w", name, lineOf(data, err, d.InputOffset()), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Calls{}, fmt.Errorf("%s:%d: text after the object", name, lineOf(data, nil, d.InputOffset()))
	}
	return calls, nil
}

// lineOf returns the line of an error of the JSON decoder.
func lineOf(data []byte, err error, read int64) int {
	at := read
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &wrong):
		at = wrong.Offset
	}
	return 1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n"))
}
