package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shelf keeps rows as a database does.
type shelf struct {
	head Head
	rows map[[2]string]Row
	// since are the revisions of the rows.
	since map[[2]string]int64
}

// put stores what a transaction has changed.
func (s *shelf) put(tx *Tx) {
	c, changed := tx.Changes()
	if !changed {
		return
	}
	head := s.head
	s.head = c.Head
	s.head.Epoch, s.head.Revision = head.Epoch, head.Revision+1
	if head.Epoch == 0 || len(c.Reset) > 0 {
		s.head.Epoch++
		s.rows, s.since = map[[2]string]Row{}, map[[2]string]int64{}
	}
	for _, r := range c.Rows {
		s.rows[[2]string{r.Plan, r.ID}], s.since[[2]string{r.Plan, r.ID}] = r, s.head.Revision
	}
	tx.Stored(s.head.Epoch, s.head.Revision)
}

// get returns what a view does not know yet.
func (s *shelf) get(v *View) (out []Row) {
	epoch, revision := v.Knows()
	for key, r := range s.rows {
		if s.head.Epoch != epoch || s.since[key] > revision {
			out = append(out, r)
		}
	}
	return out
}

// same asserts that two views show the same tasks, and would number and order
// new ones alike.
func same(t *testing.T, want, got *View) {
	t.Helper()
	require.Equal(t, want.tasks, got.tasks)
	require.Equal(t, []int{want.nextTask, want.nextVerify, want.nextOrder, want.verifications}, []int{got.nextTask, got.nextVerify, got.nextOrder, got.verifications})
	for id := range want.tasks {
		require.ElementsMatch(t, alive(want, id), alive(got, id), id)
	}
}

func alive(v *View, id string) (out []string) {
	for _, d := range v.dependants[id] {
		if v.tasks[d] != nil {
			out = append(out, d)
		}
	}
	return out
}

func seedOf(ids ...string) Seed {
	var s Seed
	for i, id := range ids {
		t := Task{ID: id, Title: id, TicketID: "TICKET-" + id, Priority: Medium, Created: now, Reference: Reference{PlanID: "p"}}
		if i > 0 {
			t.Dependencies = []string{ids[i-1]}
		}
		s.Tasks = append(s.Tasks, t)
	}
	return s
}

// Whatever happens to a plan, one that restores it from its rows is the same,
// be it all at once or change by change.
func TestRestore_Same(t *testing.T) {
	t.Parallel()
	for seed := range 40 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(seed))) //nolint:gosec // a test that can be repeated
			s := &shelf{}
			begin := seedOf("A", "B", "C", "D", "E")
			writer, follower := New(begin), New(begin)
			for range 60 {
				_ = writer.Update(t.Context(), func(tx *Tx) error {
					if err := step(tx, random); err != nil {
						return err
					}
					s.put(tx)
					return nil
				})
				if random.IntN(3) == 0 {
					update(t, follower, func(tx *Tx) error { _, err := tx.Restore(s.head, s.get(&tx.View)); return err })
					same(t, writer.View(), follower.View())
				}
			}
			late := New(begin)
			update(t, late, func(tx *Tx) error {
				_, err := tx.Restore(s.head, s.get(&tx.View))
				_, changed := tx.Changes()
				require.False(t, changed, "to restore is no change")
				return err
			})
			same(t, writer.View(), late.View())
		})
	}
}

// step does something to a plan, which it may refuse.
func step(tx *Tx, random *rand.Rand) error {
	ids := []string{"nobody"}
	for _, t := range tx.Queue(FilterAll, Holder{}) {
		ids = append(ids, t.ID)
	}
	id, other := ids[random.IntN(len(ids))], ids[random.IntN(len(ids))]
	ann := Holder{Agent: "ann", Process: []string{"", "p1"}[random.IntN(2)]}
	switch random.IntN(14) {
	case 0:
		return tx.HandOut(id, ann)
	case 1:
		return tx.Start(id, ann)
	case 2:
		return tx.Pause(id)
	case 3:
		return tx.Fail(id)
	case 4:
		return tx.Hold(id, "why")
	case 5:
		percent := 12.5
		return tx.Progress(id, &percent, 0.5)
	case 6:
		_, err := tx.Add(Task{
			Title: "t", Description: "d", Priority: Priority(random.IntN(4)), Urgent: random.IntN(2) == 0, Related: []string{id},
			Reference: Reference{PlanID: "p"}, Created: now, EstimatedHours: 1,
		}, now.Add(time.Minute))
		return err
	case 7:
		tx.BlockOn(id, other)
	case 8:
		tx.Release(ann)
	case 9:
		if random.IntN(10) == 0 {
			tx.Reset()
		}
	case 10:
		if random.IntN(10) == 0 {
			tx.Clear()
		}
	case 11, 12:
		_, err := tx.Finish(id, now)
		return err
	default:
		for _, t := range tx.tasks {
			if t.Verifies != "" && t.State != Done {
				return tx.Verify(t.ID, Verdict(random.IntN(4)))
			}
		}
	}
	return nil
}

