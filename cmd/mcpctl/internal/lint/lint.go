// Package lint finds in what a server offers what models, their APIs and hosts cannot use, or what
// may mislead them. It looks at a surface alone, and asks nobody.
package lint

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// Level is how much a finding matters.
type Level string

// The levels, the worst first.
const (
	// Error is what an API of a model, a host or a client refuses.
	Error Level = "error"
	// Warning is what makes models choose or fill in a tool badly, or may mislead them.
	Warning Level = "warning"
	// Note is good to know.
	Note Level = "note"
)

// Levels are all levels, the worst first.
var Levels = []Level{Error, Warning, Note}

// Finding is one thing to change.
type Finding struct {
	Level Level `json:"level"`
	// Rule names the rule, such as name-form.
	Rule string `json:"rule"`
	// List is tools, resources, templates or prompts, and Item the name or URI of an item of it.
	// Both are empty for a finding about the server.
	List string `json:"list,omitempty"`
	Item string `json:"item,omitempty"`
	// Pointer is the JSON pointer of the place below the item, or below the snapshot.
	Pointer string `json:"pointer"`
	// What was found, Why it matters, and what to Do.
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}

// Count returns how many findings have a level.
func Count(all []Finding, level Level) (n int) {
	for i := range all {
		if all[i].Level == level {
			n++
		}
	}
	return n
}

// Check returns the findings about a surface: first those about the server, then those about its
// items in their order.
func Check(s *surface.Surface) []Finding {
	c := &check{findings: []Finding{}}
	c.server(s)
	for _, l := range listing.Lists {
		from := len(c.findings)
		c.list = l.Name
		c.ids(l, s.Items(l))
		for _, item := range s.Items(l) {
			c.item = item.Get(l.ID).Str()
			c.texts("", item)
			switch l.Name {
			case "tools":
				c.tool(item)
			case "prompts":
				c.described(item, "prompt")
				for i, argument := range item.Get("arguments").Items() {
					c.argument(fmt.Sprintf("/arguments/%d", i), argument.Get("name").Str(), argument)
				}
			case "resources", "templates":
				if item.Get("name").Str() == "" {
					c.add(Error, "name-missing", "/name", "it has no name", "the specification demands one, and clients refuse the list", "give it a name")
				}
			}
		}
		of := c.findings[from:]
		sort.SliceStable(of, func(i, j int) bool { return of[i].Item < of[j].Item })
	}
	return c.findings
}

// check is a run in progress.
type check struct {
	list, item string
	findings   []Finding
}

func (c *check) add(level Level, rule, pointer, what, why, do string) {
	c.findings = append(c.findings, Finding{Level: level, Rule: rule, List: c.list, Item: c.item, Pointer: pointer, What: what, Why: why, Do: do})
}

// heavy is from how many tokens on the tools of a server are a warning.
const heavy = 20000

// Tokens estimates how many tokens the tools take in the context of a model: a quarter of their
// bytes.
func Tokens(s *surface.Surface) (n int) {
	for _, tool := range s.Items(listing.Lists[0]) {
		for _, name := range []string{"name", "description", "inputSchema"} {
			if v := tool.Get(name); v != nil {
				n += len(v.String())
			}
		}
	}
	return n / 4
}

func (c *check) server(s *surface.Surface) {
	for _, name := range []string{"name", "version"} {
		if s.Get("server").Get(name).Str() == "" {
			c.add(Warning, "server-name", "/server/"+name, "the server has no "+name, "logs and hosts cannot tell it from others", "set the "+name+" of serverInfo")
		}
	}
	c.texts("/instructions", s.Get("instructions"))
	n := Tokens(s)
	level, do := Note, "shorten descriptions, or offer fewer tools, if that is much for your models"
	if n >= heavy {
		level = Warning
	}
	if n > 0 {
		c.add(level, "tokens", "/tools", fmt.Sprintf("the tools take about %d tokens (a quarter of their bytes)", n), "each request to a model carries them", do)
	}
}

var apiName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

// ids checks what the items of a list are called.
func (c *check) ids(l listing.List, items []*doc.Value) {
	n := map[string]int{}
	var names []string
	for _, item := range items {
		name := item.Get(l.ID).Str()
		if n[name]++; n[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		c.item = name
		at := "/" + l.ID
		if name == "" {
			c.add(Error, "name-missing", at, fmt.Sprintf("%d of the %s without a %s that is a text", n[name], l.Name, l.ID), "the specification demands one, and clients refuse the list", "give each a "+l.ID)
			continue
		}
		if n[name] > 1 {
			c.add(Error, "name-doubled", at, fmt.Sprintf("%d %s have this %s", n[name], l.Name, l.ID), "a call reaches one of them only", "give each its own "+l.ID)
		}
		if l.Name == "tools" && !apiName.MatchString(name) {
			what := "the name has characters other than letters, digits, _ and -"
			if len(name) > 64 {
				what = fmt.Sprintf("the name has %d characters", len(name))
			}
			c.add(Error, "name-form", at, what, "APIs of models refuse names that do not match ^[a-zA-Z0-9_-]{1,64}$", "rename the tool")
		}
		if l.ID != "name" {
			continue
		}
		for _, other := range names[i+1:] {
			switch {
			case plain(name) == plain(other):
				c.add(Warning, "name-near", at, "it differs from "+other+" in case or separators only", "models mix them up", "rename one of them")
			case len(name) > 5 && oneEdit(name, other):
				c.add(Note, "name-near", at, "it differs from "+other+" in one character", "models mix them up", "rename one of them")
			}
		}
	}
}

// plain is a name without what people do not hear.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}

// oneEdit reports whether two names differ in one character that is no digit.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if b[i] >= '0' && b[i] <= '9' {
		return false
	}
	return a[i:] == b[i+1:] || len(a) == len(b) && a[i+1:] == b[i+1:]
}

