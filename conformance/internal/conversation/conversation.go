// Package conversation reads and plays conversations that are data.
package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/probe"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/internal/txtar"
)

// Conversation is one file.
type Conversation struct {
	Scenario conformance.Scenario // its texts stand elsewhere
	Checks   []string             // their ids, in order
	Turns    map[string][]Turn    // by check
}

// Turn is one line of a check.
type Turn struct {
	Send []byte
	raw  bool
	ID   string // of the request, or the answer; "" for neither
	Want *Pattern
	None bool
}

// Read reads a file.
func Read(data []byte) (*Conversation, error) {
	archive := txtar.Parse(data)
	c := &Conversation{Turns: map[string][]Turn{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if err := c.header(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	if c.Scenario.ID == "" {
		return nil, errors.New("it has no id")
	}
	for _, f := range archive.Files {
		turns, err := readTurns(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c.Checks = append(c.Checks, f.Name)
		c.Turns[f.Name] = turns
	}
	return c, nil
}

func (c *Conversation) header(line string) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch sc := &c.Scenario; name {
	case "":
	case "id":
		sc.ID = value
	case "capability":
		sc.Needs.Capability = value
	case "tool":
		sc.Needs.Tools = append(sc.Needs.Tools, value)
	default:
		return fmt.Errorf("the line %q is unknown", line)
	}
	return nil
}

// readTurns reads the lines of a check.
func readTurns(data []byte) ([]Turn, error) {
	var turns []Turn
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		mark, text, _ := strings.Cut(line, " ")
		switch mark {
		case "":
		case ">", ">>":
			t := Turn{Send: []byte(text), raw: mark == ">>"}
			if in := wire.Received(t.Send, nil); in.Members != nil {
				t.ID = in.ID()
			} else if !t.raw {
				return nil, fmt.Errorf("%s: %w", text, in.Err)
			}
			turns = append(turns, t)
		case "<":
			t, err := readAnswer(text)
			if err != nil {
				return nil, err
			}
			turns = append(turns, t)
		default:
			return nil, fmt.Errorf("the line %q is unknown", line)
		}
	}
	if len(turns) == 0 {
		return nil, errors.New("nothing is sent")
	}
	return turns, nil
}

func readAnswer(text string) (Turn, error) {
	if text == "nothing" {
		return Turn{None: true}, nil
	}
	want, err := ReadPattern([]byte(text))
	if err != nil {
		return Turn{}, fmt.Errorf("%s: %w", text, err)
	}
	switch id := wire.Received([]byte(text), nil).ID(); id {
	case "":
		return Turn{}, fmt.Errorf("%s: which request does it answer?", text)
	case "null", `"$absent"`, `{"$or":["$absent",null]}`:
		return Turn{Want: want}, nil // to a message whose id could not be read
	default:
		return Turn{Want: want, ID: id}, nil
	}
}

// Run says the lines of each check on one session.
func (c *Conversation) Run(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	for _, check := range c.Checks {
		if t.Decided(check) {
			continue // left out by the caller
		}
		t.Step(s)
		if err := c.say(t, s, check); err != nil {
			return err
		}
	}
	return nil
}

// say decides one check. The first answer that is not as it should be ends it;
// an error is the end of the session.
func (c *Conversation) say(t *conformance.Trial, s *wire.Session, check string) error {
	turns := c.Turns[check]
	for i, line := range turns {
		if line.Send == nil {
			continue // met with what it answers
		}
		data := line.Send
		if !line.raw {
			data = s.Message(line.ID, wire.Received(data, nil).Method(), paramsOf(data))
		}
		var want []Turn
		for _, next := range turns[i+1:] {
			if next.Send == nil && (next.None || next.ID == line.ID || next.ID == "") {
				want = append(want, next)
			}
			if next.Send != nil {
				break
			}
		}
		switch {
		case len(want) == 0:
			if _, err := s.Send(t.Ctx, data); err != nil {
				return err
			}
		case want[0].None:
			if _, err := s.Send(t.Ctx, data); err != nil {
				return err
			}
			stray, err := s.Settle(t.Ctx)
			stray = slices.DeleteFunc(stray, refusal)
			if err != nil || len(stray) > 0 {
				t.Fail(check, "no answer", probe.Stray(stray, err))
				return err
			}
		default:
			a, err := s.Provoke(t.Ctx, want[0].ID, data)
			if isList := strings.HasSuffix(wire.Received(data, nil).Method(), "/list"); isList && a.Err != nil && want[0].Want.Fault(a.In.Data) != "" {
				t.Unknown(check, a.Describe()) // any list may be refused, and says nothing then
				return nil
			}
			if reason := want[0].Want.Fault(a.In.Data); err != nil || reason != "" {
				t.Fail(check, string(want[0].Want.text), "%s", strings.TrimSpace(a.OrError(err)+" "+reason))
				return nil
			}
		}
	}
	t.Pass(check)
	return nil
}

// refusal reports whether this is the body of an HTTP refusal: it may be an error
// without an id, and answers nothing (HTTP-04).
func refusal(in wire.Inbound) bool {
	id := in.ID()
	return in.HTTP != nil && in.HTTP.Status >= http.StatusBadRequest && (id == "" || id == "null")
}

// paramsOf returns the params of a message, nil when it has none.
func paramsOf(data []byte) any {
	raw, ok := wire.Received(data, nil).Members["params"]
	if !ok {
		return nil
	}
	var params map[string]any
	if json.Unmarshal(raw, &params) != nil {
		return raw
	}
	return params
}
