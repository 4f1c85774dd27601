package target

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// ofFile is FILE.json#NAME, and FILE.json alone.
var ofFile = lazyregexp.New(`^(.+\.jsonc?)(?:#(.*))?$`)

// Entry is what a file of servers says beside the program or the URL.
type Entry struct {
	// Dir and Env are those of the program, Header and SSE those of the URL.
	Dir    string
	Env    []string
	Header [][2]string
	SSE    bool
	// Secrets are values that nothing shows; Passwords are hidden even if they are short.
	Secrets, Passwords []string
	// File and Name are those of the entry, and Place is what names it from any folder. There is no
	// File and no Place for JSON of the command line.
	File, Name, Place string
	// Digest is that of the file if it is of a project and nobody has named it: a person must trust
	// it before its programs are started, and before its URLs get what is Expanded.
	Digest   string
	Expanded bool
}

// Authorized reports whether the file has credentials for the URL.
func (e *Entry) Authorized() bool {
	return slices.ContainsFunc(e.Header, func(pair [2]string) bool { return strings.EqualFold(pair[0], "authorization") })
}

// fromFile reads the server NAME of a file, as MCP hosts write them, or the only one of a file.
func fromFile(typed string, named Defaults) (Target, error) {
	parts := ofFile.FindStringSubmatch(typed)
	path, name := parts[1], parts[2]
	file, whole, err := named.read(path)
	if err != nil {
		return Target{}, err
	}
	t, err := named.one(file, path, name, typed, func(name string) string { return example.Quote([]string{path + "#" + name}) })
	t.in(whole)
	return t, err
}

// in sets the file of a server that was found there.
func (t *Target) in(file string) {
	if t.Entry != nil {
		t.Entry.File, t.Entry.Place = file, file+"#"+t.Entry.Name
	}
}

// read reads a file that the user has named.
func (d Defaults) read(path string) (file *serverfile.File, whole string, err error) {
	whole, err = filepath.Abs(path)
	lookup := d.System.Variables(d.System.Workspace(whole), d.lookup)
	if filepath.Base(path) == hostfile.ClaudeCodeState {
		var data []byte
		if data, err = readAll(path); err == nil {
			file, err = serverfile.ParseClaudeCode(data, "", lookup)
		}
	} else if err == nil {
		file, err = serverfile.ReadFile(path, lookup)
	}
	if err != nil {
		return nil, "", failure.Usage("the file of servers cannot be used: %v", err)
	}
	return file, whole, nil
}

// fromConfig returns a server of --mcp-config, which is a file or JSON.
func fromConfig(config, name string, named Defaults) (Target, error) {
	if !isJSON(config) {
		file, whole, err := named.read(config)
		if err != nil {
			return Target{}, err
		}
		t, err := named.one(file, config, name, "", withFlag)
		if t.in(whole); err == nil {
			t.Typed = config + "#" + t.Entry.Name
		}
		return t, err
	}
	return fromJSON(config, name, withFlag, named)
}

// withFlag names a server of --mcp-config, withFlags one of JSON that is given without it.
func withFlag(name string) string { return "-s " + example.Quote([]string{name}) }

func withFlags(name string) string {
	return "--mcp-config " + example.Quote([]string{InlineJSON}) + " " + withFlag(name)
}

// isJSON reports whether a word is an object of JSON and no name.
func isJSON(word string) bool { return strings.HasPrefix(strings.TrimSpace(word), "{") }

// fromJSON returns a server of JSON on the command line.
func fromJSON(text, name string, form func(name string) string, named Defaults) (Target, error) {
	file, err := serverfile.Parse([]byte(text), named.System.Variables(named.System.Folder, named.lookup))
	if err != nil {
		return Target{}, failure.Usage("the JSON of servers cannot be used: %v", err)
	}
	return named.one(file, "the JSON", name, InlineJSON, form)
}

// InlineJSON takes the place of JSON with servers in example lines: it may have secrets.
const InlineJSON = "{…}"

// one returns the server NAME of a file, or without a name the only one. shown is the file for
// people, form what to type for a server of it.
func (d Defaults) one(file *serverfile.File, shown, name, typed string, form func(name string) string) (Target, error) {
	names := make([]string, 0, len(file.Entries))
	var on []*serverfile.Entry
	for i := range file.Entries {
		e := &file.Entries[i]
		if e.Name == name && name != "" {
			return d.usable(e, shown, typed, file.Inputs)
		}
		if !e.Disabled {
			on = append(on, e)
		}
		names = append(names, e.Name)
	}
	if name == "" && len(on) == 1 {
		return d.usable(on[0], shown, typed, file.Inputs)
	}
	f := failure.Usage("%s has no server %q", shown, name)
	if name == "" && len(names) == 0 {
		f = failure.Usage("%s has no servers", shown)
	} else if name == "" {
		f = failure.Usage("%s has %s: name one", shown, counted(len(file.Entries)))
	} else if near := suggest.Nearest(name, names); len(near) > 0 {
		f.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	for _, name := range names[:min(len(names), 8)] {
		f.Try = append(f.Try, form(name))
	}
	return Target{}, f
}

// Unusable is the failure of a server that was found in a file, and cannot be used.
type Unusable struct{ *failure.Failure }

// Unwrap returns the failure.
func (u *Unusable) Unwrap() error { return u.Failure }

// usable returns the server of an entry, or why it cannot be used.
func (d Defaults) usable(e *serverfile.Entry, shown, typed string, inputs []serverfile.Input) (Target, error) {
	var missing *serverfile.InputError
	switch {
	case errors.As(e.Err, &missing):
		f := failure.Usage("server %q of %s needs the input %s", e.Name, shown, strings.Join(missing.IDs, ", and the input "))
		try := ""
		for _, id := range missing.IDs {
			value := "VALUE"
			for _, in := range inputs {
				if in.ID == id && in.Description != "" {
					f.Add("about", "%s", in.Description)
				}
				if in.ID == id && in.Password {
					value = "@FILE"
					f.Note = id + " is a password: a file keeps it off the command line, which other users can see"
				}
			}
			try += " --input " + example.Quote([]string{id + "=" + value})
		}
		f.Try = append(f.Try, try[1:])
		return Target{}, &Unusable{f}
	case e.Err != nil:
		return Target{}, &Unusable{failure.Usage("%s: %v", shown, e.Err)}
	case e.Disabled:
		return Target{}, &Unusable{failure.Usage("server %q of %s is switched off there", e.Name, shown)}
	}
	return d.ofEntry(e, typed, inputs)
}

// ofEntry returns the server of an entry that can be used.
func (d Defaults) ofEntry(e *serverfile.Entry, typed string, inputs []serverfile.Input) (t Target, err error) {
	t = Target{Typed: typed, Entry: &Entry{
		Dir: e.Dir, Env: e.Env, Header: e.Header, SSE: e.SSE, Secrets: e.Secrets, Name: e.Name, Expanded: e.Expanded,
	}}
	for _, in := range inputs {
		if value, ok := d.lookup("input:" + in.ID); ok && in.Password {
			t.Entry.Passwords = append(t.Entry.Passwords, value)
		}
	}
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
