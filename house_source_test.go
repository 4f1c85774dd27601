//go:build !race

package mainstay_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is one text file of the tree, by its slash path from the root.
type source struct {
	path string
	text string
}

func (s source) isGo() bool      { return strings.HasSuffix(s.path, ".go") }
func (s source) isTest() bool    { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool { return generatedMark.MatchString(s.text) }

var generatedMark = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// tree reads the text files of the checkout, once.
func tree(t *testing.T) []source {
	t.Helper()
	files, err := readTree()
	require.NoError(t, err)
	return files
}

var readTree = sync.OnceValues(func() (files []source, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "bin" || filepath.ToSlash(p) == "interop/strangers/testdata") {
				return fs.SkipDir // the last are servers of others
			}
			return nil
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // of a worktree, a file that names another folder
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !slices.Contains(data[:min(len(data), 8000)], 0) { // a NUL byte: not text
			files = append(files, source{filepath.ToSlash(p), string(data)})
		}
		return nil
	})
	return files, err
})

// rule looks at one file and says what is wrong with it.
type rule struct {
	name  string
	why   string
	check func(source) []string
}

var rules = []rule{
	{"size", "a file over the limit holds two concepts (600 lines; tests 800)", checkSize},
	{"names", "a package named after nothing collects everything", checkNames},
	{"sleep", "time in tests is virtual: testing/synctest, or wait for the event itself", checkSleep},
	{"skip", "a skipped test says what it misses", checkSkip},
	{"revisions", "dates of revisions stand in mcp/version.go and the client's package era, so a new revision is one place", checkRevisions},
	{"paths", "a path of one machine is wrong on every other", checkPaths},
}

func TestHouseRules(t *testing.T) {
	t.Parallel()
	files := tree(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			var faults []string
			for _, f := range files {
				for _, fault := range r.check(f) {
					faults = append(faults, f.path+": "+fault)
				}
			}
			require.Empty(t, faults, r.why)
		})
	}
}

func checkSize(f source) []string {
	if !f.isGo() || f.generated() {
		return nil
	}
	limit := 600
	if f.isTest() {
		limit = 800
	}
	if n := strings.Count(f.text, "\n"); n > limit {
		return []string{fmt.Sprintf("%d lines, the limit is %d", n, limit)}
	}
	return nil
}

var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

func checkNames(f source) []string {
	if !f.isGo() {
		return nil
	}
	names := strings.Split(path.Dir(f.path), "/")
	if file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.PackageClauseOnly); err == nil {
		names = append(names, strings.TrimSuffix(file.Name.Name, "_test"))
	}
	for _, name := range names {
		if slices.Contains(emptyNames, name) {
			return []string{fmt.Sprintf("%q is not a name", name)}
		}
	}
	return nil
}

// sleepers are the tests that may sleep in real time: path, colon, function.
// Each has its reason. Nothing but another process needs one.
var sleepers = map[string]string{}

func opensBubble(call *ast.CallExpr, synctest string) bool {
	if fn, ok := call.Fun.(*ast.Ident); ok {
		return strings.HasPrefix(fn.Name, "inBubble")
	}
	return synctest != "" && isCall(call, synctest, "Test")
}

func checkSleep(f source) []string {
	if !f.isTest() || !strings.Contains(f.text, "Sleep") {
		return nil
	}
	file, fset := parse(f)
	if file == nil {
		return nil
	}
	clock, bubbles := importName(file, "time"), importName(file, "testing/synctest")
	if clock == "" {
		return nil
	}
	// The bubble is the function given to synctest.Test, or to a helper of the
	// package whose name begins with inBubble and that does just that: a literal, or a
	// function of this file by its name.
	var inside []ast.Node
	named := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && opensBubble(call, bubbles) {
			for _, arg := range call.Args {
				switch arg := arg.(type) {
				case *ast.FuncLit:
					inside = append(inside, arg)
				case *ast.Ident:
					named[arg.Name] = true
				}
			}
		}
		return true
	})
	var faults []string
	for _, decl := range file.Decls {
		name := ""
		if fn, ok := decl.(*ast.FuncDecl); ok {
			name = fn.Name.Name
			if named[name] || sleepers[f.path+":"+name] != "" {
				continue
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isCall(call, clock, "Sleep") {
				return true
			}
			for _, bubble := range inside {
				if bubble.Pos() <= call.Pos() && call.End() <= bubble.End() {
					return true
				}
			}
			faults = append(faults, fmt.Sprintf("line %d: time.Sleep outside a synctest bubble in %s", fset.Position(call.Pos()).Line, name))
			return true
		})
	}
	return faults
}

