package coe

import (
	"context"
	"log/slog"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
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
			"v1.1: an observation that is not urgent. The version is chosen by the arguments, or by " +
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

// observationReport holds the arguments of reportObservation v1.0.
type observationReport struct {
	TaskID         string              `json:"taskId"`
	Observation    string              `json:"observation"`
	Type           string              `json:"type"`
	Severity       string              `json:"severity"`
	Details        *observationDetails `json:"details,omitempty"`
	RelatedToTask  string              `json:"relatedToTask,omitempty"`
	CreateNewTask  *bool               `json:"createNewTask,omitempty"`
	NewTaskDetails *newTaskDetails     `json:"newTaskDetails,omitempty"`
	AttachedFiles  []string            `json:"attachedFiles,omitempty"`
	References     []string            `json:"references,omitempty"`
}

type observationDetails struct {
	What            string `json:"what"`
	Why             string `json:"why"`
	Impact          string `json:"impact"`
	SuggestedAction string `json:"suggestedAction"`
}

type newTaskDetails struct {
	Title          string        `json:"title"`
	Priority       plan.Priority `json:"priority"`
	EstimatedHours float64       `json:"estimatedHours"`
}

func readObservation(c *call) (*observationReport, error) {
	o := params.Read(c.Arguments, append([]string{"observation"}, observation10...)...)
	o.Need("taskId", "observation", "type", "severity")
	r := &observationReport{
		TaskID: o.ID("taskId"), Observation: o.Filled("observation", 0),
		Type:     o.Enum("type", "discovery", "issue", "improvement", "dependency", "test-failure", "architecture-concern"),
		Severity: o.Enum("severity", plan.Priorities()...),
	}
	if o.Has("details") {
		d := o.Object("details", "what", "why", "impact", "suggestedAction")
		d.Need("what", "why", "impact", "suggestedAction")
		r.Details = &observationDetails{d.Text("what", 0), d.Text("why", 0), d.Text("impact", 0), d.Text("suggestedAction", 0)}
	}
	if o.Has("relatedToTask") { // it may be a task of another plan
		r.RelatedToTask = o.ID("relatedToTask")
	}
	r.CreateNewTask = given(o, "createNewTask", o.Bool("createNewTask", false))
	if r.createsTask() {
		o.Need("newTaskDetails")
	}
	if o.Has("newTaskDetails") {
		d := o.Object("newTaskDetails", "title", "priority", "estimatedHours")
		d.Need("title", "priority", "estimatedHours")
		r.NewTaskDetails = &newTaskDetails{Title: d.Filled("title", 0)}
		r.NewTaskDetails.Priority, _ = plan.ParsePriority(d.Enum("priority", plan.Priorities()...))
		r.NewTaskDetails.EstimatedHours = d.Number("estimatedHours", 0, math.Inf(1))
	}
	r.AttachedFiles = o.Paths("attachedFiles")
	r.References = o.Texts("references")
	return r, o.Err()
}

// createsTask says whether a task is to be made of the observation.
func (r *observationReport) createsTask() bool { return r.CreateNewTask != nil && *r.CreateNewTask }

// task is the task that is asked for.
func (r *observationReport) task(of *plan.Task) plan.Task {
	d := r.NewTaskDetails
	t := plan.Task{
		Title: d.Title, Description: r.Observation, Priority: d.Priority, EstimatedHours: d.EstimatedHours,
		Related: []string{of.ID}, Reference: of.Reference,
	}
	if r.RelatedToTask != "" {
		t.Related = append(t.Related, r.RelatedToTask)
	}
	return t
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
	c.Started(ctx, slog.String("type", r.Type), slog.String("severity", r.Severity))
	answer := &observationAnswer{
		Success: true, Observation: r.Observation, Type: r.Type, Severity: r.Severity, Status: "logged",
		DashboardAlert: &alert{"New observation: " + excerpt(r.Observation), envelope.Timestamp(c.now), r.Severity != "low"},
	}
	var rec ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		t := p.Task(r.TaskID)
		if t == nil {
			return taskNotFound("Task not found", r.TaskID)
		}
		if r.createsTask() {
			added, err := p.Add(r.task(t), c.now)
			if err != nil {
				return err
			}
			answer.Status = "task-created"
			answer.NewTaskCreated = &newTask{added.ID, added.Title, added.Priority, true, "after current task dependencies"}
		}
		rec, err = keep(ctx, l, c, ledger.Observation, r.TaskID, rank(r.Severity), r)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer.ObservationID = rec.ID
	c.logKept(ctx, rec)
	c.Completed(slog.String("observation_id", rec.ID))
	return answer, nil
}

// quickObservation holds the arguments of reportObservation v1.1.
type quickObservation struct {
	Observation string `json:"observation"`
	Category    string `json:"category,omitempty"`
	Priority    int    `json:"priority"`
	TaskID      string `json:"task_id,omitempty"`
	FilePath    string `json:"file_path,omitempty"`
}

type loggedAnswer struct {
	Logged        bool   `json:"logged"`
	ObservationID string `json:"observation_id"`
}

// observe11 answers once the observation is written: logged true is a promise
// that outlives the process.
func (s *server) observe11(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, append([]string{"observation"}, observation11...)...)
	o.Need("observation")
	r := &quickObservation{
		Observation: o.Filled("observation", 1000),
		Category:    o.Enum("category", "optimization", "potential_bug", "style_note", "docs_improvement", "other"),
		Priority:    o.Int("priority", 1, 3, 3), TaskID: optionalID(o), FilePath: optionalPath(o),
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("category", r.Category), slog.Int("priority", r.Priority))
	rec, err := s.keepAlone(ctx, c, ledger.Observation, r.TaskID, r.Priority, r)
	if err != nil {
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
