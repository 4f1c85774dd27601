package checks

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/internal/txtar"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The conversations without timing are data: what is sent, and the pattern of
// what has to come back. Each file is a scenario, each of its sections a check:
//
//	What the conversation is about, in a line.
//
//	id: TALK-PING
//	area: lifecycle
//	since, until: revisions           (optional)
//	capability: prompts               (optional)
//	tool: test_simple_text            (optional)
//
//	-- TALK-PING/empty-params --
//	MUST a ping with empty params is answered with an empty result
//	basic/utilities/ping: The receiver MUST respond promptly with an empty response
//	> {"id":"p1","method":"ping","params":{}}
//	< {"id":"p1","result":{}}
//
// A line that begins with > is sent, with jsonrpc and what the revision asks of
// every request added; one that begins with >> is sent as it is. A line that
// begins with < is the pattern (pattern.go) of the answer to the request with
// that id; "< nothing" says that the line before it gets no answer.
//
//go:embed conversations/*.txtar
var conversationFiles embed.FS

// conversation is one file.
type conversation struct {
	scenario conformance.Scenario
	turns    map[string][]turn // by check
}

// turn is one line of a check.
type turn struct {
	send []byte
	raw  bool
	id   string // of the request, or the answer; "" for neither
	want *pattern
	none bool
}

// conversationScenarios returns the scenarios in the files.
func conversationScenarios() []conformance.Scenario {
	var out []conformance.Scenario
	for _, c := range conversations() {
		sc := c.scenario
		sc.Checks = slices.Clone(sc.Checks)
		sc.Run = c.run
		out = append(out, sc)
	}
	return out
}

// conversations reads the files once. That each can be read is seen by the
// first test of all; a binary has no others.
var conversations = sync.OnceValue(func() []*conversation {
	names, err := fs.Glob(conversationFiles, "conversations/*.txtar")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("conformance: no conversations: %v", err)) //nolint:forbidigo // embedded: a build without them is broken
	}
	var out []*conversation
	for _, name := range names {
		data, err := conversationFiles.ReadFile(name)
		if err == nil {
			var c *conversation
			if c, err = readConversation(data); err == nil {
				out = append(out, c)
				continue
			}
		}
		panic(fmt.Sprintf("conformance: %s: %v", name, err)) //nolint:forbidigo // as above
	}
	return out
})

