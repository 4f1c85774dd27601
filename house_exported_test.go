package mainstay_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// privateID is what nobody outside this repository can look up.
var privateID = regexp.MustCompile(`\b(AC|CACHE|CHG|CMP|DISC|ELIC|HDR|HTTP|LC|LOG|META|MRTR|NEG|OLD|RES|ROOT|SAMP|SEC|STDIO|TASK|TOOL|UTIL)-[0-9]{2,3}\b|\bdecisions [0-9]|resilience\.md`)

// TestExportedDocsNameNoPrivateIDs holds the documentation that users of the client
// read.
func TestExportedDocsNameNoPrivateIDs(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"client", "client/transport", "client/clienttest"} {
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
		p, err := doc.NewFromFiles(fset, files, dir) // what is not exported is left out
		require.NoError(t, err)
		judge := func(name, text string) {
			require.Empty(t, privateID.FindString(text), "%s: %s", dir, name)
		}
		judge("package", p.Doc)
		values := append(p.Consts, p.Vars...)
		funcs := p.Funcs
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
	}
}
