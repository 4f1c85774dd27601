// Package serverfile reads the files in which MCP hosts configure their servers: an object named
// mcpServers (Claude Desktop, Claude Code, Cursor, Windsurf, Gemini), servers (VS Code) or
// context_servers (Zed), with one entry per server.
//
// Entries are independent: an invalid entry has the reason in its Err, and the others can be
// used. The file may be of any size, and the values of its variables never appear in an error or
// in String.
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

// Limits of a file, which is read as a whole.
const (
	// MaxBytes is the maximum size of a file, 1 MiB.
	MaxBytes = 1 << 20
	// MaxServers is the maximum number of entries in a file.
	MaxServers = 1_000
)

// Lookup returns the value of a variable. Names are as in the file, without "env:" but with any
// other scope, as in "input:api-key". [os.LookupEnv] is a Lookup.
type Lookup func(name string) (value string, ok bool)

// File is the content of a file.
type File struct {
	// Entries are the servers, in the order of the file.
	Entries []Entry
	// Notes are remarks for people, such as members that are not used.
	Notes []string
}

// Entry is one server. A program has a Command, any other server a URL; an entry with an Err may
// have neither.
type Entry struct {
	// Name is the name of the server, which is not empty.
	Name string
	// Line is the first line of the entry in the file, counted from 1.
	Line int
	// Command is the program and Args are its arguments, which are not passed to a shell. Dir is
	// its working directory, "" for the current one. Env adds variables to its environment, as
	// "NAME=value".
	Command string
	Args    []string
	Dir     string
	Env     []string
	// URL is the server's address, Header the headers for every request, as pairs of name and
	// value in the order of the file. SSE is set if the file selects the HTTP+SSE transport of
	// 2024.
	URL    string
	Header [][2]string
	SSE    bool
	// Disabled is set if the file disables the server.
	Disabled bool
	// Secrets are the values of variables, and those of Env and Header. Hide them in all output.
	Secrets []string
	// Err is why the entry cannot be used, nil if it can.
	Err error
}

// String returns the name and kind of the entry. The rest may be secret.
func (e Entry) String() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("server %q (unusable)", e.Name)
	case e.URL != "":
		return fmt.Sprintf("server %q (url)", e.Name)
	}
	return fmt.Sprintf("server %q (program)", e.Name)
}

// GoString is String, so that %#v shows no secrets.
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

// containers are the members with servers.
var containers = []string{"mcpServers", "servers", "context_servers"}

// Parse reads the text of a file: JSON, in which comments and trailing commas are ignored, as
// editors do (VS Code writes such files itself). An error is about the whole file: it is too
// large, is not a JSON object, has no servers member, or has a server twice.
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
			continue // the host's other settings
		}
		found = true
		servers, err := members(m.value, m.at)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", m.name, located(text, err))
		}
		for _, s := range servers {
			line := lineOf(text, s.named)
			if before := lines[s.name]; before != 0 {
				return nil, fmt.Errorf("server %q is in the file twice, in lines %d and %d", s.name, before, line)
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
		// The members before the error are not a complete server.
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
