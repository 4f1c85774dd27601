package stdio

import (
	"errors"
	"maps"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// The checks that the end of one program can show to hold.
const (
	checkEnds   = "STDIO-08/ends"
	checkStatus = "STDIO-08/status"
	checkAfter  = "STDIO-08/after"
	checkCalls  = "X-SHUT-01"
	checkLast   = "STDIO-02/last"
)

// endsWell passes the checks if the end of one program showed that all of them hold, and reports
// whether it did. The input of that program ends after 20 requests and a last one without a
// newline: it has to answer all, write nothing but messages, and exit in time with status 0. A
// check that does not hold there is judged on a program of its own.
func endsWell(t *engine.Trial, checks ...string) bool {
	if t.Alone() {
		return false
	}
	if t.Rev.Ended == nil {
		t.Rev.Ended = map[string]bool{} // also if the scenario ends in it
		maps.Copy(t.Rev.Ended, endTogether(t))
	}
	for _, check := range checks {
		if !t.Rev.Ended[check] {
			return false
		}
	}
	for _, check := range checks {
		t.Pass(check)
	}
	return true
}

func endTogether(t *engine.Trial) map[string]bool {
	s := t.Spent()
	open := map[string]bool{}
	for range endedCalls {
		id, err := s.Post(t.Ctx, s.LifeSign(), nil)
		if err != nil {
			return nil
		}
		open[id] = true
	}
	last := s.NewID()
	open[last], s.Pending[last] = true, false
	if talk.WriteRaw(t, s, s.Message(last, s.LifeSign(), nil)) != nil || closeInput(s) != nil {
		return nil
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
	if !errors.Is(err, wire.ErrClosed) || !end.Prompt || end.Exit != 0 {
		return nil
	}
	answered := !open[last]
	delete(open, last)
	return map[string]bool{checkEnds: true, checkStatus: true, checkAfter: true, checkCalls: len(open) == 0, checkLast: answered}
}