// A plan that has changed keeps the states of the tasks that it still has, and
// says which are gone. When they come back, so do their states.
func TestRestore_ChangedPlan(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	update(t, New(seedOf("A", "B", "C")), func(tx *Tx) error {
		_, err := tx.Finish("A", now)
		require.NoError(t, err)
		require.NoError(t, tx.Start("B", Holder{Agent: "ann"}))
		require.True(t, tx.BlockOn("C", "A"))
		s.put(tx)
		return nil
	})
	restored := func(seed Seed) (*View, Restored) {
		p := New(seed)
		var done Restored
		update(t, p, func(tx *Tx) (err error) {
			done, err = tx.Restore(s.head, s.get(&tx.View))
			return err
		})
		return p.View(), done
	}
	changed := seedOf("C", "A", "Z")
	changed.Tasks[1].Title = "A, in other words"
	v, done := restored(changed)
	require.Equal(t, Restored{Kept: 3, Dropped: []string{"B"}}, done)
	require.Equal(t, Done, v.Task("A").State)
	require.Equal(t, "A, in other words", v.Task("A").Title, "the words are the plan's")
	require.Equal(t, []string{"A"}, v.Task("C").Dependencies)
	require.Equal(t, []string{"A"}, v.Task("Z").Dependencies)
	require.NotNil(t, v.Task("TASK-VERIFY-001"), "what an agent set off is still there")
	v, _ = restored(seedOf("A", "B", "C"))
	require.Equal(t, "ann", v.Task("B").Holder.Agent)

	other := seedOf("A", "B")
	for i := range other.Tasks {
		other.Tasks[i].Reference.PlanID = "q"
	}
	v, done = restored(other)
	require.Equal(t, 4, done.Other)
	require.Equal(t, Queued, v.Task("A").State, "another plan's task of the same id is another task")
	require.Equal(t, 2, v.Counts().Total)
}

// A row that cannot be restored is named.
func TestRestore_Refused(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		``:                                "unexpected end",
		`{"version":1,"sta`:               "unexpected end",
		`{"version":2,"state":"queued"}`:  "its form is 2, and 1 is known",
		`{"version":1,"state":"napping"}`: `state "napping" is unknown`,
		`[]`:                              "cannot unmarshal",
		`{"version":1,"state":"queued","task":{"title":"Mine"}}`: `an agent created it as "Mine"`,
	} {
		err := New(seedOf("A")).Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Restore(Head{Epoch: 1}, []Row{{Plan: "p", ID: "A", Body: json.RawMessage(body)}})
			return err
		})
		require.ErrorIs(t, err, ErrSaved)
		require.ErrorContains(t, err, `task A of plan "p": `)
		require.ErrorContains(t, err, says)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"state":"in_progress","handedOutTo":{"agent":"ann"},"waitsFor":["B"],"progress":1e3}`))
	f.Add([]byte(`{"version":1,"state":"done","task":{"title":"t","priority":"low","verifies":"A","createdAt":"2026-01-17T09:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := New(seedOf("A", "B"))
		for _, id := range []string{"A", "TASK-009"} {
			_ = p.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Restore(Head{Epoch: 1, Revision: 1}, []Row{{Plan: "p", ID: id, Body: body}})
				return err
			})
		}
		_ = p.View().Queue(FilterReady, Holder{})
		for _, task := range p.View().Queue(FilterAll, Holder{}) {
			_ = p.save(task)
		}
	})
}

// A task that somebody was given is nobody else's, and is still ready.
func TestHandOut(t *testing.T) {
	t.Parallel()
	p := New(Seed{Tasks: []Task{{ID: "A"}, {ID: "B"}}})
	ann, bob := Holder{Agent: "ann"}, Holder{Agent: "stdio", Process: "p1"}
	update(t, p, func(tx *Tx) error { return tx.HandOut("A", ann) })
	v := p.View()
	require.Equal(t, StatusReady, v.Status(v.Task("A")))
	require.Equal(t, "A", v.Next(ann).ID)
	require.Equal(t, "B", v.Next(bob).ID)
	require.Len(t, v.Queue(FilterReady, ann), 2)
	require.Len(t, v.Queue(FilterReady, bob), 1)
	require.Len(t, v.Queue(FilterAll, bob), 2)
	require.Equal(t, []Holder{ann}, v.Holders())
	for _, end := range []func(*Tx) error{
		func(tx *Tx) error { return tx.Fail("A") },
		func(tx *Tx) error { return tx.Hold("A", "why") },
		func(tx *Tx) error { _, err := tx.Finish("A", now); return err },
		func(tx *Tx) error { tx.Release(ann); return nil },
	} {
		q := New(Seed{Tasks: []Task{{ID: "A"}}})
		update(t, q, func(tx *Tx) error { return tx.HandOut("A", ann) })
		update(t, q, end)
		require.Zero(t, q.View().Task("A").Holder)
	}
	update(t, p, func(tx *Tx) error { return tx.Start("A", bob) })
	require.Equal(t, bob, p.View().Task("A").Holder, "who starts it has it")
	update(t, p, func(tx *Tx) error { return tx.Pause("A") })
	require.Equal(t, bob, p.View().Task("A").Holder, "and keeps it over a pause")
	update(t, p, func(tx *Tx) error { tx.Release(bob); return nil })
	require.Equal(t, bob, p.View().Task("A").Holder, "what was started is not taken back")
}
