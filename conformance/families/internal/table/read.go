package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Words are what the text of a family's tables may name.
type Words struct {
	Area string
	// Needs returns what a scenario needs, by the words after "needs"; none is the default.
	Needs func(words []string) engine.Needs
	// Make makes the values that no answer has.
	Make func(r *Run, name string) (any, error)
	// Suits are the conditions after "suits"; "" is the default.
	Suits map[string]func(r *Run) (string, error)
	// Before returns what a step does before its call, by the text after "before".
	Before func(text string) (func(r *Run) error, error)
	// That judges whole answers.
	That map[string]func(doc any, kept map[string]any) bool
	// Phrases are expectations that belong together, by their first word. They get the text
	// after it.
	Phrases map[string]func(text string) ([]Expectation, error)
}

// MustRead is Read for texts that are embedded in a program, packed.
func MustRead(packed string, words Words) []Table {
	var tables []Table
	text, err := engine.Unpack(packed)
	if err == nil {
		tables, err = Read(text, words)
	}
	if err != nil {
		panic(fmt.Sprintf("conformance: the tables of %s: %v", words.Area, err)) // embedded: a build with a wrong text is broken
	}
	return tables
}

// Read reads tables. A scenario has a line with its id and its title, and the checks below it
// are its steps, in order; "prepare" is a step without a check. Lines that begin with "#" are
// comments.
//
//	arguments done: {"taskId":"$task","status":"done"}
//
//	scenario S1-DONE-02: reports about an unknown task
//	  needs writing reportTaskDone
//	  suits faults
//
//	prepare
//	  call getNextTask
//	  succeeds
//	  keep queue payload.queueLength
//
//	S1-DONE-02/code, MUST: an unknown task is rejected with 404
//	  call reportTaskDone done {"taskId":"$nosuch"}
//	  error.code is 404
//	  error.message is "Task not found"
//
// A check without a call looks again at the answer of the step before. Its requirement is its
// id before the slash. The lines of a step:
//
//	call TOOL [NAME] [JSON]    calls a tool with the arguments of that name and these; a
//	                           member "$absent" is left out, "$name" is a kept value
//	direct METHOD [NAME] [JSON]
//	meta JSON                  is added to the _meta of the call
//	before TEXT                does something first
//	keep NAME PATH             keeps a value of the answer
//	succeeds                   isError is false
//	PATH is VALUE              in JSON, or "present", "present or null", "absent", "a boolean",
//	                           "a timestamp", "not VALUE", "one of WORDS", "from N to N",
//	                           "$kept + N", "$kept - N"
//	PATH matches PATTERN
//	that WORDS                 a judgement of the whole answer
//
// and the phrases of the family.
func Read(text string, words Words) ([]Table, error) {
	r := &reader{Words: words, arguments: map[string]Members{}, said: map[string]bool{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := r.line(strings.TrimRight(line, "\n")); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", number, strings.TrimSpace(line), err)
		}
	}
	for words := range words.That {
		if !r.said[words] {
			return nil, fmt.Errorf("nothing says that %s", words)
		}
	}
	return r.tables, nil
}

type reader struct {
	Words
	arguments map[string]Members
	tables    []Table
	step      *Step           // of the last table
	said      map[string]bool // the judgements in the text
}

func (r *reader) line(line string) error {
	part, indented := strings.CutPrefix(line, "  ")
	head, title, _ := strings.Cut(line, ": ")
	name, isArguments := strings.CutPrefix(head, "arguments ")
	id, isScenario := strings.CutPrefix(head, "scenario ")
	switch {
	case line == "", strings.HasPrefix(line, "#"):
		return nil
	case isArguments:
		m, err := members(title)
		r.arguments[name] = m
		return err
	case isScenario:
		r.scenario(id, title)
		return nil
	case len(r.tables) == 0:
		return errors.New("no scenario before it")
	case indented && r.step == nil:
		return r.gate(part)
	case indented:
		return r.part(part)
	case line == "prepare":
		r.add(Step{})
		return nil
	}
	return r.check(head, title)
}

func (r *reader) scenario(id, title string) {
	r.tables = append(r.tables, Table{ID: id, Area: r.Area, Title: title, Needs: r.Needs(nil), Suits: r.Suits[""], Make: r.Make})
	r.step = nil
}

// gate reads what a scenario needs.
func (r *reader) gate(line string) error {
	tb := &r.tables[len(r.tables)-1]
	words := strings.Fields(line)
	switch words[0] {
	case "needs":
		tb.Needs = r.Needs(words[1:])
	case "suits":
		if tb.Suits = r.Suits[strings.Join(words[1:], " ")]; tb.Suits == nil {
			return errors.New("no such condition")
		}
	default:
		return errors.New("want needs or suits")
	}
	return nil
}

