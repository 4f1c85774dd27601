//go:build !race

package mainstay_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	playedServer = regexp.MustCompile(`\bname: "([^"]+)"`)
	playedSteps  = regexp.MustCompile(`(?s)func steps\(\) \[\]string \{\s*return \[\]string\{([^}]+)\}`)
	playedNames  = regexp.MustCompile(`(?m)^\t(\w+)\s+= "([a-z-]+)"$`)
)

// TestTableOfLogins: docs/generated/logins.md has a row for each step at each
// authorization server that scripts/logins.sh plays, in that order. A change of the
// play needs a run.
func TestTableOfLogins(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/generated/logins.md")
	require.NoError(t, err)
	servers, err := os.ReadFile("interop/logins/servers.go")
	require.NoError(t, err)
	steps, err := os.ReadFile("interop/logins/steps.go")
	require.NoError(t, err)
	rows := rowsOfLogins(string(servers), string(steps))
	require.Len(t, rows, 9*7)
	require.Equal(t, rows, rowsOfPage(string(page)), "run make logins")
}

// rowsOfLogins are the first two cells of the rows that the source of the play makes.
func rowsOfLogins(servers, steps string) (rows []string) {
	names := map[string]string{}
	for _, m := range playedNames.FindAllStringSubmatch(steps, -1) {
		names[m[1]] = m[2]
	}
	order := playedSteps.FindStringSubmatch(steps)
	if order == nil {
		return nil
	}
	for _, server := range playedServer.FindAllStringSubmatch(servers, -1) {
		for _, step := range strings.Split(order[1], ", ") {
			rows = append(rows, server[1]+" | "+names[step])
		}
	}
	return rows
}

// rowsOfPage are the first two cells of the rows with five cells.
func rowsOfPage(page string) (rows []string) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if len(cells) == 5 && !slices.Contains(cells, "step") {
			rows = append(rows, cells[0]+" | "+cells[1])
		}
	}
	return rows
}

func TestTableOfLoginsCanFail(t *testing.T) {
	t.Parallel()
	steps := "const (\n\tlogin = \"login\"\n\tstepUp = \"step-up\"\n)\n\nfunc steps() []string {\n\treturn []string{login, stepUp}\n}\n"
	require.Equal(t, []string{"a | login", "a | step-up", "b | login", "b | step-up"}, rowsOfLogins(`{name: "a"}, {name: "b", known: true}`, steps))
	require.Equal(t, []string{"a | login"}, rowsOfPage("| server | step | x | y | z |\n|---|---|---|---|---|\n| a | login | ok | ok | – (1) |\n| a | what it is |\n"))
	require.Empty(t, rowsOfLogins(`{name: "a"}`, ""))
}
