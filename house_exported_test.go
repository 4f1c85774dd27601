//go:build !race

package mainstay_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// privateID is what nobody outside this repository can look up: requirements,
// decisions and pages of the design.
var privateID = regexp.MustCompile(`\b(?:[A-Z][A-Z0-9]*-)+[0-9]{2,3}\b|\bdecisions? [0-9]|\bS[0-4]\b|\b(?:[\w/-]+[/-])?(?:resilience|tools|protocol)\.md`)

// publicID looks like a private one, and everybody knows it.
var publicID = regexp.MustCompile(`^(?:UTF-(?:16|32)|SHA-(?:224|256|384|512)|ISO-[0-9]+|(?:SEP|RFC)-[0-9]+|[\w/-]+[/-]\w+\.md)$`)

// TestExportedDocsArePlain holds what users of the libraries read about exported
// identifiers: no private ids, and none of the phrases that read as translated.
func TestExportedDocsArePlain(t *testing.T) {
	t.Parallel()
	dirs := publicPackages(t)
	for _, dir := range dirs {
		fset := token.NewFileSet()
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		var files []*ast.File
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			require.NoError(t, err)
			files = append(files, f)
		}
		faults := exportedFaults(t, fset, files, dir)
		require.Empty(t, faults, dir)
	}
}

// publicPackages lists the folders of the packages that users can import.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case !d.IsDir():
			if dir := filepath.ToSlash(filepath.Dir(path)); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		case name == "internal", name == "cmd", name == "examples", name == "testdata", name == "bench", name == "interop", name == "families", name == "server",
			name != "." && strings.HasPrefix(name, "."):
			return filepath.SkipDir
		}
		return nil
	}))
	require.Subset(t, dirs, []string{"client", "errors", "mcp"})
	return dirs
}

// exportedFaults lists what is wrong with the documentation of a package.
func exportedFaults(t *testing.T, fset *token.FileSet, files []*ast.File, path string) []string {
	t.Helper()
	p, err := doc.NewFromFiles(fset, files, path) // what is not exported is left out
	require.NoError(t, err)
	var faults []string
	judge := func(name, text string) {
		for _, id := range privateID.FindAllString(text, -1) {
			if !publicID.MatchString(id) {
				faults = append(faults, fmt.Sprintf("%s: %q", name, id))
			}
		}
		for _, c := range clumsy {
			for _, found := range c.in(text) {
				faults = append(faults, fmt.Sprintf("%s: %q; say: %s", name, found, c.better))
			}
		}
	}
	judge("package", p.Doc)
	values, funcs := append(p.Consts, p.Vars...), p.Funcs
	for _, typ := range p.Types {
		judge(typ.Name, typ.Doc)
		values = append(append(values, typ.Consts...), typ.Vars...)
		funcs = append(append(funcs, typ.Funcs...), typ.Methods...)
		ast.Inspect(typ.Decl, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				judge(typ.Name, f.Doc.Text()+f.Comment.Text())
			}
			return true
		})
	}
	for _, v := range values {
		judge(v.Names[0], v.Doc)
		for _, s := range v.Decl.Specs {
			judge(v.Names[0], s.(*ast.ValueSpec).Doc.Text()+s.(*ast.ValueSpec).Comment.Text())
		}
	}
	for _, f := range funcs {
		judge(f.Name, f.Doc)
	}
	return faults
}

func TestExportedDocsRulesCanFail(t *testing.T) {
	t.Parallel()
	faults := func(source string) []string {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "a.go", "package a\n"+source, parser.ParseComments)
		require.NoError(t, err)
		return exportedFaults(t, fset, []*ast.File{f}, "a")
	}
	require.Empty(t, faults("// F uses UTF-8, SHA-256 and UTF-16.\nfunc F() {}\n\n// g is LC-04.\nfunc g() {}\n"))
	require.Empty(t, faults("// F does it.\nfunc F() {\n\t// LC-04\n}\n"), "inside a function")
	for source, want := range map[string]string{
		"// F is LC-04.\nfunc F() {}\n":                                             `F: "LC-04"`,
		"// F is S2-EMAP-09.\nfunc F() {}\n":                                        `F: "S2-EMAP-09"`,
		"// T is a T.\ntype T struct {\n\t// A is AC-005.4.\n\tA int\n}\n":          `T: "AC-005"`,
		"// T is a T.\ntype T int\n\n// M does as D-123.\nfunc (T) M() {}\n":        `M: "D-123"`,
		"// T is a T.\ntype T interface {\n\t// M follows decisions 4.\n\tM()\n}\n": `T: "decisions 4"`,
		"const (\n\tC = 1 // see resilience.md\n)\n":                                `C: "resilience.md"`,
		"// F is for those who begin\n// anew.\nfunc F() {}\n":                      `F: "anew"; say: again`,
		"// F takes what there\n// is.\nfunc F() {}\n":                              `F: "what there is"; say: the value`,
	} {
		require.Equal(t, []string{want}, faults(source), source)
	}
}