func (r *reader) add(st Step) {
	tb := &r.tables[len(r.tables)-1]
	tb.Steps = append(tb.Steps, st)
	r.step = &tb.Steps[len(tb.Steps)-1]
}

func (r *reader) check(head, title string) error {
	id, level, _ := strings.Cut(head, ", ")
	requirement, word, ok := strings.Cut(id, "/")
	if !ok || title == "" || level != "MUST" && level != "SHOULD, house MUST" {
		return errors.New("want a check as ID/word, MUST: title")
	}
	st := Step{Word: word, Title: title, House: level != "MUST"}
	if requirement != r.tables[len(r.tables)-1].ID {
		st.Requirement = requirement
	}
	r.add(st)
	return nil
}

// part reads a line of a step.
func (r *reader) part(line string) (err error) {
	word, rest, _ := strings.Cut(line, " ")
	phrase, isPhrase := r.Phrases[word]
	switch {
	case word == "call", word == "direct":
		name, args, _ := strings.Cut(rest, " ")
		r.step.Tool, r.step.Direct = name, word == "direct"
		r.step.Args, err = r.argumentsOf(args)
	case word == "meta":
		r.step.Meta, err = members(rest)
	case word == "before":
		r.step.Before, err = r.Before(rest)
	case word == "keep":
		name, path, _ := strings.Cut(rest, " ")
		if r.step.Keep == nil {
			r.step.Keep = map[string]string{}
		}
		r.step.Keep[name] = path
	case word == "succeeds":
		r.expect(Succeeds()...)
	case word == "that":
		holds, known := r.That[rest]
		if !known {
			return errors.New("no such judgement")
		}
		r.said[rest] = true
		r.expect(That(rest, holds))
	case isPhrase:
		var all []Expectation
		all, err = phrase(rest)
		r.expect(all...)
	default:
		var e Expectation
		e, err = expectation(word, rest)
		r.expect(e)
	}
	return err
}

func (r *reader) expect(all ...Expectation) { r.step.Want = append(r.step.Want, all...) }

// argumentsOf reads the arguments of a call: a name, an object that changes what it stands
// for, or both.
func (r *reader) argumentsOf(text string) (Members, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a call without arguments
	}
	out := Members{}
	if !strings.HasPrefix(text, "{") {
		name, rest, _ := strings.Cut(text, " ")
		base, known := r.arguments[name]
		if !known {
			return nil, errors.New("no such arguments")
		}
		maps.Copy(out, base)
		if text = rest; text == "" {
			return out, nil
		}
	}
	more, err := members(text)
	maps.Copy(out, more)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == "$absent" })
	return out, err
}

func members(text string) (Members, error) {
	var m map[string]any
	err := json.Unmarshal([]byte(text), &m)
	return m, err
}

// expectation reads what a value has to be.
func expectation(path, text string) (Expectation, error) {
	verb, rest, _ := strings.Cut(text, " ")
	switch {
	case verb == "matches":
		if _, err := regexp.Compile(rest); err != nil {
			return Expectation{}, err
		}
		return Like(path, rest), nil
	case verb != "is":
		return Expectation{}, errors.New("unknown")
	}
	switch rest {
	case "present":
		return Has(path), nil
	case "present or null":
		return HasNull(path), nil
	case "absent":
		return Lacks(path), nil
	case "a boolean":
		return IsBoolean(path), nil
	case "a timestamp":
		return Timestamp(path), nil
	}
	if values, is := strings.CutPrefix(rest, "one of "); is {
		return OneOf(path, strings.Fields(values)...), nil
	}
	if bounds, is := strings.CutPrefix(rest, "from "); is {
		var low, high float64
		_, err := fmt.Sscanf(bounds, "%g to %g", &low, &high)
		return Between(path, low, high), err
	}
	if kept, is := strings.CutPrefix(rest, "$"); is {
		return more(path, strings.Fields(kept))
	}
	is := Is
	if value, not := strings.CutPrefix(rest, "not "); not {
		is, rest = IsNot, value
	}
	var value any
	err := json.Unmarshal([]byte(rest), &value)
	return is(path, value), err
}

// more reads "kept + N" or "kept - N".
func more(path string, words []string) (Expectation, error) {
	if len(words) != 3 || words[1] != "+" && words[1] != "-" {
		return Expectation{}, errors.New("want $kept + N or $kept - N")
	}
	n, err := strconv.ParseFloat(words[2], 64)
	if words[1] == "-" {
		n = -n
	}
	return More(path, words[0], n), err
}
