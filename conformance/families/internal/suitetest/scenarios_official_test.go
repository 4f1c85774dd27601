package suitetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestOfficialFixtures_OfStrangers: what the fixtures of other servers do
// differently and may.
func TestOfficialFixtures_OfStrangers(t *testing.T) {
	t.Parallel()
	// State whose change does no harm needs no protection (MRTR-13).
	harmless := careless("request_state", func(string) bool { return true })
	// A tool that wants an arguments object, be it empty.
	strict := rewritten{first: func(m fakeMessage) ([]any, bool) {
		return []any{failure(m.id, wire.CodeInvalidParams, "no arguments", nil)}, m.call == fixture.ToolProgress && m.params["arguments"] == nil
	}}
	strict.revision = mcp.LatestSession
	// Subscriptions without a tool that changes the resource.
	still := changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
		result["tools"] = slices.DeleteFunc(result["tools"].([]any), func(tool any) bool { return tool.(reply)["name"] == fixture.ToolChangeResource }) //nolint:forcetypeassert // the reference server's
	})
	still.revision = mcp.LatestSession
	// Roots that are counted and not named.
	counting := rewritten{after: func(m fakeMessage, r reply) []any {
		if m.call == fixture.InputRequired+"list_roots" && retries(m) {
			given, _ := m.params["inputResponses"].(map[string]any)
			for _, answer := range given {
				roots, _ := answer.(map[string]any)["roots"].([]any)
				if len(roots) == 7 {
					return []any{success(m.id, reply{"resultType": "complete", "content": []any{reply{"type": "text", "text": "Found 7 root(s)"}}})}
				}
			}
		}
		return []any{r}
	}}
	for id, r := range map[string]rewritten{
		"MRTR-13/tampered": harmless, "MRTR-13/invented": harmless,
		"UTIL-08/some":     strict,
		"RES-04/subscribe": still, "RES-04/unsubscribe": still,
		"MRTR-03/roots-used": counting,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := r.judge(t, id)
			require.Equal(t, conformance.Pass, got.Status, "%+v", got)
		})
	}
	require.Equal(t, conformance.Skip, still.judge(t, "RES-04/updated").Status)
}
