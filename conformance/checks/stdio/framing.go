package stdio

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

func framingScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "RPC-01", Gentle: true, Run: runSpellings},
		{ID: "STDIO-02", Needs: engine.Needs{Transport: conformance.TransportStdio}, Run: runLines},
	}
}

func runSpellings(t *engine.Trial) {
	s := t.Shared()
	var first error
	for _, c := range []struct {
		check string
		spell func(message []byte) []byte
	}{
		{"RPC-01/escapes", func(m []byte) []byte {
			return bytes.ReplaceAll(bytes.Replace(m, []byte(s.LifeSign()), []byte(strings.Replace(s.LifeSign(), "i", `\u0069`, 1)), 1),
				[]byte(`"jsonrpc"`), []byte(`"\u006asonrpc"`))
		}},
		{"RPC-01/whitespace", func(m []byte) []byte {
			return append(bytes.ReplaceAll(bytes.ReplaceAll(m, []byte(`":`), []byte("\" :\t")), []byte(`,"`), []byte(` ,  "`)), ' ')
		}},
		{"RPC-01/order", func(m []byte) []byte {
			in := wire.Received(m, nil)
			return fmt.Appendf(nil, `{"params":%s,"method":%s,"id":%s,"jsonrpc":"2.0"}`, in.Members["params"], in.Members["method"], in.Members["id"])
		}},
		{"RPC-19/meta", func(m []byte) []byte { return m }},
	} {
		t.Step(s)
		rpcID := s.NewID()
		params := map[string]any{}
		if c.check == "RPC-19/meta" {
			params["_meta"] = map[string]any{"com.example/unknown": map[string]any{"x": []any{1, nil}}}
		}
		a, err := s.Ask(t.Ctx, rpcID, c.spell(s.Message(rpcID, s.LifeSign(), params)))
		t.Check(c.check, err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
		if err != nil { // the others are looked at all the same
			if first == nil {
				first = err
			}
			s = t.Fresh()
		}
	}
	t.NoError(first)
}

func runLines(t *engine.Trial) {
	for _, c := range []struct {
		id    string
		frame func(s *wire.Session, id string) error
	}{
		{"STDIO-02/large", func(s *wire.Session, id string) error {
			meta := map[string]any{"_meta": map[string]any{"com.example/padding": strings.Repeat("x", 1<<20)}}
			_, err := s.Send(t.Ctx, s.Message(id, s.LifeSign(), meta))
			return err
		}},
		{"STDIO-02/crlf", func(s *wire.Session, id string) error {
			_, err := s.Send(t.Ctx, append(s.Message(id, s.LifeSign(), nil), '\r'))
			return err
		}},
		{"STDIO-02/blank", func(s *wire.Session, id string) error {
			if _, err := s.Send(t.Ctx, nil); err != nil {
				return err
			}
			_, err := s.Send(t.Ctx, s.Message(id, s.LifeSign(), nil))
			return err
		}},
		{"STDIO-02/pieces", func(s *wire.Session, id string) error {
			s.Pending[id] = false
			line := append(s.Message(id, s.LifeSign(), nil), '\n')
			for i := range line {
				if err := talk.WriteRaw(t, s, line[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}},
		{"STDIO-02/together", func(s *wire.Session, id string) error {
			first := s.NewID()
			s.Pending[first], s.Pending[id] = false, false
			lines := append(s.Message(first, s.LifeSign(), nil), '\n')
			lines = append(append(lines, s.Message(id, s.LifeSign(), nil)...), '\n')
			if err := talk.WriteRaw(t, s, lines); err != nil {
				return err
			}
			_, err := s.Await(t.Ctx, first)
			return err
		}},
	} {
		s := t.Shared()
		id := s.NewID()
		err := c.frame(s, id)
		a := wire.Answer{}
		if err == nil {
			a, err = s.Await(t.Ctx, id)
		}
		t.Check(c.id, err == nil && a.Err == nil, "an answer to ping", a.OrError(err))
		if err != nil {
			t.Rev.CloseShared()
		}
	}
}
