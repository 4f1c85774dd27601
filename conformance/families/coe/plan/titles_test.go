package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func loaded(t *testing.T, text string) Seed {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shop.md")
	require.NoError(t, os.WriteFile(name, []byte("# Shop\n\n"+text), 0o600))
	seed, err := Load(name)
	require.NoError(t, err)
	return seed
}

// TestKeep: what was stored of a plan is found by titles, and whatever is new gets an id
// that nothing stored has.
func TestKeep(t *testing.T) {
	t.Parallel()
	const before = "- [ ] Buy\n- [ ] Paint (after Buy)\n- [ ] Paint\n- [ ] X-1: Sell\n"
	for name, tt := range map[string]struct {
		change func(tx *Tx) error
		after  string
		want   []string // id and title, in the order of the file
	}{
		"nothing stored": {func(*Tx) error { return nil }, "- [ ] New\n" + before, []string{"TASK-001 New", "TASK-002 Buy", "TASK-003 Paint", "TASK-004 Paint", "X-1 Sell"}},
		"moved":          {func(tx *Tx) error { return tx.Fail("TASK-001") }, "- [ ] New\n- [ ] Buy\n", []string{"TASK-004 New", "TASK-001 Buy"}},
		"the second of twins": {
			func(tx *Tx) error { return tx.Fail("TASK-003") }, before, []string{"TASK-001 Buy", "TASK-002 Paint", "TASK-003 Paint", "X-1 Sell"},
		},
		"a twin": {
			func(tx *Tx) error { return tx.Fail("TASK-002") }, "- [ ] Paint\n- [ ] Paint\n- [ ] Buy\n",
			[]string{"TASK-001 Paint", "TASK-002 Paint", "TASK-003 Buy"},
		},
		"created by an agent": {
			func(tx *Tx) error {
				_, err := tx.Add(Task{Title: "Call", Reference: Reference{PlanID: "Shop"}}, now)
				return err
			},
			before + "- [ ] New\n",
			[]string{"TASK-001 Buy", "TASK-002 Paint", "TASK-003 Paint", "X-1 Sell", "TASK-005 New"},
		},
		"removed": {func(tx *Tx) error { tx.Clear(); return nil }, "- [ ] New\n- [ ] Buy\n", []string{"TASK-004 New", "TASK-001 Buy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{}
			p := New(loaded(t, before))
			update(t, p, func(tx *Tx) error {
				err := tt.change(tx)
				s.put(tx)
				return err
			})
			seed, kept, err := loaded(t, tt.after).Keep(s.head, s.get(New(Seed{}).View()))
			require.NoError(t, err)
			var got []string
			for _, task := range seed.Tasks {
				got = append(got, task.ID+" "+task.Title)
			}
			require.Equal(t, tt.want, got)
			for _, k := range kept {
				require.NotEqual(t, k.ID, k.Instead)
			}
		})
	}
}

// TestKeep_Names: what names a task goes on naming it.
func TestKeep_Names(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	p := New(loaded(t, "- [ ] Buy\n- [ ] Paint (after Buy)\n"))
	update(t, p, func(tx *Tx) error {
		err := tx.Start("TASK-001", Holder{Agent: "ann"})
		s.put(tx)
		return err
	})
	seed, kept, err := loaded(t, "- [ ] New\n- [ ] Buy\n- [ ] Paint (after Buy)\n  - related: New\n").Keep(s.head, s.get(New(Seed{}).View()))
	require.NoError(t, err)
	require.Equal(t, []Kept{{"New", "TASK-004", "TASK-001"}, {"Buy", "TASK-001", "TASK-002"}}, kept)
	paint := seed.Tasks[2]
	require.Equal(t, []string{"TASK-001"}, paint.Dependencies)
	require.Equal(t, []string{"TASK-004"}, paint.Related)
	require.Equal(t, "TICKET-004", seed.Tasks[0].TicketID)
	again := New(seed)
	update(t, again, func(tx *Tx) error { _, err := tx.Restore(s.head, s.get(&tx.View)); return err })
	require.Equal(t, "ann", again.View().Task("TASK-001").Holder.Agent)
	require.Equal(t, []string{"TASK-001"}, again.View().BlockedBy(again.View().Task("TASK-003")))
	// A process that has not heard of the change meanwhile takes no state for another task.
	other := New(loaded(t, "- [ ] Sell\n- [ ] Buy\n"))
	update(t, other, func(tx *Tx) error {
		done, err := tx.Restore(s.head, s.get(&tx.View))
		require.Equal(t, []string{"TASK-001"}, done.Dropped)
		return err
	})
	require.Equal(t, Queued, other.View().Task("TASK-001").State)
}

// TestKeep_TakenID: an id that a file gives is never that of two tasks, nor of a state that
// another task has left.
func TestKeep_TakenID(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	p := New(loaded(t, "- [ ] Buy\n- [ ] Paint\n"))
	update(t, p, func(tx *Tx) error {
		err := tx.Fail("TASK-001")
		s.put(tx)
		return err
	})
	rows := s.get(New(Seed{}).View())
	_, _, err := loaded(t, "- [ ] TASK-001: Sell\n- [ ] Buy\n").Keep(s.head, rows)
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorContains(t, err, `task id TASK-001 of "Sell" is the one that "Buy" has got`)
	for text, want := range map[string]State{"- [ ] TASK-001: Sell\n": Queued, "- [ ] TASK-001: Buy\n": Failed} {
		seed, _, err := loaded(t, text).Keep(s.head, rows)
		require.NoError(t, err)
		again := New(seed)
		update(t, again, func(tx *Tx) error { _, err := tx.Restore(s.head, rows); return err })
		require.Equal(t, want, again.View().Task("TASK-001").State, text)
	}
}

// TestKeep_AfterID: what a file names by an id that it does not give is the task that has
// the id, not the one whose place would give it.
func TestKeep_AfterID(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	p := New(loaded(t, "- [ ] Buy\n- [ ] Paint\n- [ ] Sell (after TASK-001)\n"))
	update(t, p, func(tx *Tx) error {
		tx.Pin(nil)
		s.put(tx)
		return nil
	})
	rows := s.get(New(Seed{}).View())
	seed, _, err := loaded(t, "- [ ] New\n- [ ] Buy\n- [ ] Sell (after TASK-001)\n  - after: Buy\n  - related: TASK-002\n").Keep(s.head, rows)
	require.NoError(t, err)
	sell := seed.Tasks[2]
	require.Equal(t, "TASK-003", sell.ID)
	require.Equal(t, []string{"TASK-001"}, sell.Dependencies, "Buy has this id since the first start")
	require.Equal(t, []string{"TASK-001"}, sell.Related, "no task has TASK-002 now, so that the place counts")
	_, _, err = loaded(t, "- [ ] New\n- [ ] Buy (after TASK-001)\n").Keep(s.head, rows)
	require.ErrorIs(t, err, ErrCircle)
	require.ErrorContains(t, err, "TASK-001 after TASK-001")
}
