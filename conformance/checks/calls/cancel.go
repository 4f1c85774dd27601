package calls

import (
	"errors"
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// runCancelled cancels a call of each tool. It may end as it likes; other requests must be
// answered.
func runCancelled(t *engine.Trial) {
	all := tools(t)
	if len(all) == 0 {
		return
	}
	if t.Rev.Stateless() && !t.Rev.IsProcess() {
		t.SkipRest(conformance.SkipNotInRevision, "over HTTP a call is cancelled by closing its stream")
		return
	}
	s := t.Fresh()
	v := verdicts{}
	over := budget(t)
	for _, c := range first(inRounds(t, all), len(all)) {
		if over() {
			break
		}
		again := c
		if with, took := t.Rev.Longest(c.tool.Name); took > wire.Lag/5 && took < s.Timeout { // a quick call ends before it is cancelled
			c.args, again.args = with, with
		} else if heavy, known := t.Rev.Heavy(c.tool.Name); known {
			c.args = heavy
		}
		t.Step(s)
		t.Calls++
		t.Rev.NoteCall(c.tool.Name, c.args.Example)
		id := s.NewID()
		token := "cancel-" + c.tool.Name
		stop := talk.Start(t.Ctx, s, patience*s.Timeout, s.Message(id, mcp.MethodToolsCall, c.params(token)))
		wait := s.Timeout
		s.Timeout = min(wait, wire.Lag)
		in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
			return in.IsResponse() && in.ID() == id || wire.ProgressToken(in) == strconv.Quote(token) || in.To == id && in.Ended
		})
		s.Timeout = wait
		if errors.Is(err, wire.ErrLate) {
			err, s.Doubt = nil, nil // it runs, without progress
		}
		if err != nil || in.IsResponse() || in.Ended {
			stop()
			if wire.IsLost(err) {
				s = t.Fresh() // another check judges it
			}
			continue // it has ended before it could be cancelled
		}
		_, err = s.Send(t.Ctx, wire.Cancellation(id))
		t.NoError(err)
		a, err := s.Ping(t.Ctx)
		if t.Rev.Stateless() && errors.Is(err, wire.ErrLate) { // nothing there says how soon it is answered
			s.Timeout = patience * wait
			_, _ = s.Await(t.Ctx, id) // a call may go on, and be answered or not
			s.Timeout = wait
			a, err = s.Ping(t.Ctx)
		}
		v.see(t, "CALL-04/alive", err == nil && a.Err == nil, "an answer to "+s.LifeSign()+" after the call was cancelled", "%s: %s", c, a.OrError(err))
		if err != nil {
			s = t.Fresh()
			continue
		}
		at := slices.IndexFunc(s.Unclaimed, func(in wire.Inbound) bool { return in.ID() == id })
		switch {
		case at < 0:
			v.silence(t, s, c, id, len(s.Notifications(mcp.MethodProgress)))
		case wire.ToAnswer(s.Unclaimed[at]).Err != nil: // a result may have been on its way
			v.see(t, "CALL-04/silent", false, "no answer to a cancelled call", "%s: %s", c, wire.ToAnswer(s.Unclaimed[at]).Describe())
		}
		stop()
		if t.Rev.IsSwift(c.tool.Name) {
			_, err = ask(t, s, again, nil)
			v.see(t, "CALL-04/again", !errors.Is(err, wire.ErrLate), "an answer to a call after one of the tool was cancelled", "%s: no answer in %s; before that it took no more than %s", again, s.Timeout, engine.Slow)
		}
		if err != nil {
			s = t.Fresh()
		}
	}
	v.decide(t, "no call took long enough to be cancelled")
}

// silence judges the messages about a cancelled call that come after the answer to a later ping: those
// before it were on their way.
func (v verdicts) silence(t *engine.Trial, s *wire.Session, c call, id string, had int) {
	wait := s.Timeout
	s.Timeout = min(wait, 2*wire.Lag)
	a, err := s.Await(t.Ctx, id)
	s.Timeout = wait
	if errors.Is(err, wire.ErrLate) {
		s.Doubt = nil
	}
	v.see(t, "CALL-04/silent", err != nil, "no answer to a cancelled call", "%s: %s", c, a.OrError(err))
	came := len(s.Notifications(mcp.MethodProgress)) - had
	v.see(t, "CALL-04/stops", came <= 1, "no more progress for a cancelled call", "%s: %d notifications", c, came)
}
