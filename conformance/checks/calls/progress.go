package calls

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// answered is a call that had its answer, with its progress token and its last progress.
type answered struct {
	token, tool string
	last        float64
	asked       []conformance.Frame // the call
}

// progress judges what came during one call, and returns how much that was, and the last of it. ended
// are the calls before it.
func (v verdicts) progress(t *engine.Trial, s *wire.Session, c call, had int, token any, ended []answered) (came int, last float64) {
	last = math.Inf(-1)
	var old *answered // whose token came
	var strange []conformance.Frame
	goesOn := false // its progress rises further
	want := "nothing"
	if token != nil {
		want = string(rawjson.Encode(token))
	}
	for _, in := range s.Unsolicited[min(had, len(s.Unsolicited)):] {
		if in.Method() != mcp.MethodProgress {
			continue
		}
		params, _ := rawjson.Object(in.Members["params"])
		got := params["progressToken"]
		if i := slices.IndexFunc(ended, func(e answered) bool { return wire.SameID(got, e.token) }); i >= 0 {
			value, err := strconv.ParseFloat(string(params["progress"]), 64)
			if old == nil {
				strange = append(ended[i].asked, in.Frame())
				goesOn = err == nil && value > ended[i].last
			}
			if old = &ended[i]; goesOn {
				old.last = max(old.last, value)
			}
			continue
		}
		came++
		if token == nil {
			v.see(t, "CALL-03/none", false, "no progress without a token", "%s: progress for the token %s", c, rawjson.OrAbsent(got))
			continue
		}
		v.see(t, "CALL-03/token", wire.SameID(got, want), "the token of the request, "+want, "%s: progressToken is %s", c, rawjson.OrAbsent(got))
		value, err := strconv.ParseFloat(string(params["progress"]), 64)
		v.see(t, "CALL-03/number", err == nil && (params["total"] == nil || isNumber(params["total"])), "progress and total as numbers", "%s: progress %s, total %s", c, rawjson.OrAbsent(params["progress"]), rawjson.OrAbsent(params["total"]))
		if err == nil {
			v.see(t, "CALL-03/increases", value > last, "more than the one before", "%s: %v after %v", c, value, last)
			last = value
		}
	}
	switch {
	case old == nil:
	case token != nil && came == 0 && !goesOn && old.tool == c.tool.Name && old.token != ended[len(ended)-1].token: // its own, under another's token
		v.see(t, "CALL-03/token", false, "the token of the request, "+want, "%s: progressToken is %s, that of a call of it that was answered before", c, old.token)
	default:
		v.blame("CALL-03/after", "no progress after the answer", fmt.Sprintf("progress for the token %s during %s, after the answer to the call of %s that gave it", old.token, c, old.tool), strange)
	}
	if token == nil && came == 0 {
		v.see(t, "CALL-03/none", true, "", "")
	}
	return came, last
}

func isNumber(raw json.RawMessage) bool {
	_, err := strconv.ParseFloat(string(raw), 64)
	return err == nil
}

// after judges the progress that comes when all calls are answered. Work that goes on then reports now
// and then.
func (e *each) after() {
	e.t.Step(e.s)
	had := len(e.s.Unsolicited)
	_, err := e.s.Settle(e.t.Ctx)
	if err == nil {
		err = e.s.ReadFor(e.t.Ctx, wire.Lag)
	}
	if wire.IsLost(err) {
		e.fresh()
		e.blamePrevious()
	}
	if err != nil {
		return
	}
	for _, in := range e.s.Unsolicited[min(had, len(e.s.Unsolicited)):] {
		if call := e.endedBy(in); call != nil {
			e.blame("CALL-03/after", "no progress after the answer", fmt.Sprintf("%s: progress for the token %s after the answer to that call", call.tool, call.token), append(call.asked, in.Frame()))
		}
	}
	if e.verdicts["CALL-03/token"] != nil {
		e.see(e.t, "CALL-03/after", true, "", "")
	}
}

// endedBy returns the call that had its answer before this progress of it came, nil for any other message.
func (e *each) endedBy(in wire.Inbound) *answered {
	token := wire.ProgressToken(in)
	i := slices.IndexFunc(e.ended, func(a answered) bool { return token != "" && a.token == token })
	if i < 0 {
		return nil
	}
	return &e.ended[i]
}
