package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// form is the decoded schema of a form.
type form struct {
	fields []mcp.FormField
	// check validates an answer against the whole schema; nil if the schema cannot be used.
	check func(content json.RawMessage) error
}

// Limits of a form. Larger forms are not useful to a user, and would take long to decode.
const (
	maxFormBytes  = 1 << 20
	maxFormFields = 1_000
)

// readForm decodes the flat object schema of a form.
func readForm(schema json.RawMessage) (*form, error) {
	var root struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if len(schema) == 0 {
		return nil, errors.New("missing")
	}
	if len(schema) > maxFormBytes {
		return nil, fmt.Errorf("it is over %d bytes", maxFormBytes)
	}
	if err := jsonrpc.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	if root.Type != "object" && root.Type != "" {
		return nil, errors.New("it must be the schema of an object")
	}
	f := &form{}
	if len(root.Properties) > 0 {
		required := make(map[string]bool, len(root.Required))
		for _, name := range root.Required {
			required[name] = true
		}
		if err := f.read(root.Properties, required); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// read decodes the fields of a form, in the server's order.
func (f *form) read(properties json.RawMessage, required map[string]bool) error {
	var fault error
	err := jsonrpc.Members(properties, func(name, value []byte) bool {
		if len(f.fields) == maxFormFields {
			fault = fmt.Errorf("it has more than %d properties", maxFormFields)
			return false
		}
		var field mcp.FormField
		if field, fault = readField(string(name), value); fault != nil {
			return false
		}
		field.Required = required[field.Name]
		f.fields = append(f.fields, field)
		return true
	})
	if fault == nil {
		fault = err
	}
	return fault
}

// readField decodes one property and its choices: enum with enumNames, oneOf, anyOf, or those in
// the items of an array.
func readField(name string, schema json.RawMessage) (mcp.FormField, error) {
	type choices struct {
		Enum      json.RawMessage `json:"enum"`
		EnumNames []string        `json:"enumNames"`
		OneOf     []titled        `json:"oneOf"`
		AnyOf     []titled        `json:"anyOf"`
	}
	var p struct {
		choices
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Type        string          `json:"type"`
		Format      string          `json:"format"`
		Default     json.RawMessage `json:"default"`
		Items       choices         `json:"items"`
	}
	if err := jsonrpc.Unmarshal(schema, &p); err != nil {
		return mcp.FormField{}, fmt.Errorf("%s: %w", jsonrpc.Printable(name, 100), err)
	}
	f := mcp.FormField{
		Name: name, Title: p.Title, Description: p.Description, Type: p.Type, Format: p.Format,
		Default: p.Default, Schema: slices.Clone(schema),
	}
	from := p.choices
	if p.Type == "array" {
		from = p.Items
	}
	var values []string
	if jsonrpc.Unmarshal(from.Enum, &values) != nil {
		values = nil // the schema validates values that are not strings
	}
	for i, value := range values {
		choice := mcp.FormChoice{Value: value, Title: value}
		if i < len(from.EnumNames) {
			choice.Title = from.EnumNames[i]
		}
		f.Choices = append(f.Choices, choice)
	}
	for _, choice := range append(from.OneOf, from.AnyOf...) {
		f.Choices = append(f.Choices, mcp.FormChoice{Value: choice.Const, Title: choice.Title})
	}
	return f, nil
}

type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// complete adds the defaults of missing fields to the user's answer. It returns an error if the
// answer does not match the form.
func (f *form) complete(content json.RawMessage) (json.RawMessage, error) {
	if len(content) == 0 {
		content = json.RawMessage(`{}`)
	}
	given := map[string]json.RawMessage{}
	if err := jsonrpc.Members(content, func(name, value []byte) bool {
		given[string(name)] = value
		return true
	}); err != nil {
		return nil, errors.New("the accepted content must be a JSON object")
	}
	out, err := jsonrpc.AppendValue(nil, content)
	if err != nil {
		return nil, err
	}
	out = slices.Clone(doc.OpenObject(out))
	for _, field := range f.fields {
		if _, ok := given[field.Name]; ok || len(field.Default) == 0 || string(field.Default) == "null" {
			continue
		}
		given[field.Name] = field.Default
		out = doc.AppendMembers(out, doc.Pair(field.Name, field.Default))
	}
	out = append(out, '}')
	if f.check != nil { // a schema that cannot be used rejects nothing
		if err := f.check(out); err != nil {
			return nil, fmt.Errorf("the accepted content does not fit the form: %w", err)
		}
	}
	for _, field := range f.fields {
		if err := checkFormat(field.Format, given[field.Name]); err != nil {
			return nil, fmt.Errorf("the accepted content does not fit the form: %s: %w", jsonrpc.Printable(field.Name, 100), err)
		}
	}
	return out, nil
}

// CheckField returns an error if a value does not fit a field of a form.
func CheckField(f mcp.FormField, value json.RawMessage) error {
	if check := catalog.Checker(f.Schema); check != nil {
		if err := check(value); err != nil {
			return err
		}
	}
	return checkFormat(f.Format, value)
}

// checkFormat checks a string against the four formats of forms, which JSON Schema validators
// ignore.
func checkFormat(format string, value json.RawMessage) error {
	var text string
	ok := len(value) > 0 && jsonrpc.Unmarshal(value, &text) == nil
	if !ok { // absent or not a string: the schema validates that
		return nil
	}
	switch format {
	case "email":
		address, err := mail.ParseAddress(text)
		ok = err == nil && address.Address == text
	case "uri":
		u, err := url.Parse(text)
		ok = err == nil && u.IsAbs()
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		ok = err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	}
	if !ok {
		return errors.New("it is not of format " + format)
	}
	return nil
}
