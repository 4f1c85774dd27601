package engine

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Complete gives each scenario that has no checks its area, title, revisions and checks
// from a file. It returns all in the order of a report: the areas as in the file, then
// by id. It fails for a scenario without an entry, and for an entry without a scenario.
//
//	area lifecycle
//
//	scenario PING, until 2025-11-25: ping in any phase
//
//	PING/early, MUST, house MUST: a ping before initialize is answered
//	  basic/utilities/ping: The receiver MUST respond promptly with an empty response
//
// The line of a scenario has its id, its transport ("http" or "stdio") and revisions if it
// is about one, and its title. Its checks follow: a line with the id, the level, the level
// for servers that announce the error profiles of this project ("house"), revisions
// narrower than the scenario's, the scenarios of the official suite for clients with the
// same rule ("official"), and the title. The indented line after it has the page and the
// sentence of the specification, or "seed" and the requirement for a rule that is not in
// the specification. Lines that begin with "#" are comments.
func Complete(scenarios []Scenario, file string) ([]Scenario, error) {
	r, err := readTexts(file)
	if err != nil {
		return nil, err
	}
	for id := range r.sources {
		return nil, fmt.Errorf("check %s has more than one source", id)
	}
	for i := range scenarios {
		sc := &scenarios[i]
		if sc.Checks != nil {
			continue
		}
		entry, there := r.entries[sc.ID]
		if !there {
			return nil, fmt.Errorf("scenario %s has no entry", sc.ID)
		}
		delete(r.entries, sc.ID)
		if entry.Needs.Transport != "" {
			sc.Needs.Transport = entry.Needs.Transport
		}
		sc.Area, sc.Title, sc.Since, sc.Until, sc.Checks = entry.Area, entry.Title, entry.Since, entry.Until, entry.Checks
	}
	for id := range r.entries {
		return nil, fmt.Errorf("the entry %s has no scenario", id)
	}
	return InOrder(scenarios, r.areas...), nil
}

// Source is another source of a rule: of a revision and those after it, or of one
// transport, where the rule has a level of its own.
type Source struct {
	Since     mcp.Version
	Transport conformance.TransportKind
	Level     conformance.Level
	Spec      conformance.Spec
}

// ReadTexts returns the scenarios of a file, in its order, and the other sources of its checks
// by id. Each is an indented line below the first source:
//
//	since 2026-07-28, basic: a sentence
//	http SHOULD, basic/transports: a sentence
func ReadTexts(file string) ([]Scenario, map[string][]Source, error) {
	r, err := readTexts(file)
	if err != nil {
		return nil, nil, err
	}
	out := make([]Scenario, len(r.order))
	for i, id := range r.order {
		out[i] = *r.entries[id]
	}
	return out, r.sources, nil
}

// textReader is a file being read.
type textReader struct {
	entries  map[string]*Scenario
	order    []string // the ids of entries
	sources  map[string][]Source
	areas    []string // in the order of the file
	scenario *Scenario
	check    *Check // whose source is the next line
	last     *Check // whose source was the line before
	ids      map[string]bool
}

