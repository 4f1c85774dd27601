package serverfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// registryPackage is one item of packages in a server.json of the registry: how to get a program.
type registryPackage struct {
	Type       string          `json:"registryType"`
	Identifier string          `json:"identifier"`
	Version    string          `json:"version"`
	Transport  registryRemote  `json:"transport"`
	Runtime    []registryValue `json:"runtimeArguments"`
	Arguments  []registryValue `json:"packageArguments"`
	Variables  []registryValue `json:"environmentVariables"`
}

// registryRemote is one item of remotes: the address of a server.
type registryRemote struct {
	Type      string                   `json:"type"`
	URL       string                   `json:"url"`
	Headers   []registryValue          `json:"headers"`
	Variables map[string]registryValue `json:"variables"`
}

// registryValue is an argument, a variable or a header. Without a Value a person gives it.
type registryValue struct {
	Type      string                   `json:"type"`
	Name      string                   `json:"name"`
	Hint      string                   `json:"valueHint"`
	Format    string                   `json:"format"`
	Value     string                   `json:"value"`
	Default   string                   `json:"default"`
	Required  bool                     `json:"isRequired"`
	Secret    bool                     `json:"isSecret"`
	Variables map[string]registryValue `json:"variables"`
}

// addRegistry adds the servers of a server.json, and reports whether the file is one. Their names
// are remote for an address, and the kind of package for a program: npm, pypi or oci.
func (f *File) addRegistry(text []byte, top []member, lookup Lookup) (found bool) {
	taken := map[string]int{}
	for _, m := range top {
		if m.name != "packages" && m.name != "remotes" {
			continue
		}
		var items []json.RawMessage
		if json.Unmarshal(m.value, &items) != nil || len(items) > MaxServers {
			continue
		}
		found = true
		for _, item := range items {
			r := &registryReader{reader: reader{lookup: lookup}, file: f}
			name, err := r.item(m.name, item)
			taken[name]++
			if n := taken[name]; n > 1 {
				name = fmt.Sprintf("%s-%d", name, n)
			}
			r.entry.Name, r.entry.Line = name, lineOf(text, m.named)
			f.keep(&r.reader, err)
		}
	}
	return found
}

// registryReader reads one item of a server.json.
type registryReader struct {
	reader
	file *File
}

func (r *registryReader) item(list string, raw json.RawMessage) (name string, err error) {
	if list == "remotes" {
		var remote registryRemote
		if err := json.Unmarshal(raw, &remote); err != nil {
			return "remote", errors.New("the remote is not one of a server.json")
		}
		return "remote", r.remote(remote)
	}
	var p registryPackage
	if err := json.Unmarshal(raw, &p); err != nil || p.Type == "" {
		return "package", errors.New("the package is not one of a server.json")
	}
	return p.Type, r.program(p)
}

func (r *registryReader) remote(remote registryRemote) error {
	r.entry.URL = r.filled(remote.URL, remote.Variables)
	for _, h := range remote.Headers {
		if value, ok := r.value(h); ok {
			r.entry.Header = append(r.entry.Header, [2]string{h.Name, value})
			r.entry.Secrets = append(r.entry.Secrets, value)
		}
	}
	r.kind = strings.ReplaceAll(remote.Type, "-", "")
	return r.judge()
}

