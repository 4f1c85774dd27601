package suitetest

import (
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// manyPages is a server whose list of tools has n pages, endless when n is 0.
// name names the tool of a page.
func manyPages(n int, name func(page int) string) conformance.Subject {
	d := defect{first: func(_ *fakeConn, m fakeMessage) ([]any, bool) {
		if m.method != mcp.MethodToolsList {
			return nil, false
		}
		page := 0
		if cursor, there := m.params["cursor"]; there {
			at, err := strconv.Atoi(cursor.(string))
			if err != nil {
				return []any{failure(m.id, wire.CodeInvalidParams, "Invalid cursor", nil)}, true
			}
			page = at
		}
		result := reply{"tools": []any{reply{"name": name(page), "inputSchema": reply{"type": "object"}}}}
		if page+1 != n {
			result["nextCursor"] = strconv.Itoa(page + 1)
		}
		return []any{success(m.id, result)}, true
	}}
	return conformance.InProcess(newFake(d, "", "", io.Discard).serve)
}

// TestRun_LongLists: a list is not broken because it is long.
func TestRun_LongLists(t *testing.T) {
	t.Parallel()
	each := func(page int) string { return fmt.Sprintf("tool-%d", page) }
	same := func(int) string { return "tool" }
	for name, c := range map[string]struct {
		pages          int
		name           func(int) string
		ends, disjoint conformance.Status
	}{
		"300 pages":                {300, each, conformance.Pass, conformance.Pass},
		"no end that was seen":     {0, each, conformance.Inconclusive, conformance.Inconclusive},
		"the same again and again": {0, same, conformance.Inconclusive, conformance.Warn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := runAll(t.Context(), manyPages(c.pages, c.name), conformance.Options{Only: []string{"UTIL-14/ends", "UTIL-14/disjoint"}, SideEffects: conformance.SideEffectsNone})
			require.NoError(t, err)
			got := statuses(report)
			require.Equal(t, c.ends, got["UTIL-14/ends"].Status, "%+v", got["UTIL-14/ends"])
			require.Equal(t, c.disjoint, got["UTIL-14/disjoint"].Status, "%+v", got["UTIL-14/disjoint"])
		})
	}
}
