package conformance

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func framingScenarios() []Scenario {
	jsonRPC := Spec{Section: "basic#messages", Quote: "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."}
	return []Scenario{
		{
			ID: "X-WIRE-01", Area: "errors", Title: "a request that is not JSON-RPC 2.0",
			Checks: []Check{
				{ID: "X-WIRE-01/missing", Title: "a request without jsonrpc is answered with -32600 and its id", Level: Should, House: Must, Spec: jsonRPC},
				{ID: "X-WIRE-01/other", Title: `a request with jsonrpc "1.0" is answered with -32600 and its id`, Level: Should, House: Must, Spec: jsonRPC},
				{ID: "X-WIRE-01/method", Title: "a method that is not a string is answered with -32600", Level: Should, House: Must, Spec: jsonRPC},
				{ID: "X-WIRE-01/alive", Title: "the next valid request is answered", Level: Must, Spec: jsonRPC},
			},
			run: runWrongEnvelope,
		},
		{
			ID: "X-WIRE-02", Area: "errors", Title: "a message that is not JSON",
			Checks: []Check{
				{ID: "X-WIRE-02/parse", Title: "a message that is not JSON is answered with -32700 and id null", Level: Should, House: Must, Spec: jsonRPC},
				{ID: "X-WIRE-02/truncated", Title: "a truncated message is answered with -32700 and id null", Level: Should, House: Must, Spec: jsonRPC},
				{ID: "X-WIRE-02/alive", Title: "the next valid request is answered", Level: Must, Spec: jsonRPC},
			},
			run: runNotJSON,
		},
		{
			ID: "RPC-01", Area: "base", Title: "messages as other clients write them",
			Checks: []Check{
				{ID: "RPC-01/escapes", Title: "an escaped spelling of a name is that name", Level: Must, Spec: jsonRPC},
				{ID: "RPC-01/whitespace", Title: "white space between the tokens of a message changes nothing", Level: Must, Spec: jsonRPC},
				{ID: "RPC-01/order", Title: "the order of members changes nothing", Level: Must, Spec: jsonRPC},
				{ID: "RPC-19/meta", Title: "unknown keys in _meta are ignored", Level: Must, Spec: Spec{Section: "basic#_meta", Quote: "The _meta property/parameter is reserved by MCP to allow clients and servers to attach additional metadata to their interactions."}},
			},
			run: runSpellings,
		},
		{
			ID: "STDIO-02", Area: "stdio", Title: "lines of every kind",
			Needs: Needs{Transport: TransportStdio},
			Checks: []Check{
				{ID: "STDIO-02/large", Title: "a line of 1 MiB is read", Level: Should, House: Must, Spec: Spec{Section: "basic/transports#stdio", Quote: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."}},
				{ID: "STDIO-02/crlf", Title: "a line that ends in CR LF is read", Level: Should, House: Must, Spec: Spec{Section: "basic/transports#stdio", Quote: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."}},
				{ID: "STDIO-02/blank", Title: "an empty line ends nothing", Level: Should, House: Must, Spec: Spec{Section: "basic/transports#stdio", Quote: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."}},
				{ID: "STDIO-02/pieces", Title: "a line that arrives byte by byte is read as one", Level: Must, Spec: Spec{Section: "basic/transports#stdio", Quote: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."}},
				{ID: "STDIO-02/together", Title: "lines that arrive together are each answered", Level: Must, Spec: Spec{Section: "basic/transports#stdio", Quote: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."}},
			},
			run: runLines,
		},
	}
}

func runWrongEnvelope(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	for id, frame := range pairs(
		"X-WIRE-01/missing", `{"id":"w-1","method":"ping"}`,
		"X-WIRE-01/other", `{"jsonrpc":"1.0","id":"w-2","method":"ping"}`,
		"X-WIRE-01/method", `{"jsonrpc":"2.0","id":"w-3","method":7}`,
	) {
		t.step(s)
		rpcID := text(received([]byte(frame), nil).members["id"])
		a, err := s.provoke(t.ctx, `"`+rpcID+`"`, []byte(frame))
		ok := a.hasCode(err, codeInvalidRequest)
		if id != "X-WIRE-01/method" {
			ok = ok && a.in.id() == `"`+rpcID+`"`
		}
		t.check(id, ok, "error -32600 with the request's id", a.orError(err))
	}
	return t.alive("X-WIRE-01/alive", s)
}

func runNotJSON(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	for id, frame := range pairs(
		"X-WIRE-02/parse", `this is not JSON`,
		"X-WIRE-02/truncated", `{"jsonrpc":"2.0","id":"w-4","method":"pi`,
	) {
		t.step(s)
		a, err := s.provoke(t.ctx, "", []byte(frame))
		rpcID, there := a.in.members["id"]
		t.check(id, a.hasCode(err, codeParse) && (!there || string(rpcID) == "null"), "error -32700 with id null", a.orError(err))
	}
	return t.alive("X-WIRE-02/alive", s)
}

// alive decides a check by a ping, and ends the scenario when the server is
// lost.
func (t *trial) alive(id string, s *session) error {
	t.step(s)
	a, err := s.ping(t.ctx)
	t.check(id, err == nil && a.err == nil, "an answer to ping", a.orError(err))
	return nil
}

func runSpellings(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	for id, frame := range pairs(
		"RPC-01/escapes", `{"\u006asonrpc":"2.0","id":%s,"\u006dethod":"p\u0069ng"}`,
		"RPC-01/whitespace", "{ \"jsonrpc\" :\t\"2.0\" , \"id\" : %s ,  \"method\":\"ping\" } ",
		"RPC-01/order", `{"params":{},"method":"ping","id":%s,"jsonrpc":"2.0"}`,
		"RPC-19/meta", `{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"_meta":{"com.example/unknown":{"x":[1,null]}}}}`,
	) {
		t.step(s)
		rpcID := s.newID()
		a, err := s.ask(t.ctx, rpcID, fmt.Appendf(nil, frame, rpcID))
		t.check(id, err == nil && a.err == nil, "a result", a.orError(err))
		if err != nil {
			return err
		}
	}
	return nil
}

func runLines(t *trial) error {
	for _, c := range []struct {
		id    string
		frame func(s *session, id string) error
	}{
		{"STDIO-02/large", func(s *session, id string) error {
			meta := map[string]any{"_meta": map[string]any{"com.example/padding": strings.Repeat("x", 1<<20)}}
			_, err := s.send(t.ctx, message(id, mcp.MethodPing, meta))
			return err
		}},
		{"STDIO-02/crlf", func(s *session, id string) error {
			_, err := s.send(t.ctx, append(message(id, mcp.MethodPing, nil), '\r'))
			return err
		}},
		{"STDIO-02/blank", func(s *session, id string) error {
			if _, err := s.send(t.ctx, nil); err != nil {
				return err
			}
			_, err := s.send(t.ctx, message(id, mcp.MethodPing, nil))
			return err
		}},
		{"STDIO-02/pieces", func(s *session, id string) error {
			s.pending[id] = false
			line := append(message(id, mcp.MethodPing, nil), '\n')
			for i := range line {
				if err := writeRaw(t, s, line[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}},
		{"STDIO-02/together", func(s *session, id string) error {
			first := s.newID()
			s.pending[first], s.pending[id] = false, false
			lines := append(message(first, mcp.MethodPing, nil), '\n')
			lines = append(append(lines, message(id, mcp.MethodPing, nil)...), '\n')
			if err := writeRaw(t, s, lines); err != nil {
				return err
			}
			_, err := s.await(t.ctx, first)
			return err
		}},
	} {
		s, err := t.shared()
		if err != nil {
			return err
		}
		id := s.newID()
		err = c.frame(s, id)
		a := answer{}
		if err == nil {
			a, err = s.await(t.ctx, id)
		}
		t.check(c.id, err == nil && a.err == nil, "an answer to ping", a.orError(err))
		if err != nil {
			t.leg.closeShared()
		}
	}
	return nil
}

// writeRaw writes bytes to a line wire without a line end.
func writeRaw(t *trial, s *session, data []byte) error {
	w, ok := s.wire.(*lineWire)
	if !ok {
		return ours(fmt.Errorf("transport %s has no lines", s.wire.transport()))
	}
	return w.raw(t.ctx, data)
}

// pairs iterates over ids and their texts, in order.
func pairs(list ...string) func(yield func(id, text string) bool) {
	return func(yield func(id, text string) bool) {
		for i := 0; i+1 < len(list); i += 2 {
			if !yield(list[i], list[i+1]) {
				return
			}
		}
	}
}
