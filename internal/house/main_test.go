//go:build !race

// Nothing of the module runs in these tests but one call: under the race detector
// they prove the same as without it, at many times the cost.

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const root = "../.."

// TestHouse holds the code to its bounds. When it fails because a figure is better
// than its bound by much, nothing is wrong: lower the bound in table.go.
func TestHouse(t *testing.T) {
	t.Parallel()
	rows, err := measure(t.Context(), root)
	require.NoError(t, err)
	require.Len(t, rows, len(limits), "each limit has a row")
	design, err := os.ReadFile(filepath.Join(root, "docs/design.md"))
	require.NoError(t, err)
	for _, r := range rows {
		require.Contains(t, limits, r.name)
		require.Positive(t, r.now, "%s: nothing was measured", r.name)
		require.LessOrEqual(t, r.now, r.bound, "%s is worse than before: %s", r.name, r.where)
		if r.now > r.target {
			require.Contains(t, string(design), r.name, "a target that is not met has its reason in docs/design.md")
		}
	}
	var out bytes.Buffer
	printRows(&out, rows)
	require.Equal(t, len(rows)+1, strings.Count(out.String(), "\n"))
}

func TestPackageOfAnotherModule(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, root, []string{"github.com/google/uuid"}))
	require.Regexp(t, `(?m)^github.com/google/uuid +\d+ +UUID +\d+`, out.String())
}

func TestUnknownPackage(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, root, []string{"./nowhere"}), "nowhere")
}

func TestGraph(t *testing.T) {
	t.Parallel()
	to := func(files ...int) map[int]bool {
		m := map[int]bool{}
		for _, f := range files {
			m[f] = true
		}
		return m
	}
	for name, c := range map[string]struct {
		g                    graph
		circle, arrows, back int
	}{
		"empty":            {graph{}, 0, 0, 0},
		"one way down":     {graph{to(1, 2), to(2), to()}, 0, 3, 0},
		"two and one":      {graph{to(1), to(0, 2), to()}, 2, 3, 1},
		"a ring of four":   {graph{to(1), to(2), to(3), to(0)}, 4, 4, 1},
		"each to each":     {graph{to(1, 2), to(0, 2), to(0, 1)}, 3, 6, 3},
		"two rings, apart": {graph{to(1), to(0), to(3), to(4), to(2)}, 3, 5, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.circle, c.g.largestCircle())
			require.Equal(t, c.arrows, c.g.arrows())
			require.Equal(t, c.back, c.g.backArrows())
		})
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	require.Equal(t, path{files: 3, returns: 2}, follow(strings.Fields("a a b a c c b")))
	require.Equal(t, path{}, follow(nil))
}

// TestMark: what is marked is Go, and each declared function has its mark.
func TestMark(t *testing.T) {
	t.Parallel()
	marked, err := mark("shape.go", "internal/house/shape.go")
	require.NoError(t, err)
	f, err := parser.ParseFile(token.NewFileSet(), "shape.go", marked, 0)
	require.NoError(t, err, "%s", marked)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			first, ok := fn.Body.List[0].(*ast.ExprStmt)
			require.True(t, ok, fn.Name.Name)
			require.IsType(t, &ast.CallExpr{}, first.X)
		}
	}
}
