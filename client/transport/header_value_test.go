package transport

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples of the specification (transports, "Value Encoding"), and values
// that could break a header.
func TestHeaderValue(t *testing.T) {
	t.Parallel()
	tests := []struct{ value, header string }{
		{"us-west1", "us-west1"},
		{"us west 1", "us west 1"},
		{"", ""},
		{"42", "42"},
		{"true", "true"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"\tindented", "=?base64?CWluZGVudGVk?="},
		{"in\tside", "=?base64?aW4Jc2lkZQ==?="},
		{"a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="}, // a header of the value's own
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?BASE64?literal?=", "=?BASE64?literal?="}, // the marks are exact
		{"~", "~"},
		{"\x7f", "=?base64?fw==?="},
	}
	for _, tt := range tests {
		require.Equal(t, tt.header, headerValue(tt.value), "%q", tt.value)
	}
}

// A server reads back any value, and net/http sends its header unchanged.
func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"us-west1", "", " a", "\t", "世界", "=?base64?literal?=", "=?base64?=", "=?base64??=", "a\nb", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		header := headerValue(value)
		back := header
		if inner, ok := strings.CutPrefix(header, headerMarkOpen); ok && strings.HasSuffix(inner, headerMarkClose) {
			text, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, headerMarkClose))
			if err != nil {
				t.Fatalf("%q became %q: %v", value, header, err)
			}
			back = string(text)
		}
		if back != value {
			t.Fatalf("%q became %q and then %q", value, header, back)
		}
		h := http.Header{}
		h.Set("Mcp-Name", header)
		var out strings.Builder
		if err := h.Write(&out); err != nil || out.String() != "Mcp-Name: "+header+"\r\n" {
			t.Fatalf("%q is sent as %q, %v", header, out.String(), err)
		}
	})
}
