package checks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/checks/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// TestSuite: no check of the 29 tools comes with those of the specification.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, sc := range All() {
		require.Empty(t, sc.Suite, sc.ID)
	}
}

// TestTextsAndCode: each check of checks.txt is decided by code or by a conversation,
// and each check that code names is in checks.txt.
func TestTextsAndCode(t *testing.T) {
	t.Parallel()
	named := idsInCode(t, ".", filepath.Join("..", "internal", "observe"))
	for _, c := range talk.All() {
		named = append(named, c.Checks...)
	}
	var ids []string
	for _, sc := range All() {
		for _, c := range sc.Checks {
			ids = append(ids, c.ID)
			isNamed := slices.ContainsFunc(named, func(name string) bool {
				begins := strings.HasSuffix(name, "/") || strings.HasSuffix(name, "-") // and a loop has the rest
				return name == c.ID || begins && strings.HasPrefix(c.ID, name)
			})
			require.True(t, isNamed, "%s is in checks.txt, and no code decides it", c.ID)
		}
	}
	whole := regexp.MustCompile(`^[A-Z]+(-[A-Z0-9]+)+/[a-z0-9-]*[a-z0-9]$`)
	for _, name := range named {
		if whole.MatchString(name) {
			require.Contains(t, ids, name, "code names it, and it is not in checks.txt")
		}
	}
}

// idsInCode returns the strings in the code of folders that an id may begin with.
func idsInCode(t *testing.T, folders ...string) []string {
	t.Helper()
	begins := regexp.MustCompile(`^[A-Z]+(-[A-Z0-9]+)+(/|$)`)
	var ids []string
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(folder), ".", func(path string, _ fs.DirEntry, err error) error {
			if path == "client" { // the checks for clients have a list and a test of their own
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, path), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && begins.MatchString(text) {
						ids = append(ids, text)
					}
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	return ids
}

// TestDocumentedCheck: the check that docs/conformance.md shows is one of ours, and
// costs six lines at most.
func TestDocumentedCheck(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "conformance.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## A new check\n")
	require.True(t, found)
	ours, err := engine.Unpack(texts)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join("talk", "conversations", "*.txtar"))
	require.NoError(t, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		ours += string(data)
	}
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(section, -1) {
		require.Contains(t, ours, block[1])
		lines += strings.Count(block[1], "\n")
	}
	require.Positive(t, lines)
	require.LessOrEqual(t, lines, 6)
}