// mostDescription is how long a description may be for the APIs of all large models.
const mostDescription = 1024

// described checks the description of an item.
func (c *check) described(item *doc.Value, what string) {
	text := strings.TrimSpace(item.Get("description").Str())
	switch words := len(strings.Fields(text)); {
	case words == 0:
		c.add(Warning, "description-missing", "/description", "it has no description", "models choose a "+what+" by its description", "describe in a sentence what it does and when to use it")
	case words < 3:
		c.add(Warning, "description-short", "/description", fmt.Sprintf("its description has %s: %q", plural(words, "word"), text), "models choose a "+what+" by its description", "describe in a sentence what it does and when to use it")
	case len([]rune(text)) > mostDescription && what == "tool":
		c.add(Warning, "description-long", "/description", fmt.Sprintf("its description has %d characters", len([]rune(text))), fmt.Sprintf("some APIs of models refuse or cut more than %d", mostDescription), "shorten it, or move details to a prompt or a resource")
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// argument checks the description of an argument.
func (c *check) argument(at, name string, v *doc.Value) {
	text := strings.TrimSpace(v.Get("description").Str())
	do := "describe it: what it means, its form, an example"
	switch words := len(strings.Fields(text)); {
	case words == 0:
		c.add(Warning, "argument-undescribed", at+"/description", "argument "+name+" has no description", "models fill in arguments by their descriptions", do)
	case words == 1 && plain(text) == plain(name):
		c.add(Warning, "argument-undescribed", at+"/description", "the description of argument "+name+" repeats its name", "models fill in arguments by their descriptions", do)
	case words == 1:
		c.add(Note, "argument-undescribed", at+"/description", fmt.Sprintf("the description of argument %s is one word: %q", name, text), "models fill in arguments by their descriptions", do)
	}
}

// acts are the names of tools that do not only read, by their first words. A tool that is called add
// may be one that computes.
var acts = lazyregexp.New(`^(?i:delete|drop|purge|remove|send|upload|write)(?:[_.A-Z-]|$)|` +
	`^(?i:add|append|cancel|create|edit|execute|insert|move|post|put|rename|reset|set|update)[_.A-Z-]`)

// tool checks a tool.
func (c *check) tool(t *doc.Value) {
	c.described(t, "tool")
	about := t.Get("annotations")
	hints := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
	has := func(name string) bool { return about.Get(name).Kind() == doc.Bool }
	switch {
	case !slices.ContainsFunc(hints, has):
		c.add(Warning, "annotations-missing", "/annotations", "it has no annotations", "hosts must assume that it destroys data and reaches other systems, and ask before each call", "set readOnlyHint, and destructiveHint for a tool that changes data")
	case !has("readOnlyHint"):
		c.add(Note, "annotations-missing", "/annotations/readOnlyHint", "it has no readOnlyHint", "without it hosts assume that the tool changes data", "set readOnlyHint")
	case about.Get("readOnlyHint").True() && about.Get("destructiveHint").True():
		c.add(Warning, "annotations-contradict", "/annotations", "it is both read-only and destructive", "hosts that believe the first one do not ask before a call", "remove one of the two")
	case about.Get("readOnlyHint").True() && acts.MatchString(c.item):
		c.add(Warning, "annotations-contradict", "/annotations/readOnlyHint", "it claims to read only, and its name says otherwise", "hosts that believe the claim do not ask before a call", "correct the claim or the name")
	}
	for _, hint := range hints {
		if v := about.Get(hint); v != nil && v.Kind() != doc.Bool {
			c.add(Error, "annotations-form", "/annotations/"+hint, hint+" is not true or false", "clients refuse the list, or ignore the value", "write true or false")
		}
	}
	if input := t.Get("inputSchema"); input.Kind() != doc.Object {
		c.add(Error, "schema-missing", "/inputSchema", "its inputSchema is not an object", "the specification demands one, and clients refuse the list", `write {"type":"object"} for a tool without arguments`)
	} else {
		c.schema("/inputSchema", input, true)
	}
	if out := t.Get("outputSchema"); out != nil && out.Kind() != doc.Object {
		c.add(Error, "schema-invalid", "/outputSchema", "its outputSchema is not an object", "clients refuse the list", "write a JSON Schema, or leave it out")
	} else if out != nil {
		c.schema("/outputSchema", out, false)
	}
}
