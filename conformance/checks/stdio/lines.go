package stdio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

func stdioScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "STDIO-02-EDGES", Starts: 1, Needs: engine.Needs{Transport: conformance.TransportStdio}, Run: runEdges},
		{ID: "STDIO-08-EARLY", Starts: 1, Gentle: true, Needs: engine.Needs{Transport: conformance.TransportStdio}, Run: runEarlyEnd},
	}
}

func runEdges(t *engine.Trial) {
	s := t.Shared()
	answered := func(s *wire.Session, check, id string) {
		a, err := s.Await(t.Ctx, id)
		t.Check(check, err == nil && a.Err == nil, "an answer to "+s.LifeSign(), "%s", a.OrError(err))
	}
	const foreign = `"größe-日本-🦊"`
	t.Step(s)
	s.Pending[foreign] = false
	line := append(s.Message(foreign, s.LifeSign(), nil), '\n')
	for piece := range slices.Chunk(line, 5) {
		t.NoError(talk.WriteRaw(t, s, piece))
	}
	answered(s, "STDIO-02/split", foreign)

	t.Step(s)
	var lines []byte
	var ids []string
	for range 500 {
		id := s.NewID()
		ids = append(ids, id)
		s.Pending[id] = false
		lines = append(append(lines, s.Message(id, s.LifeSign(), nil)...), '\n')
	}
	t.NoError(talk.WriteRaw(t, s, lines))
	for i, id := range ids {
		if a, err := s.Await(t.Ctx, id); err != nil || a.Err != nil {
			t.Fail("STDIO-02/many", "500 answers", "line %d: %s", i+1, a.OrError(err))
			break
		}
	}
	if !t.Decided("STDIO-02/many") {
		t.Pass("STDIO-02/many")
	}

	t.Step(s)
	const separated = "\"a\u2028b\u2029c\u0085d\""
	s.Pending[separated] = false
	plain := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029") // the encoder escapes them
	t.NoError(talk.WriteRaw(t, s, []byte(plain.Replace(string(s.Message(separated, s.LifeSign(), nil)))+"\n")))
	answered(s, "STDIO-02/separators", separated)

	t.Step(s)
	// A method with newlines in its name comes back in the error of most.
	a, err := s.Request(t.Ctx, "no\nsuch\r\nmethod", nil)
	t.Check("STDIO-01/newlines", err == nil, "an answer on one line", "%s", a.OrError(err)) // another check judges the code

	// What may end a server comes last, and each to a program of its own.
	var own *wire.Session
	for _, each := range [][2]string{{"STDIO-02/mixed", "this is not JSON\n"}, {"STDIO-02/nul", "\x00\x00\x00\n"}} {
		check, junk := each[0], each[1]
		if own == nil || t.Alone() {
			own = t.Fresh()
		} else {
			own = t.AgainFresh(own)
		}
		s := own
		id := s.NewID()
		s.Pending[id] = false
		t.NoError(talk.WriteRaw(t, s, append(append([]byte(junk), s.Message(id, s.LifeSign(), nil)...), '\n')))
		answered(s, check, id)
	}

	if endsWell(t, checkLast) {
		return
	}
	last := t.New()
	id := last.NewID()
	last.Pending[id] = false
	t.NoError(talk.WriteRaw(t, last, last.Message(id, last.LifeSign(), nil)))
	t.NoError(closeInput(last))
	a, err = last.Await(t.Ctx, id)
	t.Check("STDIO-02/last", err == nil && a.Err == nil, "an answer to "+last.LifeSign(), "%s", a.OrError(err))
}

// closeInput ends what the server reads.
func closeInput(s *wire.Session) error {
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok {
		return engine.SuiteError(fmt.Errorf("transport %s has no end of input", s.Conn.Transport()))
	}
	s.Closed = true // what follows is the end that was asked for
	return w.CloseInput()
}

func runEarlyEnd(t *engine.Trial) {
	s := t.Raw()
	t.Check("STDIO-08/before", s.Close().Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")
	if !t.MayProvoke() {
		return
	}
	s = t.Spent()
	t.NoError(talk.WriteRaw(t, s, []byte(`{"jsonrpc":"2.0","id":"cut`)))
	t.Check("STDIO-08/busy", s.Close().Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")

	if endsWell(t, checkAfter) {
		return
	}
	s = t.Fresh()
	_, err := s.Post(t.Ctx, s.LifeSign(), nil)
	t.NoError(err)
	t.NoError(closeInput(s))
	var strange []string
	s.Timeout = min(s.Timeout, 2*wire.Lag)
	_, err = s.Next(t.Ctx, func(in wire.Inbound) bool {
		if !in.Ended && in.Members == nil {
			strange = append(strange, rawjson.Clip(string(in.Data), 120))
		}
		return false
	})
	// The end of the stream is what has to come; that it comes late is STDIO-08.
	t.Check("STDIO-08/after", len(strange) == 0, "messages", "%s (%v)", strings.Join(strange, ", "), err)
}
