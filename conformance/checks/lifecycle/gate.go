package lifecycle

import (
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func gateScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "X-GATE-01", Starts: 1, Needs: engine.Needs{Capability: "tools"}, Run: runGate},
		{ID: "X-GATE-02", Run: runSecondInitialize},
	}
}

func runGate(t *engine.Trial) {
	s := t.Raw()
	if s.Conn.Transport() == conformance.TransportHTTP {
		// Without a session id a server may be a stateless one, which has no
		// handshake to wait for.
		t.Skip("X-GATE-01/first", conformance.SkipTransport, "a request without a session may be served on HTTP")
	} else {
		s = tooEarly(t, s)
	}
	if s.Opened == nil {
		if _, err := s.Initialize(t.Ctx, t.Rev.Asked); err != nil {
			t.Stop(fmt.Errorf("initialize: %w", err))
		}
	}
	if t.NeedsProfile("X-GATE-01/list", "X-GATE-01/call") {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodToolsList, nil)
		checkNotInitialized(t, "X-GATE-01/list", a, err)
		t.Step(s)
		a, err = s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(fixture.NoTool, nil))
		checkNotInitialized(t, "X-GATE-01/call", a, err)
	}
	t.Step(s)
	a, err := s.Ping(t.Ctx)
	t.Check("X-GATE-01/ping", err == nil && a.Err == nil, "a result", a.OrError(err))
	t.NoError(s.Initialized(t.Ctx))
	t.Step(s)
	a, err = s.Request(t.Ctx, mcp.MethodToolsList, nil)
	t.Check("X-GATE-01/after", err == nil && a.Err == nil, "a result", a.OrError(err))
}

// tooEarly asks for tools before initialize and returns a session to go on with.
// Silence is a refusal, too, of a server that goes on to answer initialize: one
// that has gone has refused nothing.
func tooEarly(t *engine.Trial, s *wire.Session) *wire.Session {
	a, early := s.Request(t.Ctx, mcp.MethodToolsList, nil)
	if early == nil {
		t.Check("X-GATE-01/first", a.Err != nil, "an error", "%s", a.Describe())
		return s
	}
	if errors.Is(early, wire.ErrNoAnswer) {
		if _, err := s.Initialize(t.Ctx, t.Rev.Asked); err == nil {
			t.Pass("X-GATE-01/first")
			return s
		}
	}
	t.Inconclusive("X-GATE-01/first", "the server was lost: "+early.Error())
	return t.Raw()
}

func checkNotInitialized(t *engine.Trial, id string, a wire.Answer, err error) {
	data, _ := rawjson.Object(a.ErrorData())
	ok := err == nil && a.Err != nil && a.Err.Code == wire.CodeInvalidRequest && rawjson.Text(data["reason"]) == "not_initialized"
	t.Check(id, ok, `error -32600 with data.reason "not_initialized"`, a.OrError(err))
}

// runSecondInitialize sends another initialize down a session. The specification
// does not say what becomes of it. Over a pipe the official SDKs serve it, which lets
// a bridge share one program between clients; over HTTP, where each client has a
// session of its own, they refuse it.
func runSecondInitialize(t *engine.Trial) {
	s := t.Fresh()
	a, err := s.Request(t.Ctx, mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked))
	result, _ := rawjson.Object(a.Result)
	served := err == nil && a.Err == nil && rawjson.Text(result["protocolVersion"]) != ""
	if t.NeedsProfile("X-GATE-02/answered") {
		refused := err == nil && a.Err != nil && a.Err.Code == wire.CodeInvalidRequest
		t.Check("X-GATE-02/answered", served || refused, "a result with a protocolVersion, or error -32600", a.OrError(err))
	}
	if served {
		_ = s.Initialized(t.Ctx) // the ping finds out whether the connection is lost
	}
	a, err = s.Ping(t.Ctx)
	t.Check("X-GATE-02/alive", err == nil && a.Err == nil, "an answer to ping", a.OrError(err))
}
