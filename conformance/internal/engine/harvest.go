package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Bounds of what a run remembers of the server's results.
const (
	mostKnown    = 8   // values of one name
	mostNames    = 500 // names
	longestKnown = 200 // bytes of a value
	mostNested   = 16  // objects and arrays around a value
)

// learned is what a run has learned about the tools of a server. It is safe for concurrent use.
type learned struct {
	mu     sync.Mutex
	called map[string]bool // the tools that were called, true with an example
	// longest has the call of each tool that took longest.
	longest map[string]timedCall
	// slow has the calls that took long, by tool and arguments, and swift the tools that were quick
	// with others.
	slow, swift map[string]bool
	// known has values of the server's results by the names of their members.
	known map[string][]json.RawMessage
	works map[string]Arguments // with which tools succeed
	// reports has a call of each tool that reports progress, logs of each that sends log messages, and
	// heavy of each that is quick with smaller numbers, and not with these.
	reports, logs, heavy map[string]Arguments
	// silences is about messages that the server need not answer.
	silences wire.Silences
}

func newLearned() *learned {
	return &learned{called: map[string]bool{}, longest: map[string]timedCall{}, slow: map[string]bool{}, swift: map[string]bool{}, known: map[string][]json.RawMessage{}, works: map[string]Arguments{}, reports: map[string]Arguments{}, logs: map[string]Arguments{}, heavy: map[string]Arguments{}}
}

// NoteCall counts a tool that was called with arguments that its schema allows.
func (l *learned) NoteCall(tool string, example bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.called[tool] = l.called[tool] || example
}

// HasCalled reports whether any tool was called.
func (l *learned) HasCalled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.called) > 0
}

// Slow is how long a call may take before its tool is called no more than needed.
const Slow = 2 * time.Second

// timedCall is a call and how long it took.
type timedCall struct {
	with Arguments
	took time.Duration
}

// NoteTook remembers how long a call took, and whether it succeeded.
func (l *learned) NoteTook(tool string, with Arguments, took time.Duration, succeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took > l.longest[tool].took {
		l.longest[tool] = timedCall{with, took}
	}
	if took > Slow {
		l.slow[slowKey(tool, with)] = true
	} else if succeeded {
		l.swift[tool] = true
	}
}

func slowKey(tool string, with Arguments) string { return tool + "\x00" + string(with.JSON) }

// IsSlow reports whether all calls of a tool took long.
func (l *learned) IsSlow(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest[tool].took > Slow && !l.swift[tool]
}

// IsSwift reports whether a call of a tool is known to succeed quickly.
func (l *learned) IsSwift(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.swift[tool]
}

// withoutSlow removes the arguments with which a tool takes long, if it is quick with others.
func (l *learned) withoutSlow(tool string, all []Arguments) []Arguments {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.swift[tool] {
		return all
	}
	heavy := string(l.heavy[tool].JSON)
	return slices.DeleteFunc(all, func(with Arguments) bool {
		return !with.Example && (l.slow[slowKey(tool, with)] || string(with.JSON) == heavy)
	})
}

// Longest returns the arguments of the call of a tool that took longest, and how long that was.
func (l *learned) Longest(tool string) (Arguments, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest[tool].with, l.longest[tool].took
}

// Works remembers arguments with which a tool succeeds: later scenarios begin with them.
func (l *learned) Works(tool string, with Arguments) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.works[tool]; !known && !with.Example {
		l.works[tool] = with
	}
}

// NoteReports remembers arguments with which a tool succeeds and reports progress.
func (l *learned) NoteReports(tool string, with Arguments) { l.note(l.reports, tool, with) }

// NoteLogs remembers arguments with which a tool sends log messages.
func (l *learned) NoteLogs(tool string, with Arguments) { l.note(l.logs, tool, with) }

// NoteHeavy remembers arguments with which a tool rightly takes long.
func (l *learned) NoteHeavy(tool string, with Arguments) { l.note(l.heavy, tool, with) }

func (l *learned) note(calls map[string]Arguments, tool string, with Arguments) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := calls[tool]; !known {
		calls[tool] = with
	}
}

// Reports returns arguments with which a tool reports progress, and whether there are any.
func (l *learned) Reports(tool string) (Arguments, bool) { return l.noted(l.reports, tool) }

