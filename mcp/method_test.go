package mcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookupMethod(t *testing.T) {
	t.Parallel()
	const session, stateless = Version2025_11_25, Version2026_07_28
	tests := []struct {
		method       string
		v            Version
		ok           bool
		sender       Sender
		capability   string
		notification bool
	}{
		{MethodInitialize, session, true, FromClient, "", false},
		{MethodInitialize, stateless, false, 0, "", false},
		{MethodPing, stateless, false, 0, "", false},
		{MethodPing, session, true, FromEither, "", false},
		{MethodInitialized, stateless, false, 0, "", false},
		{MethodLoggingSetLevel, stateless, false, 0, "", false},
		{MethodResourcesSubscribe, stateless, false, 0, "", false},
		{MethodResourcesSubscribe, session, true, FromClient, "resources.subscribe", false},
		{MethodRootsListChanged, stateless, false, 0, "", false},
		{MethodDiscover, session, false, 0, "", false},
		{MethodDiscover, stateless, true, FromClient, "", false},
		{MethodToolsCall, Version2024_11_05, true, FromClient, "tools", false},
		{MethodCompletionComplete, Version2024_11_05, true, FromClient, "", false},
		{MethodCompletionComplete, Version2025_03_26, true, FromClient, "completions", false},
		{MethodElicitationCreate, Version2025_03_26, false, 0, "", false},
		{MethodElicitationCreate, Version2025_06_18, true, FromServer, "", false},
		{MethodElicitationCreate, stateless, false, 0, "", false},
		{MethodTasksGet, Version2025_06_18, false, 0, "", false},
		{MethodTasksGet, session, true, FromEither, "tasks", false},
		{MethodTasksGet, stateless, true, FromClient, "extensions.io.modelcontextprotocol/tasks", false},
		{MethodTasksResult, stateless, false, 0, "", false},
		{MethodProgress, stateless, true, FromServer, "", true},
		{MethodCancelled, session, true, FromEither, "", true},
		{"tools/List", session, false, 0, "", false},
		{MethodToolsCall, "2030-01-01", false, 0, "", false},
	}
	for _, tt := range tests {
		got, ok := LookupMethod(tt.method, tt.v)
		require.Equal(t, tt.ok, ok, "%s %s", tt.method, tt.v)
		require.Equal(t, tt.ok, MethodIn(tt.method, tt.v))
		if ok {
			require.Equal(t, tt.method, got.Name)
		}
		require.Equal(t, tt.sender, got.Sender, "%s %s", tt.method, tt.v)
		require.Equal(t, tt.capability, got.Capability, "%s %s", tt.method, tt.v)
		require.Equal(t, tt.notification, got.Notification, "%s %s", tt.method, tt.v)
	}
}

func TestMethodTraits(t *testing.T) {
	t.Parallel()
	var asks, caches []string
	for i := range methods {
		info, ok := LookupMethod(methods[i].name, Version2026_07_28)
		if !ok || methods[i].until != Version2026_07_28 {
			continue
		}
		if info.InputRequired {
			asks = append(asks, info.Name)
		}
		if info.Cacheable {
			caches = append(caches, info.Name)
		}
		old, _ := LookupMethod(methods[i].name, Version2025_11_25)
		require.False(t, old.InputRequired || old.Cacheable, "no such thing before")
	}
	// Only these results may ask for input, or be cached.
	require.ElementsMatch(t, []string{MethodToolsCall, MethodPromptsGet, MethodResourcesRead}, asks)
	require.ElementsMatch(t, []string{
		MethodDiscover, MethodToolsList, MethodPromptsList, MethodResourcesList,
		MethodResourceTemplatesList, MethodResourcesRead,
	}, caches)
}

// TestMethodTable finds each method constant in the table, and each request and
// notification of the schemas in the revisions that have it.
func TestMethodTable(t *testing.T) {
	t.Parallel()
	inTable := map[string]bool{}
	for i := range methods {
		inTable[methods[i].name] = true
		require.LessOrEqual(t, methods[i].since.place(), methods[i].until.place())
		require.GreaterOrEqual(t, methods[i].since.place(), 0)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "method.go", nil, 0)
	require.NoError(t, err)
	count := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Method") {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		require.True(t, inTable[text], text)
		count++
		return true
	})
	require.Len(t, inTable, count)
}

func TestMethodsMatchSchemas(t *testing.T) {
	t.Parallel()
	for _, s := range loadSchemas(t) {
		v := Version(s.name)
		extension := s.name == "ext-tasks-draft"
		if extension {
			v = Version2026_07_28
		}
		found := map[string]bool{}
		for def, node := range s.defs {
			method := constMethod(node)
			if method == "" {
				continue
			}
			if MethodIn(method, v) {
				found[method] = true
				continue
			}
			// Questions inside results are not methods of the stateless era.
			require.Containsf(t, []string{MethodRootsList, MethodSamplingCreateMessage, MethodElicitationCreate}, method, "%s: %s", s.name, def)
			require.Equal(t, EraStateless, v.Era())
		}
		if extension {
			continue
		}
		for i := range methods {
			info, ok := LookupMethod(methods[i].name, v)
			if ok && !strings.HasPrefix(info.Capability, "extensions.") && info.Name != MethodTasks {
				require.True(t, found[info.Name], "%s has no %s", v, info.Name)
			}
		}
	}
}

func constMethod(node any) string {
	m, _ := node.(map[string]any)
	if parts, ok := m["allOf"].([]any); ok {
		for _, part := range parts {
			if got := constMethod(part); got != "" {
				return got
			}
		}
	}
	p, _ := m["properties"].(map[string]any)
	method, _ := p["method"].(map[string]any)
	text, _ := method["const"].(string)
	return text
}
