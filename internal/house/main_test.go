//go:build !race

// Nothing of the module runs in these tests but one call. The race detector would find
// nothing, at many times the cost.

package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const root = "../.."

var update = flag.Bool("update", false, "lower the bounds of bounds.txt to the figures, or to the targets that are met")

// TestHouse holds the code to its bounds.
func TestHouse(t *testing.T) {
	t.Parallel()
	rows, _, err := measure(t.Context(), root)
	require.NoError(t, err)
	file := filepath.Join(root, boundsFile)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Len(t, rows, strings.Count("\n"+string(text), "\n")-strings.Count("\n"+string(text), "\n#")-1, "each bound has a row")
	for _, r := range rows {
		line := fmt.Sprintf("%s | %d | %d\n", r.name, r.bound, r.target)
		require.Contains(t, string(text), line)
		if lower := max(r.now, r.target); lower < r.bound {
			text = bytes.Replace(text, []byte(line), fmt.Appendf(nil, "%s | %d | %d\n", r.name, lower, r.target), 1)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, text, 0o644)) //nolint:gosec // a file of the repository
	}
	for _, r := range rows {
		require.LessOrEqual(t, r.now, r.bound, "%s is worse than before: %s", r.name, r.where)
	}
}

func TestPackageOfAnotherModule(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, root, []string{"github.com/google/uuid"}))
	require.Regexp(t, `(?m)^github.com/google/uuid +\d+ .* UUID +\d+`, out.String())
	require.ErrorContains(t, run(t.Context(), &out, root, []string{"./nowhere"}), "nowhere")
}

func TestLargestCircle(t *testing.T) {
	t.Parallel()
	to := func(files ...int) map[int]bool {
		m := map[int]bool{}
		for _, f := range files {
			m[f] = true
		}
		return m
	}
	for name, c := range map[string]struct {
		g      graph
		circle int
	}{
		"empty":            {graph{}, 0},
		"one way down":     {graph{to(1, 2), to(2), to()}, 0},
		"two and one":      {graph{to(1), to(0, 2), to()}, 2},
		"a ring of four":   {graph{to(1), to(2), to(3), to(0)}, 4},
		"two rings, apart": {graph{to(1), to(0), to(3), to(4), to(2)}, 3},
	} {
		require.Equal(t, c.circle, c.g.largestCircle(), name)
	}
}

// TestShape measures a package with one of each.
func TestShape(t *testing.T) {
	t.Parallel()
	p := &pkg{path: "p", fset: token.NewFileSet(), marked: map[string]bool{}, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	f, err := parser.ParseFile(p.fset, "p.go", `package p

type Option func()

// Limits are bounds.
type Limits struct {
	Size, Depth int
	// Width is new.
	//
	// # Experimental
	//
	// It may go.
	Width int
	More  More
	notify      func()
}

// More is more.
//
// # Experimental
//
// It may change.
type More struct{ Size int }

// Grow grows.
func (More) Grow() {}

func (Limits) check() { _ = "DB_LOCKED" }

type Config struct{ Limits Limits; Done func() }

func WithLimits(l Limits) Option { return nil }

// Use is a result.
type Use struct{ Size int }

func WithUse(into *Use) Option { return nil }

func New(l *Limits, n int) {}
`, parser.ParseComments)
	require.NoError(t, err)
	p.files = []*ast.File{f}
	p.types, err = (&types.Config{Importer: importer.Default()}).Check(module+"/p", p.fset, p.files, p.info)
	require.NoError(t, err)
	p.mark(p.marked)
	require.Equal(t, shape{
		files: 1, largest: "Limits", methods: 1, names: 9, fields: 8, experimental: 4, options: 2, knobs: 2, experimentalKnobs: 3,
	}, p.shape())
	require.Len(t, p.configs(), 2)
	require.Equal(t, []string{"p.go"}, p.applied())
}

func TestSizes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	imports := func(name string) string { return "\nimport _ \"" + module + "/" + name + "\"\n" }
	for name, text := range map[string]string{
		"client/a.go":                         "package client\n" + imports("internal/used"),
		"client/a_test.go":                    "package client\n" + imports("internal/tested"),
		"internal/used/a.go":                  "package used\n",
		"internal/tested/a.go":                "package tested\n" + imports("internal/below"),
		"internal/below/a.go":                 "package below\n",
		"conformance/a.go":                    "package conformance\n\n",
		"conformance/refserver/coe/a.go":      "package coe\n\n\n" + imports("conformance/refserver/store"),
		"conformance/refserver/store/a.go":    "package store\n",
		"conformance/refserver/cmd/x/main.go": "package main\n" + imports("conformance/refserver/coe"),
		"docs/a.md":                           "one two three\n",
		"docs/guide/a.md":                     "one\n",
		"docs/generated/a.md":                 "one two three four\n",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	s, err := sizesOf(dir)
	require.NoError(t, err)
	require.Equal(t, sizes{product: 15, tests: 4, families: 6, conformance: 5, words: 4}, s)
}

func TestEntered(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"client", "mcp"}, entered("mode: atomic\n"+module+"/mcp/a.go:1.2,3.4 1 2\n"+module+"/client/a.go:1.2,3.4 1 10\n"+
		module+"/client/b.go:1.2,3.4 1 1\n"+module+"/errors/a.go:1.2,3.4 1 0\n"+module+"/internal/house/walk.go:1.2,3.4 1 1\n"))
}

// TestApplication: the pattern finds what it is for, and no word of the protocol.
func TestApplication(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`"convert_pdf"`, "DefaultLockedAttempts", `"code DB_LOCKED"`, "COE"} {
		require.Regexp(t, application, name)
	}
	require.NotRegexp(t, application, "RoleAssistant")
	require.NotRegexp(t, application.String(), `"convert"`)
}
