package example

import "strings"

// Quote writes words as one line for a POSIX shell, quoting only what needs it.
func Quote(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// bareRunes need no quotes anywhere in a word. [ ] are not among them: a shell
// takes them for a pattern.
const bareRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

func quote(w string) string {
	if w != "" && strings.Trim(w, bareRunes) == "" {
		return w
	}
	// name='value with spaces' reads better than 'name=value with spaces'.
	if name, value, found := strings.Cut(w, "="); found && name != "" && strings.Trim(name, bareRunes) == "" {
		return name + "=" + single(value)
	}
	return single(w)
}

func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
