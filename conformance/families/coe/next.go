package coe

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

const nextTaskName = "getNextTask"

func (s *server) nextTaskTool() tool {
	v := version{form: numeric, handle: s.nextTask}
	switch s.opts.NextTask {
	case Implemented:
		v = version{form: inBand, handle: s.nextTaskImplemented}
	case Legacy:
		v.handle = s.nextTaskLegacy
	case Enhanced:
	}
	return tool{
		name: nextTaskName, title: "Get next task", readOnly: true,
		description: "Return the next task of the plan with its prompt, files and plan references, the length of the queue and what " +
			"comes after. The most urgent task is first, of equals the oldest. A ready task is handed out to one agent: ask again and " +
			"get it again, while other agents get others. Its status stays ready: report progress with reportTaskStatus and the end " +
			"with reportTaskDone. The filters blocked and all only show tasks." + ofSample(s.opts.samplePlan, "--coe-plan"),
		pick: only(v),
	}
}

// taskView is a task as getNextTask shows it.
type taskView struct {
	TaskID              string          `json:"taskId"`
	Title               string          `json:"title"`
	Description         string          `json:"description"`
	Priority            plan.Priority   `json:"priority"`
	Status              plan.Status     `json:"status"`
	Dependencies        []string        `json:"dependencies"`
	BlockedBy           []string        `json:"blockedBy"`
	RelatedTasks        []string        `json:"relatedTasks,omitzero"`
	SuperDetailedPrompt *plan.Prompt    `json:"superDetailedPrompt,omitempty"`
	PlanReference       *plan.Reference `json:"planReference,omitempty"`
	EstimatedHours      float64         `json:"estimatedHours"`
	ActualHours         float64         `json:"actualHours,omitzero"`
}

// parts are the parts of a task that a caller may leave out.
type parts struct{ context, prompt, files bool }

// newTaskView shows a task. What was reported on it, and on what it depends on,
// is a part of its context.
func (s *server) newTaskView(ctx context.Context, v *plan.View, t *plan.Task, with parts) (*taskView, error) {
	view := &taskView{
		TaskID: t.ID, Title: t.Title, Description: t.Description, Priority: t.Priority, Status: v.Status(t),
		Dependencies: list(t.Dependencies), BlockedBy: v.BlockedBy(t),
		EstimatedHours: t.EstimatedHours, ActualHours: t.ActualHours,
	}
	if with.context {
		ref := t.Reference
		ref.AffectedSections = list(ref.AffectedSections)
		view.RelatedTasks, view.PlanReference = list(t.Related), &ref
	}
	if with.prompt && t.Prompt != nil {
		prompt := *t.Prompt // the task of the plan stays as it is
		if !with.context {
			prompt.Context = ""
		} else if err := s.history.addContext(ctx, t, &prompt); err != nil {
			return nil, err
		}
		if !with.files {
			prompt.Files = nil
		}
		view.SuperDetailedPrompt = &prompt
	}
	return view, nil
}

// list makes sure that an empty list is written as one.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

type preview struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Priority plan.Priority `json:"priority"`
}

// nextTaskAnswer is the enhanced shape.
type nextTaskAnswer struct {
	Success          bool      `json:"success"`
	Task             *taskView `json:"task"`
	QueueLength      int       `json:"queueLength"`
	NextTasksPreview []preview `json:"nextTasksPreview"`
}

// previews is how many tasks the preview shows.
const previews = 2

func (s *server) nextTask(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "filter", "priority", "includeContext", "includeDetailedPrompt", "includeRelatedFiles")
	filter := readFilter(o)
	priority := o.Enum("priority", plan.Priorities()...)
	with := parts{
		context: o.Bool("includeContext", true), prompt: o.Bool("includeDetailedPrompt", true), files: o.Bool("includeRelatedFiles", true),
	}
	err := o.Err()
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("filter", string(filter)), slog.String("priority", priority))
	if s.opts.NoOrchestrator {
		return nil, uninitialized()
	}
	offer, err := s.offer(ctx, c, filter, priority)
	if err != nil {
		return nil, err
	}
	answer := &nextTaskAnswer{Success: true, QueueLength: offer.view.Length(), NextTasksPreview: []preview{}}
	// Filter and priority choose the task. The length is that of the whole queue, as in the example of S1: of
	// 35 tasks, 2 of them blocked, the filter ready leaves 34. The preview ignores the priority.
	if offer.task != nil {
		if answer.Task, err = s.newTaskView(ctx, offer.view, offer.task, with); err != nil {
			return nil, err
		}
		answer.QueueLength--
	}
	for _, t := range offer.queue {
		if len(answer.NextTasksPreview) < previews && (offer.task == nil || t.ID != offer.task.ID) {
			answer.NextTasksPreview = append(answer.NextTasksPreview, preview{t.ID, t.Title, t.Priority})
		}
	}
	c.Completed(slog.Int("queue_length", answer.QueueLength))
	return answer, nil
}

