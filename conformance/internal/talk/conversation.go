package talk

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/txtar"
)

// Conversation is a scenario that is data.
type Conversation struct {
	Scenario engine.Scenario   // its texts stand elsewhere
	Checks   []string          // their ids, in order
	Turns    map[string][]Turn // by check
	shared   bool              // it is played on the session that scenarios share
}

// Turn is a line of a check. One of its groups of fields is set.
type Turn struct {
	// Send is what is sent, as it is if raw. ID is that of the request.
	Send []byte
	raw  bool
	ID   string // of the answer, too; ownID for that of the line before

	// Want is what has to come, None that nothing may. where is empty, or names
	// servers of which this holds in place of the line before.
	Want  *Pattern
	None  bool
	where []string
	// refused is the code of a message that is no request: servers that announce
	// our error profiles answer with it, and others may be silent.
	refused int64
	// alive: the server still answers, after all checks before.
	alive bool

	// needs is what the answer must have, or the check does not apply.
	needs string
	// keep is the name of the value at path, or why the check does not apply without.
	keep, path, without string
	// unless and when are capabilities that decide whether the check applies.
	unless, when string
}

// ownID is replaced by an id that was not used before in the session.
const ownID = `"$id"`

// ReadConversations reads a file: the conversation in it, or one for each row of its head.
func ReadConversations(data []byte) ([]*Conversation, error) {
	archive := txtar.Parse(data)
	rows, head, err := each(string(archive.Comment))
	if err != nil {
		return nil, err
	}
	var all []*Conversation
	for _, row := range rows {
		c := &Conversation{Turns: map[string][]Turn{}}
		for line := range strings.Lines(row.Replace(head)) {
			if err := c.header(strings.TrimSpace(line)); err != nil {
				return nil, err
			}
		}
		if c.Scenario.ID == "" {
			return nil, errors.New("it has no id")
		}
		for _, f := range archive.Files {
			if err := c.section(row.Replace(f.Name), row.Replace(string(f.Data))); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		if len(c.Checks) == 0 {
			return nil, errors.New("it has no checks")
		}
		all = append(all, c)
	}
	return all, nil
}

// each takes the rows from the lines of a section or a head: what is in their place in
// the lines that are left. Lines without rows have one that changes nothing.
func each(lines string) (rows []*strings.Replacer, left string, err error) {
	var columns []string
	for line := range strings.Lines(lines) {
		names, begins := strings.CutPrefix(line, "each: ")
		cells, isRow := strings.CutPrefix(line, "- ")
		switch {
		case begins:
			columns = strings.Split(strings.TrimSpace(names), " | ")
		case isRow:
			values := strings.Split(strings.TrimRight(cells, "\n"), " | ")
			if len(values) != len(columns) {
				return nil, "", fmt.Errorf("the row %q does not fit the columns %q", cells, columns)
			}
			var pairs []string
			for i, name := range columns {
				pairs = append(pairs, "$"+name, values[i])
			}
			rows = append(rows, strings.NewReplacer(pairs...))
		default:
			left += line
		}
	}
	if columns == nil {
		rows = append(rows, strings.NewReplacer())
	}
	return rows, left, nil
}

func (c *Conversation) header(line string) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch sc := &c.Scenario; {
	case name == "":
	case name == "id":
		sc.ID = value
	case name == "capability":
		sc.Needs.Capability = value
	case name == "tool":
		sc.Needs.Tools = append(sc.Needs.Tools, value)
	case line == "session: shared":
		c.shared = true
	case line == "gentle: yes":
		sc.Gentle = true
	default:
		return fmt.Errorf("the line %q is unknown", line)
	}
	return nil
}

// section reads the checks of a section: one, or one for each row. Rows that make no
// difference to the id are lines of the same check.
func (c *Conversation) section(id, lines string) error {
	rows, lines, err := each(lines)
	if err != nil {
		return err
	}
	for _, row := range rows {
		turns, err := readTurns(row.Replace(lines))
		if err != nil {
			return err
		}
		id := row.Replace(id)
		if sends := func(t Turn) bool { return t.Send != nil || t.alive }; !slices.ContainsFunc(turns, sends) {
			if len(c.Checks) == 0 {
				return errors.New("nothing is sent")
			}
			turns = append(c.sent(c.Checks[len(c.Checks)-1]), turns...)
		}
		if !slices.Contains(c.Checks, id) {
			c.Checks = append(c.Checks, id)
		}
		c.Turns[id] = append(c.Turns[id], turns...)
	}
	return nil
}

// endsAlive reports whether a check is that the server outlives all others, so that
// they are played even if nobody asks for their outcome.
func (c *Conversation) endsAlive() bool {
	return slices.ContainsFunc(c.Turns[c.Checks[len(c.Checks)-1]], func(t Turn) bool { return t.alive })
}

// sent returns the lines of a check without the answers.
func (c *Conversation) sent(check string) []Turn {
	return slices.DeleteFunc(slices.Clone(c.Turns[check]), func(t Turn) bool { return t.Want != nil || t.None || t.refused != 0 })
}

// readTurns reads the lines of a check.
func readTurns(lines string) ([]Turn, error) {
	var turns []Turn
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		t, err := readTurn(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		turns = append(turns, t)
	}
	if len(turns) == 0 {
		return nil, errors.New("nothing is said")
	}
	return turns, nil
}

func readTurn(line string) (Turn, error) {
	mark, text, _ := strings.Cut(line, " ")
	where, answers := strings.CutPrefix(mark, "<")
	switch {
	case mark == ">", mark == ">>":
		t := Turn{Send: []byte(text), raw: mark == ">>"}
		in := wire.Received(t.Send, nil)
		if in.Members == nil && !t.raw {
			return t, in.Err
		}
		t.ID = in.ID()
		return t, nil
	case answers:
		t, err := readAnswer(text)
		if where != "" {
			t.where = strings.Split(where, ",")
		}
		for _, word := range t.where {
			if !slices.Contains(kindsOfServer, word) {
				return t, fmt.Errorf("%q is not one of %q", word, kindsOfServer)
			}
		}
		return t, err
	case line == "alive":
		return Turn{alive: true}, nil
	}
	name, value, _ := strings.Cut(line, ": ")
	name, kept, _ := strings.Cut(name, " ")
	switch name {
	case "needs":
		return Turn{needs: value}, nil
	case "unless":
		return Turn{unless: value}, nil
	case "when":
		return Turn{when: value}, nil
	case "keep":
		path, without, ok := strings.Cut(value, ", or ")
		if !ok || kept == "" {
			return Turn{}, errors.New(`want "keep NAME: PATH, or WHY NOT"`)
		}
		return Turn{keep: kept, path: path, without: without}, nil
	}
	return Turn{}, errors.New("the line is unknown")
}

func readAnswer(text string) (Turn, error) {
	if text == "nothing" {
		return Turn{None: true}, nil
	}
	if code, is := strings.CutPrefix(text, "refused "); is {
		n, err := strconv.ParseInt(code, 10, 64)
		return Turn{refused: n}, err
	}
	want, err := ReadPattern([]byte(text))
	if err != nil {
		return Turn{}, err
	}
	switch id := wire.Received([]byte(text), nil).ID(); id {
	case "":
		return Turn{Want: want, ID: ownID}, nil
	case "null", `"$absent"`, `{"$or":["$absent",null]}`:
		return Turn{Want: want}, nil // to a message whose id could not be read
	default:
		return Turn{Want: want, ID: id}, nil
	}
}
