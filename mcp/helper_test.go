package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireSameJSON compares two JSON values, numbers by their digits.
func requireSameJSON(t *testing.T, want, got []byte, args ...any) {
	t.Helper()
	require.Equal(t, exact(t, want), exact(t, got), args...)
}

func exact(t *testing.T, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	require.NoErrorf(t, dec.Decode(&v), "%s", raw)
	return v
}

func ref[T any](v T) *T { return &v }
