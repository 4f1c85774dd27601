package conformance

import (
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func gateScenarios() []Scenario {
	first := Spec{Section: "basic/lifecycle#initialization", Quote: "The initialization phase MUST be the first interaction between client and server."}
	return []Scenario{
		{
			ID: "X-GATE-01", Area: "lifecycle", Title: "nothing works before the handshake is done",
			Needs: Needs{Capability: "tools"},
			Checks: []Check{
				{ID: "X-GATE-01/first", Title: "tools/list before initialize is refused", Level: Advice, House: Must, Spec: first},
				{ID: "X-GATE-01/list", Title: "tools/list before initialized is refused with -32600 not_initialized", Level: Advice, Spec: Spec{Seed: "X-GATE-01"}, House: Must},
				{ID: "X-GATE-01/call", Title: "tools/call before initialized is refused with -32600 not_initialized", Level: Advice, Spec: Spec{Seed: "X-GATE-01"}, House: Must},
				{ID: "X-GATE-01/ping", Title: "ping works before initialized", Level: Must, Spec: Spec{Section: "basic/utilities/ping", Quote: "The receiver MUST respond promptly with an empty response"}},
				{ID: "X-GATE-01/after", Title: "tools/list works after initialized", Level: Must, Spec: Spec{Section: "server/tools#listing-tools", Quote: "To discover available tools, clients send a tools/list request."}},
			},
			run: runGate,
		},
		{
			ID: "X-GATE-02", Area: "lifecycle", Title: "a session is initialized once",
			Checks: []Check{
				{ID: "X-GATE-02/refused", Title: "a second initialize is refused with -32600", Level: Advice, House: Must, Spec: Spec{Seed: "X-GATE-02"}},
				{ID: "X-GATE-02/alive", Title: "the session works after a second initialize", Level: Must, Spec: first},
			},
			run: runSecondInitialize,
		},
	}
}

func runGate(t *trial) error {
	s, err := t.raw()
	if err != nil {
		return err
	}
	if s.Conn.Transport() == wire.TransportHTTP {
		// Without a session id a server may be a stateless one, which has no
		// handshake to wait for.
		t.skip("X-GATE-01/first", SkipTransport, "a request without a session may be served on HTTP")
	} else {
		if s, err = tooEarly(t, s); err != nil {
			return err
		}
	}
	if s.Opened == nil {
		if _, err := s.Initialize(t.ctx, t.leg.asked); err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
	}
	if t.forHouse("X-GATE-01/list", "X-GATE-01/call") {
		t.step(s)
		a, err := s.Request(t.ctx, mcp.MethodToolsList, nil)
		checkNotInitialized(t, "X-GATE-01/list", a, err)
		t.step(s)
		a, err = s.Request(t.ctx, mcp.MethodToolsCall, callParams(unknownTool, nil))
		checkNotInitialized(t, "X-GATE-01/call", a, err)
	}
	t.step(s)
	a, err := s.Ping(t.ctx)
	t.check("X-GATE-01/ping", err == nil && a.Err == nil, "a result", a.OrError(err))
	if err := s.Initialized(t.ctx); err != nil {
		return err
	}
	t.step(s)
	a, err = s.Request(t.ctx, mcp.MethodToolsList, nil)
	t.check("X-GATE-01/after", err == nil && a.Err == nil, "a result", a.OrError(err))
	return nil
}

// tooEarly asks for tools before initialize and returns a session to go on with.
// Silence is a refusal, too, of a server that goes on to answer initialize: one
// that has gone has refused nothing.
func tooEarly(t *trial, s *wire.Session) (*wire.Session, error) {
	a, early := s.Request(t.ctx, mcp.MethodToolsList, nil)
	if early == nil {
		t.check("X-GATE-01/first", a.Err != nil, "an error", "%s", a.Describe())
		return s, nil
	}
	if errors.Is(early, wire.ErrNoAnswer) {
		if _, err := s.Initialize(t.ctx, t.leg.asked); err == nil {
			t.pass("X-GATE-01/first")
			return s, nil
		}
	}
	t.unknown("X-GATE-01/first", "the server was lost: "+early.Error())
	return t.raw()
}

func checkNotInitialized(t *trial, id string, a wire.Answer, err error) {
	data, _ := rawjson.Object(a.ErrorData())
	ok := err == nil && a.Err != nil && a.Err.Code == wire.CodeInvalidRequest && rawjson.Text(data["reason"]) == "not_initialized"
	t.check(id, ok, `error -32600 with data.reason "not_initialized"`, a.OrError(err))
}

func runSecondInitialize(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	a, err := s.Request(t.ctx, mcp.MethodInitialize, s.InitializeParams(t.leg.asked))
	if t.forHouse("X-GATE-02/refused") {
		t.check("X-GATE-02/refused", err == nil && a.Err != nil && a.Err.Code == wire.CodeInvalidRequest, "error -32600", a.OrError(err))
	}
	a, err = s.Ping(t.ctx)
	t.check("X-GATE-02/alive", err == nil && a.Err == nil, "an answer to ping", a.OrError(err))
	return nil
}
