package mcp_test

import (
	"reflect"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Equal compares every member. The test covers members that types get later.
func TestToolEqual(t *testing.T) {
	t.Parallel()
	read := func() *mcp.Tool {
		var tool mcp.Tool
		require.NoError(t, mcp.Unmarshal([]byte(everyMember), &tool))
		return &tool
	}
	first := read()
	require.True(t, first.Equal(read()))
	require.True(t, first.Equal(first.Clone()))
	require.True(t, (*mcp.Tool)(nil).Equal(nil))
	require.False(t, first.Equal(nil))

	changes := 0
	for n := range 1_000 {
		other, count := first.Clone(), n
		path, changed := change(reflect.ValueOf(other).Elem(), "Tool", &count)
		if !changed {
			break
		}
		changes++
		require.False(t, first.Equal(other), path)
		require.False(t, other.Equal(first), path)
	}
	require.Greater(t, changes, 45)
}

// change changes the n-th part of v: a text, a number, a hint, or whether a list or a
// pointer is nil.
func change(v reflect.Value, path string, n *int) (string, bool) {
	if !v.CanSet() { // an unexported field
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	mine := func() bool {
		*n--
		return *n == -1
	}
	switch v.Kind() {
	case reflect.String:
		if mine() {
			v.SetString(v.String() + "x")
			return path, true
		}
	case reflect.Bool:
		if mine() {
			v.SetBool(!v.Bool())
			return path, true
		}
	case reflect.Uint8, reflect.Uint32:
		if mine() {
			v.SetUint(v.Uint() ^ 1)
			return path, true
		}
	case reflect.Pointer, reflect.Slice:
		if mine() {
			v.SetZero()
			return path + " absent", true
		}
		if v.Kind() == reflect.Pointer {
			return change(v.Elem(), path, n)
		}
		if mine() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return path + " empty", true
		}
		for i := range min(v.Len(), 2) {
			if p, ok := change(v.Index(i), path+"[]", n); ok {
				return p, true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if p, ok := change(v.Field(i), path+"."+v.Type().Field(i).Name, n); ok {
				return p, true
			}
		}
	default:
		panic(path)
	}
	return path, false
}

// A tool may be copied and compared at the same time: copying changes nothing.
func TestCloneBesideEqual(t *testing.T) {
	t.Parallel()
	yes := true
	tool := &mcp.Tool{Name: "a", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &yes}}
	other := tool.Clone()
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() { require.True(t, tool.Clone().Equal(other)) })
		work.Go(func() { require.True(t, tool.Equal(other)) })
	}
	work.Wait()
}
