package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Naming sets how a [Pool] names the tools of its servers. The zero value is
// [PrefixOnClash].
//
// A name has at most 64 characters out of A-Z, a-z, 0-9, _ and -, which the APIs of
// models accept. Other characters become _. A name that is too long is cut and gets
// a short digest of server and tool, and so does one that would still be used twice.
// Names depend on the servers and tools that exist, not on the order of answers.
type Naming struct {
	Policy NamePolicy
	// Separator is between server and tool; "" means "__".
	Separator string
	// Alias sets names of tools, before any policy.
	Alias map[ToolRef]string
}

// NamePolicy controls when the name of a tool starts with the name of its server.
type NamePolicy uint8

const (
	// PrefixOnClash adds the prefix where several servers have tools of the same
	// name. A name can get its prefix when another server joins; the name without
	// it keeps working.
	PrefixOnClash NamePolicy = iota
	// PrefixAlways adds the prefix to each name, so that names do not depend on the
	// other servers.
	PrefixAlways
)

// ToolRef names a tool of a server: the server as in the pool, the tool as its server
// lists it.
type ToolRef struct{ Server, Tool string }

// maxToolName is the longest name that the APIs of models accept.
const maxToolName = 64

// maxNamesGiven limits the names that a pool remembers, so that servers that list new
// tools forever cannot fill the memory. Normal pools need far fewer.
const maxNamesGiven = 50_000

func (n Naming) check() error {
	if n.Policy > PrefixAlways {
		return fmt.Errorf("unknown naming policy %d", n.Policy)
	}
	if n.Separator != "" && (cleanName(n.Separator) != n.Separator || len(n.Separator) > 8) {
		return errors.New("Naming: the separator must be up to 8 of A-Z, a-z, 0-9, _ and -")
	}
	of := map[string]ToolRef{}
	for ref, name := range n.Alias {
		if name == "" || len(name) > maxToolName || cleanName(name) != name {
			return fmt.Errorf("Naming: the alias %q is not up to 64 of A-Z, a-z, 0-9, _ and -", name)
		}
		if _, twice := of[name]; twice {
			return fmt.Errorf("Naming: two tools have the alias %q", name)
		}
		of[name] = ref
	}
	return nil
}

// toolNames are the names that a pool has given. A name stays with its tool, because a
// model may still use it and must not reach another server with it.
type toolNames struct {
	naming Naming
	given  map[string]ToolRef
}

func newToolNames(n Naming) *toolNames {
	if n.Separator == "" {
		n.Separator = "__"
	}
	t := &toolNames{naming: n, given: map[string]ToolRef{}}
	for ref, name := range n.Alias {
		t.given[name] = ref
	}
	return t
}

// assign returns names for tools. refs has no duplicates. It is not safe for concurrent
// use.
func (t *toolNames) assign(refs []ToolRef) []string {
	const highest = 3
	levels := make([]int, len(refs))
	names := make([]string, len(refs))
	count := make(map[string]int, len(refs))
	for i, ref := range refs {
		if t.naming.Policy == PrefixAlways {
			levels[i] = 1
		}
		names[i] = t.name(ref, levels[i])
		count[names[i]]++
	}
	// All tools that share a name move to the next level together, so that the result
	// does not depend on their order. Each round raises a level, or is the last.
	for again := true; again; {
		again = false
		clash := func(i int) bool {
			owner, owned := t.given[names[i]]
			return count[names[i]] > 1 || owned && owner != refs[i]
		}
		var raise []int
		for i, ref := range refs {
			if _, fixed := t.naming.Alias[ref]; !fixed && levels[i] < highest && clash(i) {
				raise = append(raise, i)
			}
		}
		for _, i := range raise {
			count[names[i]]--
			levels[i]++
			names[i] = t.name(refs[i], levels[i])
			count[names[i]]++
			again = true
		}
	}
	if len(t.given)+len(refs) > maxNamesGiven {
		t.given = newToolNames(t.naming).given
	}
	for i, ref := range refs {
		if _, taken := t.given[names[i]]; !taken {
			t.given[names[i]] = ref
		}
	}
	return names
}

// name returns the name of a tool at a level: its own name, then with the prefix of the
// server, then with a digest at the end, then with a longer digest that is unique.
func (t *toolNames) name(ref ToolRef, level int) string {
	if alias, ok := t.naming.Alias[ref]; ok {
		return alias
	}
	name, digest := ref.Tool, 0
	if level > 0 {
		name = ref.Server + t.naming.Separator + ref.Tool
	}
	switch level {
	case 2:
		digest = 8
	case 3:
		digest = 32
	}
	name = cleanName(name)
	if digest == 0 && (len(name) > maxToolName || name == "") {
		digest = 8
	}
	if digest == 0 {
		return name
	}
	// The length separates the names, so that two pairs never give the same text.
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(ref.Server), ref.Server, ref.Tool))
	return name[:min(len(name), maxToolName-1-digest)] + "_" + hex.EncodeToString(sum[:])[:digest]
}

// cleanName replaces every character that the APIs of models do not accept.
func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}
