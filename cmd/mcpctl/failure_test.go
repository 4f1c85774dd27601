package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A failure is made by fail only, which takes what became of the request; after a
// request has been sent nothing may call it a mistake of the command line.
func TestFailuresSayWhatWasSent(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	made := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					if typ, ok := n.Type.(*ast.Ident); ok && typ.Name == "failure" {
						made++
						require.Equal(t, "fail", f.Name.Name, "%s: %s makes a failure without saying what was sent", name, f.Name.Name)
					}
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.Ident); ok && called.Name == "usage" && name == "result.go" {
						require.Equal(t, "checkFolder", f.Name.Name, "%s: the request has been answered there", f.Name.Name)
					}
				}
				return true
			})
		}
	}
	require.Equal(t, 1, made)
}

// Who reads a list may leave; who runs a tool is told that it ran.
func TestClosedPipeAfterACall(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"call", url, "echo", "message=hi"}, `"kind":"output-closed","exit":141,"message":"the output was closed before all of it was written","method":"tools/call","tool":"echo","delivery":"answered","retryable":false`},
		{[]string{"rpc", url, "ping"}, `"method":"ping","delivery":"answered"`},
		{[]string{"ls", url}, ""},
		{[]string{"call", url, "echo", "message=hi", "--dry-run"}, ""},
	} {
		var stderr strings.Builder
		code := run(t.Context(), append(tt.args, "-o", "json"), streams{
			in: strings.NewReader(""), out: leaver{}, err: &stderr, env: func(string) (string, bool) { return "", false },
		})
		require.Equal(t, 128+int(syscall.SIGPIPE), code)
		require.Contains(t, stderr.String(), tt.want)
		require.Equal(t, tt.want == "", stderr.Len() == 0, stderr.String())
	}
}
