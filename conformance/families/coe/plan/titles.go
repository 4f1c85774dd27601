package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Kept is a task that keeps the id that its stored state has, although it is at
// another place in the plan now.
type Kept struct{ Title, ID, Instead string }

// ErrTaken is a file that gives a task the id under which the state of another one is
// stored.
var ErrTaken = errors.New("two tasks with one id")

// ErrCircle is a plan in which no task of some could begin, since its ids stay with titles.
var ErrCircle = errors.New("tasks wait for each other")

// Keep returns the seed with the ids that its tasks had when their states were stored.
// An id that a file gives is the task's own. One that came from the place in the file
// goes by the title: a state never passes to another task because a line was added
// above it. New tasks get ids that no stored task has. A name such as TASK-001 in
// the file is the task that has this id now, if one has. The error is [ErrTaken] or
// [ErrCircle].
func (s Seed) Keep(head Head, rows []Row) (Seed, []Kept, error) {
	stored, taken := map[string][]string{}, map[string]bool{}
	for _, row := range rows {
		taken[row.ID] = true
		var body saved
		if json.Unmarshal(row.Body, &body) == nil && body.Title != "" { // other forms are refused by Restore
			key := row.Plan + "\n" + folded(body.Title)
			stored[key] = append(stored[key], row.ID)
		}
	}
	for _, ids := range stored {
		slices.Sort(ids)
	}
	given := map[string]string{} // by the id that the file gives, the title
	for _, t := range s.Tasks {
		if !t.Numbered {
			given[t.ID], taken[t.ID] = t.Title, true
		}
	}
	ids := map[string]string{} // by the place in the file
	moved := []*Task{}         // what is not where it was
	key := func(t *Task) string { return t.Reference.PlanID + "\n" + folded(t.Title) }
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if at := slices.Index(stored[key(t)], t.ID); t.Numbered && at >= 0 {
			stored[key(t)] = slices.Delete(stored[key(t)], at, at+1)
		} else if t.Numbered {
			moved = append(moved, t)
		}
	}
	var fresh []string
	for _, t := range moved {
		switch of := stored[key(t)]; {
		case len(of) > 0 && given[of[0]] != "":
			return s, nil, fmt.Errorf("%w: task id %s of %q is the one that %q has got; give the former another id, or the latter this one",
				ErrTaken, of[0], given[of[0]], t.Title)
		case len(of) > 0:
			ids[t.ID], stored[key(t)] = of[0], of[1:]
		case taken[t.ID]:
			fresh = append(fresh, t.ID)
		default:
			taken[t.ID] = true
		}
	}
	next := max(s.NextTask, head.NextTask, len(s.Tasks)+1)
	for id := range maps.Keys(taken) {
		if n, ok := number(id); ok {
			next = max(next, n+1)
		}
	}
	for _, place := range fresh {
		ids[place] = fmt.Sprintf(idPrefix+"%03d", next)
		next++
	}
	out, kept := s.renamed(ids, next)
	if way := circle(out.Tasks); way != nil {
		return s, nil, fmt.Errorf("%w: %s; their ids are those of before the plan changed, so name tasks by titles", ErrCircle, strings.Join(way, " after "))
	}
	return out, kept, nil
}

// Pin has the tasks stored whose ids come from their places, but for those that the rows
// have: [Seed.Keep] finds their ids again.
func (tx *Tx) Pin(rows []Row) {
	have := map[[2]string]bool{}
	for _, row := range rows {
		have[[2]string{row.Plan, row.ID}] = true
	}
	for id, planned := range tx.plan.planned {
		if t := tx.tasks[id]; t != nil && planned.Numbered && !have[[2]string{planned.Reference.PlanID, id}] {
			tx.touch(t)
		}
	}
}

// renamed returns the seed with other ids for some tasks.
func (s Seed) renamed(ids map[string]string, next int) (Seed, []Kept) {
	of := func(id string) string { return cmp.Or(ids[id], id) }
	has := map[string]bool{}
	for i := range s.Tasks {
		has[of(s.Tasks[i].ID)] = true
	}
	all := func(t *Task, list []string) []string {
		out := []string{}
		for _, id := range list {
			if !has[id] || !slices.Contains(t.byPlace, id) {
				id = of(id)
			}
			if !slices.Contains(out, id) { // by its title, and by the id it had
				out = append(out, id)
			}
		}
		return out
	}
	out := Seed{NextTask: next}
	var kept []Kept
	for _, t := range s.Tasks {
		if id := of(t.ID); id != t.ID {
			kept = append(kept, Kept{t.Title, id, t.ID})
			t.ID, t.TicketID = id, "TICKET-"+strings.TrimPrefix(id, idPrefix)
		}
		t.Dependencies, t.Related = all(&t, t.Dependencies), all(&t, t.Related)
		out.Tasks = append(out.Tasks, t)
	}
	return out, kept
}
