package ask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/inputschema"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// compileSchema returns the check of a schema, as in a client.
func compileSchema(schema json.RawMessage) func(json.RawMessage) error {
	s, err := inputschema.Compile(schema)
	if err != nil {
		return nil
	}
	return s.Judge
}

// Forms and answers are untrusted. What is sent is always an object that keeps the user's values.
func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","default":7},"b":{"type":"string","enum":["x"]}},"required":["b"]}`, `{"b":"x"}`)
	f.Add(`{"properties":{"a":{"items":{"anyOf":[{"const":"y","title":"Y"}]},"type":"array"}}}`, `{"a":["y"]}`)
	f.Add(`{"type":"object","properties":{"\u0061":{"default":1}}}`, `{"a":2}`)
	f.Add(`{"$ref":"#"}`, ` {} `)
	f.Fuzz(func(t *testing.T, schema, content string) {
		if !json.Valid([]byte(schema)) {
			return // params are valid JSON at this point
		}
		form, err := readForm(json.RawMessage(schema))
		if err != nil {
			return
		}
		form.check = compileSchema(json.RawMessage(schema))
		out, err := form.complete(json.RawMessage(content))
		if err != nil {
			return
		}
		var got, said map[string]json.RawMessage
		require.NoError(t, jsonrpc.Unmarshal(out, &got))
		if content != "" {
			require.NoError(t, jsonrpc.Unmarshal([]byte(content), &said))
		}
		for name, value := range said {
			require.JSONEq(t, string(value), string(got[name]))
		}
	})
}

// formOf returns a form with the given number of fields and of other required fields.
func formOf(fields, others int) json.RawMessage {
	var properties, required strings.Builder
	for i := range fields {
		fmt.Fprintf(&properties, `,"p%d":{}`, i)
	}
	for i := range others {
		fmt.Fprintf(&required, `"q%d",`, i)
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.TrimPrefix(properties.String(), ",") +
		`},"required":[` + required.String() + `"p1"]}`)
}

// Decoding a form takes little time, however large its message is.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schema json.RawMessage
		fault  string // "" if the form is decoded
	}{
		"as many fields as may be": {formOf(maxFormFields, 60_000), ""},
		"one field more":           {formOf(maxFormFields+1, 0), "it has more than 1000 properties"},
		"many fields":              {formOf(40_000, 40_000), "it has more than 1000 properties"},
		"a large text":             {json.RawMessage(`{"title":"` + strings.Repeat("x", maxFormBytes) + `"}`), "it is over 1048576 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, err := readForm(tt.schema)
			if tt.fault != "" {
				require.EqualError(t, err, tt.fault)
				return
			}
			require.NoError(t, err)
			require.Len(t, form.fields, maxFormFields)
			for _, field := range form.fields {
				require.Equal(t, field.Name == "p1", field.Required, field.Name)
			}
		})
	}
}
