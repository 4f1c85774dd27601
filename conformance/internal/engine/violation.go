package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// protocolViolation is a malformed answer to initialize.
type protocolViolation struct {
	rule  string // the check that it breaks
	text  string
	cause error // wire.ErrNoAnswer if there was none
}

// wrongly returns a protocolViolation; problem completes the sentence "the answer …".
func wrongly(rule, problem string, args ...any) *protocolViolation {
	return &protocolViolation{rule: rule, text: "the server's answer to initialize " + fmt.Sprintf(problem, args...)}
}

// Error implements error.
func (m *protocolViolation) Error() string { return m.text }

// AnsweredWrongly marks an error about a malformed answer.
func (m *protocolViolation) AnsweredWrongly() {}

func (m *protocolViolation) Unwrap() error { return m.cause }

// greeting has the messages that arrive while initialize waits for its answer.
type greeting struct {
	id string // of initialize, as JSON
	// text has the lines that are no messages.
	text []byte
	// other is a response with another id.
	other *protocolViolation
	found *protocolViolation
}

// takes reports whether in ends the wait: it is the answer, or a malformed answer, which
// found describes.
func (g *greeting) takes(in wire.Inbound) bool {
	switch {
	case in.Members == nil:
		g.found = g.garbled(in.Data)
	case in.ID() != g.id:
		if _, there := in.Members["id"]; in.IsResponse() && (there || in.Members["error"] != nil) {
			g.other = wrongly(observe.SeenKnown, "has the id %s and not %s", rawjson.OrAbsent(in.Members["id"]), g.id)
		}
		return false
	case in.IsResponse():
		return true
	case in.Members["result"] != nil, in.Members["error"] != nil:
		g.found = wrongly(observe.SeenExclusive, `has a member "method", which makes it a request`)
	case in.Method() == mcp.MethodInitialize:
		g.found = wrongly(checkAnswered, "is the request itself: the server echoes its input")
	}
	return g.found != nil
}

// garbled looks for the answer in a line that is no message and in the lines before.
func (g *greeting) garbled(line []byte) *protocolViolation {
	if bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff")) {
		return wrongly(observe.SeenClean, "is UTF-16, and not UTF-8")
	}
	if before, after, there := g.find(line); there {
		switch {
		case string(before) == byteOrderMark:
			return wrongly(observe.SeenClean, "begins with a byte order mark (U+FEFF)")
		case len(before) > 0:
			return wrongly(observe.SeenClean, "follows %q on its line", rawjson.Clip(string(before), 60))
		default:
			return wrongly(observe.SeenClean, "is followed by %q on its line", rawjson.Clip(string(bytes.TrimSpace(after)), 60))
		}
	}
	if len(g.text) > wire.KeptGreeting {
		return nil // the output is endless
	}
	g.text = append(append(g.text, line[:min(len(line), wire.KeptGreeting)]...), '\n')
	if _, _, there := g.find(g.text); there {
		return wrongly(checkNewlines, "is spread over several lines")
	}
	return nil
}

const byteOrderMark = "\ufeff"

// unterminated looks for the answer in what came after the last newline.
func (g *greeting) unterminated(rest []byte) *protocolViolation {
	if bytes.HasPrefix(g.text, []byte("Content-Length:")) {
		return wrongly(checkNewlines, "has a Content-Length header; messages are lines")
	}
	if before, after, there := g.find(rest); there && len(bytes.TrimSpace(before)) == 0 && len(bytes.TrimSpace(after)) == 0 {
		return wrongly(checkNewlines, "does not end with a newline")
	}
	return nil
}

// find returns the text before and after the response to initialize.
func (g *greeting) find(text []byte) (before, after []byte, there bool) {
	const tries = 64 // a text may consist of braces
	at := 0
	for range tries {
		next := bytes.IndexByte(text[at:], '{')
		if next < 0 {
			return nil, nil, false
		}
		at += next
		d := json.NewDecoder(bytes.NewReader(text[at:]))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			if in := wire.Received(raw, nil); in.IsResponse() && in.ID() == g.id {
				return text[:at], text[at+int(d.InputOffset()):], true
			}
		}
		at++
	}
	return nil, nil, false
}

// silence describes a server that has not answered in time.
func (g *greeting) silence(waited string) *protocolViolation {
	m := &protocolViolation{rule: checkAnswered, text: "the server did not answer initialize in " + waited, cause: wire.ErrNoAnswer}
	if len(g.text) > 0 {
		m.rule = observe.SeenClean
		m.text += "; it wrote lines that are no messages"
	}
	return m
}

// held looks for the answer in the output after the input was closed.
func (g *greeting) held(t *wire.Trace) *protocolViolation {
	for _, f := range t.All() {
		if in := wire.Received(f.Data, nil); f.Dir == conformance.FromServer && in.IsResponse() && in.ID() == g.id {
			return wrongly(checkAnswered, "came only when its input was closed: it does not flush its standard output")
		}
	}
	return nil
}

// noResponse describes an HTTP answer without a response.
func noResponse(s *wire.Session, status string) *protocolViolation {
	g := &greeting{}
	for id, method := range s.Methods {
		if method == mcp.MethodInitialize {
			g.id = id
		}
	}
	for _, f := range s.Trace.All() {
		if f.Dir != conformance.FromServer || f.HTTP == nil {
			continue
		}
		in := wire.Received(f.Data, f.HTTP)
		switch {
		case in.Members != nil && g.takes(in) && g.found != nil:
			return g.found
		case !wire.IsAnswerType(f.HTTP.ContentType):
			return wrongly(observe.SeenMediaType, "is no message: %s", status)
		case len(f.Data) > 0 && in.Members == nil:
			return wrongly(observe.SeenOne, "is no message: %s", status)
		}
	}
	return wrongly(checkAnswered, "did not come: %s without a response", status)
}

// The checks that an UnreachableError names.
const (
	checkAnswered = "LC-01/answered"
	checkNewlines = "STDIO-01/newlines"
)

// ruleOf returns the check of the run with an id, the zero value for none.
func (r *runner) ruleOf(id string) conformance.Check {
	for i := range r.Suite.Scenarios {
		for _, c := range r.Suite.Scenarios[i].Checks {
			if c.ID == id {
				return c.Check
			}
		}
	}
	return conformance.Check{} // the run makes other checks
}
