package target

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

// ofFile is FILE.json#NAME, and FILE.json alone.
var ofFile = regexp.MustCompile(`^(.+\.jsonc?)(?:#(.*))?$`)

// Entry is what a file of servers says beside the program or the URL.
type Entry struct {
	// Dir and Env are those of the program, Header and SSE those of the URL.
	Dir    string
	Env    []string
	Header [][2]string
	SSE    bool
	// Secrets are values that nothing shows.
	Secrets []string
}

// Authorized reports whether the file has credentials for the URL.
func (e *Entry) Authorized() bool {
	return slices.ContainsFunc(e.Header, func(pair [2]string) bool { return strings.EqualFold(pair[0], "authorization") })
}

// fromFile reads the server NAME of a file, as MCP hosts write them.
func fromFile(typed string, lookup serverfile.Lookup) (Target, error) {
	parts := ofFile.FindStringSubmatch(typed)
	path, name := parts[1], parts[2]
	file, err := serverfile.ReadFile(path, lookup)
	if err != nil {
		return Target{}, failure.Usage("the file of servers cannot be used: %v", err)
	}
	for _, e := range file.Entries {
		if e.Name != name {
			continue
		}
		switch {
		case e.Err != nil:
			return Target{}, failure.Usage("server %q of %s: %v", name, path, e.Err)
		case e.Disabled:
			return Target{}, failure.Usage("server %q of %s is switched off there", name, path)
		}
		return ofEntry(e, typed)
	}
	f := failure.Usage("%s has no server %q", path, name)
	if !strings.Contains(typed, "#") {
		f = failure.Usage("%s has %s: name one", path, counted(len(file.Entries)))
	}
	for _, e := range file.Entries[:min(len(file.Entries), 8)] {
		f.Try = append(f.Try, example.Quote([]string{path + "#" + e.Name}))
	}
	return Target{}, f
}

// ofEntry returns the server of an entry that can be used.
func ofEntry(e serverfile.Entry, typed string) (t Target, err error) {
	t = Target{Typed: typed, Entry: &Entry{Dir: e.Dir, Env: e.Env, Header: e.Header, SSE: e.SSE, Secrets: e.Secrets}}
	if e.Command != "" {
		t.Argv = append([]string{e.Command}, e.Args...)
		return t, nil
	}
	if t.URL, err = parseURL(e.URL); err != nil {
		return Target{}, err
	}
	return t, nil
}

func counted(n int) string {
	if n == 1 {
		return "one server"
	}
	return fmt.Sprintf("%d servers", n)
}
