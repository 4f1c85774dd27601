package mcp_test

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// everyMember is a tool with every member that a tool can have.
const everyMember = `{"name":"n","title":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"a":1},
	"annotations":{"title":"at","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"x":[1]},
	"icons":[{"src":"x:/a","mimeType":"image/png","sizes":["1x1"],"theme":"dark","y":2}],
	"execution":{"taskSupport":"optional","z":3},"_meta":{"m":1},"more":{"a":"b"}}`

// A clone is equal and shares no memory. The test covers members that types get later.
func TestToolClone(t *testing.T) {
	t.Parallel()
	var tool mcp.Tool
	require.NoError(t, mcp.Unmarshal([]byte(everyMember), &tool))
	clone := tool.Clone()
	require.Equal(t, &tool, clone)
	filled, theirs := memory(reflect.ValueOf(tool)), memory(reflect.ValueOf(*clone))
	require.GreaterOrEqual(t, len(filled), 25, "every member is there")
	for at := range filled {
		require.NotContains(t, theirs, at)
	}
	require.Nil(t, (*mcp.Tool)(nil).Clone())
	require.Equal(t, &mcp.Tool{Name: "bare"}, (&mcp.Tool{Name: "bare"}).Clone())
}

// memory returns the addresses of a value's texts, lists and pointers.
func memory(v reflect.Value) map[unsafe.Pointer]bool {
	at := map[unsafe.Pointer]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.Len() > 0 {
				at[unsafe.Pointer(unsafe.StringData(v.String()))] = true
			}
		case reflect.Pointer:
			if !v.IsNil() {
				at[v.UnsafePointer()] = true
				walk(v.Elem())
			}
		case reflect.Slice:
			if v.Len() > 0 {
				at[v.UnsafePointer()] = true
			}
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		default:
		}
	}
	walk(v)
	return at
}
