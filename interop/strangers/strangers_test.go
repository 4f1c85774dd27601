package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSets: each defect of the tables is in the source of its server, once in its table.
func TestSets(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"setA", "setB", "setC"} {
		dir := filepath.Join("testdata", set)
		defects, err := readDefects(filepath.Join(dir, "defects.tsv"))
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, d := range defects {
			require.False(t, seen[d.String()], d)
			seen[d.String()] = true
			require.NotEmpty(t, d.cause, d)
			require.Contains(t, sources(t, filepath.Join(dir, d.server)), d.name, d)
		}
		require.GreaterOrEqual(t, len(seen), 60)
	}
}

// sources returns the texts of a server's files.
func sources(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// TestReadDefects: a table that cannot be read names the line.
func TestReadDefects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s\tn\tstdio\tw\tr":        ":1: 5 columns, want 6",
		"s\tn\tcarrier\tw\tr\tc\n": `:1: transport "carrier"`,
	} {
		file := filepath.Join(t.TempDir(), "defects.tsv")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := readDefects(file)
		require.ErrorContains(t, err, want)
	}
}

// TestOutcome: only a worse outcome in the same revision shows a defect, and the finding of it is
// the first that has such a check.
func TestOutcome(t *testing.T) {
	t.Parallel()
	before := parse(t, `{"checks":[{"id":"A","revision":"1","status":"pass"},{"id":"B","revision":"1","status":"fail"},
		{"id":"C","revision":"1","status":"skip"},{"id":"C","revision":"2","status":"warn"}]}`)
	after := parse(t, `{"checks":[{"id":"A","revision":"1","status":"inconclusive"},{"id":"B","revision":"1","status":"fail"},
		{"id":"C","revision":"1","status":"warn"},{"id":"C","revision":"2","status":"warn"}],
		"findings":[{"title":"old","checks":["B"]},{"title":"new","checks":["C"]}]}`)
	require.Equal(t, []string{"C"}, before.worse(after))
	require.Empty(t, before.worse(before))
	title, at := before.firstNew(after)
	require.Equal(t, "new", title)
	require.Equal(t, 2, at)

	again := parse(t, `{"checks":[{"id":"C","revision":"1","status":"fail"}]}`)
	again.Checks = append(again.Checks, before.Checks...)
	require.Empty(t, again.worse(after), "the worst of several runs without the defect counts")
}

// TestScenarios: a scenario of the official suite passes if something was checked and nothing
// failed or warned.
func TestScenarios(t *testing.T) {
	t.Parallel()
	var o outcome
	o.addScenarios("\n\x1b[32m✓ \x1b[0mping: 1 passed, 0 failed\n✓ empty: 0 passed, 0 failed\n⚠ warned: 2 passed, 0 failed, 1 warnings\n✗ broken: 1 passed, 2 failed\n", "2025-11-25")
	require.Equal(t, []check{
		{"ping", "2025-11-25", "pass"}, {"empty", "2025-11-25", "fail"}, {"warned", "2025-11-25", "fail"}, {"broken", "2025-11-25", "fail"},
	}, o.Checks)
}

func parse(t *testing.T, text string) *outcome {
	t.Helper()
	o, err := readOutcome([]byte(text))
	require.NoError(t, err)
	return o
}
