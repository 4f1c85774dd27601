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
		{ID: "STDIO-02-EDGES", Needs: engine.Needs{Transport: conformance.TransportStdio}, Run: runEdges},
		{ID: "STDIO-08-EARLY", Needs: engine.Needs{Transport: conformance.TransportStdio}, Run: runEarlyEnd},
	}
}

func runEdges(t *engine.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	answered := func(s *wire.Session, check, id string) {
		a, err := s.Await(t.Ctx, id)
		t.Check(check, err == nil && a.Err == nil, "an answer to "+s.LifeSign(), "%s", a.OrError(err))
	}
	const foreign = `"größe-日本-🦊"`
	t.Step(s)
	s.Pending[foreign] = false
	line := append(s.Message(foreign, s.LifeSign(), nil), '\n')
	for piece := range slices.Chunk(line, 5) {
		if err := talk.WriteRaw(t, s, piece); err != nil {
			return err
		}
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
	if err := talk.WriteRaw(t, s, lines); err != nil {
		return err
	}
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
	// A method with newlines in its name comes back in the error of most.
	a, err := s.Request(t.Ctx, "no\nsuch\r\nmethod", nil)
	t.Check("STDIO-01/newlines", a.HasCode(err, wire.CodeMethodNotFound), "error -32601 on one line", "%s", a.OrError(err))

	// What may end a server comes last, and each to a program of its own.
	for _, each := range [][2]string{{"STDIO-02/mixed", "this is not JSON\n"}, {"STDIO-02/nul", "\x00\x00\x00\n"}} {
		check, junk := each[0], each[1]
		s, err := t.Fresh()
		if err != nil {
			return err
		}
		id := s.NewID()
		s.Pending[id] = false
		if err := talk.WriteRaw(t, s, append(append([]byte(junk), s.Message(id, s.LifeSign(), nil)...), '\n')); err != nil {
			return err
		}
		answered(s, check, id)
	}

	last, err := t.Fresh()
	if err != nil {
		return err
	}
	id := last.NewID()
	last.Pending[id] = false
	if err := talk.WriteRaw(t, last, last.Message(id, last.LifeSign(), nil)); err != nil {
		return err
	}
	if err := closeInput(last); err != nil {
		return err
	}
	a, err = last.Await(t.Ctx, id)
	t.Check("STDIO-02/last", err == nil && a.Err == nil, "an answer to "+last.LifeSign(), "%s", a.OrError(err))
	return nil
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

func runEarlyEnd(t *engine.Trial) error {
	s, err := t.Raw()
	if err != nil {
		return err
	}
	t.Check("STDIO-08/before", s.Close().Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")
	if s, err = t.Fresh(); err != nil {
		return err
	}
	if err := talk.WriteRaw(t, s, []byte(`{"jsonrpc":"2.0","id":"cut`)); err != nil {
		return err
	}
	t.Check("STDIO-08/busy", s.Close().Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")

	if s, err = t.Fresh(); err != nil {
		return err
	}
	if _, err := s.Post(t.Ctx, s.LifeSign(), nil); err != nil {
		return err
	}
	if err := closeInput(s); err != nil {
		return err
	}
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
	return nil
}
