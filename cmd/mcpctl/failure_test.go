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

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
)

// Only failure.New makes a failure, because it takes the delivery of the request.
// After a request has been sent, nothing may call it a wrong command line.
func TestFailuresSayWhatWasSent(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	inside, err := filepath.Glob("internal/*/*.go")
	require.NoError(t, err)
	names = append(names, inside...)
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
					if named(n.Type, "Failure") {
						made++
						require.Equal(t, "New", f.Name.Name, "%s: %s makes a failure without saying what was sent", name, f.Name.Name)
					}
				case *ast.CallExpr:
					if named(n.Fun, "Usage") && name == "result.go" {
						require.Equal(t, "checkFolder", f.Name.Name, "%s: the request has been answered there", f.Name.Name)
					}
				}
				return true
			})
		}
	}
	require.Equal(t, 1, made)
}

// named reports whether an expression is a name, of this package or another.
func named(e ast.Expr, name string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == name
	case *ast.SelectorExpr:
		return e.Sel.Name == name
	}
	return false
}

// The reader of a list may leave silently, and so may a person who has seen the start of a result.
// A program learns that the tool ran.
func TestClosedPipeAfterACall(t *testing.T) {
	t.Parallel()
	url := serve(t, io.Discard) + "/mcp"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"call", url, "echo", "message=hi", "-o", "json"}, `"kind":"output-closed","exit":141,"message":"the reader closed the output before it was complete","method":"tools/call","tool":"echo","delivery":"answered","retryable":false`},
		{[]string{"call", url, "echo", "message=hi"}, ""},
		{[]string{"rpc", url, "ping", "-o", "json"}, `"method":"ping","delivery":"answered"`},
		{[]string{"ls", "-q", url, "-o", "json"}, ""},
		{[]string{"call", url, "echo", "message=hi", "--dry-run", "-o", "json"}, ""},
	} {
		var stderr strings.Builder
		code := run(t.Context(), tt.args, console.Streams{
			In: strings.NewReader(""), Out: leaver{}, Err: &stderr, Env: func(string) (string, bool) { return "", false },
		})
		require.Equal(t, 128+int(syscall.SIGPIPE), code)
		require.Contains(t, stderr.String(), tt.want)
		require.Equal(t, tt.want == "", stderr.Len() == 0, stderr.String())
	}
}
