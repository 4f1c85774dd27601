package target

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// Named is a server of a file.
type Named struct {
	Name string
	Target
}

// File returns the servers of a file, in its order, without those that are switched off.
// Entries that cannot be used are left out; notes say why.
func File(path string, named Defaults) (servers []Named, notes []string, err error) {
	file, _, err := named.read(path)
	if err != nil {
		return nil, nil, err
	}
	for i := range file.Entries {
		e := &file.Entries[i]
		if e.Disabled {
			continue
		}
		t, err := Target{}, e.Err
		if err == nil {
			t, err = named.ofEntry(e, path+"#"+e.Name, file.Inputs)
		}
		if err == nil {
			t, err = t.unwrapped(named)
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
func (t Target) unwrapped(named Defaults) (Target, error) {
	for range maxWrapped {
		if len(t.Argv) < 3 || !isMcpctl(t.Argv[0]) || t.Argv[1] != "proxy" {
			break
		}
		switch rest := t.Argv[2:]; {
		case rest[0] == "--" && len(rest) > 1:
			t.Argv = rest[1:] // with the environment and the folder of the entry, as the proxy has them
		case len(rest) == 1 && LooksLikeServer(rest[0]) && t.Entry.Dir == "" && len(t.Entry.Env) == 0:
			behind, _, err := Line{Operands: rest}.Server(Defaults{Lookup: named.Lookup, System: named.System})
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
