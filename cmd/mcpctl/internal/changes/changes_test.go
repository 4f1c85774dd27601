package changes_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/changes"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
)

// between compares two snapshots that have these members, and returns each change on a line.
func between(t *testing.T, was, now string) []string {
	t.Helper()
	var both [2]*surface.Surface
	for i, members := range []string{was, now} {
		found, err := surface.Parse([]byte(`{"kind":"mcpctl.surface","version":1,` + members + `}`))
		require.NoError(t, err, members)
		both[i] = found
	}
	out := []string{}
	for _, c := range changes.Between(both[0], both[1]) {
		require.NotEmpty(t, c.Why)
		out = append(out, fmt.Sprintf("%s %s %s%s: %s", c.Level, c.Change, c.Item, c.Pointer, c.What))
	}
	return out
}

func tool(schema string) string {
	return `"tools":[{"name":"t","inputSchema":` + schema + `}]`
}

func output(schema string) string {
	return `"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + schema + `}]`
}

// Arguments go to the server, results come from it: the same change of a schema is breaking for one
// and compatible for the other.
func TestSchemas(t *testing.T) {
	t.Parallel()
	member := func(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }
	for _, tt := range []struct{ name, was, now, input, output string }{
		{"same", member(`{"type":"string"}`), `{"properties":{"a":{"type":"string"}},"type":"object"}`, "", ""},
		{"narrowed", member(`{"type":"number"}`), member(`{"type":"integer"}`), "breaking type-narrowed", "compatible type-narrowed"},
		{"widened", member(`{"type":"integer"}`), member(`{"type":"number"}`), "compatible type-widened", "breaking type-widened"},
		{"changed", member(`{"type":"string"}`), member(`{"type":"boolean"}`), "breaking type-changed", "breaking type-changed"},
		{"any before", member(`{}`), member(`{"type":"string"}`), "breaking type-narrowed", "compatible type-narrowed"},
		{"any now", member(`{"type":"string"}`), member(`{}`), "compatible type-widened", "breaking type-widened"},
		{"nullable now", member(`{"type":"string"}`), member(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), "compatible type-widened", "breaking type-widened"},
		{"nullable in two ways", member(`{"type":["string","null"]}`), member(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), "", ""},
		{"number or nothing", member(`{"type":"integer"}`), member(`{"anyOf":[{"type":"number"},{"type":"null"}]}`), "compatible type-widened", "breaking type-widened"},
		{"value removed", member(`{"enum":["x","y"]}`), member(`{"enum":["y"]}`), "breaking enum-value-removed", "compatible enum-value-removed"},
		{"value added", member(`{"enum":["x"]}`), member(`{"enum":["y","x"]}`), "compatible enum-value-added", "risky enum-value-added"},
		{"values in another order", member(`{"enum":["x","y"]}`), member(`{"enum":["y","x"]}`), "", ""},
		{"tighter", member(`{"maximum":10}`), member(`{"maximum":9}`), "breaking limit-tightened", "compatible limit-tightened"},
		{"looser", member(`{"minLength":2}`), member(`{"minLength":1}`), "compatible limit-loosened", "risky limit-loosened"},
		{"new limit", member(`{}`), member(`{"pattern":"^a"}`), "breaking limit-tightened", "compatible limit-tightened"},
		{"limit gone", member(`{"maxItems":3}`), member(`{}`), "compatible limit-loosened", "risky limit-loosened"},
		{"member removed", member(`{}`), `{"type":"object"}`, "breaking argument-removed", "breaking result-removed"},
		{"member added", `{"type":"object"}`, member(`{}`), "compatible argument-added", "compatible result-added"},
		{"required member added", `{"type":"object"}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`, "breaking argument-required", "compatible result-added"},
		{"required now", member(`{}`), `{"type":"object","properties":{"a":{}},"required":["a"]}`, "breaking argument-required", "compatible result-required"},
		{"optional now", `{"type":"object","properties":{"a":{}},"required":["a"]}`, member(`{}`), "compatible argument-optional", "breaking result-optional"},
		{"closed", `{"type":"object"}`, `{"type":"object","additionalProperties":false}`, "breaking closed", "compatible closed"},
		{"open in another way", `{"type":"object"}`, `{"type":"object","additionalProperties":true}`, "", ""},
		{"description", member(`{"description":"x"}`), member(`{"description":"y"}`), "risky description-changed", "risky description-changed"},
		{"default", member(`{"default":1}`), member(`{"default":2}`), "risky default-changed", "risky default-changed"},
		{"items", member(`{"items":{"type":"string"}}`), member(`{"items":{}}`), "compatible type-widened", "breaking type-widened"},
		{"false", member(`true`), member(`false`), "breaking narrowed", "compatible narrowed"},
		{"unknown effect", member(`{"not":{"const":1}}`), member(`{"not":{"const":2}}`), "risky keyword-changed", "risky keyword-changed"},
		{
			"behind a reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"string","maxLength":3}}}`,
			"breaking limit-tightened", "compatible limit-tightened",
		},
		{
			"in a circle", `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"string","minLength":1}}}`,
			"breaking limit-tightened", "compatible limit-tightened",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for want, got := range map[string][]string{tt.input + ".": between(t, tool(tt.was), tool(tt.now)), tt.output + " ": between(t, output(tt.was), output(tt.now))} {
				want = want[:len(want)-1]
				if want == "" {
					require.Empty(t, got)
					continue
				}
				require.NotEmpty(t, got)
				for _, one := range got {
					require.Contains(t, one, want+" ")
				}
			}
		})
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, was, now string
		want           []string
	}{
		{"nothing", `"tools":[]`, `"tools":[]`, []string{}},
		{"order and form", `"tools":[{"name":"a"},{"name":"b"}]`, `"tools":[ {"name":"b"},{"name":"\u0061"}]`, []string{}},
		{
			"renamed", `"tools":[{"name":"a","description":"Adds"}]`, `"tools":[{"name":"b","description":"Adds"}]`,
			[]string{"breaking tool-renamed a/name: is called b now"},
		},
		{
			"removed and added", `"tools":[{"name":"a","description":"Adds"}]`, `"tools":[{"name":"b","description":"Takes"}]`,
			[]string{"breaking tool-removed a: is gone", "compatible tool-added b: is new"},
		},
		{
			"annotations", `"tools":[{"name":"a","annotations":{"readOnlyHint":true,"idempotentHint":false}}]`, `"tools":[{"name":"a","annotations":{}}]`,
			[]string{
				"compatible annotation-removed a/annotations/idempotentHint: the annotation idempotentHint is gone",
				"risky annotation-weakened a/annotations/readOnlyHint: the annotation readOnlyHint is false now: it claims to be more dangerous",
			},
		},
		{
			"tasks", `"tools":[{"name":"a"}]`, `"tools":[{"name":"a","execution":{"taskSupport":"required"}}]`,
			[]string{"breaking task-required a/execution/taskSupport: it runs as a task only"},
		},
		{
			"output schema gone", output(`{"type":"object"}`), tool(`{"type":"object"}`),
			[]string{"breaking output-schema-removed t/outputSchema: its output schema is gone"},
		},
		{
			"doubled", `"tools":[{"name":"a"}]`, `"tools":[{"name":"a"},{"name":"a","title":"x"}]`,
			[]string{"risky name-doubled a/name: 2 items have this name"},
		},
		{
			"arguments of a prompt", `"prompts":[{"name":"p","arguments":[{"name":"x"},{"name":"y","required":true}]}]`,
			`"prompts":[{"name":"p","arguments":[{"name":"y","description":"Y"},{"name":"z","required":true}]}]`,
			[]string{
				"breaking argument-removed p/arguments/x: argument x is gone",
				"compatible argument-optional p/arguments/y: argument y is optional now",
				"risky description-added p/arguments/y/description: argument y: the description is new",
				"breaking argument-required p/arguments/z: argument z is new and required",
			},
		},
		{
			"server", `"server":{"name":"s","version":"1"},"revision":"b","capabilities":{"tools":{},"resources":{"subscribe":true}}`,
			`"server":{"name":"s","version":"2"},"revision":"a","capabilities":{"resources":{"subscribe":false},"x":{}},"instructions":"Do"`,
			[]string{
				"compatible server-version-changed /server/version: the version of the server changed",
				"breaking revision /revision: revision b → a",
				"breaking capability-removed /capabilities/resources/subscribe: the capability resources.subscribe is gone",
				"breaking capability-removed /capabilities/tools: the capability tools is gone",
				"compatible capability-added /capabilities/x: the capability x is new",
				"risky instructions-added /instructions: the text of instructions is new",
			},
		},
		{
			"an item without a name", `"tools":[{"name":7}]`, `"tools":[{"name":"a"},{"name":7,"title":"x"}]`,
			[]string{"risky title-added /title: its title is new", "compatible tool-added a: is new"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, between(t, tt.was, tt.now))
		})
	}
}

// A schema that refers to itself from many places takes limited time.
func TestIntertwinedSchemas(t *testing.T) {
	t.Parallel()
	branches := func(more string) string {
		text := `{"type":"object","properties":{`
		for i := range 30 {
			text += fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d"},`, i)
		}
		return text + `"q":{"type":"string"}},"$defs":{"d":{"type":"object","properties":{"l":{"anyOf":[{"$ref":"#"},{"type":"null"}]},"r":{"$ref":"#"}` + more + `}}}}`
	}
	require.NotEmpty(t, between(t, tool(branches("")), tool(branches(`,"n":{"type":"string"}`))))
}
