package gen

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// longestName bounds names that are made of the path to a nested object.
const longestName = 80

var initialisms = []string{"API", "HTML", "HTTP", "ID", "JSON", "SQL", "URI", "URL"}

// goName returns an exported name for any text: its words, each with a capital.
func goName(text string) string {
	var b strings.Builder
	for _, word := range words(visible.Line(text)) {
		if upper := strings.ToUpper(word); slices.Contains(initialisms, upper) {
			b.WriteString(upper)
			continue
		}
		runes := []rune(word)
		runes[0] = unicode.ToUpper(runes[0])
		b.WriteString(string(runes))
	}
	name := b.String()
	switch {
	case text == "":
		return "Empty"
	case name == "" || !unicode.IsUpper([]rune(name)[0]):
		return "X" + name
	}
	return name
}

// words splits a text at what is neither a letter nor a digit, and before capitals that
// follow a small letter.
func words(text string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, string(word))
		}
		word = nil
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// goNames returns names that differ, for texts that differ. Texts with the same name get a
// suffix that depends on the text alone: a text that is added changes no meaning of another's.
func goNames(texts []string, reserved ...string) []string {
	count := map[string]int{}
	for _, name := range reserved {
		count[name]++
	}
	names := make([]string, len(texts))
	for i, text := range texts {
		names[i] = goName(text)
		count[names[i]]++
	}
	given := map[string]bool{}
	for i, text := range texts {
		if count[names[i]] > 1 {
			names[i] += "_" + digest(text)
		}
		names[i] = free(names[i], given)
	}
	return names
}

// The last parts of paths to what a list or a map holds.
const (
	partItem  = "Item"
	partValue = "Value"
)

// shortNames names the types of one document by their paths: the document, and as much of
// the end of the path as tells them apart. No other document matters, so that a new tool
// renames nothing.
func shortNames(document string, paths []string) map[string]string {
	endings := make([][]string, len(paths)) // of each path, the shortest first
	count := map[string]int{}
	for i, path := range paths {
		end := ""
		parts := places(strings.Split(path, ".")[1:])
		for j := len(parts) - 1; j >= 0; j-- {
			end = parts[j] + end
			endings[i] = append(endings[i], end)
			count[end]++
		}
	}
	names := map[string]string{}
	for i, path := range paths {
		name := strings.ReplaceAll(path, ".", "")
		for _, end := range endings[i] {
			if count[end] == 1 {
				name = document + end
				break
			}
		}
		names[path] = name
	}
	return names
}

// places joins what a list or a map holds with the name of the list or map: it is one of
// them if the name is a plural.
func places(parts []string) []string {
	var out []string
	for _, part := range parts {
		last := len(out) - 1
		switch {
		case last < 0 || part != partItem && part != partValue:
			out = append(out, part)
		case singular(out[last]) != "":
			out[last] = singular(out[last])
		default:
			out[last] += part
		}
	}
	return out
}

// singular returns one of an English plural, "" for any other word.
func singular(plural string) string {
	for _, rule := range [][2]string{
		{"series", ""},
		{"species", ""},
		{"ovies", "ovie"},
		{"ss", ""},
		{"us", ""},
		{"is", ""},
		{"ies", "y"},
		{"sses", "ss"},
		{"xes", "x"},
		{"ches", "ch"},
		{"shes", "sh"},
		{"s", ""},
	} {
		if stem, ok := strings.CutSuffix(strings.ToLower(plural), rule[0]); ok {
			if rule[1] == "" && rule[0] != "s" || stem == "" {
				return ""
			}
			return plural[:len(stem)] + rule[1]
		}
	}
	return ""
}

// declare returns a name for a type or a constant that no other has.
func (f *file) declare(name string) string {
	if runes := []rune(name); len(runes) > longestName {
		name = string(runes[:longestName]) + "_" + digest(name)
	}
	return free(name, f.names)
}

// free returns a name that is not given yet, and marks it.
func free(name string, given map[string]bool) string {
	for n, first := 2, name; given[name]; n++ {
		name = fmt.Sprintf("%s_%d", first, n)
	}
	given[name] = true
	return name
}

func digest(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}

// keywords cannot be names. Package go/token has them too, and weighs more.
const keywords = " break case chan const continue default defer else fallthrough for func go goto if import interface map package " +
	"range return select struct switch type var "

// IsPackageName reports whether a Go package can have a name.
func IsPackageName(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && name != "_" && !strings.Contains(keywords, " "+name+" ")
}

// inTag reports whether a struct tag can hold the name of a member, as encoding/json reads it.
func inTag(name string) bool {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) {
			return false
		}
	}
	return name != ""
}
