// Package serverfile reads the files in which MCP hosts configure their servers: an object named
// mcpServers (Claude Desktop, Claude Code, Cursor, Windsurf, Gemini), servers (VS Code) or
// context_servers (Zed), with one entry per server. It also reads the server.json of the registry.
//
// Entries are independent: an invalid entry has the reason in its Err, and the others can be
// used. The file may be of any size, and the values of its variables never appear in an error or
// in String.
package serverfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a file, which is read as a whole.
const (
	// MaxBytes is the maximum size of a file, 1 MiB.
	MaxBytes = 1 << 20
	// MaxStateBytes is the maximum size of the file in which Claude Code keeps everything, 64 MiB.
	MaxStateBytes = 64 << 20
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
	// Inputs are the values that the file asks a person for.
	Inputs []Input
	// Notes are remarks for people, such as members that are not used.
	Notes []string
}

// Input is a value that a file asks a person for. Its variable is ${input:ID}.
type Input struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	// Password is set if the value is secret.
	Password bool `json:"password"`
}

// InputError reports inputs that have no value: all of an entry.
type InputError struct{ IDs []string }

func (e *InputError) Error() string {
	if len(e.IDs) > 1 {
		return "the variables input:" + strings.Join(e.IDs, ", input:") + " cannot be looked up here"
	}
	return "the variable input:" + e.IDs[0] + " cannot be looked up here"
}

// ErrNoServers is the error of a file that has no member for servers.
var ErrNoServers = errors.New("the file has none of the members mcpServers, servers and context_servers")

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
	// Expanded is set if the entry has the value of a variable.
	Expanded bool
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
	text, top, err := object(data, MaxBytes)
	if err != nil {
		return nil, err
	}
	file := &File{}
	found, err := file.addAll(text, top, lookup)
	switch {
	case err != nil:
		return nil, err
	case !found && !file.addRegistry(text, top, lookup):
		return nil, ErrNoServers
	}
	return file, nil
}

// ParseClaudeCode reads the file in which Claude Code keeps its state: the servers of one project
// folder, or with "" those for all projects. There may be none.
func ParseClaudeCode(data []byte, project string, lookup Lookup) (*File, error) {
	text, top, err := object(data, MaxStateBytes)
	if err != nil {
		return nil, err
	}
	path := []string{"projects", project}
	if project == "" {
		path = nil
	}
	for _, name := range path {
		at := slices.IndexFunc(top, func(m member) bool { return strings.ReplaceAll(m.name, `\`, "/") == strings.ReplaceAll(name, `\`, "/") })
		if at < 0 {
			return &File{}, nil
		}
		if top, err = members(top[at].value, top[at].at); err != nil {
			return nil, fmt.Errorf("member %s: %w", name, located(text, err))
		}
	}
	file := &File{}
	if _, err := file.addAll(text, top, lookup); err != nil {
		return nil, err
	}
	return file, nil
}

// object returns the text of a file without comments, and its members.
func object(data []byte, limit int) (text []byte, top []member, err error) {
	switch {
	case len(data) > limit:
		return nil, nil, fmt.Errorf("the file is larger than %d bytes", limit)
	case !utf8.Valid(data):
		return nil, nil, errors.New("the file is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as Windows editors write it
	text = plain(data)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil, errors.New(`the file is empty: write {"mcpServers": {}} for no servers`)
	}
	if top, err = members(text, 0); err != nil {
		return nil, nil, located(text, err)
	}
	return text, top, nil
}

// addAll adds the servers of an object, and reports whether it has a member for servers.
func (f *File) addAll(text []byte, top []member, lookup Lookup) (found bool, err error) {
	lines := map[string]int{}
	for _, m := range top {
		if m.name == "inputs" {
			_ = json.Unmarshal(m.value, &f.Inputs) // they only explain; hosts may have others
		}
		if !slices.Contains(containers, m.name) {
			continue // the host's other settings
		}
		found = true
		servers, err := members(m.value, m.at)
		if err != nil {
			return false, fmt.Errorf("member %s: %w", m.name, located(text, err))
		}
		for _, s := range servers {
			line := lineOf(text, s.named)
			if before := lines[s.name]; before != 0 {
				return false, fmt.Errorf("server %q is in the file twice, in lines %d and %d", s.name, before, line)
			}
			if lines[s.name] = line; len(lines) > MaxServers {
				return false, fmt.Errorf("the file has more than %d servers", MaxServers)
			}
			f.add(s, line, lookup)
		}
	}
	return found, nil
}

func (f *File) add(m member, line int, lookup Lookup) {
	r := reader{entry: Entry{Name: m.name, Line: line}, lookup: lookup}
	f.keep(&r, r.read(m))
}

// keep adds the entry of a reader, or the error why it is none.
func (f *File) keep(r *reader, err error) {
	if err == nil && len(r.missing) > 0 {
		err = &InputError{r.missing}
	}
	if err != nil {
		// The members before the error are not a complete server.
		r.entry = Entry{
			Name: r.entry.Name, Line: r.entry.Line, Disabled: r.entry.Disabled,
			Err: fmt.Errorf("server %q: %w", r.entry.Name, err),
		}
	}
	slices.Sort(r.entry.Secrets)
	r.entry.Secrets = slices.Compact(r.entry.Secrets)
	f.Entries = append(f.Entries, r.entry)
	f.Notes = append(f.Notes, r.notes...)
}
