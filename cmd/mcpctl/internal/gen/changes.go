package gen

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Change is a difference between two generated files: one of Was and Now is "" for what was
// added or removed.
type Change struct {
	What string `json:"what"`
	Was  string `json:"was,omitempty"`
	Now  string `json:"now,omitempty"`
}

// item is a tool, a type, a member or a constant of a generated file.
type item struct {
	what, text string
	typ        string   // the type that it is a part of, "" for a tool
	types      []string // of a tool
}

// Changes returns what differs between two generated files, tools first. Members of tools
// that were added or removed are not listed.
func Changes(was, now []byte) []Change {
	if bytes.Equal(was, now) {
		return nil
	}
	before, after := items(was), items(now)
	changes := slices.Concat(differences(before, after, true), differences(before, after, false))
	if len(changes) == 0 {
		changes = []Change{{What: "comments", Was: "other descriptions", Now: "new descriptions"}}
	}
	return changes
}

func differences(before, after []item, tools bool) []Change {
	old, current := byName(before), byName(after)
	var out []Change
	for _, i := range before {
		if _, kept := current[i.what]; !kept && (i.typ == "") == tools && !ofTool(i, before, current) {
			out = append(out, Change{What: i.what, Was: i.text})
		}
	}
	for _, i := range after {
		was, known := old[i.what]
		if (i.typ == "") == tools && was.text != i.text && (known || !ofTool(i, after, old)) {
			out = append(out, Change{What: i.what, Was: was.text, Now: i.text})
		}
	}
	return out
}

// ofTool reports whether an item is a part of a tool that the other file does not have.
func ofTool(i item, own []item, other map[string]item) bool {
	for _, tool := range own {
		if _, known := other[tool.what]; known {
			continue
		}
		if slices.ContainsFunc(tool.types, func(t string) bool { return strings.HasPrefix(i.typ, t) }) {
			return true
		}
	}
	return false
}

func byName(items []item) map[string]item {
	out := map[string]item{}
	for _, i := range items {
		out[i.what] = i
	}
	return out
}

// short takes from the first line of a method what all of them have.
var short = strings.NewReplacer("func (s Server) ", "", "ctx context.Context, in ", "", ", opts ...client.CallOption", "", " {", "")

// items reads a file that [Go] has written: each member and each call is one line.
func items(text []byte) []item {
	var out []item
	typ, signature := "", ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2 || words[0] == "//" || strings.HasPrefix(words[0], `"`):
		case words[0] == "type":
			typ = words[1]
			out = append(out, item{what: "type " + typ, text: strings.TrimSuffix(strings.Join(words[2:], " "), " {"), typ: typ})
		case words[0] == "func":
			typ, signature = "", short.Replace(strings.TrimSpace(line))
		case words[0] == "return":
			out = append(out, tool(line, signature))
		case typ != "" && strings.HasPrefix(line, "\t"):
			out = append(out, item{what: typ + "." + words[0], text: strings.Join(words[1:], " "), typ: typ})
		}
	}
	return out
}

// tool reads the call of a tool.
func tool(line, signature string) item {
	_, call, _ := strings.Cut(line, "s.Caller, ")
	quoted, err := strconv.QuotedPrefix(call)
	if err != nil {
		return item{what: "tool " + call, text: signature}
	}
	name, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
	method, _, _ := strings.Cut(signature, "(")
	return item{what: "tool " + name, text: signature, types: []string{method + "Input", method + "Output"}}
}

// Package returns the name of the package of a generated file, and whether it is one.
func Package(text []byte) (name string, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(Header+"\n\npackage "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strings.TrimSpace(string(line)), ok
}