// Logs returns arguments with which a tool sends log messages, and whether there are any.
func (l *learned) Logs(tool string) (Arguments, bool) { return l.noted(l.logs, tool) }

// Heavy returns arguments with which a tool rightly takes long, and whether there are any.
func (l *learned) Heavy(tool string) (Arguments, bool) { return l.noted(l.heavy, tool) }

func (l *learned) noted(calls map[string]Arguments, tool string) (Arguments, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	with, known := calls[tool]
	return with, known
}

// Learn remembers the values in a result by the names of their members: an id that one tool
// returns is often one that another tool takes.
func (l *learned) Learn(a wire.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	result, _ := rawjson.Object(a.Result)
	l.learnFrom("", result["structuredContent"], 0)
	var blocks []wire.ListEntry
	_ = json.Unmarshal(result["content"], &blocks) // another check judges it
	for _, b := range blocks[:min(20, len(blocks))] {
		if text := json.RawMessage(rawjson.Text(b["text"])); json.Valid(text) {
			l.learnFrom("", text, 0)
		}
	}
}

// LearnValue remembers a text that the server offers for a name.
func (l *learned) LearnValue(name, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learnFrom(name, rawjson.Encode(value), 0)
}

func (l *learned) learnFrom(name string, raw json.RawMessage, nested int) {
	if nested > mostNested {
		return
	}
	if members, ok := rawjson.Object(raw); ok {
		for _, inner := range rawjson.SortedKeys(members) {
			l.learnFrom(inner, members[inner], nested+1)
		}
		return
	}
	if rawjson.IsArray(raw) {
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list) // valid, as the whole was
		for _, each := range list[:min(mostKnown, len(list))] {
			l.learnFrom(strings.TrimSuffix(name, "s"), each, nested+1)
		}
		return
	}
	name = plainName(name)
	known := l.known[name]
	same := func(v json.RawMessage) bool { return string(v) == string(raw) }
	if name == "" || len(raw) == 0 || len(raw) > longestKnown || len(known) >= mostKnown || len(l.known) >= mostNames || slices.ContainsFunc(known, same) {
		return
	}
	l.known[name] = append(known, slices.Clone(raw))
}

// plainName is a name as it is compared: item_id, itemId and Item-ID are the same.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// Guesses returns arguments of a tool with values that the server has returned for members of
// these names, or that the description of a member quotes: first each of the values for the
// required members, then the first ones with each optional member that has such a value.
func (l *RevisionRun) Guesses(tool wire.Tool) []Arguments {
	made := fixture.MakeArguments(tool.InputSchema, l.Opts.Seed)
	if len(made) == 0 {
		return nil
	}
	fault := fixture.Judge(tool.InputSchema)
	schema := fixture.ReadSchema(tool.InputSchema)
	required, _ := rawjson.Object(made[0].JSON)
	values := map[string][]json.RawMessage{}
	for name := range required {
		values[name] = l.candidates(name, schema.Properties[name])
	}
	var out []Arguments
	add := func(arguments map[string]json.RawMessage, nth int, what string) {
		changed := false
		for name, candidates := range values {
			if nth < len(candidates) {
				arguments[name], changed = candidates[nth], true
			} else if len(candidates) > 0 {
				arguments[name] = candidates[0]
			}
		}
		text := json.RawMessage(rawjson.Encode(arguments))
		same := func(a Arguments) bool { return string(a.JSON) == string(text) }
		if changed && !slices.ContainsFunc(out, same) && fault(text) == "" {
			out = append(out, Arguments{fixture.Arguments{What: what, JSON: text}, false})
		}
	}
	for nth := range mostKnown {
		add(maps.Clone(required), nth, "values that it returns")
	}
	for _, name := range rawjson.SortedKeys(schema.Properties) {
		if candidates := l.candidates(name, schema.Properties[name]); required[name] == nil && len(candidates) > 0 {
			arguments := maps.Clone(required)
			arguments[name] = candidates[0]
			values[name] = candidates[:1]
			add(arguments, 0, "values that it returns, and "+name)
			delete(values, name)
		}
	}
	return out
}

// mostVariants is how many variants of arguments are made.
const mostVariants = 12

