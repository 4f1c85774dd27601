package coe

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/presence"
)

// board is the plan together with the ledger that keeps its states. Processes
// that share a data folder share the board: every change is one transaction of
// the file, on the plan as it is by then.
type board struct {
	plan   *plan.Plan
	ledger *ledger.Ledger
	log    *slog.Logger
	self   *presence.Self

	mu sync.Mutex
	// sessions are the agents without a name that were given a task, with their
	// session. Nobody else can come back as one of them.
	sessions map[plan.Holder]string
	// runs says whether a session is still there; nil is always.
	runs func(session string) bool
	// lease is how long an agent may have a task without being heard of; 0 is forever.
	lease time.Duration
}

// maxNamed bounds how many tasks a line of the log names.
const maxNamed = 50

// keepIDs gives the tasks of a plan the ids of their stored states.
func (b *board) keepIDs(ctx context.Context, seed plan.Seed) (plan.Seed, error) {
	var head plan.Head
	var rows []plan.Row
	err := b.ledger.Retry(ctx, func() (err error) {
		head, rows, err = b.ledger.Load(ctx, 0, 0)
		return err
	})
	if err != nil {
		return seed, err
	}
	seed, kept, err := seed.Keep(head, rows)
	if err != nil {
		return seed, err
	}
	if n := len(kept); n > 0 {
		var moved []string
		for _, k := range kept[:min(n, maxNamed)] {
			moved = append(moved, k.Title+": "+k.ID+" instead of "+k.Instead)
		}
		b.log.LogAttrs(ctx, slog.LevelWarn, "coe_plan_changed", slog.Int("count", n), slog.Any("tasks", moved),
			slog.String("meaning", "tasks without an id of their own are at another place in the plan; states and ids follow their titles"))
	}
	return seed, nil
}

// restore brings back the states of the tasks that are stored.
func (b *board) restore(ctx context.Context) error {
	var done plan.Restored
	err := b.ledger.Retry(ctx, func() error {
		return b.plan.Update(ctx, func(p *plan.Tx) error {
			head, rows, err := b.ledger.Load(ctx, 0, 0)
			if err != nil {
				return err
			}
			done, err = p.Restore(head, rows)
			return err
		})
	})
	if err != nil {
		return err
	}
	if done.Kept > 0 {
		b.log.LogAttrs(ctx, slog.LevelInfo, "coe_states_restored", slog.Int("tasks", done.Kept))
	}
	if n := len(done.Dropped); n > 0 {
		b.log.LogAttrs(ctx, slog.LevelWarn, "coe_states_without_task",
			slog.Int("count", n), slog.Any("tasks", done.Dropped[:min(n, maxNamed)]),
			slog.String("meaning", "the plan no longer has these tasks; their states stay in the data folder and come back with them"))
	}
	if done.Other > 0 {
		b.log.LogAttrs(ctx, slog.LevelInfo, "coe_states_of_other_plans", slog.Int("count", done.Other))
	}
	return nil
}

// pin stores the tasks whose ids come from their places: reports name them by their ids,
// which must not pass to others when the plan changes.
func (b *board) pin(ctx context.Context) {
	if !b.ledger.Shared() {
		return
	}
	err := b.change(ctx, "", func(p *plan.Tx, l ledger.Tx) error {
		_, rows, err := l.Load(ctx, 0, 0)
		p.Pin(rows)
		return err
	})
	if err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "coe_ids_not_stored", slog.String("error", err.Error()))
	}
}

// view returns the plan as it is now, for whichever process changed it.
func (b *board) view(ctx context.Context) (*plan.View, error) {
	v := b.plan.View()
	if !b.ledger.Shared() {
		return v, nil
	}
	epoch, revision := v.Knows()
	head, _, err := b.ledger.Load(ctx, epoch, revision)
	if err != nil || head.Epoch == epoch && head.Revision == revision {
		return v, err
	}
	err = b.plan.Update(ctx, func(p *plan.Tx) error { return b.refresh(ctx, p, b.ledger.Load) })
	return b.plan.View(), err
}

// refresh adds to a plan what other processes have changed meanwhile.
func (b *board) refresh(
	ctx context.Context, p *plan.Tx, load func(ctx context.Context, epoch, revision int64) (plan.Head, []plan.Row, error),
) error {
	epoch, revision := p.Knows()
	head, rows, err := load(ctx, epoch, revision)
	if err != nil || head.Epoch == epoch && head.Revision == revision {
		return err
	}
	_, err = p.Restore(head, rows)
	return err
}

// change changes the plan and the ledger together: both, or neither. f runs
// again, on the plan as it is by then, when the database was locked; others
// change the plan meanwhile.
func (b *board) change(ctx context.Context, tool string, f func(p *plan.Tx, l ledger.Tx) error) error {
	return b.ledger.Retry(ctx, func() error {
		return b.plan.Update(ctx, func(p *plan.Tx) error {
			return b.ledger.Attempt(ctx, tool, func(l ledger.Tx) error {
				if err := b.refresh(ctx, p, l.Load); err != nil {
					return err
				}
				if err := f(p, l); err != nil {
					return err
				}
				return store(ctx, p, l)
			})
		})
	})
}

