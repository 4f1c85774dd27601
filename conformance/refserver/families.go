package refserver

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/docling"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/fixtures"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/preflights"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/skills"
)

// A maker is one row of the table of families.
type maker struct {
	name string
	// make builds the family for a server. It is called once a server, and what
	// it returns is closed by that server.
	make func(*setup) (*family.Family, error)
	// httpOnly families are served over stdio only where they are named: the
	// official suite speaks HTTP alone (decisions 30).
	httpOnly bool
}

// makers is the table of families, in the order they are listed and served.
var makers = []maker{
	{name: artifact.Name, make: makeArtifact},
	{name: coe.Name, make: makeCOE},
	{name: docling.Name, make: makeDocling},
	{name: preflights.Name, make: makePreflights},
	{name: assistant.Name, make: makeAssistant},
	{name: fixtures.Name, make: makeFixtures, httpOnly: true},
	{name: skills.Name, make: makeSkills, httpOnly: true},
}

func makeArtifact(s *setup) (*family.Family, error) {
	base := s.ArtifactsDir
	if base == "" {
		base = filepath.Join(s.data, "artifacts")
	}
	tasksURL, idsURL, err := s.services()
	if err != nil {
		return nil, err
	}
	return artifact.New(artifact.Options{
		BaseDir: base, ChecklistDir: s.ChecklistDir, Deprecated: s.Deprecated, Undo: s.UndoApprovals,
		PluralDirs: s.PluralDirs, ResearchDir: s.ResearchDir,
		TasksURL: tasksURL, IDsURL: idsURL, APIKey: s.Services.APIKey, ProjectID: s.Services.ProjectID, Logger: s.log,
	})
}

func makeCOE(s *setup) (*family.Family, error) {
	o := s.COE
	if o.DataDir == "" {
		o.DataDir = filepath.Join(s.data, coe.Name)
	}
	o.Logger = s.log
	o.AllowFaultInjection, o.Durable = s.AllowFaultInjection, s.Durable
	o.SessionRuns = s.srv.runs
	return coe.New(o)
}

func makePreflights(s *setup) (*family.Family, error) {
	o := s.Preflights
	if o.DataDir == "" {
		o.DataDir, o.Temporary = filepath.Join(s.data, preflights.Name), s.srv.temporary != nil
	}
	o.Logger = s.log
	return preflights.New(o)
}

func makeDocling(s *setup) (*family.Family, error) { return docling.New(s.Docling) }

func makeAssistant(s *setup) (*family.Family, error) {
	o := s.Assistant
	if o.Store == nil {
		st, err := s.store()
		if err != nil {
			return nil, err
		}
		o.Store = st
	}
	if o.BaseURL == nil {
		o.BaseURL = s.srv.baseURL
	}
	o.Bearer, o.Logger = cmp.Or(s.Token, s.srv.own), s.log
	return assistant.New(o)
}

func makeFixtures(s *setup) (*family.Family, error) {
	kept, err := s.tasks()
	if err != nil {
		return nil, err
	}
	return fixtures.New(fixtures.Options{Logger: s.log, Tasks: kept}), nil
}

func makeSkills(s *setup) (*family.Family, error) {
	return skills.New(skills.Options{Dir: s.SkillsDir, Private: s.Token != "" || s.OAuth.Issuer != "", Logger: s.log})
}

// Families returns the names of the families a server serves unless told
// otherwise.
func Families() []string { return names(func(m maker) bool { return !m.httpOnly }) }

// HTTPFamilies returns the names of the families that cmd/refserver serves over
// HTTP unless told otherwise: these are all there are.
func HTTPFamilies() []string { return names(func(maker) bool { return true }) }

func names(which func(maker) bool) []string {
	var out []string
	for _, m := range makers {
		if which(m) {
			out = append(out, m.name)
		}
	}
	return out
}

// CheckFamilies returns an error that names the first unknown family in names
// and those there are, or says that there is none at all.
func CheckFamilies(names []string) error {
	known := strings.Join(HTTPFamilies(), ", ")
	if len(names) == 0 {
		return fmt.Errorf("no family to serve, known: %s", known)
	}
	for _, name := range names {
		if !slices.Contains(HTTPFamilies(), name) {
			return fmt.Errorf("unknown family %q, known: %s", name, known)
		}
	}
	return nil
}