// readConversation reads a file.
func readConversation(data []byte) (*conversation, error) {
	archive := txtar.Parse(data)
	c := &conversation{turns: map[string][]turn{}}
	about, head, _ := strings.Cut(string(archive.Comment), "\n")
	c.scenario.Title = strings.TrimSuffix(about, ".")
	for line := range strings.Lines(head) {
		if err := c.header(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	if c.scenario.ID == "" || !slices.Contains(areas, c.scenario.Area) {
		return nil, fmt.Errorf("id %q, area %q: both have to be said", c.scenario.ID, c.scenario.Area)
	}
	for _, f := range archive.Files {
		check, turns, err := readCheck(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c.scenario.Checks = append(c.scenario.Checks, check)
		c.turns[check.ID] = turns
	}
	return c, nil
}

func (c *conversation) header(line string) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch sc := &c.scenario; name {
	case "":
	case "id":
		sc.ID = value
	case "area":
		sc.Area = value
	case "since":
		sc.Since = mcp.Version(value)
	case "until":
		sc.Until = mcp.Version(value)
	case "capability":
		sc.Needs.Capability = value
	case "tool":
		sc.Needs.Tools = append(sc.Needs.Tools, value)
	default:
		return fmt.Errorf("the line %q is unknown", line)
	}
	return nil
}

// readCheck reads a section.
func readCheck(f txtar.File) (conformance.Check, []turn, error) {
	check := conformance.Check{ID: f.Name}
	var turns []turn
	for line := range strings.Lines(string(f.Data)) {
		line = strings.TrimSpace(line)
		mark, text, _ := strings.Cut(line, " ")
		switch mark {
		case "":
		case ">", ">>":
			t := turn{send: []byte(text), raw: mark == ">>"}
			if in := wire.Received(t.send, nil); in.Members != nil {
				t.id = in.ID()
			} else if !t.raw {
				return check, nil, fmt.Errorf("%s: %w", text, in.Err)
			}
			turns = append(turns, t)
		case "<":
			t, err := readAnswer(text)
			if err != nil {
				return check, nil, err
			}
			turns = append(turns, t)
		case string(conformance.Must), string(conformance.Should), string(conformance.May), string(conformance.Advice):
			check.Level, check.Title = conformance.Level(mark), text
		case "house:":
			check.House = conformance.Level(text)
		case "since:":
			check.Since = mcp.Version(text)
		case "until:":
			check.Until = mcp.Version(text)
		case "seed:":
			check.Spec.Seed = text
		default:
			check.Spec.Section, check.Spec.Quote, _ = strings.Cut(line, ": ")
		}
	}
	if check.Level == "" || check.Spec == (conformance.Spec{}) || len(turns) == 0 {
		return check, nil, fmt.Errorf("level %q, source %q, %d lines: each is needed", check.Level, check.Spec.Section, len(turns))
	}
	return check, turns, nil
}

func readAnswer(text string) (turn, error) {
	if text == "nothing" {
		return turn{none: true}, nil
	}
	want, err := readPattern([]byte(text))
	if err != nil {
		return turn{}, fmt.Errorf("%s: %w", text, err)
	}
	switch id := wire.Received([]byte(text), nil).ID(); id {
	case "":
		return turn{}, fmt.Errorf("%s: which request does it answer?", text)
	case "null", `"$absent"`, `{"$or":["$absent",null]}`:
		return turn{want: want}, nil // to a message whose id could not be read
	default:
		return turn{want: want, id: id}, nil
	}
}

// run says the lines of each check on one session.
func (c *conversation) run(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	for _, check := range c.scenario.Checks {
		if t.Decided(check.ID) {
			continue // left out by the caller
		}
		t.Step(s)
		if err := c.say(t, s, check.ID); err != nil {
			return err
		}
	}
	return nil
}

// say decides one check. The first answer that is not as it should be ends it;
// an error is the end of the session.
func (c *conversation) say(t *conformance.Trial, s *wire.Session, check string) error {
	turns := c.turns[check]
	for i, line := range turns {
		if line.send == nil {
			continue // met with what it answers
		}
		data := line.send
		if !line.raw {
			data = s.Message(line.id, wire.Received(data, nil).Method(), paramsOf(data))
		}
		var want []turn
		for _, next := range turns[i+1:] {
			if next.send == nil && (next.none || next.id == line.id || next.id == "") {
				want = append(want, next)
			}
			if next.send != nil {
				break
			}
		}
		switch {
		case len(want) == 0:
			if _, err := s.Send(t.Ctx, data); err != nil {
				return err
			}
		case want[0].none:
			if _, err := s.Send(t.Ctx, data); err != nil {
				return err
			}
			stray, err := s.Settle(t.Ctx)
			stray = slices.DeleteFunc(stray, refusal)
			if err != nil || len(stray) > 0 {
				t.Fail(check, "no answer", strayText(stray, err))
				return err
			}
		default:
			a, err := s.Provoke(t.Ctx, want[0].id, data)
			if isList := strings.HasSuffix(wire.Received(data, nil).Method(), "/list"); isList && a.Err != nil && want[0].want.fault(a.In.Data) != "" {
				t.Unknown(check, a.Describe()) // any list may be refused, and says nothing then
				return nil
			}
			if reason := want[0].want.fault(a.In.Data); err != nil || reason != "" {
				t.Fail(check, string(want[0].want.text), "%s", strings.TrimSpace(a.OrError(err)+" "+reason))
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

func strayText(stray []wire.Inbound, err error) string {
	if err != nil {
		return err.Error()
	}
	return rawjson.Clip(string(stray[0].Data), 160)
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
