package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// command is how the program is run, without the program itself.
func (a *app) command() (transport.Command, error) {
	env, err := a.programEnv()
	return transport.Command{
		Dir: a.flags.dir, Env: env, Inherit: inheritance[a.flags.inherit],
		StopGrace: childGrace, KillGrace: childGrace,
	}, err
}

var inheritance = map[string]transport.EnvPolicy{"none": transport.EnvNone, "safe": transport.EnvSafe, "all": transport.EnvAll}

// programEnv is what -e and --env-file add; -e wins.
func (a *app) programEnv() ([]string, error) {
	var out []string
	for _, name := range a.flags.envFiles {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usage("--env-file: %v", err)
		}
		lines, err := envLines(name, string(data))
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	for _, e := range a.flags.env {
		name, _, found := strings.Cut(e, "=")
		if name == "" {
			return nil, usage("-e is given a value without a name before the =")
		}
		if !found {
			value, ok := a.env(name)
			if !ok {
				return nil, usage("-e %s: no such variable here to pass on; write %s=VALUE", name, name)
			}
			e = name + "=" + value
		}
		out = append(out, e)
	}
	for _, e := range out {
		name, value, _ := strings.Cut(e, "=")
		a.keep(name, value)
	}
	return out, nil
}

// envLines reads K=V lines: empty ones and those that begin with # do not
// count, export may stand before, quotes around a value are taken off.
func envLines(file, text string) ([]string, error) {
	var out []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			return nil, usage("%s line %d is not K=V", file, number)
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// header is what -H and --user-agent ask for.
func (a *app) header() (http.Header, error) {
	header := http.Header{}
	if a.flags.userAgent != "" {
		header.Set("User-Agent", a.flags.userAgent)
	}
	for _, h := range a.flags.headers {
		lines := []string{h}
		if name, isFile := strings.CutPrefix(h, "@"); isFile {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, usage("-H @%s: %v", name, err)
			}
			lines = strings.Split(string(data), "\n")
		}
		for _, line := range lines {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if err := a.addHeader(header, line); err != nil {
				return nil, err
			}
		}
	}
	return header, nil
}

// headerName is a token of RFC 9110 section 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// addHeader reads 'K: V'. Messages never show the value: it may be a secret.
func (a *app) addHeader(header http.Header, line string) error {
	name, value, found := strings.Cut(line, ":")
	name = strings.TrimSpace(name)
	if !found || !headerName.MatchString(name) {
		return usage("a header is written 'Name: value', got one that begins with %q", short(name, 20))
	}
	missing := ""
	value = variable.ReplaceAllStringFunc(strings.TrimSpace(value), func(ref string) string {
		text, ok := a.env(ref[2 : len(ref)-1])
		if !ok {
			missing = ref[2 : len(ref)-1]
		}
		return text
	})
	if missing != "" {
		return usage("-H %s: the variable %s is not set", name, missing)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }) {
		return usage("-H %s: the value has characters that a header cannot have", name)
	}
	if secretName(name) {
		a.keep(name, value)
		if _, credentials, found := strings.Cut(value, " "); found {
			a.keep(name, credentials) // a server may repeat them without the scheme
		}
	}
	header.Add(name, value)
	return nil
}
