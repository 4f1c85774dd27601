// Package changes compares what two servers offer, and classifies each difference by what it does
// to the callers of the first one.
package changes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Level is what a change does to callers.
type Level string

// The levels, the worst first.
const (
	// Breaking is a change after which a call or a program that worked may fail.
	Breaking Level = "breaking"
	// Risky is a change that a person should look at: models or hosts may act differently.
	Risky Level = "risky"
	// Compatible is a change that nobody has to react to.
	Compatible Level = "compatible"
)

// Levels are all levels, the worst first.
var Levels = []Level{Breaking, Risky, Compatible}

// Change is one difference.
type Change struct {
	Level Level `json:"level"`
	// Change names the kind of the difference, such as argument-removed.
	Change string `json:"change"`
	// List is tools, resources, templates or prompts, and Item the name or URI of an item of it.
	// Both are empty for a change of the server itself.
	List string `json:"list,omitempty"`
	Item string `json:"item,omitempty"`
	// Pointer is the JSON pointer of the place below the item, or below the snapshot.
	Pointer string `json:"pointer"`
	// What is the change in a sentence without a subject, Why what it does to callers.
	What string          `json:"what"`
	Why  string          `json:"why"`
	Was  json.RawMessage `json:"was,omitempty"`
	Now  json.RawMessage `json:"now,omitempty"`
}

// Between returns the changes from one surface to another: those of the server, then those of the
// items in the order of their names. There are none for a difference of the form alone.
func Between(was, now *surface.Surface) []Change {
	c := &comparison{changes: []Change{}}
	c.server(was, now)
	for _, l := range listing.Lists {
		c.list, c.item = l.Name, ""
		c.items(l, was, now)
	}
	return c.changes
}

// Worst returns the worst level of changes, "" for none.
func Worst(all []Change) Level {
	for _, level := range Levels {
		if Count(all, level) > 0 {
			return level
		}
	}
	return ""
}

// Count returns how many changes have a level.
func Count(all []Change, level Level) (n int) {
	for i := range all {
		if all[i].Level == level {
			n++
		}
	}
	return n
}

// comparison is a comparison in progress: what is compared now, and what was found.
type comparison struct {
	list, item string
	changes    []Change
}

func (c *comparison) add(level Level, kind, pointer, what, why string, was, now *doc.Value) {
	one := Change{Level: level, Change: kind, List: c.list, Item: c.item, Pointer: pointer, What: what, Why: why}
	if was != nil {
		one.Was = was.AppendJSON(nil)
	}
	if now != nil {
		one.Now = now.AppendJSON(nil)
	}
	c.changes = append(c.changes, one)
}

const (
	modelsRead = "models read it and may act differently; look for instructions that do not belong there"
	nobody     = "no caller depends on it"
	claimed    = "hosts decide by it whether to ask a person before a call"
)

func (c *comparison) server(was, now *surface.Surface) {
	a, b := was.Get("server"), now.Get("server")
	for _, name := range []string{"name", "title", "version"} {
		c.text(Compatible, "server-"+name, "/server/"+name, "the "+name+" of the server", "a newer or another server", a.Get(name), b.Get(name))
	}
	if x, y := was.Get("revision"), now.Get("revision"); !doc.Equal(x, y) {
		level, why := Compatible, "clients negotiate the revision"
		if y.Str() < x.Str() {
			level, why = Breaking, "what only the newer revision has is gone"
		}
		c.add(level, "revision", "/revision", "revision "+x.Str()+" → "+y.Str(), why, x, y)
	}
	c.capabilities("/capabilities", was.Get("capabilities"), now.Get("capabilities"))
	c.text(Risky, "instructions", "/instructions", "the text of instructions", modelsRead, was.Get("instructions"), now.Get("instructions"))
}

// capabilities compares what two servers declare, at any depth.
func (c *comparison) capabilities(at string, was, now *doc.Value) {
	on := func(v *doc.Value) bool { return v != nil && (v.Kind() != doc.Bool || v.True()) }
	for _, name := range names(was, now) {
		a, b := was.Get(name), now.Get(name)
		place := at + "/" + escaped(name)
		label := strings.ReplaceAll(strings.TrimPrefix(place, "/capabilities/"), "/", ".")
		switch {
		case on(a) && !on(b):
			c.add(Breaking, "capability-removed", place, "the capability "+label+" is gone", "what it covers can no longer be used", a, b)
		case on(b) && !on(a):
			c.add(Compatible, "capability-added", place, "the capability "+label+" is new", nobody, a, b)
		case a.Kind() == doc.Object && b.Kind() == doc.Object:
			c.capabilities(place, a, b)
		case on(a) && !doc.Equal(a, b):
			c.add(Risky, "capability-changed", place, "the capability "+label+" changed", "the server may support something else", a, b)
		}
	}
}

