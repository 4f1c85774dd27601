package mcperrors_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// The catalogue has every code once, with all texts.
func TestAC_005_7_CatalogueHasEveryCodeOnce(t *testing.T) {
	t.Parallel()
	want := map[mcperrors.Code]bool{ // code: retryable
		"E001": false, "E002": false, "E003": true, "E004": false, "E005": true,
		"E101": false, "E102": true, "E103": true, "E104": false,
		"E201": true, "E202": true, "E203": false, "E204": false, "E205": false,
		"E206": false, "E207": false, "E208": false, "E209": false,
		"E301": true, "E302": true, "E303": true, "E304": false,
		"E401": true, "E402": true, "E403": true,
		"E501": false, "E502": false, "E601": true,
	}
	ranges := map[string]bool{}
	for _, c := range mcperrors.Categories() {
		require.NotEmpty(t, c.Name)
		require.NotEmpty(t, c.Description)
		ranges[c.Range] = true
	}
	entries := mcperrors.Catalogue()
	require.True(t, slices.IsSortedFunc(entries, func(a, b mcperrors.Entry) int {
		return strings.Compare(string(a.Code), string(b.Code))
	}))
	for _, e := range entries {
		retryable, ok := want[e.Code]
		require.True(t, ok, "%s is unknown or there twice", e.Code)
		delete(want, e.Code)
		require.Equal(t, retryable, e.Retryable, e.Code)
		require.NotEmpty(t, e.UserMessage, e.Code)
		require.NotEmpty(t, e.SuggestedAction, e.Code)
		require.Equal(t, string(e.Code)[:2]+"xx", e.Category)
		require.True(t, ranges[e.Category], e.Category)
		got, ok := mcperrors.Lookup(e.Code)
		require.True(t, ok)
		require.Equal(t, e, got)
	}
	require.Empty(t, want, "codes that the catalogue lacks")
	for _, c := range []mcperrors.Code{"", "E000", "E299", "E999"} {
		_, ok := mcperrors.Lookup(c)
		require.False(t, ok, c)
	}
}

func TestCatalogueIsACopy(t *testing.T) {
	t.Parallel()
	mcperrors.Catalogue()[0].Code = "X"
	mcperrors.Categories()[0].Name = "X"
	require.Equal(t, mcperrors.CodeFileTooLarge, mcperrors.Catalogue()[0].Code)
	require.Equal(t, "File Errors", mcperrors.Categories()[0].Name)
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	want := map[mcperrors.Kind]string{
		mcperrors.KindServer: "server", mcperrors.KindCanceled: "canceled", mcperrors.KindTimeout: "timeout",
		mcperrors.KindTransport: "transport", mcperrors.KindAuth: "auth", mcperrors.KindProtocol: "protocol",
		mcperrors.KindVersion: "version", mcperrors.KindUnsupported: "unsupported", mcperrors.KindNotFound: "not-found",
		mcperrors.KindInvalidArguments: "invalid-arguments", mcperrors.KindInputRequired: "input-required",
		mcperrors.KindSessionLost: "session-lost", mcperrors.KindCircuitOpen: "circuit-open",
		mcperrors.KindOverloaded: "overloaded", mcperrors.KindClosed: "closed", mcperrors.KindTool: "tool",
		mcperrors.KindApp: "app", mcperrors.KindTooLarge: "too-large",
	}
	for k := range mcperrors.Kind(255) {
		name, ok := want[k]
		if !ok {
			name = "unknown"
		}
		require.Equal(t, name, k.String())
		text, err := k.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
	require.Len(t, want, 18, "the closed list of decisions 14, and KindTooLarge")
}

var update = flag.Bool("update", false, "write docs/generated/errors.md")

// The page about the codes has the names of the constants and the texts of the catalogue.
func TestEveryCodeIsNamedOnThePage(t *testing.T) {
	t.Parallel()
	const page = "../docs/generated/errors.md"
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	require.NoError(t, err)
	names := map[mcperrors.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			names[mcperrors.Code(code)] = v.Names[0].Name
		}
		return true
	})
	entries := mcperrors.Catalogue()
	require.Len(t, names, len(entries))
	var want strings.Builder
	want.WriteString("# The codes of errors\n\nWritten by `go test ./errors -update`; [error codes](../errors.md) explains the columns.\n\n" +
		"| constant | code | message | action | retryable |\n|---|---|---|---|---|\n")
	for _, e := range entries {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s | %s |\n",
			names[e.Code], e.Code, e.UserMessage, e.SuggestedAction, map[bool]string{true: "yes", false: "no"}[e.Retryable])
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want.String()), 0o600))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "run go test ./errors -update")
}