func checkSkip(f source) []string {
	if !f.isGo() || !strings.Contains(f.text, "Skip") {
		return nil
	}
	file, fset := parse(f)
	if file == nil || importName(file, "testing") == "" {
		return nil
	}
	var faults []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if _, ok := sel.X.(*ast.Ident); !ok {
			return true
		}
		silent := sel.Sel.Name == "SkipNow" && len(call.Args) == 0
		if sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" {
			silent = len(call.Args) == 0 || literal(call.Args[0]) == "" && isLiteral(call.Args[0])
		}
		if silent {
			faults = append(faults, fmt.Sprintf("line %d: %s without a reason", fset.Position(call.Pos()).Line, sel.Sel.Name))
		}
		return true
	})
	return faults
}

// revisionDates are the published revisions. This file is a test, and so may
// name them.
var revisionDates = regexp.MustCompile(`2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28`)

// specLink is the one text that holds a revision without deciding anything by it.
const specLink = "https://modelcontextprotocol.io/"

func checkRevisions(f source) []string {
	if !f.isGo() || f.isTest() || f.path == "mcp/version.go" || !revisionDates.MatchString(f.text) {
		return nil
	}
	// None may import mcp: some are judged by it, others are programs of other SDKs.
	if strings.HasPrefix(f.path, "interop/hosts/") || strings.HasPrefix(f.path, "interop/proxies/") || strings.HasPrefix(f.path, "conformance/families/") || strings.HasPrefix(f.path, "conformance/server/") || strings.HasPrefix(f.path, "bench/") {
		return nil
	}
	if path.Dir(f.path) == "client/internal/era" {
		return nil
	}
	file, fset := parse(f)
	if file == nil {
		return nil
	}
	var faults []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text := literal(lit)
		if date := revisionDates.FindString(text); date != "" && !strings.HasPrefix(text, specLink) {
			faults = append(faults, fmt.Sprintf("line %d: %s as text, use mcp's constants", fset.Position(lit.Pos()).Line, date))
		}
		return true
	})
	return faults
}

// The homes of nobody in particular may stand in documents and test data.
var machinePaths = regexp.MustCompile(`(?:^|[\s"'` + "`" + `=:(])(?:/home/[a-z0-9_-]+/|/Users/[A-Za-z0-9_-]+/|/r[o]ot/|/w[o]rk/[a-z]+|[A-Z]:\\Users\\[A-Za-z0-9_-]+)|\.\./shared/`)

var nobody = regexp.MustCompile(`/(?:home|Users)/(?:user|username|you|me|alice|bob|jane)/$`)