// text reports a text that was added, removed or changed.
func (c *comparison) text(level Level, kind, at, label, why string, was, now *doc.Value) {
	switch {
	case doc.Equal(was, now):
	case was == nil:
		c.add(level, kind+"-added", at, label+" is new", why, was, now)
	case now == nil:
		c.add(level, kind+"-removed", at, label+" is gone", why, was, now)
	default:
		c.add(level, kind+"-changed", at, label+" changed", why, was, now)
	}
}

// items compares the items of a list by their ids. Of items that share one only the first is
// compared.
func (c *comparison) items(l listing.List, was, now *surface.Surface) {
	old, before := byID(l, was.Items(l))
	current, after := byID(l, now.Items(l))
	one := strings.TrimSuffix(l.Name, "s")
	renamed := map[string]string{} // the new id of an old one
	taken := map[string]bool{}
	for id, a := range old {
		if current[id] != nil {
			continue
		}
		if to := renamedTo(a, old, current); to != "" && !taken[to] {
			renamed[id], taken[to] = to, true
		}
	}
	var ids []string
	for id := range old {
		ids = append(ids, id)
	}
	for id := range current {
		if old[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		c.item = id
		a, b := old[id], current[id]
		switch to := renamed[id]; {
		case a == nil && taken[id]:
		case a == nil:
			c.add(Compatible, one+"-added", "", "is new", "models can choose it from now on", nil, b)
		case to != "":
			c.add(Breaking, one+"-renamed", "/"+l.ID, "is called "+to+" now", "callers that use the old name fail", a.Get(l.ID), current[to].Get(l.ID))
		case b == nil:
			c.add(Breaking, one+"-removed", "", "is gone", "callers that use it fail", a, nil)
		default:
			c.members(l, a, b)
		}
		if n := after[id]; n > 1 && n > before[id] {
			c.add(Risky, "name-doubled", "/"+l.ID, fmt.Sprintf("%d items have this name", n), "callers reach one of them only", nil, nil)
		}
	}
}

// byID returns the first item with each id, and how many have it.
func byID(l listing.List, items []*doc.Value) (first map[string]*doc.Value, n map[string]int) {
	first, n = map[string]*doc.Value{}, map[string]int{}
	for _, item := range items {
		id := item.Get(l.ID).Str()
		if n[id]++; n[id] == 1 {
			first[id] = item
		}
	}
	return first, n
}

// renamedTo returns the new id of an item that is gone: that of a new item which is the same in
// everything else that callers use. It is "" if there is none or more than one.
func renamedTo(a *doc.Value, old, current map[string]*doc.Value) (to string) {
	for id, b := range current {
		if old[id] != nil || !sameButName(a, b) {
			continue
		}
		if to != "" {
			return ""
		}
		to = id
	}
	return to
}

func sameButName(a, b *doc.Value) bool {
	if a.Get("description").Str() == "" && len(a.Get("inputSchema").Get("properties").Members()) == 0 {
		return false // nothing tells it from others
	}
	for _, name := range []string{"description", "inputSchema", "outputSchema", "arguments", "mimeType"} {
		if !doc.Equal(a.Get(name), b.Get(name)) {
			return false
		}
	}
	return true
}

// members compares the members of an item that both servers have.
func (c *comparison) members(l listing.List, a, b *doc.Value) {
	for _, name := range names(a, b) {
		x, y := a.Get(name), b.Get(name)
		at := "/" + escaped(name)
		switch name {
		case l.ID:
		case "description", "title", "name":
			c.text(Risky, name, at, "its "+name, modelsRead, x, y)
		case "inputSchema":
			c.schema("argument", at, x, y)
		case "outputSchema":
			c.output(at, x, y)
		case "arguments":
			c.arguments(x, y)
		case "annotations":
			c.annotations(x, y)
		case "mimeType":
			c.text(Risky, "media-type", at, "its media type", "readers may no longer understand the content", x, y)
		case "execution":
			c.execution(x, y)
		default:
			c.text(Compatible, "member", at, "its "+name, "it is no part of the call", x, y)
		}
	}
}

// output compares output schemas.
func (c *comparison) output(at string, was, now *doc.Value) {
	switch {
	case was == nil && now != nil:
		c.add(Compatible, "output-schema-added", at, "its output schema is new", "clients may check results from now on", nil, now)
	case was != nil && now == nil:
		c.add(Breaking, "output-schema-removed", at, "its output schema is gone", "programs that read structured content cannot rely on it", was, nil)
	default:
		c.schema("result", at, was, now)
	}
}

// execution compares how a tool is run.
func (c *comparison) execution(was, now *doc.Value) {
	const at = "/execution/taskSupport"
	a, b := was.Get("taskSupport"), now.Get("taskSupport")
	switch {
	case doc.Equal(was, now):
	case doc.Equal(a, b):
		c.text(Compatible, "execution", "/execution", "how it is run", "it is no part of the call", was, now)
	case b.Str() == "required":
		c.add(Breaking, "task-required", at, "it runs as a task only", "clients without tasks can no longer call it", a, b)
	case a.Str() == "required":
		c.add(Risky, "task-support-changed", at, "it need not run as a task", "clients that only start tasks may fail", a, b)
	case a.Str() == "optional":
		c.add(Breaking, "task-support-removed", at, "it no longer runs as a task", "clients that start it as a task fail", a, b)
	default:
		c.add(Compatible, "task-support-added", at, "it can run as a task", nobody, a, b)
	}
}

// hints are the annotations of tools that hosts use, each with its default and the value that is
// more dangerous.
var hints = map[string]struct{ byDefault, danger bool }{
	"readOnlyHint":    {false, false},
	"destructiveHint": {true, true},
	"idempotentHint":  {false, false},
	"openWorldHint":   {true, true},
}

func (c *comparison) annotations(was, now *doc.Value) {
	for _, name := range names(was, now) {
		a, b := was.Get(name), now.Get(name)
		hint, known := hints[name]
		if !known || c.list != "tools" {
			c.text(Risky, "annotation", "/annotations/"+escaped(name), "the annotation "+name, "hosts and models may use it", a, b)
			continue
		}
		value := func(v *doc.Value) bool {
			if v.Kind() != doc.Bool {
				return hint.byDefault
			}
			return v.True()
		}
		at := "/annotations/" + name
		switch x, y := value(a), value(b); {
		case x == y:
			c.text(Compatible, "annotation", at, "the annotation "+name, "the value stays the same", a, b)
		case y == hint.danger:
			c.add(Risky, "annotation-weakened", at, fmt.Sprintf("the annotation %s is %t now: it claims to be more dangerous", name, y), claimed, a, b)
		default:
			c.add(Risky, "annotation-strengthened", at, fmt.Sprintf("the annotation %s is %t now: it claims to be safer", name, y), claimed+"; check that the claim is true", a, b)
		}
	}
}

// arguments compares those of a prompt.
func (c *comparison) arguments(was, now *doc.Value) {
	find := func(list *doc.Value, name string) *doc.Value {
		for _, item := range list.Items() {
			if item.Get("name").Str() == name {
				return item
			}
		}
		return nil
	}
	for _, a := range was.Items() {
		name := a.Get("name").Str()
		label, at := "argument "+name, "/arguments/"+escaped(name)
		b := find(now, name)
		if b == nil {
			c.add(Breaking, "argument-removed", at, label+" is gone", "callers that send it may be refused", a, nil)
			continue
		}
		if !a.Get("required").True() && b.Get("required").True() {
			c.add(Breaking, "argument-required", at, label+" is required now", "callers that do not send it are refused", a.Get("required"), b.Get("required"))
		} else if a.Get("required").True() && !b.Get("required").True() {
			c.add(Compatible, "argument-optional", at, label+" is optional now", nobody, a.Get("required"), b.Get("required"))
		}
		c.text(Risky, "description", at+"/description", label+": the description", modelsRead, a.Get("description"), b.Get("description"))
	}
	for _, b := range now.Items() {
		name := b.Get("name").Str()
		if find(was, name) != nil {
			continue
		}
		label, at := "argument "+name, "/arguments/"+escaped(name)
		if b.Get("required").True() {
			c.add(Breaking, "argument-required", at, label+" is new and required", "callers that do not send it are refused", nil, b)
		} else {
			c.add(Compatible, "argument-added", at, label+" is new and optional", nobody, nil, b)
		}
	}
}

// names returns the names of the members of two objects, sorted.
func names(objects ...*doc.Value) []string {
	var out []string
	for _, o := range objects {
		for _, m := range o.Members() {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// escaped is a name in a JSON pointer.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
