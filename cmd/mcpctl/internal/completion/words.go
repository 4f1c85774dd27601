package completion

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// What comes after the server, command by command.

// names completes the name of an item of lists.
func (l *line) names(lists ...string) []string {
	var words []string
	for _, name := range lists {
		for _, item := range l.list(name) {
			words = append(words, described(item.id, item.about))
		}
	}
	return words
}

func (l *line) tool() []string {
	if len(l.args) > 0 {
		return nil
	}
	return l.names("tools")
}

func (l *line) resources() []string { return l.names("resources") }

func (l *line) call() []string {
	if len(l.args) == 0 {
		return l.tool()
	}
	return l.arguments(schema.New(l.chosen("tools").Get("inputSchema")))
}

// chosen returns the item of a list that the first operand names, nil for none.
func (l *line) chosen(list string) *doc.Value {
	for _, item := range l.list(list) {
		if item.id == l.args[0] {
			return item.whole()
		}
	}
	return nil
}

// maxFields is how many arguments are offered. A stranger's schema may take long for each.
const maxFields = 300

// arguments completes k=v: the names that are not there yet, or the values that a schema lists.
func (l *line) arguments(s schema.Schema) []string {
	l.directive |= cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	if _, value, found := strings.Cut(l.start, "="); found {
		l.directive &^= cobra.ShellCompDirectiveNoSpace
		if strings.HasPrefix(value, "@") {
			return l.files(value)
		}
	}
	var words []string
	fields := s.Fields()
	for _, field := range fields[:min(len(fields), maxFields)] {
		if !operand.Carries(field.Name) {
			continue
		}
		name, values := field.Name, field.Schema
		if values.TakesArray() {
			name, values = name+"[]", values.Item(0)
		}
		if strings.HasPrefix(l.start, name+"=") || strings.HasPrefix(l.start, name+":=") {
			for _, v := range values.Values() {
				words = append(words, name+operand.Assign(v, values))
			}
			continue
		}
		if name == field.Name && slices.ContainsFunc(l.args[1:], func(arg string) bool {
			return strings.HasPrefix(arg, name+"=") || strings.HasPrefix(arg, name+":=") || strings.HasPrefix(arg, name+"[")
		}) {
			continue
		}
		if !strings.HasPrefix(name+"=", l.start) {
			continue
		}
		about := field.Schema.Type()
		if field.Required {
			about += ", required"
		}
		if text := field.Schema.Word("description"); text != "" {
			about += ": " + text
		}
		words = append(words, described(name+"=", about))
	}
	return words
}

// files completes k=@FILE: shells see no file in such a word.
func (l *line) files(value string) []string {
	before := strings.TrimSuffix(l.start, value)
	kind := "@"
	if strings.HasPrefix(value, "@base64:") {
		kind = "@base64:"
	}
	folder, _ := filepath.Split(strings.TrimPrefix(value, kind))
	found, err := os.ReadDir(cmp.Or(folder, "."))
	if err != nil {
		return nil
	}
	words := make([]string, 0, len(found))
	for _, file := range found {
		word := before + kind + folder + file.Name()
		if file.IsDir() && strings.HasPrefix(word, l.start) {
			word += string(filepath.Separator)
			l.directive |= cobra.ShellCompDirectiveNoSpace
		}
		words = append(words, word)
	}
	return words
}

func (l *line) prompt() []string {
	if len(l.args) == 0 {
		return l.names("prompts")
	}
	return l.named(promptArguments(l.chosen("prompts")))
}

func promptArguments(prompt *doc.Value) []string {
	var out []string
	for _, argument := range prompt.Get("arguments").Items() {
		out = append(out, argument.Get("name").Str())
	}
	return out
}

func (l *line) read() []string {
	if len(l.args) == 0 {
		return l.names("resources", "templates")
	}
	variables, _ := operand.Variables(l.args[0])
	return l.named(variables)
}

// complete completes the command of this name: prompts and templates have arguments.
func (l *line) complete() []string {
	if len(l.args) == 0 {
		return l.names("prompts", "templates")
	}
	variables, _ := operand.Variables(l.args[0])
	return l.named(append(variables, promptArguments(l.chosen("prompts"))...))
}

// named completes the names of arguments that are text.
func (l *line) named(names []string) []string {
	l.directive |= cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	if _, value, found := strings.Cut(l.start, "="); found && strings.HasPrefix(value, "@") {
		l.directive &^= cobra.ShellCompDirectiveNoSpace
		return l.files(value)
	}
	var words []string
	for _, name := range names {
		if operand.Carries(name) && !slices.ContainsFunc(l.args[1:], func(arg string) bool { return strings.HasPrefix(arg, name+"=") }) {
			words = append(words, name+"=")
		}
	}
	return words
}
