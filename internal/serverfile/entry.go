package serverfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// reader reads one entry.
type reader struct {
	entry  Entry
	lookup Lookup
	notes  []string
	kind   string // value of type or transport
	// missing are the inputs without a value. Reading goes on, to find all of them.
	missing []string
}

// lacks records an input that has no value.
func (r *reader) lacks(id string) {
	if !slices.Contains(r.missing, id) {
		r.missing = append(r.missing, id)
	}
}

// read reads the entry in m. Errors name members and variables, never values.
func (r *reader) read(m member) error {
	if m.name == "" {
		return errors.New("a server needs a name")
	}
	if strings.ContainsRune(m.name, 0) {
		return errors.New("a NUL in the name")
	}
	list, err := members(m.value, m.at)
	if err != nil {
		return err
	}
	for _, m := range list {
		// Report a disabled entry even if the rest of it is invalid.
		if m.name == "disabled" || m.name == "enabled" {
			var on bool
			if json.Unmarshal(m.value, &on) != nil {
				return fmt.Errorf("member %s: must be true or false", m.name)
			}
			r.entry.Disabled = r.entry.Disabled || on == (m.name == "disabled")
		}
	}
	for _, m := range list {
		if err := r.member(m); err != nil {
			return fmt.Errorf("member %s: %w", m.name, err)
		}
	}
	return r.judge()
}

func (r *reader) member(m member) (err error) {
	e := &r.entry
	switch m.name {
	case "disabled", "enabled":
	case "command":
		return r.command(m)
	case "args":
		var args []string
		args, err = r.texts(m)
		e.Args = append(e.Args, args...)
	case "cwd":
		e.Dir, err = r.text(m.value)
	case "env":
		return r.pairs(m, func(name, value string) error {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				return errors.New("a variable's name must not be empty or contain = or NUL")
			}
			e.Env = append(e.Env, name+"="+value)
			return nil
		})
	case "url", "httpUrl", "serverUrl":
		if e.URL != "" {
			return errors.New("the address is given twice")
		}
		if e.URL, err = r.text(m.value); err == nil && e.URL == "" {
			err = errors.New("is empty")
		}
	case "headers":
		return r.pairs(m, func(name, value string) error {
			e.Header = append(e.Header, [2]string{name, value})
			return nil
		})
	case "type", "transport":
		if json.Unmarshal(m.value, &r.kind) != nil {
			return errors.New("must be a string")
		}
		r.kind = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(r.kind))
	case "envFile":
		r.note("envFile is not read; put its variables into env")
	default:
		r.note(fmt.Sprintf("member %q is not used", m.name))
	}
	return err
}

func (r *reader) note(text string) {
	const most = 20 // per server
	switch {
	case len(r.notes) < most:
		r.notes = append(r.notes, fmt.Sprintf("server %q: %s", r.entry.Name, text))
	case len(r.notes) == most:
		r.notes = append(r.notes, fmt.Sprintf("server %q: more members are not used", r.entry.Name))
	}
}

// command reads a program: its name, or a list that starts with it.
func (r *reader) command(m member) (err error) {
	e := &r.entry
	if len(m.value) == 0 || m.value[0] != '[' {
		if e.Command, err = r.text(m.value); err == nil && e.Command == "" {
			err = errors.New("is empty")
		}
		return err
	}
	argv, err := r.texts(m)
	if err != nil {
		return err
	}
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("is empty")
	}
	e.Command, e.Args = argv[0], append(argv[1:], e.Args...)
	return nil
}

// text reads one string and expands its variables.
func (r *reader) text(raw json.RawMessage) (string, error) {
	var text *string
	if json.Unmarshal(raw, &text) != nil || text == nil {
		return "", errors.New("must be a string")
	}
	out, used, missing, err := expand(*text, r.lookup)
	if err != nil {
		return "", err
	}
	for _, id := range missing {
		r.lacks(id)
	}
	r.entry.Secrets = append(r.entry.Secrets, used...)
	r.entry.Expanded = r.entry.Expanded || len(used) > 0
	if strings.ContainsRune(out, 0) {
		return "", errors.New("contains a NUL")
	}
	return out, nil
}

func (r *reader) texts(m member) ([]string, error) {
	var list []json.RawMessage
	if json.Unmarshal(m.value, &list) != nil || list == nil {
		return nil, errors.New("must be a list of strings")
	}
	out := make([]string, 0, len(list))
	for i, raw := range list {
		text, err := r.text(raw)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		out = append(out, text)
	}
	return out, nil
}

// pairs reads an object of strings. Numbers and booleans are used as written, which VS Code
// allows in env; null omits the name.
func (r *reader) pairs(m member, each func(name, value string) error) error {
	list, err := members(m.value, m.at)
	if err != nil {
		return err
	}
	for _, p := range list {
		var value string
		switch c := p.value[0]; {
		case c == 'n':
			continue
		case c == 't' || c == 'f' || c == '-' || c >= '0' && c <= '9':
			value = string(p.value)
		default:
			if value, err = r.text(p.value); err != nil {
				return fmt.Errorf("%q: %w", p.name, err)
			}
			r.entry.Secrets = append(r.entry.Secrets, value)
		}
		if err := each(p.name, value); err != nil {
			return err
		}
	}
	return nil
}

// judge checks that the members are consistent.
func (r *reader) judge() error {
	e := &r.entry
	switch r.kind {
	case "", "stdio", "http", "streamablehttp":
	case "sse":
		e.SSE = true
	default:
		return errors.New("unknown type; use stdio, http (or streamable-http) or sse")
	}
	remote := r.kind != "" && r.kind != "stdio"
	switch {
	case e.Command != "" && e.URL != "":
		return errors.New("both a command and a URL: a server has one of them")
	case e.Command == "" && e.URL == "":
		return errors.New("neither a command nor a URL")
	case e.Command != "" && remote:
		return errors.New("the type requires a URL, but the server has a command")
	case e.URL != "" && r.kind == "stdio":
		return errors.New("the type requires a command, but the server has a URL")
	}
	if e.URL != "" && (e.Args != nil || e.Env != nil || e.Dir != "") {
		r.note("args, env and cwd are for programs and not used with a URL")
		e.Args, e.Env, e.Dir = nil, nil, ""
	}
	if e.Command != "" && e.Header != nil {
		r.note("headers are not used with a program")
		e.Header = nil
	}
	return nil
}
