package conformance

import (
	"errors"
	"fmt"

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
	if s.wire.transport() == TransportHTTP {
		// Without a session id a server may be a stateless one, which has no
		// handshake to wait for.
		t.skip("X-GATE-01/first", SkipTransport, "a request without a session may be served on HTTP")
	} else {
		if s, err = t.tooEarly(s); err != nil {
			return err
		}
	}
	if s.opened == nil {
		if _, err := s.initialize(t.ctx, t.leg.asked); err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
	}
	if t.forHouse("X-GATE-01/list", "X-GATE-01/call") {
		t.step(s)
		a, err := s.request(t.ctx, mcp.MethodToolsList, nil)
		t.checkNotInitialized("X-GATE-01/list", a, err)
		t.step(s)
		a, err = s.request(t.ctx, mcp.MethodToolsCall, callParams(unknownTool, nil))
		t.checkNotInitialized("X-GATE-01/call", a, err)
	}
	t.step(s)
	a, err := s.ping(t.ctx)
	t.check("X-GATE-01/ping", err == nil && a.err == nil, "a result", a.orError(err))
	if err := s.initialized(t.ctx); err != nil {
		return err
	}
	t.step(s)
	a, err = s.request(t.ctx, mcp.MethodToolsList, nil)
	t.check("X-GATE-01/after", err == nil && a.err == nil, "a result", a.orError(err))
	return nil
}

// tooEarly asks for tools before initialize and returns a session to go on with.
// Silence is a refusal, too, of a server that goes on to answer initialize: one
// that has gone has refused nothing.
func (t *trial) tooEarly(s *session) (*session, error) {
	a, early := s.request(t.ctx, mcp.MethodToolsList, nil)
	if early == nil {
		t.check("X-GATE-01/first", a.err != nil, "an error", "%s", a.describe())
		return s, nil
	}
	if errors.Is(early, errNoAnswer) {
		if _, err := s.initialize(t.ctx, t.leg.asked); err == nil {
			t.pass("X-GATE-01/first")
			return s, nil
		}
	}
	t.unknown("X-GATE-01/first", "the server was lost: "+early.Error())
	return t.raw()
}

func (t *trial) checkNotInitialized(id string, a answer, err error) {
	data, _ := object(a.errorData())
	ok := err == nil && a.err != nil && a.err.Code == codeInvalidRequest && text(data["reason"]) == "not_initialized"
	t.check(id, ok, `error -32600 with data.reason "not_initialized"`, a.orError(err))
}

func runSecondInitialize(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	a, err := s.request(t.ctx, mcp.MethodInitialize, s.initializeParams(t.leg.asked))
	if t.forHouse("X-GATE-02/refused") {
		t.check("X-GATE-02/refused", err == nil && a.err != nil && a.err.Code == codeInvalidRequest, "error -32600", a.orError(err))
	}
	a, err = s.ping(t.ctx)
	t.check("X-GATE-02/alive", err == nil && a.err == nil, "an answer to ping", a.orError(err))
	return nil
}

// orError describes what came: the answer, or why there is none.
func (a answer) orError(err error) string {
	if err != nil {
		return err.Error()
	}
	return a.describe()
}

func (a answer) errorData() []byte {
	if a.err == nil {
		return nil
	}
	return a.err.Data
}

// hasCode reports whether the answer is an error with one of the codes.
func (a answer) hasCode(err error, codes ...int64) bool {
	if err != nil || a.err == nil {
		return false
	}
	for _, c := range codes {
		if a.err.Code == c {
			return true
		}
	}
	return false
}
