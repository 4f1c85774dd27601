package coe

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// injectMethod arms faults while the server runs (tools.md §3.4). It is no
// tool and does not exist unless the server was started with it.
const injectMethod = "_test/inject"

type injectAnswer struct {
	Faults []faultView `json:"faults"`
	// Writes is how often a write to the database has been tried, so that a test
	// can count attempts.
	Writes int `json:"writes"`
}

type faultView struct {
	Tool  string      `json:"tool"`
	Kind  faults.Kind `json:"kind"`
	Times int         `json:"times"`
	Delay string      `json:"delay,omitempty"`
}

// inject takes {tool, kind, times, delay}, with times 1 and delay a duration
// such as "35s", or {clear: true}, or nothing. The answer lists what is armed.
func (s *server) inject(_ context.Context, fc *family.Call) (any, error) {
	o := params.Read(fc.Arguments, "tool", "kind", "times", "delay", "clear")
	arm := o.Has("tool") || o.Has("kind")
	if arm {
		o.Need("tool", "kind")
	}
	const most = 1_000_000
	f := faults.Fault{Tool: o.Text("tool", 0), Kind: faults.Kind(o.Text("kind", 0)), Times: o.Int("times", 0, most, 1)}
	if text := o.Text("delay", 0); text != "" {
		delay, err := time.ParseDuration(text)
		if err != nil {
			o.Fail("delay", params.Format, "delay must be a duration such as 35s")
		}
		f.Delay = delay
	}
	forget := o.Bool("clear", false)
	if o.Err() == nil && arm {
		if err := f.Check(s.names()); err != nil {
			o.Fail("fault", params.Format, "%s", err)
		}
	}
	if err := o.Err(); err != nil {
		return nil, numericError(err)
	}
	if forget {
		s.faults.Clear()
	}
	if arm {
		s.faults.Add(f)
	}
	answer := &injectAnswer{Faults: []faultView{}, Writes: s.ledger.Writes()}
	for _, f := range s.faults.List() {
		view := faultView{Tool: f.Tool, Kind: f.Kind, Times: f.Times}
		if f.Delay > 0 {
			view.Delay = f.Delay.String()
		}
		answer.Faults = append(answer.Faults, view)
	}
	return answer, nil
}
