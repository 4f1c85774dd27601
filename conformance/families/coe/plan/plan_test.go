package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 1, 17, 9, 0, 0, 0, time.UTC)

func update(t *testing.T, p *Plan, f func(*Tx) error) {
	t.Helper()
	require.NoError(t, p.Update(t.Context(), f))
}

func TestSample(t *testing.T) {
	t.Parallel()
	v := New(Sample()).View()
	require.Equal(t, Counts{Total: 35, Ready: 33, Blocked: 2}, v.Counts())
	for _, task := range v.Queue(FilterAll, Holder{}) {
		require.NotEmpty(t, task.Title)
		require.NotEmpty(t, task.Description)
		require.NotNil(t, task.Prompt, task.ID)
		require.NotEmpty(t, task.Prompt.AcceptanceCriteria, task.ID)
		require.NotEmpty(t, task.Prompt.Files.WriteTo, task.ID)
		require.NotEmpty(t, task.Reference.AffectedSections, task.ID)
		for _, id := range append(append([]string{}, task.Dependencies...), task.Related...) {
			require.NotNil(t, v.Task(id), "%s names %s", task.ID, id)
		}
	}
	again := New(Sample()).View()
	require.Equal(t, v.Queue(FilterAll, Holder{}), again.Queue(FilterAll, Holder{}), "the same in every server")
}

func TestStates(t *testing.T) {
	t.Parallel()
	p := New(Seed{Tasks: []Task{{ID: "A"}, {ID: "B", Dependencies: []string{"A"}}}})
	status := func(id string) Status { return p.View().Status(p.View().Task(id)) }
	require.Equal(t, StatusReady, status("A"))
	require.Equal(t, StatusBlocked, status("B"))
	for _, step := range []struct {
		change func(*Tx) error
		want   Status
	}{
		{func(tx *Tx) error { return tx.Start("A", Holder{}) }, StatusInProgress},
		{func(tx *Tx) error { return tx.Pause("A") }, StatusPending},
		{func(tx *Tx) error { return tx.Fail("A") }, StatusBlocked},
		{func(tx *Tx) error { return tx.Hold("A", "why") }, StatusBlocked},
		{func(tx *Tx) error { return tx.Start("A", Holder{}) }, StatusInProgress},
	} {
		update(t, p, step.change)
		require.Equal(t, step.want, status("A"))
		require.Equal(t, StatusBlocked, status("B"))
	}
	update(t, p, func(tx *Tx) error {
		out, err := tx.Finish("A", now)
		require.Equal(t, []string{"B"}, out.Unblocked)
		require.Equal(t, "TASK-VERIFY-001", out.Verification.ID)
		return err
	})
	require.Equal(t, StatusReady, status("B"))
	for _, refused := range []func(*Tx) error{
		func(tx *Tx) error { return tx.Start("A", Holder{}) },
		func(tx *Tx) error { return tx.Progress("A", nil, 1) },
		func(tx *Tx) error { _, err := tx.Finish("A", now); return err },
	} {
		require.ErrorIs(t, p.Update(t.Context(), refused), ErrDone)
	}
	require.ErrorIs(t, p.Update(t.Context(), func(tx *Tx) error { return tx.Start("Z", Holder{}) }), ErrUnknown)
	require.ErrorIs(t, p.Update(t.Context(), func(tx *Tx) error { _, err := tx.Finish("TASK-VERIFY-001", now); return err }), ErrVerification)
	update(t, p, func(tx *Tx) error { return tx.Verify("TASK-VERIFY-001", Rework) })
	require.Equal(t, StatusBlocked, status("B"), "what depends on it waits again")
}

// The end of a task takes with it why it was held, and frees those alone who
// wait for nothing else.
func TestFinish(t *testing.T) {
	t.Parallel()
	p := New(Seed{Tasks: []Task{
		{ID: "A"},
		{ID: "B"},
		{ID: "both", Dependencies: []string{"A", "B"}},
		{ID: "held", Dependencies: []string{"A"}, Hold: "why"},
		{ID: "free", Dependencies: []string{"A"}},
	}})
	half := 50.0
	update(t, p, func(tx *Tx) error { return tx.Progress("A", &half, 1) })
	update(t, p, func(tx *Tx) error { return tx.Hold("A", "no input") })
	update(t, p, func(tx *Tx) error {
		out, err := tx.Finish("A", now)
		require.Equal(t, []string{"free"}, out.Unblocked)
		return err
	})
	a := p.View().Task("A")
	require.Empty(t, a.Hold)
	require.Equal(t, 100.0, a.Progress)
	require.Equal(t, 1.0, a.ActualHours)
}

// A task that is done again and again has one verification, the latest.
func TestFinish_Again(t *testing.T) {
	t.Parallel()
	p := New(Seed{Tasks: []Task{{ID: "A"}, {ID: "TASK-VERIFY-000", Verifies: "A", State: Done}}})
	for i := range 3 {
		var id string
		update(t, p, func(tx *Tx) error {
			out, err := tx.Finish("A", now)
			id = out.Verification.ID
			return err
		})
		require.Equal(t, fmt.Sprintf("TASK-VERIFY-%03d", i+1), id)
		require.Equal(t, Counts{Total: 1, Completed: 1, VerificationPending: 1}, p.View().Counts())
		require.Equal(t, 2, p.View().verifications)
		update(t, p, func(tx *Tx) error { return tx.Verify(id, []Verdict{Rework, Undecided, Confirmed}[i]) })
	}
	require.Nil(t, p.View().Task("TASK-VERIFY-002"))
	require.ErrorIs(t, p.Update(t.Context(), func(tx *Tx) error { return tx.Verify("TASK-VERIFY-003", Confirmed) }), ErrDone)
	update(t, p, func(tx *Tx) error { tx.Clear(); return nil })
	require.Zero(t, p.View().verifications)
	update(t, p, func(tx *Tx) error { tx.Reset(); return nil })
	require.Equal(t, 1, p.View().verifications)
}

