package stdio

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// endsWell judges several rules by the end of one program: its input ends after 20 requests and
// a last one without a newline. It has to answer all, write nothing but messages, and exit in
// time with status 0. If it does not, each rule is judged on a program of its own.
func endsWell(t *engine.Trial) bool {
	if t.Alone() {
		return false
	}
	if t.Rev.Ended == nil {
		well := endTogether(t)
		t.Rev.Ended = &well
	}
	return *t.Rev.Ended
}

func endTogether(t *engine.Trial) bool {
	s := t.Spent()
	open := map[string]bool{}
	for range endedCalls {
		id, err := s.Post(t.Ctx, s.LifeSign(), nil)
		if err != nil {
			return false
		}
		open[id] = true
	}
	last := s.NewID()
	open[last], s.Pending[last] = true, false
	if talk.WriteRaw(t, s, s.Message(last, s.LifeSign(), nil)) != nil || closeInput(s) != nil {
		return false
	}
	s.Timeout = min(s.Timeout, wire.EndGrace)
	_, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
		message := in.Members != nil || in.Ended || rawjson.IsArray(in.Data)
		if open[in.ID()] && wire.ToAnswer(in).Err == nil {
			delete(open, in.ID())
		}
		return !message
	})
	end := s.Close()
	return wire.IsLost(err) && len(open) == 0 && end.Prompt && end.Exit == 0
}
