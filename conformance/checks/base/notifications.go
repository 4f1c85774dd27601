package base

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func notificationScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "X-WIRE-05", Run: runNotifications}}
}

func runNotifications(t *engine.Trial) {
	s := t.Fresh()
	var lost error
	for _, each := range [][2]string{
		{"X-WIRE-05/unknown", `{"jsonrpc":"2.0","method":"notifications/com.example/unknown","params":{"x":1}}`},
		{"X-WIRE-05/request-method", string(wire.Message("", s.LifeSign(), nil))},
		{"X-WIRE-05/cancelled", `{"jsonrpc":"2.0","method":"` + mcp.MethodCancelled + `","params":{"requestId":"never-sent","reason":"test"}}`},
		{"X-WIRE-05/bad-params", `{"jsonrpc":"2.0","method":"` + mcp.MethodCancelled + `","params":{"requestId":{"not":"an id"}}}`},
	} {
		id, frame := each[0], each[1]
		t.Step(s)
		answered, err := s.Send(t.Ctx, []byte(frame))
		if err != nil {
			t.Fail(id, "silence", err.Error())
			s, lost = t.Fresh(), err
			continue
		}
		if answered != nil && answered.Status >= 300 && id != "X-WIRE-05/cancelled" {
			// HTTP lets a server refuse a notification with an error status.
			t.Pass(id)
			continue
		}
		if answered == nil && id == "X-WIRE-05/unknown" { // once is enough to see an answer that comes late
			_ = s.ReadFor(t.Ctx, wire.Lag) // what follows sees a loss
		}
		stray, err := s.Settle(t.Ctx)
		if err != nil {
			t.Fail(id, "an answer to the ping after it", err.Error())
			s, lost = t.Fresh(), err
			continue
		}
		got := ""
		for _, in := range stray {
			got = rawjson.Clip(string(in.Data), 160)
		}
		s.Forget()
		t.Check(id, len(stray) == 0, "no answer", got)
	}
	t.NoError(lost)
	talk.Alive(t, "X-WIRE-05/alive", s)
}
