package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/fixtures"
	"github.com/mainstay-mcp/mainstay/conformance/server/skills"
	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// A Maker makes one family of tools for a server.
type Maker struct {
	Name string
	// Make is called once per server. The server closes the family that it returns.
	Make func(*Setup) (*family.Family, error)
	// HTTPOnly families are served over stdio only if they are named: the official
	// suite speaks only HTTP.
	HTTPOnly bool
}

// Makers returns the makers of the families that every server has.
func Makers() []Maker {
	return []Maker{
		{Name: fixtures.Name, Make: makeFixtures, HTTPOnly: true},
		{Name: skills.Name, Make: makeSkills, HTTPOnly: true},
	}
}

func makeFixtures(s *Setup) (*family.Family, error) {
	kept, err := s.tasks()
	if err != nil {
		return nil, err
	}
	return fixtures.New(fixtures.Options{Logger: s.Log(), Tasks: kept}), nil
}

func makeSkills(s *Setup) (*family.Family, error) {
	o := s.srv.opts
	return skills.New(skills.Options{Dir: o.SkillsDir, Private: o.Token != "" || o.OAuth.Issuer != "", Logger: s.Log()})
}

// Names returns the names of families in their order, with or without those that are
// [Maker].HTTPOnly.
func Names(makers []Maker, overHTTP bool) []string {
	var out []string
	for _, m := range makers {
		if overHTTP || !m.HTTPOnly {
			out = append(out, m.Name)
		}
	}
	return out
}

// CheckFamilies returns an error if names is empty or has a family that none of makers
// makes. The error lists the known families.
func CheckFamilies(makers []Maker, names []string) error {
	all := Names(makers, true)
	known := strings.Join(all, ", ")
	if len(names) == 0 {
		return fmt.Errorf("no family to serve, known: %s", known)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("unknown family %q, known: %s", name, known)
		}
	}
	return nil
}

// Setup is what a server offers a [Maker].
type Setup struct{ srv *Server }

// Log returns the server's log. It is never nil.
func (s *Setup) Log() *slog.Logger { return s.srv.log }

// DataDir returns the data folder, in which a family makes a folder of its own.
func (s *Setup) DataDir() string { return s.srv.dataDir }

// Temporary reports whether the server removes the data folder when it closes.
func (s *Setup) Temporary() bool { return s.srv.temporary != nil }

// Context returns the context of the server's life.
func (s *Setup) Context() context.Context { return s.srv.life }

// BaseURL returns the URL of the server over HTTP, "" until it serves there.
func (s *Setup) BaseURL() string { return s.srv.baseURL() }

// AllowedHosts returns [Options].AllowedHosts.
func (s *Setup) AllowedHosts() []string { return s.srv.opts.AllowedHosts }

// Bearer returns the token for requests to the server itself, "" if it needs none.
func (s *Setup) Bearer() string { return cmp.Or(s.srv.opts.Token, s.srv.own) }

// SessionRuns reports whether the HTTP session with an id has not ended.
func (s *Setup) SessionRuns(id string) bool { return s.srv.runs(id) }

// OnClose registers a function that the server calls after it has closed the families.
func (s *Setup) OnClose(name string, end func(context.Context) error) {
	s.srv.closers = append(s.srv.closers, closer{name, end})
}

// tasks opens the store of calls that run as tasks, in the data folder.
func (s *Setup) tasks() (*tasks.Store, error) {
	if s.srv.tasks == nil {
		kept, err := tasks.Open(tasks.Options{Dir: filepath.Join(s.DataDir(), "tasks"), Logger: s.Log()})
		if err != nil {
			return nil, err
		}
		s.srv.tasks = kept
	}
	return s.srv.tasks, nil
}
