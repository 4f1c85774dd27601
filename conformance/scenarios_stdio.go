package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

func stdioScenarios() []Scenario {
	delimited := Spec{Section: "basic/transports#stdio", Quote: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."}
	shutdown := Spec{Section: "basic/transports/stdio#shutdown", Quote: "Servers SHOULD exit promptly when their standard input is closed or reads return end-of-file."}
	return []Scenario{
		{
			ID: "STDIO-02-EDGES", Area: "stdio", Title: "lines at the edge", Needs: Needs{Transport: wire.TransportStdio},
			Checks: []Check{
				houseRule("STDIO-02/last", "a last line without a newline is answered", Spec{Seed: "STDIO-02"}),
				rule("STDIO-02/split", "a letter of several bytes may arrive in pieces", delimited),
				houseRule("STDIO-02/mixed", "a line that is no JSON does not swallow the one after it", delimited),
				rule("STDIO-02/many", "500 lines in one write are each answered", delimited),
				houseRule("STDIO-02/nul", "a line of NUL bytes does not end the session", delimited),
				rule("STDIO-01/newlines", "a newline in a text of an answer is escaped", delimited),
			},
			run: runEdges,
		},
		{
			ID: "STDIO-08-EARLY", Area: "stdio", Title: "an end at other times", Needs: Needs{Transport: wire.TransportStdio},
			Checks: []Check{
				promised("STDIO-08/before", "the server ends when its input ends before anything was said", shutdown),
				promised("STDIO-08/busy", "it ends when its input ends in the middle of a line", shutdown),
				rule("STDIO-08/after", "after the end of its input it writes nothing but messages", Spec{Section: "basic/transports#stdio", Quote: "The server MUST NOT write anything to its stdout that is not a valid MCP message."}),
			},
			run: runEarlyEnd,
		},
	}
}

func runEdges(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	answered := func(s *wire.Session, check, id string) {
		a, err := s.Await(t.ctx, id)
		t.check(check, err == nil && a.Err == nil, "an answer to "+s.LifeSign(), "%s", a.OrError(err))
	}
	const foreign = `"größe-日本-🦊"`
	t.step(s)
	s.Pending[foreign] = false
	line := append(s.Message(foreign, s.LifeSign(), nil), '\n')
	for piece := range slices.Chunk(line, 5) {
		if err := writeRaw(t, s, piece); err != nil {
			return err
		}
	}
	answered(s, "STDIO-02/split", foreign)

	t.step(s)
	var lines []byte
	var ids []string
	for range 500 {
		id := s.NewID()
		ids = append(ids, id)
		s.Pending[id] = false
		lines = append(append(lines, s.Message(id, s.LifeSign(), nil)...), '\n')
	}
	if err := writeRaw(t, s, lines); err != nil {
		return err
	}
	for i, id := range ids {
		if a, err := s.Await(t.ctx, id); err != nil || a.Err != nil {
			t.fail("STDIO-02/many", "500 answers", "line %d: %s", i+1, a.OrError(err))
			break
		}
	}
	if !t.decided("STDIO-02/many") {
		t.pass("STDIO-02/many")
	}

	t.step(s)
	// A method with newlines in its name comes back in the error of most.
	a, err := s.Request(t.ctx, "no\nsuch\r\nmethod", nil)
	t.check("STDIO-01/newlines", a.HasCode(err, wire.CodeMethodNotFound), "error -32601 on one line", "%s", a.OrError(err))

	// What may end a server comes last, and each to a program of its own.
	for check, junk := range pairs("STDIO-02/mixed", "this is not JSON\n", "STDIO-02/nul", "\x00\x00\x00\n") {
		s, err := t.fresh()
		if err != nil {
			return err
		}
		id := s.NewID()
		s.Pending[id] = false
		if err := writeRaw(t, s, append(append([]byte(junk), s.Message(id, s.LifeSign(), nil)...), '\n')); err != nil {
			return err
		}
		answered(s, check, id)
	}

	last, err := t.fresh()
	if err != nil {
		return err
	}
	id := last.NewID()
	last.Pending[id] = false
	if err := writeRaw(t, last, last.Message(id, last.LifeSign(), nil)); err != nil {
		return err
	}
	if err := closeInput(last); err != nil {
		return err
	}
	a, err = last.Await(t.ctx, id)
	t.check("STDIO-02/last", err == nil && a.Err == nil, "an answer to "+last.LifeSign(), "%s", a.OrError(err))
	return nil
}

// closeInput ends what the server reads.
func closeInput(s *wire.Session) error {
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok {
		return ours(fmt.Errorf("transport %s has no end of input", s.Conn.Transport()))
	}
	s.Ended = true // what follows is the end that was asked for
	return w.CloseInput()
}

func runEarlyEnd(t *trial) error {
	s, err := t.raw()
	if err != nil {
		return err
	}
	t.check("STDIO-08/before", s.Close().Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")
	if s, err = t.fresh(); err != nil {
		return err
	}
	if err := writeRaw(t, s, []byte(`{"jsonrpc":"2.0","id":"cut`)); err != nil {
		return err
	}
	t.check("STDIO-08/busy", s.Close().Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")

	if s, err = t.fresh(); err != nil {
		return err
	}
	if _, err := s.Post(t.ctx, s.LifeSign(), nil); err != nil {
		return err
	}
	if err := closeInput(s); err != nil {
		return err
	}
	var strange []string
	s.Wait = min(s.Wait, 2*wire.Lag)
	_, err = s.Next(t.ctx, func(in wire.Inbound) bool {
		if !in.Ended && in.Members == nil {
			strange = append(strange, rawjson.Clip(string(in.Data), 120))
		}
		return false
	})
	// The end of the stream is what has to come; that it comes late is STDIO-08.
	t.check("STDIO-08/after", len(strange) == 0, "messages", "%s (%v)", strings.Join(strange, ", "), err)
	return nil
}
