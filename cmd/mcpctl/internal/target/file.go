package target

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

// Named is a server of a file.
type Named struct {
	Name string
	Target
}

// File returns the servers of a file, in its order, without those that are switched off.
// Entries that cannot be used are left out; notes say why.
func File(path string, lookup serverfile.Lookup) (servers []Named, notes []string, err error) {
	file, err := serverfile.ReadFile(path, lookup)
	if err != nil {
		return nil, nil, failure.Usage("the file of servers cannot be used: %v", err)
	}
	for _, e := range file.Entries {
		if e.Disabled {
			continue
		}
		t, err := Target{}, e.Err
		if err == nil {
			t, err = ofEntry(e, path+"#"+e.Name)
		}
		if err == nil {
			t, err = t.unwrapped(lookup)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("server %q of %s is left out: %v", e.Name, path, err))
			continue
		}
		servers = append(servers, Named{e.Name, t})
	}
	if len(servers) == 0 {
		f := failure.Usage("%s has no server that can be used", path)
		f.Note = strings.Join(notes, "; ")
		return nil, nil, f
	}
	return servers, notes, nil
}

// unwrapped returns the server behind "mcpctl proxy", so that a proxy of it needs no other one.
// A line with flags stays as it is.
func (t Target) unwrapped(lookup serverfile.Lookup) (Target, error) {
	for range maxWrapped {
		if len(t.Argv) < 3 || !isMcpctl(t.Argv[0]) || t.Argv[1] != "proxy" {
			break
		}
		switch rest := t.Argv[2:]; {
		case rest[0] == "--" && len(rest) > 1:
			t.Argv = rest[1:] // with the environment and the folder of the entry, as the proxy has them
		case len(rest) == 1 && !strings.HasPrefix(rest[0], "-") && t.Entry.Dir == "" && len(t.Entry.Env) == 0:
			behind, _, err := Line{Operands: rest}.Server(Defaults{Lookup: lookup})
			if err != nil {
				return Target{}, err
			}
			if behind.Entry == nil || behind.Argv == nil {
				return behind, nil
			}
			t = behind
		default:
			return t, nil
		}
	}
	return t, nil
}

// maxWrapped bounds the entries that name each other.
const maxWrapped = 3

func isMcpctl(command string) bool {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe") == "mcpctl"
}