func checkPaths(f source) []string {
	if f.path == "house_source_test.go" { // holds the patterns
		return nil
	}
	// Few files hold any, and the pattern is slow.
	if !slices.ContainsFunc([]string{"/home/", "/Users/", "/root/", "/work/", `:\Users\`, "../shared/"}, func(part string) bool { return strings.Contains(f.text, part) }) {
		return nil
	}
	var faults []string
	for i, line := range strings.Split(f.text, "\n") {
		for _, found := range machinePaths.FindAllString(line, -1) {
			if !nobody.MatchString(found) {
				faults = append(faults, fmt.Sprintf("line %d: %s", i+1, strings.TrimSpace(found)))
			}
		}
	}
	return faults
}

// parse returns nil for a file that does not parse: the compiler reports that.
func parse(f source) (*ast.File, *token.FileSet) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, f.path, f.text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil
	}
	return file, fset
}

// importName is the name an import has in the file, empty when not imported.
func importName(file *ast.File, importPath string) string {
	for _, imp := range file.Imports {
		if literal(imp.Path) != importPath {
			continue
		}
		if imp.Name != nil {
			return imp.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func isCall(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func isLiteral(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

func literal(e ast.Expr) string {
	if !isLiteral(e) {
		return ""
	}
	text, _ := strconv.Unquote(e.(*ast.BasicLit).Value)
	return text
}

func TestHouseRulesCanFail(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "package p\n" + strings.Repeat("//\n", n-1) }
	tests := []struct {
		name, rule, path, text string
		want                   string // in the one fault; empty: no fault
	}{
		{"as long as allowed", "size", "p/p.go", long(600), ""},
		{"too long", "size", "p/p.go", long(601), "601 lines"},
		{"a long test", "size", "p/p_test.go", long(800), ""},
		{"too long a test", "size", "p/p_test.go", long(801), "801 lines"},
		{"generated", "size", "p/p.go", "// Code generated by x. DO NOT EDIT.\n" + long(900), ""},
		{"a good name", "names", "breaker/breaker.go", "package breaker", ""},
		{"folder named after nothing", "names", "internal/util/x.go", "package x", `"util"`},
		{"package named after nothing", "names", "internal/x/x.go", "package helpers", `"helpers"`},
		{"sleep", "sleep", "p_test.go", "package p\nimport \"time\"\nfunc TestX() { time.Sleep(1) }", "line 3: time.Sleep outside a synctest bubble in TestX"},
		{"sleep under another name", "sleep", "p_test.go", "package p\nimport clock \"time\"\nfunc TestX() { clock.Sleep(1) }", "in TestX"},
		{"sleep in a bubble", "sleep", "p_test.go", "package p\nimport (\"time\"; \"testing/synctest\")\nfunc TestX(t T) { synctest.Test(t, func(t T) { go func() { time.Sleep(1) }() }) }", ""},
		{"sleep in a named bubble", "sleep", "p_test.go", "package p\nimport (\"time\"; \"testing/synctest\")\nfunc TestX(t T) { synctest.Test(t, run) }\nfunc run(t T) { time.Sleep(1) }", ""},
		{"sleep in a helper's bubble", "sleep", "p_test.go", "package p\nimport \"time\"\nfunc TestX(t T) { inBubble(t, func(t T) { time.Sleep(1) }) }", ""},
		{"sleep beside a bubble", "sleep", "p_test.go", "package p\nimport (\"time\"; \"testing/synctest\")\nfunc TestX(t T) { synctest.Test(t, func(t T) {}); time.Sleep(1) }", "in TestX"},
		{"sleep of something else", "sleep", "p_test.go", "package p\nimport \"time\"\nvar _ time.Time\nfunc TestX() { robot.Sleep(1) }", ""},
		{"skip with a reason", "skip", "p_test.go", "package p\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Skip(\"needs a database\") }", ""},
		{"skip", "skip", "p_test.go", "package p\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Skip() }", "line 3: Skip without"},
		{"skip for an empty reason", "skip", "p_test.go", "package p\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Skip(\"\") }", "without a reason"},
		{"skip now", "skip", "p_test.go", "package p\nimport \"testing\"\nfunc TestX(t *testing.T) { t.SkipNow() }", "SkipNow without"},
		{"revision in its place", "revisions", "mcp/version.go", `package mcp; const V = "2025-11-25"`, ""},
		{"revision in an era file", "revisions", "client/internal/era/session.go", `package era; const V = "2025-11-25"`, ""},
		{"revision in an era file of another package", "revisions", "cmd/mcpctl/era.go", `package main; const V = "2025-11-25"`, "2025-11-25 as text"},
		{"revision elsewhere", "revisions", "client/options.go", "package client\nvar v = f(\"2026-07-28\")", "line 2: 2026-07-28 as text"},
		{"revision in a message", "revisions", "client/options.go", `package client; const v = "since 2025-06-18"`, "2025-06-18"},
		{"revision in a comment", "revisions", "client/options.go", "package client\n// Since 2025-06-18.", ""},
		{"revision in a link", "revisions", "conformance/init.go", `package conformance; const l = "` + specLink + `specification/2025-11-25/basic"`, ""},
		{"revision in a test", "revisions", "client/x_test.go", `package client; const v = "2025-11-25"`, ""},
		{"another date", "revisions", "client/options.go", `package client; const v = "2025-01-01"`, ""},
		{"somebody's home", "paths", "docs/x.md", "see /home/jsmith/src", "/home/jsmith/"},
		{"nobody's home", "paths", "docs/x.md", "see /home/user/src and `/Users/alice/x`", ""},
		{"a Mac", "paths", "x.go", `package x; const p = "/Users/jsmith/x"`, "/Users/jsmith/"},
		{"Windows", "paths", "x.txt", `C:\Users\jsmith`, `C:\Users\jsmith`},
		{"root's home", "paths", "Makefile", "CACHE=/" + "root/cache", "/" + "root/"},
		{"a build folder", "paths", ".ci/run", "cd /" + "work/thing", "/" + "work/thing"},
		{"a URL", "paths", "README.md", "https://example.com/home/jsmith/", ""},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == tt.rule })
		require.GreaterOrEqual(t, i, 0, tt.rule)
		seen[tt.rule] = seen[tt.rule] || tt.want != ""
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			got := rules[i].check(source{tt.path, tt.text})
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], tt.want)
		})
	}
	for _, r := range rules {
		require.True(t, seen[r.name], "no test makes rule %s fail", r.name)
		require.NotEmpty(t, r.why, r.name)
	}
}
