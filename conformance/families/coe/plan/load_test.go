package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// write makes a file in a folder of its own and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
	return p
}

const checklist = `# Shop relaunch

Version: 2.1

## Backend

- [x] Choose a database
- [ ] Create the schema (high, 3h, after Choose a database)
  - Tables for orders and customers.
  - done when: migrations run twice without a change
  - [ ] every table has a primary key
  - files: db/schema.sql, db/seed.sql
- [ ] API-7: Write the API
  - after: create the SCHEMA
  - estimate: 2d
  - skills: Go, SQL
  - read: docs/api.md
- not a task, as it has no checkbox

## Frontend

1. [ ] Show the cart
   - priority: critical
   - status: paused
   - see also: API-7
`

func TestLoad_Checklist(t *testing.T) {
	t.Parallel()
	s, err := Load(write(t, "shop.md", checklist))
	require.NoError(t, err)
	require.Len(t, s.Tasks, 4)
	var ids, titles []string
	for _, task := range s.Tasks {
		ids, titles = append(ids, task.ID), append(titles, task.Title)
		require.Equal(t, "Shop relaunch", task.Reference.PlanID)
		require.Equal(t, "2.1", task.Reference.Version)
		require.False(t, task.Created.IsZero())
	}
	require.Equal(t, []string{"TASK-001", "TASK-002", "API-7", "TASK-004"}, ids)
	require.Equal(t, []string{"Choose a database", "Create the schema", "Write the API", "Show the cart"}, titles)
	require.Equal(t, []State{Done, Queued, Queued, Paused}, []State{s.Tasks[0].State, s.Tasks[1].State, s.Tasks[2].State, s.Tasks[3].State})
	require.Equal(t, []Priority{Medium, High, Medium, Critical}, []Priority{s.Tasks[0].Priority, s.Tasks[1].Priority, s.Tasks[2].Priority, s.Tasks[3].Priority})
	schema, api, cart := s.Tasks[1], s.Tasks[2], s.Tasks[3]
	require.Equal(t, []string{"TASK-001"}, schema.Dependencies)
	require.Equal(t, "Tables for orders and customers.", schema.Description)
	require.Equal(t, []string{"migrations run twice without a change", "every table has a primary key"}, schema.Prompt.AcceptanceCriteria)
	require.Equal(t, []string{"db/schema.sql", "db/seed.sql"}, schema.Prompt.Files.WriteTo)
	require.Equal(t, []string{"Backend"}, schema.Reference.AffectedSections)
	require.InDelta(t, 3, schema.EstimatedHours, 0)
	require.InDelta(t, 16, api.EstimatedHours, 0)
	require.Equal(t, []string{"TASK-002"}, api.Dependencies)
	require.Equal(t, []string{"Go", "SQL"}, api.Prompt.SkillsRequired)
	require.Equal(t, []string{"docs/api.md"}, api.Prompt.Files.ReadFrom)
	require.Equal(t, []string{"API-7"}, cart.Related)
	require.Equal(t, 5, s.NextTask, "the first task a tool adds has the next number")
	p := New(s)
	require.Equal(t, "TASK-002", p.View().Next(Holder{}).ID, "what it depends on is done, and the critical one is paused")
}

const sections = `---
title: notes
---
# Alarm clock
## Goals
- [ ] an item of no task
## TASK-010: Ring
Priority: high
Depends on: TASK-020

Rings at the time set.
Twice, if need be.

### Acceptance criteria
- it rings
- it stops

Requirements:

* loud
## TASK-020 - Keep time
## Task: Snooze
`

func TestLoad_Sections(t *testing.T) {
	t.Parallel()
	s, err := Load(write(t, "clock.md", sections))
	require.NoError(t, err)
	require.Len(t, s.Tasks, 3)
	ring := s.Tasks[0]
	require.Equal(t, "TASK-010", ring.ID)
	require.Equal(t, "TICKET-010", ring.TicketID)
	require.Equal(t, High, ring.Priority)
	require.Equal(t, []string{"TASK-020"}, ring.Dependencies)
	require.Equal(t, "Rings at the time set.\nTwice, if need be.", ring.Description)
	require.Equal(t, []string{"it rings", "it stops"}, ring.Prompt.AcceptanceCriteria)
	require.Equal(t, []string{"loud"}, ring.Prompt.Requirements)
	require.Equal(t, []string{"Keep time", "Snooze"}, []string{s.Tasks[1].Title, s.Tasks[2].Title})
	require.Equal(t, "TASK-003", s.Tasks[2].ID)
	require.Equal(t, 21, s.NextTask)
}

