package target

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// ofHost is HOST:NAME.
var ofHost = lazyregexp.New(`^(cursor|vscode|claude|claude-desktop):(.+)$`)

// Found is a server of a file of a host.
type Found struct {
	*serverfile.Entry
	In hostfile.Known
	// Digest is that of the content of the file.
	Digest string
	// Word is what names the server on a command line.
	Word   string
	inputs []serverfile.Input
}

// Names are the servers that have names.
type Names struct {
	Servers []*Found
	// Read and Missing are the files that were looked at, Invalid those that cannot be used, with why.
	Read, Missing, Invalid []string
}

// Find reads the files of hosts.
func Find(system hostfile.System, lookup serverfile.Lookup) Names {
	n := Names{Read: []string{}, Missing: []string{}, Invalid: []string{}}
	for _, k := range system.Known() {
		data, err := readAll(k.Path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				n.Invalid = append(n.Invalid, fmt.Sprintf("%s cannot be read: %s", k.Shown, failure.RootCause(err)))
			} else if !slices.Contains(n.Missing, k.Shown) {
				n.Missing = append(n.Missing, k.Shown)
			}
			continue
		}
		variables := serverfile.Lookup(system.Variables(system.Folder, lookup))
		var file *serverfile.File
		if k.State {
			file, err = serverfile.ParseClaudeCode(data, k.Project, variables)
		} else {
			file, err = serverfile.Parse(data, variables)
		}
		if errors.Is(err, serverfile.ErrNoServers) {
			file, err = &serverfile.File{}, nil // the host's other settings
		}
		if err != nil {
			n.Invalid = append(n.Invalid, fmt.Sprintf("%s is not valid: %v", k.Shown, err))
			continue
		}
		n.Read = append(n.Read, k.Shown)
		digest := sha256.Sum256(data)
		for i := range file.Entries {
			n.Servers = append(n.Servers, &Found{Entry: &file.Entries[i], In: k, Digest: hex.EncodeToString(digest[:]), inputs: file.Inputs})
		}
	}
	n.Read = slices.Compact(n.Read)
	n.Invalid = slices.Compact(n.Invalid)
	for i := range n.Servers {
		n.Servers[i].Word = n.word(i)
	}
	return n
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, serverfile.MaxStateBytes+1))
}

// word is the shortest form that names a server: its name if there is no other, with its host if
// that host prefers it to others, or else with its file.
func (n Names) word(i int) string {
	s := n.Servers[i]
	first := func(same func(*Found) bool) bool {
		return slices.IndexFunc(n.Servers, func(other *Found) bool { return other.Name == s.Name && same(other) }) == i
	}
	alone := true
	for k, other := range n.Servers {
		alone = alone && (k == i || other.Name != s.Name || sameEntry(other.Entry, s.Entry))
	}
	switch {
	case alone && isName(s.Name):
		return s.Name
	case s.In.Host != "" && first(func(other *Found) bool { return other.In.Host == s.In.Host }):
		return s.In.Host + ":" + s.Name
	}
	return s.In.Shown + "#" + s.Name
}

// isName reports whether a word of a command line can only be the name of a server.
func isName(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "@") && !strings.HasPrefix(word, "{") && !strings.HasPrefix(word, "unix://") &&
		!LooksLikeServer(word) && !strings.HasSuffix(word, ".jsonl") && !ofFile.MatchString(word) && !ofAnother.MatchString(word) && !ofHost.MatchString(word)
}

// sameEntry reports whether two files have the same server.
func sameEntry(a, b *serverfile.Entry) bool {
	return a.Command == b.Command && a.URL == b.URL && a.Dir == b.Dir && a.SSE == b.SSE && a.Disabled == b.Disabled &&
		slices.Equal(a.Args, b.Args) && slices.Equal(a.Env, b.Env) && slices.Equal(a.Header, b.Header) && a.Err == nil && b.Err == nil
}

// byName returns the server that a name means.
func byName(typed string, named Defaults) (Target, error) {
	host, name := "", typed
	if parts := ofHost.FindStringSubmatch(typed); parts != nil {
		host, name = parts[1], parts[2]
	}
	all := Find(named.System, named.Lookup)
	var hits []*Found
	for _, s := range all.Servers {
		if s.Name == name && (host == "" || s.In.Host == host) {
			hits = append(hits, s)
		}
	}
	if len(hits) == 0 {
		return Target{}, unknown(typed, all)
	}
	if on := slices.DeleteFunc(slices.Clone(hits), func(s *Found) bool { return s.Disabled }); len(on) > 0 {
		hits = on
	}
	chosen := hits[0]
	for _, other := range hits[1:] {
		switch {
		case host != "": // the first is the one that the host prefers
		case !sameEntry(chosen.Entry, other.Entry):
			f := failure.Usage("%s is in several files: name one of them", name)
			for _, s := range hits {
				f.Try = append(f.Try, example.Quote([]string{s.Word}))
			}
			return Target{}, f
		case other.In.Own:
			chosen = other // what is also the user's own needs no trust in the project
		}
	}
	t, err := named.usable(chosen.Entry, chosen.In.Shown, typed, chosen.inputs)
	if err != nil {
		return Target{}, err
	}
	t.in(chosen.In.Path)
	if chosen.In.Project != "" { // no FILE#NAME finds it
		t.Entry.Place = chosen.Word
	}
	if !chosen.In.Own {
		t.Entry.Digest = chosen.Digest
	}
	return t, nil
}

// unknown is the failure of a name that no file has.
func unknown(typed string, all Names) *failure.Failure {
	f := failure.Usage("%s is not a server: no file of servers has this name", typed)
	var words []string
	for _, s := range all.Servers {
		words = append(words, s.Name, s.Word)
	}
	slices.Sort(words)
	if near := suggest.Nearest(typed, slices.Compact(words)); len(near) > 0 {
		f.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	for _, note := range all.Invalid {
		f.Add("invalid", "%s", note)
	}
	f.Add("read", "%s", cmp.Or(strings.Join(all.Read, ", "), "none: no such file is there"))
	f.Add("missing", "%s", strings.Join(all.Missing, ", "))
	f.Try = append(f.Try, "mcpctl server ls", "mcpctl … http://HOST/mcp", "mcpctl … -- "+typed)
	return f
}