func TestBlockOn(t *testing.T) {
	t.Parallel()
	p := New(Seed{Tasks: []Task{{ID: "A"}, {ID: "B"}, {ID: "C"}}})
	update(t, p, func(tx *Tx) error { _, err := tx.Finish("C", now); return err })
	update(t, p, func(tx *Tx) error {
		require.True(t, tx.BlockOn("A", "B"))
		require.True(t, tx.BlockOn("A", "B"), "twice is once")
		require.False(t, tx.BlockOn("C", "B"), "what is done waits for nothing")
		require.False(t, tx.BlockOn("Z", "B"))
		return nil
	})
	require.Equal(t, []string{"B"}, p.View().BlockedBy(p.View().Task("A")))
	update(t, p, func(tx *Tx) error {
		out, err := tx.Finish("B", now)
		require.Equal(t, []string{"A"}, out.Unblocked)
		return err
	})
}

// A change that fails leaves nothing, and a view does not change.
func TestUpdate_AllOrNothing(t *testing.T) {
	t.Parallel()
	p := New(Sample())
	before := p.View()
	broken := errors.New("broken")
	require.ErrorIs(t, p.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.Finish("TASK-004", now)
		require.NoError(t, err)
		require.True(t, tx.BlockOn("TASK-001", "TASK-002"))
		require.Equal(t, StatusReady, tx.Status(tx.Task("TASK-034")))
		return broken
	}), broken)
	require.Same(t, before, p.View())
	require.Equal(t, Counts{Total: 35, Ready: 33, Blocked: 2}, before.Counts())
	require.Equal(t, StatusBlocked, before.Status(before.Task("TASK-034")))
	update(t, p, func(tx *Tx) error { _, err := tx.Finish("TASK-002", now); return err })
	require.Equal(t, 1, p.View().Counts().Completed)
	require.Equal(t, 0, before.Counts().Completed, "an old view stays as it was")
}

func TestUpdate_WaitsNoLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(Sample())
		release, ended := make(chan struct{}), make(chan error)
		go func() { ended <- p.Update(t.Context(), func(*Tx) error { <-release; return nil }) }()
		synctest.Wait()
		require.NotNil(t, p.View().Next(Holder{}), "readers do not wait")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.Update(ctx, func(*Tx) error { return nil }), context.DeadlineExceeded)
		close(release)
		require.NoError(t, <-ended)
		update(t, p, func(tx *Tx) error { return tx.Start("TASK-001", Holder{}) })
	})
}

func TestUpdate_Parallel(t *testing.T) {
	t.Parallel()
	p := New(Sample())
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_ = p.View().Queue(FilterAll, Holder{})
			_ = p.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Add(Task{Title: fmt.Sprint(i), Dependencies: []string{"TASK-001"}}, now)
				return err
			})
		})
	}
	wg.Wait()
	require.Equal(t, Counts{Total: 135, Ready: 33, Blocked: 102}, p.View().Counts())
	require.NotNil(t, p.View().Task("TASK-188"), "100 ids, from 089 on")
	update(t, p, func(tx *Tx) error {
		out, err := tx.Finish("TASK-001", now)
		require.Len(t, out.Unblocked, 100)
		return err
	})
}

func TestFull(t *testing.T) {
	t.Parallel()
	tasks := make([]Task, MaxTasks)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint(i)
	}
	p := New(Seed{Tasks: tasks})
	require.ErrorIs(t, p.Update(t.Context(), func(tx *Tx) error { _, err := tx.Add(Task{}, now); return err }), ErrFull)
	update(t, p, func(tx *Tx) error { tx.Clear(); _, err := tx.Add(Task{}, now); return err })
	require.Equal(t, 1, p.View().Counts().Total)
	update(t, p, func(tx *Tx) error { tx.Reset(); return nil })
	require.Equal(t, MaxTasks, p.View().Counts().Total)
}

func TestUrgent(t *testing.T) {
	t.Parallel()
	p := New(Seed{Tasks: []Task{{ID: "A", Priority: Critical}}})
	add := func(priority Priority) (id string) {
		update(t, p, func(tx *Tx) error {
			task, err := tx.Add(Task{Priority: priority, Urgent: true}, now)
			id = task.ID
			return err
		})
		return id
	}
	first := add(Critical)
	require.Equal(t, first, p.View().Next(Holder{}).ID)
	second := add(Critical)
	require.Equal(t, second, p.View().Next(Holder{}).ID)
	add(High)
	var order []string
	for _, task := range p.View().Queue(FilterReady, Holder{}) {
		order = append(order, task.ID)
	}
	require.Equal(t, []string{second, first, "A", "TASK-004"}, order)
}
