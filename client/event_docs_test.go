package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEventDocsListFields: the events are aliases, of which go doc shows only the comment.
// So the comment of each alias of a struct names all exported fields.
func TestEventDocsListFields(t *testing.T) {
	t.Parallel()
	fields := map[string][]string{}
	eachType(t, "internal/event/event.go", func(spec *ast.TypeSpec, _ string) {
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, name := range field.Names {
					if name.IsExported() {
						fields[spec.Name.Name] = append(fields[spec.Name.Name], name.Name)
					}
				}
			}
		}
	})
	aliases := 0
	for _, file := range []string{"event.go", "era_steps.go"} {
		eachType(t, file, func(spec *ast.TypeSpec, doc string) {
			if !spec.Assign.IsValid() {
				return
			}
			for _, field := range fields[spec.Name.Name] {
				require.Regexp(t, `(?m)^\t(\w+, )*`+regexp.QuoteMeta(field)+`\b`, doc, spec.Name.Name)
				aliases++
			}
		})
	}
	require.Greater(t, aliases, 30)
}

// eachType calls f for each type that a file declares, with its doc comment.
func eachType(t *testing.T, file string, f func(spec *ast.TypeSpec, doc string)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	for _, decl := range parsed.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range types.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				f(spec, types.Doc.Text()+spec.Doc.Text())
			}
		}
	}
}