// Variants returns arguments of a tool that differ from those with which it succeeds: with each
// optional member alone, and then as [fixture.MakeArguments] chooses them. Values that the server has
// returned for required members stay.
func (l *RevisionRun) Variants(tool wire.Tool, works Arguments) []Arguments {
	base, ok := rawjson.Object(works.JSON)
	made := fixture.MakeArguments(tool.InputSchema, l.Opts.Seed)
	if !ok || len(made) < 2 {
		return nil
	}
	required, _ := rawjson.Object(made[0].JSON)
	fault := fixture.Judge(tool.InputSchema)
	var out []Arguments
	add := func(optional map[string]json.RawMessage, what string) {
		arguments := maps.Clone(base)
		for name, value := range optional {
			if required[name] == nil || string(base[name]) == string(required[name]) {
				arguments[name] = value
			}
		}
		text := json.RawMessage(rawjson.Encode(arguments))
		same := func(a Arguments) bool { return string(a.JSON) == string(text) }
		if len(out) < mostVariants && string(text) != string(works.JSON) && !slices.ContainsFunc(out, same) && fault(text) == "" {
			out = append(out, Arguments{fixture.Arguments{What: what, JSON: text}, false})
		}
	}
	full, _ := rawjson.Object(made[1].JSON)
	for _, name := range rawjson.SortedKeys(full) {
		if required[name] != nil {
			continue
		}
		add(map[string]json.RawMessage{name: full[name]}, "what it succeeds with, and "+name)
	}
	for _, each := range made[1:] {
		optional, _ := rawjson.Object(each.JSON)
		add(optional, "what it succeeds with, and "+each.What)
	}
	return l.withoutSlow(tool.Name, out)
}

// Known returns texts that the server has returned for members of a name, or of one like it.
func (l *learned) Known(name string) []string {
	var texts []string
	for _, v := range l.candidates(name, json.RawMessage(`{"type":"string","minLength":1}`)) {
		texts = append(texts, rawjson.Text(v))
	}
	return texts
}

// candidates returns values for a member of the arguments.
func (l *learned) candidates(name string, property json.RawMessage) []json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := fixture.ReadSchema(property); len(s.Enum) > 0 || len(s.Const) > 0 {
		return nil
	}
	name = plainName(name)
	all := slices.Clone(l.known[name])
	for _, suffix := range []string{"id", "name", "uri", "url", "key", "slug", "title", "code"} {
		if name != suffix && strings.HasSuffix(name, suffix) {
			all = append(all, l.known[suffix]...)
		}
	}
	isURI := strings.HasSuffix(name, "uri") || strings.HasSuffix(name, "url") // no id is one
	if s := fixture.ReadSchema(property); len(all) == 0 && s.Typed() == "string" && !isURI {
		for _, known := range []string{"id", "name", "title"} { // "note" may be the id of one
			all = append(all, l.known[name+known]...)
			all = append(all, l.known[known]...)
		}
	}
	members, _ := rawjson.Object(property)
	fault := fixture.Judge(property)
	var fits []json.RawMessage
	for _, v := range append(quoted(rawjson.Text(members["description"])), all...) {
		same := func(had json.RawMessage) bool { return string(had) == string(v) }
		if fault(v) == "" && !slices.ContainsFunc(fits, same) {
			fits = append(fits, v)
		}
	}
	return fits
}

// quoted returns the words that a description quotes, or names after "e.g.".
func quoted(text string) []json.RawMessage {
	var out []json.RawMessage
	for _, mark := range []string{`"`, "'", "`"} {
		parts := strings.Split(text, mark)
		for i := 1; i+1 < len(parts) && len(out) < 2; i += 2 {
			if word := parts[i]; word != "" && len(word) < longestKnown/4 && !strings.ContainsAny(word, " \n") {
				out = append(out, rawjson.Encode(word))
			}
		}
	}
	for _, mark := range []string{"e.g. ", "e.g., ", "for example ", "such as ", "like "} {
		if _, rest, found := strings.Cut(text, mark); found {
			word, _, _ := strings.Cut(strings.TrimLeft(rest, "\"'`"), " ")
			if word = strings.Trim(word, ",.;:)\"'`"); word != "" {
				out = append(out, rawjson.Encode(word))
			}
		}
	}
	return out
}
