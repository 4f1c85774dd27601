package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFeatures holds docs/mcpctl-features.md: each row that says yes names a test, a script or a
// file that is there, and every other one has a reason.
func TestFeatures(t *testing.T) {
	t.Parallel()
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "docs", "mcpctl-features.md"))
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| (\d+) \| (.+?) \| (yes|partly|no) \| (.+?) \|$`)
	named := regexp.MustCompile("^(?:([a-z/]+) )?(Test[A-Za-z_]+)$")
	file := regexp.MustCompile("`([^` ]+)`")
	yes := 0
	for i, m := range row.FindAllStringSubmatch(string(text), -1) {
		number, feature, answer, held := m[1], m[2], m[3], m[4]
		require.Equal(t, strconv.Itoa(i+1), number, feature)
		if answer != "yes" {
			require.GreaterOrEqual(t, len(strings.Fields(held)), 4, "%s: %s is no reason", feature, held)
			continue
		}
		yes++
		switch test := named.FindStringSubmatch(held); {
		case test != nil:
			folder := filepath.Join("cmd", "mcpctl")
			if strings.HasPrefix(test[1], "internal/") {
				folder = filepath.Join(folder, test[1])
			} else if test[1] != "" {
				folder = test[1]
			}
			require.True(t, tests(t, filepath.Join(root, folder), test[2]), "%s: %s has no %s", feature, folder, test[2])
		case strings.HasSuffix(held, ".txtar"):
			require.FileExists(t, filepath.Join("testdata", "script", held), feature)
		default:
			path := file.FindStringSubmatch(held)
			require.NotNil(t, path, "%s: %s names nothing that could hold it", feature, held)
			require.FileExists(t, filepath.Join(root, path[1]), feature)
		}
	}
	lines := strings.Count(string(text), "\n| ") - strings.Count(string(text), "\n| # ")
	require.Len(t, row.FindAllString(string(text), -1), lines, "a row is not read")
	require.GreaterOrEqual(t, yes, 80)
}

// tests reports whether a folder has a test of this name.
func tests(t *testing.T, folder, name string) (found bool) {
	t.Helper()
	files, err := fs.Glob(os.DirFS(folder), "*_test.go")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f))
		require.NoError(t, err)
		found = found || strings.Contains(string(text), "\nfunc "+name+"(")
	}
	return found
}
