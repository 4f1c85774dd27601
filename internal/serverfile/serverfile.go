// Package serverfile reads the files in which MCP hosts keep their servers: an
// object named mcpServers (Claude Desktop, Claude Code, Cursor, Windsurf, Gemini),
// servers (VS Code) or context_servers (Zed), with an entry for each server.
//
// Entries stand or fall by themselves: one that cannot be used says why in its
// Err, and the others are there all the same. What a file says is not trusted to
// be small, and what its variables hold never appears in an error or in String.
package serverfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"
)

// Bounds on a file: it is read as a whole.
const (
	// MaxBytes is the size of the largest file that is read, 1 MiB.
	MaxBytes = 1 << 20
	// MaxServers is how many entries a file may have.
	MaxServers = 1_000
)

// Lookup returns the value of a variable. It is given names as the file has them,
// without "env:" but with any other word before a colon, as in "input:api-key".
// [os.LookupEnv] is one.
type Lookup func(name string) (value string, ok bool)

// File is what a file says.
type File struct {
	// Entries are the servers, in the order of the file.
	Entries []Entry
	// Notes are remarks for people, such as members that are not used.
	Notes []string
}

// Entry is one server. A program has a Command, any other server a URL; one with
// an Err may have neither.
type Entry struct {
	// Name is the server's, any text but the empty one.
	Name string
	// Line is where the entry begins in the file, counted from 1.
	Line int
	// Command is the program, Args are its arguments, which no shell sees; Dir is
	// where it runs, "" for here; Env adds to its environment, "NAME=value".
	Command string
	Args    []string
	Dir     string
	Env     []string
	// URL is the server's address, Header what is sent with every request, as
	// pairs of name and value in the order of the file. SSE says that the file
	// asks for the transport of 2024.
	URL    string
	Header [][2]string
	SSE    bool
	// Disabled says that the file has switched the server off.
	Disabled bool
	// Secrets are values that came out of variables, and those of Env and Header:
	// to be taken out of whatever is shown.
	Secrets []string
	// Err is why the entry cannot be used, nil when it can.
	Err error
}

// String is the entry's name and kind. What else it holds may be secret.
func (e Entry) String() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("server %q (unusable)", e.Name)
	case e.URL != "":
		return fmt.Sprintf("server %q (url)", e.Name)
	}
	return fmt.Sprintf("server %q (program)", e.Name)
}

// GoString is String, so that %#v shows no secrets either.
func (e Entry) GoString() string { return e.String() }

// ReadFile reads the file at path; see [Parse].
func ReadFile(path string, lookup Lookup) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	file, err := Parse(data, lookup)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// containers are the members that hold servers.
var containers = []string{"mcpServers", "servers", "context_servers"}

// Parse reads a file's text: JSON, in which comments and commas before a closing
// bracket are taken for blanks, as the editors take them (VS Code writes such
// files itself). An error is about the file as a whole: it is too large, is no JSON
// object, has no servers member, or names a server twice.
func Parse(data []byte, lookup Lookup) (*File, error) {
	switch {
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxBytes)
	case !utf8.Valid(data):
		return nil, errors.New("the file is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as Windows editors write it
	text := plain(data)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New(`the file is empty: write {"mcpServers": {}} for no servers`)
	}
	top, err := members(text, 0)
	if err != nil {
		return nil, located(text, err)
	}
	file := &File{}
	found := false
	lines := map[string]int{}
	for _, m := range top {
		if !slices.Contains(containers, m.name) {
			continue // the rest of a host's settings is nobody's business
		}
		found = true
		servers, err := members(m.value, m.at)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", m.name, located(text, err))
		}
		for _, s := range servers {
			line := lineOf(text, s.named)
			if before := lines[s.name]; before != 0 {
				return nil, fmt.Errorf("server %q stands in the file twice, in lines %d and %d", s.name, before, line)
			}
			if lines[s.name] = line; len(lines) > MaxServers {
				return nil, fmt.Errorf("the file has more than %d servers", MaxServers)
			}
			file.add(s, line, lookup)
		}
	}
	if !found {
		return nil, errors.New("the file has none of the members mcpServers, servers and context_servers")
	}
	return file, nil
}

func (f *File) add(m member, line int, lookup Lookup) {
	r := reader{entry: Entry{Name: m.name, Line: line}, lookup: lookup}
	if err := r.read(m); err != nil {
		// What was read before the fault is not a server.
		r.entry = Entry{
			Name: m.name, Line: line, Disabled: r.entry.Disabled,
			Err: fmt.Errorf("server %q: %w", m.name, err),
		}
	}
	slices.Sort(r.entry.Secrets)
	r.entry.Secrets = slices.Compact(r.entry.Secrets)
	f.Entries = append(f.Entries, r.entry)
	f.Notes = append(f.Notes, r.notes...)
}
