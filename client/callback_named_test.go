package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// elsewhere are the functions that other tests make fail, with the test's name,
// or why it may do what it likes.
var elsewhere = map[string]string{
	"pool OnEvent":                  "TestPoolCallbacks",
	"pool WithLogger":               "TestPoolCallbacks",
	"pool WithServerOptions":        "TestPoolCallbacks",
	"pool WithVariables":            "runs on the caller's goroutine before anything is open",
	"pool ReadServers":              "runs on the caller's goroutine before anything is open",
	"client Connect":                "TestCallbackTransport",
	"pool Server.Transport":         "is that of client.Connect",
	"client EraStore.Forget":        "is guarded as the other two",
	"transport Command.Stderr":      "TestCallbackProgram",
	"transport Trace.Noise":         "TestCallbackProgram",
	"transport Trace.Stderr":        "TestCallbackProgram",
	"transport Trace.Exited":        "TestCallbackProgram",
	"transport SSE.RoundTripper":    "is that of HTTP",
	"transport Stream.In":           "TestCallbackStream",
	"transport Stream.Out":          "TestCallbackStream",
	"transport Handler":             "is for programs that drive a transport themselves",
	"transport LoginWatch":          "its functions are the client's; an Authorizer calls them",
	"toolcache Settings.Durable":    "TestCallbacks",
	"toolcache Settings.StaleIf":    "TestCallbacks",
	"toolcache Settings.Logger":     "TestCallbacks",
	"client AfterDone":              "TestAfterDone",
	"transport HTTP.HeaderFunc":     "TestHeaderFunc",
	"transport SSE.HeaderFunc":      "TestHeaderFunc",
	"breaker Settings.Logger":       "TestCallbacks",
	"breaker Settings.OnTransition": "TestCallbacks",
}

// A new function that an application can hand over needs a row in hookCases, or
// a test of its own in elsewhere.
func TestEveryCallbackHasATest(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{"client WithLogger": true, "client WithMeter": true, "client WithEraStore": true, "client WithTrace": true}
	for _, h := range hookCases {
		for _, pkg := range []string{"client ", "transport "} {
			covered[pkg+h.name] = true
		}
	}
	dirs := map[string]string{"client": ".", "transport": "transport", "toolcache": "../toolcache", "breaker": "../breaker", "pool": "../pool"}
	for name, why := range elsewhere {
		covered[name] = true
		pkg, _, _ := strings.Cut(name, " ")
		if strings.HasPrefix(why, "Test") {
			dir := dirs[pkg]
			if pkg == "toolcache" {
				dir = "internal/cache" // which runs them
			}
			if pkg == "transport" {
				dir = "." // through the client
			}
			require.True(t, hasTest(t, dir, why), "%s: there is no %s in %s", name, why, dir)
		}
	}
	for pkg, dir := range dirs {
		for _, name := range callbacksOf(t, dir) {
			owner, _, _ := strings.Cut(name, ".")
			require.True(t, covered[pkg+" "+name] || covered[pkg+" "+owner],
				"%s hands %s over to us: what if it panics?", pkg, name)
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(text), "func "+name+"(")
	})
}

// callbacksOf returns the exported functions, fields and interfaces by which a
// program hands its own code to a package.
func callbacksOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				for _, p := range n.Type.Params.List {
					if n.Name.IsExported() && isCode(p.Type) {
						names = append(names, n.Name.Name)
					}
				}
				return false
			case *ast.TypeSpec:
				s, ok := n.Type.(*ast.StructType)
				if !ok || !n.Name.IsExported() {
					return false
				}
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						if name.IsExported() && isCode(f.Type) {
							names = append(names, n.Name.Name+"."+name.Name)
						}
					}
				}
				return false
			}
			return true
		})
	}
	return names
}

// isCode reports the types whose values are code of the application.
func isCode(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncType:
		return true
	case *ast.Ellipsis:
		return isCode(e.Elt)
	case *ast.StarExpr:
		return isCode(e.X)
	case *ast.ArrayType:
		return isCode(e.Elt)
	case *ast.Ident:
		return slices.Contains([]string{"Meter", "Middleware", "EraStore", "Store", "Trace", "Transport"}, e.Name)
	case *ast.SelectorExpr:
		pkg, _ := e.X.(*ast.Ident)
		return slices.Contains([]string{
			"slog.Logger", "slog.Handler", "http.RoundTripper", "http.Client", "io.Reader", "io.Writer", "io.ReadCloser", "io.WriteCloser",
			"transport.Transport", "transport.Trace", "toolcache.Store",
		}, pkg.Name+"."+e.Sel.Name)
	}
	return false
}
