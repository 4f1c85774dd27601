package serverfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// variable matches the text between "${" and "}": a name, optionally with a scope and a colon
// before it (env:NAME; other scopes such as input are passed to the lookup), and optionally with
// a default.
var variable = lazyregexp.New(`(?s)^(?:([A-Za-z]+):)?([A-Za-z0-9_][A-Za-z0-9_.-]*?)(:-.*)?$`)

// envName matches names of environment variables.
var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// editorOnly are variables that only editors can set.
var editorOnly = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "file", "cwd"}

// expand replaces ${NAME}, ${NAME:-default} and ${env:NAME} by values. As in a shell, the default
// is for a variable that is unset or empty; it is used as written. Values are not expanded again,
// and no other shell syntax is supported: $NAME is unchanged. "$${" writes "${". Errors name
// variables, never values. used are the inserted values, but for the folders of editors. missing are the
// inputs that have no value, which stay as they are written.
func expand(text string, lookup Lookup) (out string, used, missing []string, err error) {
	var b strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			b.WriteString(text)
			return b.String(), used, missing, nil
		}
		if at > 0 && text[at-1] == '$' {
			b.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		b.WriteString(text[:at])
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return "", nil, nil, errors.New(`"${" without "}"; write "$${" for the text itself`)
		}
		value, input, err := valueOf(text[at+2:at+end], lookup)
		if err != nil {
			return "", nil, nil, err
		}
		if input != "" {
			missing, value = append(missing, input), text[at:at+end+1]
		} else if value != "" && !slices.Contains(editorOnly, text[at+2:at+end]) {
			used = append(used, value)
		}
		b.WriteString(value)
		text = text[at+end+1:]
	}
}

// valueOf returns the value of a variable, or the id of an input that has none.
func valueOf(inner string, lookup Lookup) (value, input string, err error) {
	parts := variable.FindStringSubmatch(inner)
	if parts == nil || strings.Contains(inner, "${") {
		return "", "", errors.New(`use NAME, NAME:-default or env:NAME in "${}"; variables do not nest`)
	}
	scope, name, fallback := parts[1], parts[2], parts[3]
	switch {
	case scope == "env" || scope == "":
		if !envName.MatchString(name) {
			return "", "", fmt.Errorf("%q is not a variable name", name)
		}
	default:
		name = scope + ":" + name
	}
	if lookup != nil {
		if value, ok := lookup(name); ok && (value != "" || fallback == "") {
			return written(value, name, strings.TrimPrefix(fallback, ":-")), "", nil
		}
	}
	if fallback != "" {
		return strings.TrimPrefix(fallback, ":-"), "", nil
	}
	if slices.Contains(editorOnly, name) {
		return "", "", fmt.Errorf("the variable %s exists only in editors", name)
	}
	if scope == "input" {
		return "", strings.TrimPrefix(name, "input:"), nil
	}
	if scope != "" && scope != "env" {
		return "", "", fmt.Errorf("the variable %s cannot be looked up here", name)
	}
	return "", "", fmt.Errorf("the variable %s is not set", name)
}

// written adds the default to the value of a lookup that leaves variables as they are written:
// without it a person would not see what the default starts.
func written(value, name, fallback string) string {
	if fallback == "" || value != "${"+name+"}" {
		return value
	}
	return strings.TrimSuffix(value, "}") + ":-" + fallback + "}"
}