func TestLoad_JSON(t *testing.T) {
	t.Parallel()
	s, err := Load(write(t, "plan.json", `{"plan":"shop","version":"3","nextTask":50,"created":"2026-02-01T00:00:00Z","tasks":[
		{"title":"Create the schema","priority":"high","acceptanceCriteria":["it migrates"],"estimatedHours":2,"files":{"writeTo":["a.sql"]}},
		{"id":"X.1","title":"Write the API","dependencies":["Create the schema"],"status":"done"}]}`))
	require.NoError(t, err)
	require.Equal(t, 50, s.NextTask)
	first := s.Tasks[0]
	require.Equal(t, "shop", first.Reference.PlanID)
	require.Equal(t, []string{"it migrates"}, first.Prompt.AcceptanceCriteria)
	require.Equal(t, []string{"a.sql"}, first.Prompt.Files.WriteTo)
	require.Equal(t, []string{}, first.Prompt.Files.ReadFrom)
	require.Equal(t, "Create the schema", first.Description, "the title describes a task without a description")
	require.Equal(t, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), first.Created)
	require.Equal(t, []string{"TASK-001"}, s.Tasks[1].Dependencies)
	require.Equal(t, Done, s.Tasks[1].State)
	list, err := Load(write(t, "bare.json", `[{"title":"One"}]`))
	require.NoError(t, err)
	require.Equal(t, "bare", list.Tasks[0].Reference.PlanID)
	require.Equal(t, Medium, list.Tasks[0].Priority)
}

// The plan built in is one that a user could have written.
func TestLoad_SampleItself(t *testing.T) {
	t.Parallel()
	s, err := Load("sample.json")
	require.NoError(t, err)
	require.Equal(t, Sample(), s)
	require.Len(t, s.Tasks, 35)
	require.Equal(t, 89, s.NextTask)
}

func TestLoad_Folder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1-first.md"), []byte("- [ ] One\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "2-second.json"), []byte(`[{"title":"Two","dependencies":["One"]}]`), 0o600))
	s, err := Load(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"TASK-001"}, s.Tasks[1].Dependencies, "tasks of one file may wait for those of another")
}

// An error names the file, the line, and what to do.
func TestLoad_Refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"empty":             {"p.json", `{"tasks":[]}`, "p.json: no task in it; add one"},
		"no list":           {"p.json", `{"plan":"x"}`, `p.json:1: no list named "tasks"; add one`},
		"not JSON":          {"p.json", "{\n\"tasks\": [,]}", "p.json:2: not JSON: invalid character ','"},
		"cut off":           {"p.json", "{\n\"tasks\": [", "p.json:2: not JSON: unexpected end"},
		"a text":            {"p.json", `"x"`, "must be an object with a list"},
		"twice":             {"p.json", "{\"tasks\":[],\n\"tasks\":[]}", `p.json:2: a second "tasks"`},
		"unknown member":    {"p.json", "[\n{\"title\":\"x\",\n\"titel\":1}]", `p.json:3: unknown member "titel"`},
		"unknown head":      {"p.json", "{\n\"name\":1,\"tasks\":[]}", `p.json:2: unknown member "name"`},
		"wrong type":        {"p.json", "[{\"title\":\"x\",\n\"dependencies\":\"A\"}]", `p.json:2: "dependencies" must be a list, not string`},
		"no title":          {"p.json", "[{},\n{}]", "p.json:1: a task without a title"},
		"priority":          {"p.json", "[\n{\"title\":\"x\",\"priority\":\"urgent\"}]", `p.json:2: priority "urgent"; use one of critical, high, medium, low`},
		"status":            {"p.json", `[{"title":"x","status":"new"}]`, `status "new"; use pending`},
		"id":                {"p.json", `[{"title":"x","id":"a/b"}]`, `task id "a/b"; use at most 64 letters`},
		"reserved id":       {"p.json", `[{"title":"x","id":"TASK-VERIFY-001"}]`, "for verifications"},
		"same id":           {"p.json", "[{\"title\":\"x\",\"id\":\"A\"},\n{\"title\":\"y\",\"id\":\"A\"}]", "p.json:2: task id A is that of the task in line 1"},
		"unknown":           {"p.json", "[{\"title\":\"x\"},\n{\"title\":\"y\",\"dependencies\":[\"z\"]}]", `p.json:2: no task "z" in the plan`},
		"two of a title":    {"p.json", `[{"title":"x"},{"title":"x"},{"title":"y","dependencies":["x"]}]`, "the title of 2 tasks; name one by its id"},
		"itself":            {"p.json", `[{"title":"x","dependencies":["x"]}]`, "names itself"},
		"circle":            {"p.json", `[{"title":"x","dependencies":["y"]},{"title":"y","dependencies":["x"]}]`, "TASK-001 after TASK-002 after TASK-001; remove one"},
		"hours":             {"p.json", `[{"title":"x","estimatedHours":-1}]`, "-1 hours; give a number"},
		"long title":        {"p.json", `[{"title":"` + strings.Repeat("x", 301) + `"}]`, "more than 300 characters"},
		"no task":           {"p.md", "# Plan\n\n- one\n", `p.md:1: no task; write a list of "- [ ] Title"`},
		"Markdown priority": {"p.md", "# Plan\n\n- [ ] one\n  - priority: soon\n", `p.md:4: priority "soon"; use one of`},
		"Markdown estimate": {"p.md", "## TASK-1: one\n\nEstimate: a while\n", `p.md:3: estimate "a while"; give hours or days`},
		"Markdown inline":   {"p.md", "- [ ] one (urgent, 3h)\n", `p.md:1: (urgent, 3h): "urgent" is no attribute; give a priority (`},
		"Markdown after":    {"p.md", "- [ ] one\n- [ ] two (after three)\n", `p.md:2: no task "three"`},
		"Latin-1":           {"p.md", "- [ ] one\n- [ ] \xe4\n", "p.md:2: not UTF-8 text; save the file as UTF-8"},
		"extension":         {"p.txt", "x", "the extension must be one of .json, .md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(write(t, c.file, c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "nowhere.md"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(write(t, "p.json", `[`+strings.Repeat(`{"title":"x"},`, MaxTasks)+`{"title":"x"}]`))
	require.ErrorContains(t, err, "more than 20000 tasks")
}

