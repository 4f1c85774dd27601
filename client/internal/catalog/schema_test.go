package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A schema is compiled once per text.
func TestSchemasAreKept(t *testing.T) {
	t.Parallel()
	var s Schemas
	text := json.RawMessage(`{"type":"object","required":["a"]}`)
	one, first := s.Get("t", text)
	require.True(t, first)
	again, first := s.Get("t", slices.Clone(text))
	require.False(t, first)
	require.Same(t, one, again)
	other, first := s.Get("t", json.RawMessage(`{"type":7}`))
	require.True(t, first)
	require.Error(t, other.Err())
	for i := range 2 * maxTools {
		s.Get(fmt.Sprint(i), json.RawMessage(`{}`))
	}
	require.LessOrEqual(t, s.cache.Len(), maxTools)
}

// Mismatches are described without values, and rejected nulls can be removed.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := Compile(json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"]}`))
	require.NoError(t, s.Err())
	require.NoError(t, s.Check(json.RawMessage(`{"city":"Rome","days":2}`)))

	args := json.RawMessage(`{"city":"Rome","days":"secret"}`)
	verdict := s.Judge(args)
	require.Error(t, verdict)
	require.NotContains(t, s.Explain(args, verdict), "secret")
	require.Contains(t, s.ExplainArguments("weather", args, verdict), "signature: weather(city: string")
	require.Error(t, s.Check(nil), "no arguments are an empty object")

	require.JSONEq(t, `{"city":"Rome"}`, string(s.WithoutNulls(json.RawMessage(`{"city":"Rome","days":null}`))))
	require.Nil(t, s.WithoutNulls(json.RawMessage(`{"city":null}`)), "it is required")
	require.Nil(t, Compile(json.RawMessage(`{"type":7}`)).WithoutNulls(json.RawMessage(`{}`)))
}
