package mcp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The vectors of protocol.md, appendix B.
func TestHeaderValue_HDR_04(t *testing.T) {
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
		{"a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="}, // SEC-09
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?BASE64?literal?=", "=?BASE64?literal?="}, // the marks are exact
		{"~", "~"},
		{"\x7f", "=?base64?fw==?="},
	}
	for _, tt := range tests {
		require.Equal(t, tt.header, EncodeHeaderValue(tt.value), "%q", tt.value)
		value, err := DecodeHeaderValue(tt.header)
		require.NoError(t, err)
		require.Equal(t, tt.value, value)
	}
	for _, bad := range []string{"=?base64?a?=", "=?base64?!!!!?=", "=?base64?aGk?=", "=?base64?aG\nk=?="} {
		_, err := DecodeHeaderValue(bad)
		require.Error(t, err, "%q", bad)
	}
}

// Whatever the value: it comes back, and it goes over the wire.
func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"us-west1", "", " a", "\t", "世界", "=?base64?literal?=", "=?base64?=", "=?base64??=", "a\nb", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		header := EncodeHeaderValue(value)
		back, err := DecodeHeaderValue(header)
		if err != nil || back != value {
			t.Fatalf("%q became %q and then %q, %v", value, header, back, err)
		}
		h := http.Header{}
		h.Set("Mcp-Name", header)
		var out strings.Builder
		if err := h.Write(&out); err != nil || out.String() != "Mcp-Name: "+header+"\r\n" {
			t.Fatalf("%q is sent as %q, %v", header, out.String(), err)
		}
		// What somebody else sends is read or refused.
		_, _ = DecodeHeaderValue(value)
	})
}
