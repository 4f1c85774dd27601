package engine

import (
	_ "embed" // the file below
	"fmt"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// OfficialScenario is a scenario of the official suite for servers.
type OfficialScenario struct {
	// Name is its name there; "*" has the checks of every scenario.
	Name string
	// Since and Until are the revisions it runs in, both included; an empty
	// Until is no bound.
	Since, Until mcp.Version
	Checks       []OfficialCheck
}

// OfficialCheck is a check of the official suite.
type OfficialCheck struct {
	// ID is its id there, unique within the scenario. The suite may report it several times.
	ID string
	// Ours are the ids of the checks of this suite for the same rule.
	Ours []string
	// Why is the reason if there is none.
	Why string
}

//go:embed official.txt
var officialFile string

// OfficialScenarios returns the scenarios of the official suite for servers, in
// the version scripts/official.sh runs. The slices are shared: read only.
func OfficialScenarios() []OfficialScenario { return officialScenarios() }

// A test reads the file, so that it cannot fail here.
var officialScenarios = sync.OnceValue(func() []OfficialScenario {
	all, err := readOfficial(officialFile)
	if err != nil {
		panic("official.txt: " + err.Error()) //nolint:forbidigo // a file of ours, embedded
	}
	return all
})

func readOfficial(text string) ([]OfficialScenario, error) {
	var all []OfficialScenario
	for n, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			if len(fields) > 3 || len(fields) < 2 {
				return nil, fmt.Errorf("line %d: want a scenario and its revisions", n+1)
			}
			s := OfficialScenario{Name: fields[0], Since: mcp.Version(fields[1])}
			if len(fields) == 3 {
				s.Until = mcp.Version(fields[2])
			}
			all = append(all, s)
		case len(all) == 0 || len(fields) < 2:
			return nil, fmt.Errorf("line %d: write a check of the official suite below its scenario, then the ids of our checks, or - and a reason", n+1)
		default:
			c := OfficialCheck{ID: strings.TrimSuffix(fields[0], ":"), Ours: fields[1:]}
			if fields[1] == "-" {
				c.Ours, c.Why = nil, strings.Join(fields[2:], " ")
			}
			s := &all[len(all)-1]
			s.Checks = append(s.Checks, c)
		}
	}
	return all, nil
}

// NameOfficial sets the checks of the official suite for the same rule as each check.
func NameOfficial(all []Scenario) {
	names := map[string][]string{}
	for _, s := range officialScenarios() {
		for _, c := range s.Checks {
			for _, id := range c.Ours {
				names[id] = append(names[id], s.Name+":"+c.ID)
			}
		}
	}
	for i := range all {
		for j := range all[i].Checks {
			c := &all[i].Checks[j]
			c.Official = names[c.ID]
		}
	}
}