func (r *registryReader) program(p registryPackage) error {
	if p.Transport.Type != "" && p.Transport.Type != "stdio" {
		return fmt.Errorf("the program serves %s and not stdio: start it yourself, and use its URL", p.Transport.Type)
	}
	unset, err := r.variables(p.Variables)
	if err != nil {
		return err
	}
	runtime := r.arguments(p.Runtime)
	e, versioned := &r.entry, p.Identifier
	if p.Version != "" {
		versioned += "@" + p.Version
	}
	switch p.Type {
	case "npm":
		e.Command = "npx"
		if !slices.Contains(runtime, "-y") && !slices.Contains(runtime, "--yes") {
			e.Args = append(e.Args, "-y")
		}
		e.Args = append(append(e.Args, runtime...), versioned)
	case "pypi":
		e.Command, e.Args = "uvx", append(runtime, versioned)
	case "oci":
		e.Command, e.Args = "docker", []string{"run", "-i", "--rm"}
		for _, variable := range e.Env { // docker takes them from its own environment
			name, _, _ := strings.Cut(variable, "=")
			e.Args = append(e.Args, "-e", name)
		}
		image := p.Identifier
		if p.Version != "" && !strings.ContainsAny(image[strings.LastIndex(image, "/")+1:], ":@") {
			image += ":" + p.Version
		}
		e.Args = append(append(e.Args, runtime...), image)
	default:
		return fmt.Errorf("packages of %s cannot be started here: npm, pypi and oci can", p.Type)
	}
	if p.Identifier == "" || strings.HasPrefix(p.Identifier, "-") {
		return errors.New("the package has no identifier")
	}
	e.Args = append(e.Args, r.arguments(p.Arguments)...)
	if slices.ContainsFunc(slices.Concat(e.Args, e.Env), func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return errors.New("contains a NUL")
	}
	if len(unset) > 0 {
		for _, id := range r.missing {
			unset = append(unset, "input:"+id)
		}
		return fmt.Errorf("it needs these variables of the environment, which are not set: %s", strings.Join(unset, ", "))
	}
	return nil
}

// variables reads the environment of a program, and returns the variables that it needs and that are
// not set.
func (r *registryReader) variables(list []registryValue) (unset []string, err error) {
	for _, v := range list {
		if !envName.MatchString(v.Name) {
			return nil, errors.New("a variable of the environment has no valid name")
		}
		value, ok := "", false
		if r.lookup != nil && v.Value == "" {
			if value, ok = r.lookup(v.Name); ok {
				value = written(value, v.Name, v.Default)
				r.entry.Expanded = true
			}
		}
		if !ok {
			before := len(r.missing)
			value, ok = r.value(v)
			if len(r.missing) > before {
				r.missing, unset = r.missing[:before], append(unset, v.Name)
			}
		}
		if ok {
			r.entry.Env = append(r.entry.Env, v.Name+"="+value)
			r.entry.Secrets = append(r.entry.Secrets, value)
		}
	}
	return unset, nil
}

func (r *registryReader) arguments(list []registryValue) (out []string) {
	for _, a := range list {
		if a.Type == "named" && a.Value == "" && a.Default == "" && !a.Required && a.Hint == "" && a.Format == "" {
			out = append(out, a.Name) // a flag without a value
			continue
		}
		value, ok := r.value(a)
		if !ok {
			continue
		}
		if a.Type == "named" {
			out = append(out, a.Name)
		}
		out = append(out, value)
	}
	return out
}

// value returns a value of the file, or the input of a person that takes its place; ok is false
// for one that may be missing and is.
func (r *registryReader) value(v registryValue) (text string, ok bool) {
	if v.Value != "" {
		return r.filled(v.Value, v.Variables), true
	}
	id := strings.TrimLeft(v.Name, "-")
	if id == "" {
		id = v.Hint
	}
	return r.input(id, v)
}

// filled replaces the variables of a text, which are in braces.
func (r *registryReader) filled(text string, variables map[string]registryValue) string {
	var pairs []string
	for _, id := range slices.Sorted(maps.Keys(variables)) {
		v := variables[id]
		if !strings.Contains(text, "{"+id+"}") {
			continue
		}
		value := v.Value
		if value == "" {
			value, _ = r.input(id, v)
		}
		pairs = append(pairs, "{"+id+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (r *registryReader) input(id string, v registryValue) (text string, ok bool) {
	if !slices.ContainsFunc(r.file.Inputs, func(i Input) bool { return i.ID == id }) {
		r.file.Inputs = append(r.file.Inputs, Input{ID: id, Password: v.Secret})
	}
	if r.lookup != nil {
		if text, ok = r.lookup("input:" + id); ok {
			text = written(text, "input:"+id, v.Default)
			r.entry.Expanded = true
			r.entry.Secrets = append(r.entry.Secrets, text)
			return text, true
		}
	}
	if v.Default == "" && v.Required {
		r.lacks(id)
		return "{" + id + "}", true
	}
	return v.Default, v.Default != ""
}