// offer picks the task of an answer. Who may only read is shown what is there, and
// gets nothing handed out.
func (s *server) offer(ctx context.Context, c *call, filter plan.Filter, priority string) (offer, error) {
	agent := s.holder(c)
	if filter != plan.FilterReady || s.permission(c) == ReadOnly {
		return s.look(ctx, filter, priority, agent)
	}
	return s.handOut(ctx, c, priority, agent)
}

func readFilter(o *params.Object) plan.Filter {
	if !o.Has("filter") {
		return plan.FilterReady
	}
	return plan.Filter(o.Enum("filter", string(plan.FilterReady), string(plan.FilterBlocked), string(plan.FilterAll)))
}

func uninitialized() *envelope.Failure {
	return envelope.New(envelope.OrchestratorUninitialized, "The orchestrator has not been initialized")
}

// implementedAnswer is the shape of what S1 calls the current implementation.
type implementedAnswer struct {
	Success     bool              `json:"success"`
	Task        *taskView         `json:"task"`
	QueueStatus *queueStatus      `json:"queueStatus,omitempty"`
	Error       *implementedError `json:"error,omitempty"`
}

type queueStatus struct {
	IsEmpty bool   `json:"isEmpty"`
	Message string `json:"message,omitempty"`
}

type implementedError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// nextTaskImplemented ignores parameters it does not know (C-09).
func (s *server) nextTaskImplemented(ctx context.Context, c *call) (any, error) {
	o := params.Loose(c.Arguments)
	filter := readFilter(o)
	with := parts{context: o.Bool("includeContext", true), prompt: true, files: true}
	c.Started(ctx, slog.String("filter", string(filter)))
	if err := o.Err(); err != nil {
		return c.implementedFailure("INVALID_FILTER", err.Error()), nil
	}
	if s.opts.NoOrchestrator {
		return c.implementedFailure(string(envelope.OrchestratorUninitialized), "The orchestrator has not been initialized"), nil
	}
	offer, err := s.offer(ctx, c, filter, "")
	if err != nil {
		return nil, err
	}
	answer := &implementedAnswer{Success: true, QueueStatus: &queueStatus{}}
	if offer.task != nil {
		if answer.Task, err = s.newTaskView(ctx, offer.view, offer.task, with); err != nil {
			return nil, err
		}
	} else {
		answer.QueueStatus = &queueStatus{IsEmpty: true, Message: "No " + string(filter) + " tasks in the queue"}
	}
	return answer, nil
}

func (c *call) implementedFailure(code, message string) *family.Result {
	c.Failed(slog.String("error_code", code))
	return &family.Result{IsError: true, Payload: &implementedAnswer{Error: &implementedError{code, message}}}
}

type legacyTask struct {
	ID        string      `json:"id"`
	TicketID  string      `json:"ticketId"`
	Title     string      `json:"title"`
	Status    plan.Status `json:"status"`
	CreatedAt string      `json:"createdAt"`
}

// nextTaskLegacy answers with the bare task, or null.
func (s *server) nextTaskLegacy(ctx context.Context, c *call) (any, error) {
	o := params.Loose(c.Arguments)
	filter := readFilter(o)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("filter", string(filter)))
	if s.opts.NoOrchestrator {
		return nil, uninitialized()
	}
	offer, err := s.offer(ctx, c, filter, "")
	if err != nil {
		return nil, err
	}
	t := offer.task
	if t == nil {
		return c.bare(json.RawMessage("null"), "null"), nil
	}
	return &legacyTask{t.ID, t.TicketID, t.Title, offer.view.Status(t), t.Created.UTC().Format(time.RFC3339)}, nil
}

// bare answers with something that is no object: the result itself for a
// direct method, and JSON in the text block for tools/call, where structured
// content has to be an object.
func (c *call) bare(payload any, text string) *family.Result {
	if c.Origin.Direct {
		return &family.Result{Payload: payload}
	}
	return &family.Result{Text: text}
}
