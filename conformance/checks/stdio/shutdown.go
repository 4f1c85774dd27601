package stdio

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func shutdownScenarios() []engine.Scenario {
	stdio := engine.Needs{Transport: conformance.TransportStdio}
	return []engine.Scenario{
		{ID: "STDIO-08", Starts: 1, Gentle: true, Needs: stdio, Run: runEndOfInput},
		{ID: "X-SHUT-01", Needs: stdio, Run: runEndWithCalls},
		{ID: "STDIO-06", Needs: engine.Needs{Transport: conformance.TransportStdio, Process: true}, Run: runTerminate},
	}
}

func runEndOfInput(t *engine.Trial) {
	if !endsWell(t, checkEnds, checkStatus) {
		judgeEnd(t)
	}
	s := t.Raw()
	_, err := s.Initialize(t.Ctx, t.Rev.Asked)
	t.NoError(err)
	end := s.Close()
	t.Check("STDIO-08/handshake", end.Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")
}

// judgeEnd judges the end of a program that has nothing to do.
func judgeEnd(t *engine.Trial) {
	s := t.Fresh()
	end := s.Close()
	t.Check("STDIO-08/ends", end.Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")
	switch {
	case !end.Prompt:
		t.Skip("STDIO-08/status", conformance.SkipPrerequisite, "it did not end on its own")
	case end.Exit < 0:
		t.Check("STDIO-08/status", end.Err == nil, "no error", "%v", end.Err)
	default:
		t.Check("STDIO-08/status", end.Exit == 0, "status 0", "status %d", end.Exit)
	}
}

// runTerminate is about the step after the end of the input: a server that did
// not heed that ends by the signal (SIGTERM), or has to be killed.
func runTerminate(t *engine.Trial) {
	if !wire.CanTerminate {
		t.Skip("STDIO-06/term", conformance.SkipControl, "needs a system with SIGTERM")
		return
	}
	s := t.Spent()
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok || w.Terminate == nil {
		t.NoError(engine.SuiteError(fmt.Errorf("transport %s has no program", s.Conn.Transport())))
		return
	}
	s.Closed = true // what follows is the end that was asked for
	t.Check("STDIO-06/term", w.Terminate(), "an end within "+wire.EndGrace.String(), "it had to be killed")
}

// endedCalls is the number of requests whose answers are due when the input ends.
const endedCalls = 20

func runEndWithCalls(t *engine.Trial) {
	if endsWell(t, checkCalls) {
		return
	}
	s := t.Fresh()
	const calls = endedCalls
	open := map[string]bool{}
	for range calls {
		id, err := s.Post(t.Ctx, mcp.MethodPing, nil)
		t.NoError(err)
		open[id] = true
	}
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok {
		t.NoError(engine.SuiteError(fmt.Errorf("transport %s has no end of input", s.Conn.Transport())))
		return
	}
	s.Closed = true // what follows is the end that was asked for
	t.NoError(w.CloseInput())
	for len(open) > 0 {
		in, err := s.Next(t.Ctx, func(in wire.Inbound) bool { return open[in.ID()] })
		if err != nil {
			t.Fail("X-SHUT-01", "20 answers", "%d of 20, then: %v", calls-len(open), err)
			return
		}
		delete(open, in.ID())
	}
	t.Pass("X-SHUT-01")
}
