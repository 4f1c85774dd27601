package serverfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// variable is what may stand between "${" and "}": a name, perhaps with a word
// and a colon before it (env:NAME; input:x and the like are for the lookup), and
// perhaps with what to take when there is no value.
var variable = regexp.MustCompile(`(?s)^(?:([A-Za-z]+):)?([A-Za-z0-9_][A-Za-z0-9_.-]*?)(:-.*)?$`)

// envName is what a variable of the environment may be called.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// editorOnly are variables that an editor fills in.
var editorOnly = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "file", "cwd"}

// expand puts in values for ${NAME}, ${NAME:-default} and ${env:NAME}. The
// default counts for a variable that is unset or empty, as in a shell; it is taken
// as it stands. Values are not looked through again, and nothing else of a shell
// is known: $NAME stays. "$${" writes "${". Errors name variables, never values.
// used are the values that came in.
func expand(text string, lookup Lookup) (out string, used []string, err error) {
	var b strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			b.WriteString(text)
			return b.String(), used, nil
		}
		if at > 0 && text[at-1] == '$' {
			b.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		b.WriteString(text[:at])
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return "", nil, errors.New(`"${" without "}"; write "$${" for the text itself`)
		}
		value, err := valueOf(text[at+2:at+end], lookup)
		if err != nil {
			return "", nil, err
		}
		if value != "" {
			used = append(used, value)
		}
		b.WriteString(value)
		text = text[at+end+1:]
	}
}

func valueOf(inner string, lookup Lookup) (string, error) {
	parts := variable.FindStringSubmatch(inner)
	if parts == nil || strings.Contains(inner, "${") {
		return "", errors.New(`what stands in "${}" must be NAME, NAME:-default or env:NAME; variables do not nest`)
	}
	scope, name, fallback := parts[1], parts[2], parts[3]
	switch {
	case scope == "env" || scope == "":
		if !envName.MatchString(name) {
			return "", fmt.Errorf("%q is no name of a variable", name)
		}
	default:
		name = scope + ":" + name
	}
	if lookup != nil {
		if value, ok := lookup(name); ok && (value != "" || fallback == "") {
			return value, nil
		}
	}
	if fallback != "" {
		return strings.TrimPrefix(fallback, ":-"), nil
	}
	for _, known := range editorOnly {
		if name == known {
			return "", fmt.Errorf("the variable %s is an editor's and has no value here", name)
		}
	}
	if scope != "" && scope != "env" {
		return "", fmt.Errorf("the variable %s cannot be looked up here", name)
	}
	return "", fmt.Errorf("the variable %s is not set", name)
}
