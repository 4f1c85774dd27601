//go:build !race

// Nothing of the module runs in these tests. The race detector would find nothing, at
// twenty times the cost.

// Package mainstay_test holds the rules of the house that no linter knows: who may
// import whom, and what a source file may contain. The rules are data. Each has a
// reason, and a test that proves that it can fail.
package mainstay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is what the rules need of `go list -json`.
type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// rel is the path below the module; ok is false for a package of others.
func rel(importPath string) (path string, ok bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// standard reports whether a package is Go's own: its first element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// matches reports whether path is pattern, or below it when pattern ends in "/...".
func matches(pattern, path string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == folder || strings.HasPrefix(path, folder+"/")
	}
	return pattern == path
}

func anyMatch(patterns []string, path string) bool {
	for _, p := range patterns {
		if matches(p, path) {
			return true
		}
	}
	return false
}

// TestEveryPackageHasTheSameMain: no goroutine outlives the tests of any package.
func TestEveryPackageHasTheSameMain(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "linux") {
		path, _ := rel(p.ImportPath)
		if imports := slices.Concat(p.TestImports, p.XTestImports); len(imports) > 0 {
			require.Contains(t, imports, module+"/"+testMain, "%s: its tests have no TestMain that calls testmain.Run", path)
		}
	}
}

// checkImports holds the packages against the tables and returns one line for
// each fault, with the reason of the rule.
func checkImports(pkgs []listed) []string {
	var faults []string
	for _, p := range pkgs {
		path, ok := rel(p.ImportPath)
		if !ok {
			continue
		}
		r := rowOf(path)
		if r == nil {
			faults = append(faults, fmt.Sprintf("%s has no row in the import table: add one, with its reason", path))
			continue
		}
		faults = append(faults, checkDirect(path, r, p.Imports, false)...)
		faults = append(faults, checkDirect(path, r, append(append([]string(nil), p.TestImports...), p.XTestImports...), true)...)
		faults = append(faults, checkReach(path, p.Deps)...)
	}
	return faults
}

func rowOf(path string) *row {
	for i := range importTable {
		if matches(importTable[i].pkg, path) {
			return &importTable[i]
		}
	}
	return nil
}

func checkDirect(path string, r *row, imports []string, test bool) []string {
	var faults []string
	kind := "imports"
	if test {
		kind = "has tests that import"
	}
	for _, imp := range imports {
		if standard(imp) || imp == "C" {
			continue
		}
		if ours, ok := rel(imp); ok {
			allowed := anyMatch(r.may, ours) || test && (ours == path || ours == testMain || anyMatch(r.tests, ours))
			if !allowed {
				faults = append(faults, fmt.Sprintf("%s %s %s: %s", path, kind, ours, r.why))
			}
			continue
		}
		if fault := checkExternal(path, imp, test); fault != "" {
			faults = append(faults, fmt.Sprintf("%s %s %s: %s", path, kind, imp, fault))
		}
	}
	return faults
}

func checkExternal(path, imp string, test bool) string {
	for _, e := range externals {
		if !matches(e.module+"/...", imp) {
			continue
		}
		if test && (e.testOnly || anyMatch(e.tests, path)) || anyMatch(e.by, path) {
			return ""
		}
		if e.testOnly {
			return "in tests only: " + e.why
		}
		return e.why
	}
	return "not in the table of third-party modules: add it with its reason here and in docs/dependencies.md"
}

func checkReach(path string, deps []string) []string {
	var faults []string
	for _, r := range reaches {
		if !anyMatch(r.pkg, path) {
			continue
		}
		for _, dep := range deps {
			ours, own := rel(dep)
			name := dep
			if own {
				name = ours
			}
			var bad bool
			for _, n := range r.not {
				bad = bad || matches(n, name) || !own && matches(n+"/...", name)
			}
			if r.only != nil && !own && !standard(dep) {
				inside := false
				for _, m := range r.only {
					inside = inside || matches(m+"/...", dep)
				}
				bad = bad || !inside
			}
			if bad {
				faults = append(faults, fmt.Sprintf("%s links %s: %s", path, name, r.why))
			}
		}
	}
	return faults
}

var lists struct {
	sync.Mutex
	of map[string]func() ([]listed, error)
}

// goList lists the packages of all modules of the workspace as they build on one
// system, once. It works without network and with packages that do not compile.
func goList(t *testing.T, goos string) []listed {
	t.Helper()
	lists.Lock()
	if lists.of[goos] == nil {
		if lists.of == nil {
			lists.of = map[string]func() ([]listed, error){}
		}
		lists.of[goos] = sync.OnceValues(func() ([]listed, error) { return runGoList(goos) })
	}
	list := lists.of[goos]
	lists.Unlock()
	pkgs, err := list()
	require.NoError(t, err)
	return pkgs
}

func runGoList(goos string) ([]listed, error) {
	workspace, err := filepath.Abs("go.work")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "work")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK="+workspace)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}

// TestImportTable lists for three systems: files for one of them alone are
// held to the same rules.
func TestImportTable(t *testing.T) {
	t.Parallel()
	tree(t) // go test sees the files read here, and so knows when its cached result is stale
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			pkgs := goList(t, goos)
			require.NotEmpty(t, pkgs)
			require.Empty(t, checkImports(pkgs))
		})
	}
}