// store writes what has changed of the plan.
func store(ctx context.Context, p *plan.Tx, l ledger.Tx) error {
	c, changed := p.Changes()
	if !changed {
		return nil
	}
	epoch, revision, err := l.Save(ctx, c)
	p.Stored(epoch, revision)
	return err
}

// reset forgets all that is stored, of whatever plan, and all that the plan has
// become.
func (b *board) reset(ctx context.Context) error {
	if err := b.ledger.Reset(ctx); err != nil {
		return err
	}
	return b.plan.Update(ctx, func(p *plan.Tx) error {
		p.Reset()
		p.Stored(0, 0)
		return nil
	})
}

// close writes what is still to be written and ends the presence of this process.
func (b *board) close(ctx context.Context) error {
	return errors.Join(b.ledger.Close(ctx), b.self.Leave())
}

// holder is the agent that calls, as tasks are handed out to it. An agent with a
// name is the same in every process and after every restart. One without is its
// session, or the transport where there is none, of this process.
func (b *board) holder(c *call) plan.Holder {
	h := plan.Holder{Agent: c.agent()}
	if o := c.Origin; o.Agent == o.Session || o.Agent == o.Transport || o.Agent == "" {
		h.Process = b.self.ID
	}
	return h
}

// remember notes the session of an agent without a name that was given a task.
func (b *board) remember(c *call, h plan.Holder) {
	if h.Process == "" || c.Origin.Session == "" || c.Origin.Transport != "http" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions[h] = c.Origin.Session
}

// gone returns those of the agents that can never come back: without a name, and
// their session has ended, or the server process that they were known in.
func (b *board) gone(agents []plan.Holder) (out []plan.Holder) {
	for _, h := range agents {
		switch h.Process {
		case "":
		case b.self.ID:
			b.mu.Lock()
			session, ok := b.sessions[h]
			b.mu.Unlock()
			if ok && b.runs != nil && !b.runs(session) {
				out = append(out, h)
			}
		default:
			if !b.self.Alive(h.Process) {
				out = append(out, h)
			}
		}
	}
	return out
}

func (b *board) forget(agents []plan.Holder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range agents {
		delete(b.sessions, h)
	}
}

// An offer is what getNextTask has to show: the task, if there is one, and the
// queue it is from.
type offer struct {
	view  *plan.View
	queue []*plan.Task
	task  *plan.Task
}

// choose picks the first task of a priority, "" for any.
func choose(v *plan.View, filter plan.Filter, priority string, agent plan.Holder) offer {
	o := offer{view: v, queue: v.Queue(filter, agent)}
	for _, t := range o.queue {
		if priority == "" || t.Priority.String() == priority {
			o.task = t
			break
		}
	}
	return o
}

// look picks a task without handing it out.
func (b *board) look(ctx context.Context, filter plan.Filter, priority string, agent plan.Holder) (offer, error) {
	v, err := b.view(ctx)
	if err != nil {
		return offer{}, err
	}
	return choose(v, filter, priority, agent), nil
}

// handOut picks a ready task and gives it to the agent: nobody else gets it, in
// whichever process. The agent that has it already gets it again. Tasks of agents
// that can never come back are given to others, unless they were started; those of
// agents that have not been heard of for as long as the lease in any case.
func (b *board) handOut(ctx context.Context, c *call, priority string, agent plan.Holder) (offer, error) {
	o, err := b.look(ctx, plan.FilterReady, priority, agent)
	if err != nil {
		return o, err
	}
	has := o.task != nil && o.task.Holder == agent
	if has && !b.overdue(o.task, c.now.Add(b.lease/2)) { // a lease is renewed when half of it is over
		return o, nil
	}
	if o.task == nil && len(b.gone(o.view.Holders())) == 0 && len(b.late(o.view, c.now)) == 0 {
		return o, nil
	}
	var gone []plan.Holder
	var late []*plan.Task
	err = b.change(ctx, c.Tool, func(p *plan.Tx, _ ledger.Tx) error {
		if has && p.Task(o.task.ID) != nil && p.Task(o.task.ID).Holder == agent {
			return p.Renew(o.task.ID)
		}
		gone, late = b.gone(p.Holders()), b.late(&p.View, c.now)
		for _, h := range gone {
			p.Release(h)
		}
		for _, t := range late {
			if err := p.TakeBack(t.ID); err != nil {
				return err
			}
		}
		if o = choose(&p.View, plan.FilterReady, priority, agent); o.task == nil || o.task.Holder == agent {
			return nil
		}
		if err := p.HandOut(o.task.ID, agent); err != nil {
			return err
		}
		o.task = p.Task(o.task.ID)
		return nil
	})
	if err == nil {
		for _, t := range late {
			c.Warn(ctx, "coe_lease_ended", slog.String("about_task", t.ID), slog.String("agent_name", t.Holder.Agent), slog.Time("last_heard_of", t.Seen))
		}
	}
	if err != nil || o.task == nil {
		return o, err
	}
	b.forget(gone)
	b.remember(c, agent)
	c.Log().LogAttrs(ctx, slog.LevelInfo, "coe_task_handed_out", slog.String("about_task", o.task.ID), slog.String("agent_name", agent.Agent))
	return o, nil
}
