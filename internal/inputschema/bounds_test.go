package inputschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// defs is a schema whose definitions refer to the next one, by text with the verb %[2]s for the
// reference. Backwards reverses the order of their names.
func defs(n int, text string, backwards bool) string {
	name := func(i int) string {
		if backwards {
			i = n - i
		}
		return fmt.Sprintf("d%06d", i)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","$ref":"#/$defs/%s","$defs":{`, name(0))
	for i := range n {
		fmt.Fprintf(&b, `"%s":`+text+`,`, name(i), `{"$ref":"#/$defs/`+name(i+1)+`"}`)
	}
	fmt.Fprintf(&b, `"%s":{}}}`, name(n))
	return b.String()
}

// Servers send schemas: none may crash the process or take long.
func TestHostileSchemasAreRefusedAtOnce(t *testing.T) {
	if testmain.Race {
		t.Skip("one goroutine works through a large schema, there is nothing to race with")
	}
	const chain, fork = `%[2]s`, `{"allOf":[%[2]s,%[2]s]}`
	long := strings.Repeat("x", 400_000)
	for name, text := range map[string]string{
		"a chain":                  defs(1_000, chain, false),
		"a chain from its end":     defs(1_000, chain, true),
		"a chain nobody begins":    strings.Replace(defs(1_000, chain, true), `"$ref":"#/$defs/d001000",`, ``, 1),
		"a chain over all bounds":  defs(300_000, chain, false),
		"two to the 22":            defs(22, fork, false),
		"two to the 60":            defs(60, fork, false),
		"from the end":             defs(60, fork, true),
		"by anyOf":                 defs(30, `{"anyOf":[%[2]s,%[2]s]}`, false),
		"by keywords":              defs(30, `{"if":%[2]s,"then":%[2]s}`, false),
		"booleans":                 `{"allOf":[true` + strings.Repeat(",true", 10_000) + `]}`,
		"too long":                 `{"description":"` + strings.Repeat("x", 1<<20) + `"}`,
		"too many parts":           `{"properties":{"a":{}` + manyProperties(20_000) + `}}`,
		"too deep":                 strings.Repeat(`{"properties":{"a":`, 300) + `{}` + strings.Repeat(`}}`, 300),
		"too deep for the decoder": strings.Repeat(`[`, 200_000),
		"a long name over many":    `{"properties":{"` + long + `":{"properties":{"a":{}` + manyProperties(15_000) + `}}}}`,
		"a long text very deep":    strings.Repeat(`{"not":`, 400) + `{"description":"` + long + `"}` + strings.Repeat(`}`, 400),
		"patterns that explode":    `{"allOf":[{}` + strings.Repeat(`,{"pattern":"(a{30}){30}(b{30}){30}"}`, 5_000) + `]}`,
		"names that explode":       `{"patternProperties":{"` + strings.Repeat(`a{1000}`, 1_000) + `":{}}}`,
		"classes that explode":     `{"pattern":"` + strings.Repeat(`\\pL{1000}`, 400) + `"}`,
		"one anchor for many":      `{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.Less(t, testmain.Busy(func() {
				_, err := Compile(json.RawMessage(text))
				require.ErrorIs(t, err, ErrUnusable)
			}), 3*time.Second)
		})
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":{}`, i)
	}
	return b.String()
}

// Schemas that people write, and much larger ones, are accepted.
func TestLargeSchemasAreJudgedBy(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("one goroutine works through a large schema, there is nothing to race with")
	}
	for name, text := range map[string]string{
		"a chain":        defs(100, `%[2]s`, false),
		"a fork":         defs(10, `{"anyOf":[%[2]s,%[2]s]}`, false),
		"many parts":     `{"properties":{"a":{}` + manyProperties(15_000) + `}}`,
		"many branches":  `{"anyOf":[{"type":"string"}` + strings.Repeat(`,{"type":"object"}`, 5_000) + `]}`,
		"many constants": `{"properties":{"a":{"enum":["x"` + strings.Repeat(`,"y"`, 50_000) + `]}}}`,
		"patterns":       `{"allOf":[{}` + strings.Repeat(`,{"pattern":"^.{0,1000}$"}`, 200) + `]}`,
		"deep":           strings.Repeat(`{"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile(json.RawMessage(text))
			require.NoError(t, err)
			require.True(t, s.CanJudge(map[string]any{"a": "x"}))
			require.NoError(t, s.Validate(map[string]any{"a": "x"}))
		})
	}
}

// nest returns a value of the given depth, with leaf at its bottom.
func nest(depth int, leaf any) any {
	for range depth {
		leaf = map[string]any{"a": leaf}
	}
	return leaf
}

// With two schemas for each member, the bottom of a value is validated two to the power of its
// depth times.
func TestValuesThatWouldTakeForEver(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"properties and patterns": `{"properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`,
		"branches":                `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`,
		"the rest":                `{"anyOf":[{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile(json.RawMessage(text))
			require.NoError(t, err)
			require.True(t, s.CanJudge(nest(8, 1.0)))
			deep := nest(60, 1.0)
			require.False(t, s.CanJudge(deep))
			require.NoError(t, s.Validate(deep), "comes back")
		})
	}
	list, err := Compile(json.RawMessage(`{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`))
	require.NoError(t, err)
	var deep any = []any{}
	for range 60 {
		deep = []any{deep}
	}
	require.False(t, list.CanJudge(deep))

	// A plain list of lists may have any depth, up to that of a message.
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":false}`))
	require.NoError(t, err)
	require.True(t, s.CanJudge(nest(500, map[string]any{})))
	require.Error(t, s.Validate(nest(500, 1.0)))
	require.False(t, s.CanJudge(nest(100_000, 1.0)))
}

// The validator prints values into errors, so large ones cost more than their parts.
func TestLargeValuesForManySchemas(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("one goroutine works through a large value, there is nothing to race with")
	}
	s, err := Compile(json.RawMessage(`{"anyOf":[{"type":"array"}` + strings.Repeat(`,{"type":"string"}`, 5_000) + `]}`))
	require.NoError(t, err)
	require.True(t, s.CanJudge(map[string]any{"a": strings.Repeat("x", 1_000)}))
	require.False(t, s.CanJudge(map[string]any{"a": strings.Repeat("x", 1<<20)}))
}