func TestImportRulesHaveReasons(t *testing.T) {
	t.Parallel()
	pkgs := goList(t, "linux")
	for _, r := range importTable {
		require.True(t, slices.ContainsFunc(pkgs, func(p listed) bool {
			path, _ := rel(p.ImportPath)
			return matches(r.pkg, path)
		}), "%s: no such package", r.pkg)
		require.NotEmpty(t, r.why, r.pkg)
	}
	for _, e := range externals {
		require.NotEmpty(t, e.why, e.module)
		require.NotEqual(t, e.testOnly, len(e.by) > 0, "%s: for tests, or for named packages", e.module)
	}
	for _, r := range reaches {
		require.NotEmpty(t, r.why, r.pkg)
	}
}

// TestImportRulesCanFail feeds every kind of rule a package that breaks it.
func TestImportRulesCanFail(t *testing.T) {
	t.Parallel()
	own := func(path string) string { return module + "/" + path }
	tests := []struct {
		name string
		pkg  listed
		want string // in the one fault; empty: no fault
	}{
		{"allowed", listed{ImportPath: own("mcp"), Imports: []string{"time", own("jsonrpc")}}, ""},
		{"upwards", listed{ImportPath: own("jsonrpc"), Imports: []string{own("mcp")}}, "jsonrpc imports mcp"},
		{"sideways", listed{ImportPath: own("mcp"), Imports: []string{own("breaker")}}, "mcp imports breaker"},
		{"transport above its layer", listed{ImportPath: own("client/transport"), Imports: []string{own("breaker")}}, "client/transport imports breaker"},
		{"client stands on its judge", listed{ImportPath: own("client"), Imports: []string{own("conformance")}}, "client imports conformance"},
		{"server borrows from the client's side", listed{ImportPath: own("conformance/server/front"), Imports: []string{own("jsonrpc")}}, "conformance/server/front imports jsonrpc"},
		{"suite imports the server", listed{ImportPath: own("conformance"), Imports: []string{own("conformance/server")}}, "conformance imports conformance/server"},
		{"suite's tests import the server", listed{ImportPath: own("conformance"), XTestImports: []string{own("conformance"), own("conformance/server")}}, "conformance has tests that import conformance/server"},
		{"suite's tests start the server", listed{ImportPath: own("conformance/families/internal/suitetest"), XTestImports: []string{own("conformance"), own("internal/reference")}}, ""},
		{"auth links x/oauth2", listed{ImportPath: own("auth"), Imports: []string{"golang.org/x/oauth2"}}, "auth imports golang.org/x/oauth2"},
		{"auth's tests import x/oauth2", listed{ImportPath: own("auth"), XTestImports: []string{"golang.org/x/oauth2"}}, ""},
		{"tests are not free", listed{ImportPath: own("mcp"), TestImports: []string{own("client")}}, "mcp has tests that import client"},
		{"mcpctl imports the server", listed{ImportPath: own("cmd/mcpctl"), Imports: []string{own("conformance/server")}}, "cmd/mcpctl imports conformance/server"},
		{"mcpctl links the server", listed{ImportPath: own("cmd/mcpctl"), Deps: []string{own("conformance/families/store")}}, "cmd/mcpctl links conformance/families/store"},
		{"mcpctl links the go-sdk", listed{ImportPath: own("cmd/mcpctl"), Deps: []string{"github.com/modelcontextprotocol/go-sdk/mcp"}}, "cmd/mcpctl links github.com/modelcontextprotocol/go-sdk/mcp"},
		{"examples use an internal package", listed{ImportPath: own("examples/six"), Imports: []string{own("internal/sse")}}, "examples/six imports internal/sse"},
		{"the codec outside its two packages", listed{ImportPath: own("client"), Imports: []string{"github.com/go-json-experiment/json/jsontext"}}, "client imports github.com/go-json-experiment"},
		{"cobra outside mcpctl", listed{ImportPath: own("cmd/refserver"), Imports: []string{"github.com/spf13/cobra"}}, "cmd/refserver imports github.com/spf13/cobra"},
		{"testify in code", listed{ImportPath: own("breaker"), Imports: []string{"github.com/stretchr/testify/require"}}, "in tests only"},
		{"testify in tests", listed{ImportPath: own("breaker"), TestImports: []string{"github.com/stretchr/testify/require"}}, ""},
		{"an unknown module", listed{ImportPath: own("cmd/mcpctl"), Imports: []string{"example.com/left/pad"}}, "not in the table"},
		{"a guest of a guest", listed{ImportPath: own("client"), Deps: []string{"golang.org/x/net/html"}}, "client links golang.org/x/net/html"},
		{"what the core may link", listed{ImportPath: own("client"), Deps: []string{"vendor/golang.org/x/net/idna", "github.com/google/uuid", own("mcp")}}, ""},
		{"the server links the client", listed{ImportPath: own("cmd/refserver"), Deps: []string{own("client")}}, "cmd/refserver links client"},
		{"a new folder", listed{ImportPath: own("stuff")}, "stuff has no row"},
		{"code in the root", listed{ImportPath: module, Imports: []string{own("client")}}, "imports client"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := checkImports([]listed{tt.pkg})
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], tt.want)
		})
	}
}
