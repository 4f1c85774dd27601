package coe

import (
	"context"
	"log/slog"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/plan"
)

// The members of the two versions that only they have.
var (
	observation10 = []string{
		"taskId", "type", "severity", "details", "relatedToTask", "createNewTask", "newTaskDetails", "attachedFiles", "references",
	}
	observation11 = []string{"category", "priority", "task_id", "file_path"}
)

func (s *server) observationTool() tool {
	v10 := version{form: numeric, writes: true, handle: s.observe10}
	v11 := version{form: enveloped, writes: true, handle: s.observe11}
	return tool{
		name: "reportObservation", title: "Report observation",
		description: "Report what was noticed while working. v1.0: taskId, observation, type and severity, which may create a task. " +
			"v1.1: an observation that is not urgent, queued and written later. The version is chosen by the arguments, or by " +
			"_meta.version. Token impact ~150-300. Call: /agent call MCP reportObservation {json_props}",
		pick: func(c *call) (version, error) {
			o := params.Loose(c.Arguments)
			return c.choose(looksLike11(o), v10, "1.0", v11, "1.1")
		},
	}
}

// looksLike11 goes by tools.md §3.3, with one case more: an observation alone
// is valid v1.1 by the published schema, and could never be valid v1.0.
func looksLike11(o *params.Object) bool {
	has := func(names []string) bool {
		for _, name := range names {
			if o.Has(name) {
				return true
			}
		}
		return false
	}
	if has(observation11) {
		return !o.Has("taskId")
	}
	return o.Has("observation") && !has(observation10)
}

type observationReport struct {
	taskID, observation, kind, severity string
	details                             map[string]string
	createTask                          bool
	newTask                             plan.Task
	files, references                   []string
}

func readObservation(c *call) (*observationReport, error) {
	o := params.Read(c.Arguments, append([]string{"observation"}, observation10...)...)
	o.Need("taskId", "observation", "type", "severity")
	r := &observationReport{
		taskID: o.ID("taskId"), observation: o.Filled("observation", 0),
		kind:     o.Enum("type", "discovery", "issue", "improvement", "dependency", "test-failure", "architecture-concern"),
		severity: o.Enum("severity", plan.Priorities()...),
	}
	if o.Has("details") {
		names := []string{"what", "why", "impact", "suggestedAction"}
		d := o.Object("details", names...)
		d.Need(names...)
		r.details = map[string]string{}
		for _, name := range names {
			r.details[name] = d.Text(name, 0)
		}
	}
	if o.Has("relatedToTask") { // it may be a task of another plan
		r.newTask.Related = append(r.newTask.Related, o.ID("relatedToTask"))
	}
	r.createTask = o.Bool("createNewTask", false)
	if r.createTask {
		o.Need("newTaskDetails")
	}
	if o.Has("newTaskDetails") {
		d := o.Object("newTaskDetails", "title", "priority", "estimatedHours")
		d.Need("title", "priority", "estimatedHours")
		r.newTask.Title = d.Filled("title", 0)
		r.newTask.Priority, _ = plan.ParsePriority(d.Enum("priority", plan.Priorities()...))
		r.newTask.EstimatedHours = d.Number("estimatedHours", 0, math.Inf(1))
	}
	r.files = o.Paths("attachedFiles")
	r.references = o.Texts("references")
	return r, o.Err()
}

type observationAnswer struct {
	Success        bool     `json:"success"`
	ObservationID  string   `json:"observationId"`
	Observation    string   `json:"observation"`
	Type           string   `json:"type"`
	Severity       string   `json:"severity"`
	Status         string   `json:"status"`
	NewTaskCreated *newTask `json:"newTaskCreated,omitempty"`
	DashboardAlert *alert   `json:"dashboardAlert"`
}

type newTask struct {
	TaskID       string        `json:"taskId"`
	Title        string        `json:"title"`
	Priority     plan.Priority `json:"priority"`
	AddedToQueue bool          `json:"addedToQueue"`
	Position     string        `json:"position"`
}

type alert struct {
	Message   string `json:"message"`
	Timestamp string `json:"timestamp"`
	Visible   bool   `json:"visible"`
}

func (s *server) observe10(ctx context.Context, c *call) (any, error) {
	r, err := readObservation(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("type", r.kind), slog.String("severity", r.severity))
	answer := &observationAnswer{
		Success: true, Observation: r.observation, Type: r.kind, Severity: r.severity, Status: "logged",
		DashboardAlert: &alert{"New observation: " + excerpt(r.observation), envelope.Timestamp(c.now), r.severity != "low"},
	}
	var rec ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		t := p.Task(r.taskID)
		if t == nil {
			return taskNotFound("Task not found", r.taskID)
		}
		if r.createTask {
			created := r.newTask
			created.Description, created.Reference = r.observation, t.Reference
			created.Related = append([]string{t.ID}, created.Related...)
			added, err := p.Add(created, c.now)
			if err != nil {
				return err
			}
			answer.Status = "task-created"
			answer.NewTaskCreated = &newTask{added.ID, added.Title, added.Priority, true, "after current task dependencies"}
		}
		if rec.ID == "" { // a second attempt keeps the id
			if rec, err = s.record(c, ledger.Observation, "OBS", r.taskID, rank(r.severity), map[string]any{
				"observation": r.observation, "type": r.kind, "severity": r.severity, "details": r.details,
				"files": r.files, "references": r.references,
			}); err != nil {
				return err
			}
		}
		return l.AddRecords(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	answer.ObservationID = rec.ID
	c.Completed(slog.String("observation_id", rec.ID))
	return answer, nil
}

type loggedAnswer struct {
	Logged        bool   `json:"logged"`
	ObservationID string `json:"observation_id"`
}

// observe11 answers before anything is written (S1: async, queued).
func (s *server) observe11(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, append([]string{"observation"}, observation11...)...)
	o.Need("observation")
	text := o.Filled("observation", 1000)
	category := o.Enum("category", "optimization", "potential_bug", "style_note", "docs_improvement", "other")
	priority := o.Int("priority", 1, 3, 3)
	task := optionalID(o)
	path := optionalPath(o)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("category", category), slog.Int("priority", priority))
	rec, err := s.record(c, ledger.Observation, "OBS", task, priority, map[string]any{
		"observation": text, "category": category, "priority": priority, "file_path": path,
	})
	if err != nil {
		return nil, err
	}
	if err := s.ledger.Enqueue(rec); err != nil {
		return nil, err
	}
	c.Completed(slog.String("observation_id", rec.ID))
	return &loggedAnswer{Logged: true, ObservationID: rec.ID}, nil
}

// optionalID reads a task_id that need not be there, nor be of this plan: an
// observation may come after the plan was cleared.
func optionalID(o *params.Object) string {
	if !o.Has("task_id") {
		return ""
	}
	return o.ID("task_id")
}

func optionalPath(o *params.Object) string {
	if o.Null("file_path") {
		return ""
	}
	return o.Path("file_path")
}