// Parentheses without an attribute are a part of the title.
func TestLoad_ParenthesesInTitles(t *testing.T) {
	t.Parallel()
	for _, title := range []string{"Support IPv6 (soon)", "Move the sign (left, 2)", "Tidy up (again)"} {
		path := filepath.Join(t.TempDir(), "p.md")
		require.NoError(t, os.WriteFile(path, []byte("- [ ] "+title+"\n"), 0o600))
		seed, err := Load(path)
		require.NoError(t, err)
		require.Equal(t, title, seed.Tasks[0].Title)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	base := func() Seed { return Seed{Tasks: []Task{{ID: "A", Title: "x"}, {ID: "B", Dependencies: []string{"A"}}}} }
	digest := base().Digest()
	require.Equal(t, digest, base().Digest())
	for name, change := range map[string]func(*Seed){
		"title":      func(s *Seed) { s.Tasks[0].Title = "y" },
		"priority":   func(s *Seed) { s.Tasks[0].Priority = High },
		"state":      func(s *Seed) { s.Tasks[0].State = Done },
		"dependency": func(s *Seed) { s.Tasks[1].Dependencies = nil },
		"one fewer":  func(s *Seed) { s.Tasks = s.Tasks[:1] },
	} {
		s := base()
		change(&s)
		require.NotEqual(t, digest, s.Digest(), name)
	}
	s := base()
	s.Tasks[0].Created = time.Unix(1, 0)
	require.Equal(t, digest, s.Digest(), "the same plan in a newer file")
}

func FuzzReadMarkdown(f *testing.F) {
	f.Add(checklist)
	f.Add(sections)
	f.Add("- [ ] (high)\n- [ ] TASK-1: x (after TASK-1)")
	f.Fuzz(func(t *testing.T, text string) {
		file := &source.File{Name: "f.md", Path: "f.md", Data: []byte(text)}
		drafts, err := readMarkdown(file)
		if err != nil {
			require.Contains(t, err.Error(), "f.md:")
			return
		}
		for _, d := range drafts {
			require.LessOrEqual(t, d.line, strings.Count(text, "\n")+1)
		}
		seed, err := compile(drafts, 0)
		if err != nil {
			require.Contains(t, err.Error(), "f.md:")
			return
		}
		require.NotNil(t, New(seed).View())
	})
}

func FuzzReadJSON(f *testing.F) {
	f.Add(`{"tasks":[{"title":"x","dependencies":["TASK-002"]},{"title":"y"}]}`)
	f.Add("[\n{}]")
	f.Fuzz(func(t *testing.T, text string) {
		file := &source.File{Name: "f.json", Path: "f.json", Data: []byte(text)}
		drafts, next, err := readJSON(file)
		if err == nil {
			_, err = compile(drafts, next)
		}
		if err != nil {
			require.Contains(t, err.Error(), "f.json:")
		}
	})
}