func readTexts(file string) (*textReader, error) {
	r := &textReader{entries: map[string]*Scenario{}, sources: map[string][]Source{}, ids: map[string]bool{}}
	number := 0
	for line := range strings.Lines(file) {
		number++
		if err := r.line(strings.TrimRight(line, "\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if r.check != nil {
		return nil, fmt.Errorf("check %s has no source", r.check.ID)
	}
	for id, sc := range r.entries {
		if len(sc.Checks) == 0 {
			return nil, fmt.Errorf("scenario %s has no check", id)
		}
	}
	return r, nil
}

func (r *textReader) line(line string) error {
	source, indented := strings.CutPrefix(line, "  ")
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return nil
	case indented && r.check == nil && r.last != nil:
		return r.otherSource(source)
	case indented != (r.check != nil):
		return fmt.Errorf("%q: a check is a line with its id and title, then an indented line with its source", line)
	case indented:
		return r.source(source)
	}
	r.last = nil
	if area, is := strings.CutPrefix(line, "area "); is {
		r.areas, r.scenario = append(r.areas, area), nil
		return nil
	}
	head, title, _ := strings.Cut(line, ": ")
	words := strings.Split(head, ", ")
	id, isScenario := strings.CutPrefix(words[0], "scenario ")
	switch {
	case title == "" || !isScenario && len(words) < 2:
		return fmt.Errorf("%q: want an id, a level and a title", line)
	case isScenario:
		return r.addScenario(Scenario{ID: id, Title: title}, words[1:])
	}
	c := conformance.Check{ID: words[0], Level: conformance.Level(words[1]), Title: title}
	return r.addCheck(Check{Check: c}, words[2:])
}

func (r *textReader) addScenario(sc Scenario, words []string) error {
	if len(r.areas) == 0 || r.entries[sc.ID] != nil {
		return fmt.Errorf("scenario %s is declared twice, or before the first area", sc.ID)
	}
	sc.Area = r.areas[len(r.areas)-1]
	for _, word := range words {
		if transport := conformance.TransportKind(word); transport == conformance.TransportHTTP || transport == conformance.TransportStdio {
			sc.Needs.Transport = transport
			continue
		}
		if known, err := readRevision(word, &sc.Since, &sc.Until); !known || err != nil {
			return fmt.Errorf("scenario %s: %q is neither a transport nor since or until a revision", sc.ID, word)
		}
	}
	r.scenario = &sc
	r.entries[sc.ID] = r.scenario
	r.order = append(r.order, sc.ID)
	return nil
}

func (r *textReader) addCheck(c Check, words []string) error {
	if r.scenario == nil || r.ids[c.ID] {
		return fmt.Errorf("check %s is declared twice, or before the first scenario", c.ID)
	}
	r.ids[c.ID] = true
	if !isLevel(c.Level) {
		return fmt.Errorf("check %s: %q is no level", c.ID, c.Level)
	}
	for _, word := range words {
		known, err := readRevision(word, &c.Since, &c.Until)
		if house, is := strings.CutPrefix(word, "house "); is && isLevel(conformance.Level(house)) {
			c.ProfileLevel, known = conformance.Level(house), true
		}
		if name, is := strings.CutPrefix(word, "official "); is {
			c.Official, known = append(c.Official, name), true
		}
		if !known || err != nil {
			return fmt.Errorf("check %s: %q is neither a house level nor an official scenario, nor since or until a revision", c.ID, word)
		}
	}
	r.scenario.Checks = append(r.scenario.Checks, c)
	r.check = &r.scenario.Checks[len(r.scenario.Checks)-1]
	return nil
}

func (r *textReader) source(line string) error {
	page, text, _ := strings.Cut(line, ": ")
	switch {
	case text == "":
		return fmt.Errorf("check %s: %q is no source", r.check.ID, line)
	case page == "seed":
		r.check.Spec.Requirement = text
	default:
		r.check.Spec.Section, r.check.Spec.Quote = page, text
	}
	r.check, r.last = nil, r.check
	return nil
}

// otherSource reads a source after the first.
func (r *textReader) otherSource(line string) error {
	where, rest, _ := strings.Cut(line, ", ")
	page, text, _ := strings.Cut(rest, ": ")
	source := Source{Spec: conformance.Spec{Section: page, Quote: text}}
	known, err := readRevision(where, &source.Since, new(mcp.Version))
	if transport, level, is := strings.Cut(where, " "); !known && is {
		source.Transport, source.Level = conformance.TransportKind(transport), conformance.Level(level)
		known = (source.Transport == conformance.TransportHTTP || source.Transport == conformance.TransportStdio) && isLevel(source.Level)
	}
	if !known || err != nil || text == "" || source.Since == "" && source.Transport == "" {
		return fmt.Errorf("check %s: %q is no other source", r.last.ID, line)
	}
	r.sources[r.last.ID] = append(r.sources[r.last.ID], source)
	return nil
}

func isLevel(l conformance.Level) bool {
	return l == conformance.Must || l == conformance.Should || l == conformance.May || l == conformance.Advice
}

// readRevision reads "since 2025-11-25" or "until 2025-11-25".
func readRevision(word string, since, until *mcp.Version) (known bool, err error) {
	name, date, _ := strings.Cut(word, " ")
	bound, known := map[string]*mcp.Version{"since": since, "until": until}[name]
	if !known {
		return false, nil
	}
	*bound = mcp.Version(date)
	if !bound.Known() {
		return true, fmt.Errorf("%q is no revision", date)
	}
	return true, nil
}
