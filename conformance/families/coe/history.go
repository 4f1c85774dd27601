package coe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Where the resources are: a task with all that was reported on it, and a record
// or a ticket by its id.
const (
	taskRoot   = "mcp://resources/coe/tasks/"
	recordRoot = "mcp://resources/coe/records/"
)

// The bounds of a history: of the resource, and of the answers of tools, in
// records, bytes and characters. The latest records are shown.
const (
	resourceRecords = 1000
	resourceBytes   = 4 << 20
	answerRecords   = 5
	answerText      = 600
	answerLength    = 4000
)

// history shows what was reported.
type history struct{ *board }

func (h *history) resources() []family.Resource {
	const mime = "application/json"
	// Reserved expansion: an id with a slash is unknown, not a URI of nobody's.
	return []family.Resource{
		{
			Name: "coe_task", URITemplate: taskRoot + "{+task_id}", MIMEType: mime,
			Description: "A task of the plan: its state, whom it was handed out to, every report on it and its tickets",
			Read:        h.readTask,
		},
		{
			Name: "coe_record", URITemplate: recordRoot + "{+record_id}", MIMEType: mime,
			Description: "A record or a ticket by its id, such as REPORT-001, OBS-001 or TK-123, with all that was reported",
			Read:        h.readRecord,
		},
	}
}

// recordView is a record as the resources show it.
type recordView struct {
	ID      string          `json:"id"`
	Kind    ledger.Kind     `json:"kind"`
	Version int             `json:"version"`
	Tool    string          `json:"tool,omitempty"`
	TaskID  string          `json:"taskId,omitempty"`
	Agent   string          `json:"agent"`
	At      string          `json:"at"`
	Report  json.RawMessage `json:"report"`
}

func newRecordView(r ledger.Record) recordView {
	return recordView{r.ID, r.Kind, r.Version, r.Tool, r.TaskID, r.Agent, envelope.Timestamp(r.Created), r.Body}
}

// ticketDetails is a ticket as the resources show it.
type ticketDetails struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type"`
	Priority    int    `json:"priority,omitempty"`
	TaskID      string `json:"taskId,omitempty"`
	Agent       string `json:"agent"`
	Status      string `json:"status"`
	CreatedAt   string `json:"createdAt"`
}

func newTicketDetails(t ledger.Ticket) ticketDetails {
	status := "open"
	if !t.Open {
		status = "closed"
	}
	return ticketDetails{ticketID(t), t.Title, t.Description, t.Type, t.Priority, t.TaskID, t.Agent, status, envelope.Timestamp(t.Created)}
}

func ticketID(t ledger.Ticket) string { return fmt.Sprintf("TK-%03d", t.Number) }

// taskHistory is a task with what was reported on it.
type taskHistory struct {
	TaskID          string      `json:"taskId"`
	Title           string      `json:"title,omitempty"`
	Status          plan.Status `json:"status,omitempty"`
	Hold            string      `json:"hold,omitempty"`
	HandedOutTo     string      `json:"handedOutTo,omitempty"`
	ProgressPercent float64     `json:"progressPercent,omitempty"`
	ActualHours     float64     `json:"actualHours,omitempty"`
	Verifies        string      `json:"verifies,omitempty"`
	// Reports are the latest ones, the oldest first.
	Reports []recordView `json:"reports"`
	// OlderReports says that there are more, each still readable by its id.
	OlderReports bool            `json:"olderReports"`
	Tickets      []ticketDetails `json:"tickets"`
}

// task returns what is known of a task, nil for one that nobody knows.
func (h *history) task(ctx context.Context, id string, most, size int) (*taskHistory, error) {
	if id == "" { // the records of no task are not those of one
		return nil, nil
	}
	v, err := h.view(ctx)
	if err != nil {
		return nil, err
	}
	t := v.Task(id)
	about := []string{id}
	if t != nil && t.Verifies != "" { // who verifies wants to know what was done
		about = append(about, t.Verifies)
	}
	records, more, err := h.ledger.Records(ctx, ledger.RecordQuery{TaskIDs: about, Most: most, Bytes: size})
	if err != nil {
		return nil, err
	}
	tickets, err := h.ledger.Tickets(ctx, ledger.TicketQuery{TaskID: id})
	if err != nil || t == nil && len(records)+len(tickets) == 0 {
		return nil, err
	}
	of := &taskHistory{TaskID: id, Reports: []recordView{}, OlderReports: more, Tickets: []ticketDetails{}}
	if t != nil {
		of.Title, of.Status, of.Hold, of.HandedOutTo = t.Title, v.Status(t), t.Hold, t.Holder.Agent
		of.ProgressPercent, of.ActualHours, of.Verifies = t.Progress, t.ActualHours, t.Verifies
	}
	for _, r := range records {
		of.Reports = append(of.Reports, newRecordView(r))
	}
	for _, ticket := range tickets {
		of.Tickets = append(of.Tickets, newTicketDetails(ticket))
	}
	return of, nil
}

func (h *history) readTask(ctx context.Context, uri string) (string, error) {
	view, err := h.task(ctx, strings.TrimPrefix(uri, taskRoot), resourceRecords, resourceBytes)
	return resourceText(uri, view, view == nil, err)
}

func (h *history) readRecord(ctx context.Context, uri string) (string, error) {
	view, err := h.recordOrTicket(ctx, strings.TrimPrefix(uri, recordRoot))
	return resourceText(uri, view, view == nil, err)
}

// recordOrTicket returns the view of a record or of a ticket, nil for an id that
// nobody knows.
func (h *history) recordOrTicket(ctx context.Context, id string) (any, error) {
	if number, ok := strings.CutPrefix(id, "TK-"); ok {
		n, _ := strconv.Atoi(number) // 0 when it is no number
		if n <= 0 {
			return nil, nil
		}
		found, err := h.ledger.Tickets(ctx, ledger.TicketQuery{Number: n})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return newTicketDetails(found[0]), nil
	}
	found, _, err := h.ledger.Records(ctx, ledger.RecordQuery{ID: id, Most: 1})
	if err != nil || id == "" || len(found) == 0 {
		return nil, err
	}
	return newRecordView(found[0]), nil
}

// resourceText writes a resource, or the error of one that is missing or cannot
// be read now.
func resourceText(uri string, view any, missing bool, err error) (string, error) {
	switch {
	case err != nil:
		return "", &family.Error{
			Code: family.CodeServer, Message: "The ledger cannot be read now" + because(err), Data: map[string]any{"uri": params.Clean(cut(uri, answerText))}, Err: err,
		}
	case missing:
		return "", &family.Error{
			Code: family.CodeNotFound, Message: "Resource not found", Data: map[string]any{"uri": params.Clean(cut(uri, answerText))},
		}
	}
	raw, err := family.Encode(view)
	return string(raw), err
}

// because says why the database is unavailable, as far as that helps a caller.
func because(err error) string {
	for _, reason := range []error{ledger.ErrDiskFull, ledger.ErrReadOnly, ledger.ErrDamaged} {
		if errors.Is(err, reason) {
			return strings.TrimPrefix(reason.Error(), ledger.ErrUnavailable.Error())
		}
	}
	return ""
}

// line writes a record in a line of text.
func (v recordView) line() string {
	tool := v.Tool
	if tool == "" {
		tool = string(v.Kind)
	}
	return fmt.Sprintf("%s, %s by %s at %s: %s", v.ID, tool, v.Agent, v.At, sentence(facts(v.Report, true), answerText, answerText))
}

func (v ticketDetails) line() string {
	text := fmt.Sprintf("%s, %s ticket by %s at %s, %s: %s", v.ID, v.Type, v.Agent, v.CreatedAt, v.Status, v.Title)
	if v.Description != "" {
		text += ". " + v.Description
	}
	return cut(text, answerText)
}

// ids is what may be the id of a task, a record or a ticket in a sentence.
var ids = regexp.MustCompile(`[\pL\pN][\pL\pN._-]*[\pL\pN]`)

// named is how many of the ids in a question are answered.
const named = 3

// addReports adds to an answer what was reported on the tasks, records and
// tickets that the question names. It takes the place of an answer that is not sure.
func (h *history) addReports(ctx context.Context, question string, sure bool, answer *shortAnswer) error {
	var parts []string
	var done []string
	for _, id := range ids.FindAllString(question, -1) {
		if len(parts) == named || slices.Contains(done, id) || !strings.Contains(id, "-") && h.plan.View().Task(id) == nil {
			continue
		}
		done = append(done, id)
		text, uri, err := h.reported(ctx, id, !sure)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		if !sure && len(parts) == 0 {
			answer.Answer, answer.Source, answer.SampleData = "", &uri, false
		}
		parts = append(parts, text)
	}
	answer.Answer = strings.TrimPrefix(strings.Join(append([]string{answer.Answer}, parts...), "\n\n"), "\n\n")
	return nil
}

// reported tells what was reported on a task, or a record or ticket, and where
// all of it is. Of a task without reports it tells that only where always is true.
func (h *history) reported(ctx context.Context, id string, always bool) (text, uri string, err error) {
	view, err := h.recordOrTicket(ctx, id)
	if err != nil {
		return "", "", err
	}
	switch v := view.(type) {
	case recordView:
		return v.line() + "\nAll of it: " + recordRoot + id, recordRoot + id, nil
	case ticketDetails:
		return v.line() + "\nAll of it: " + recordRoot + id, recordRoot + id, nil
	}
	of, err := h.task(ctx, id, answerRecords, resourceBytes)
	if err != nil || of == nil || !always && len(of.Reports)+len(of.Tickets) == 0 {
		return "", "", err
	}
	return of.text(), taskRoot + id, nil
}

// text tells the history of a task in a few lines.
func (h *taskHistory) text() string {
	var b strings.Builder
	b.WriteString(h.TaskID)
	if h.Title != "" {
		fmt.Fprintf(&b, " %q is %s", cut(h.Title, answerText), h.Status)
	}
	if h.Verifies != "" {
		b.WriteString(", the verification of " + h.Verifies)
	}
	if h.Hold != "" {
		b.WriteString(": " + cut(h.Hold, answerText))
	}
	if h.HandedOutTo != "" {
		b.WriteString(", handed out to " + h.HandedOutTo)
	}
	b.WriteString(".")
	switch {
	case len(h.Reports)+len(h.Tickets) == 0:
		b.WriteString(" Nothing was reported on it.")
	case h.OlderReports:
		fmt.Fprintf(&b, " The latest %d reports:", len(h.Reports))
	default:
		b.WriteString(" Reported:")
	}
	for _, r := range h.Reports {
		b.WriteString("\n" + r.line())
	}
	for i, t := range h.Tickets {
		if i == answerRecords {
			fmt.Fprintf(&b, "\n%d more tickets", len(h.Tickets)-i)
			break
		}
		b.WriteString("\n" + t.line())
	}
	return cut(b.String(), answerLength) + "\nAll of it: " + taskRoot + h.TaskID
}

// addContext adds to the context of a task what was reported on it and on the
// tasks that it depends on: the next agent need not find that out again.
func (h *history) addContext(ctx context.Context, t *plan.Task, prompt *plan.Prompt) error {
	records, _, err := h.ledger.Records(ctx, ledger.RecordQuery{
		TaskIDs: append([]string{t.ID}, t.Dependencies[:min(len(t.Dependencies), 100)]...), Most: 2 * answerRecords, Bytes: resourceBytes,
	})
	if err != nil {
		return err
	}
	var lines []string
	for _, r := range records {
		if r.Kind != ledger.Question {
			lines = append(lines, r.TaskID+" "+newRecordView(r).line())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	lines = lines[max(0, len(lines)-answerRecords):]
	prompt.Context = strings.TrimPrefix(fmt.Sprintf("%s\n\nReported so far:\n%s\nAll of it: %s%s",
		prompt.Context, cut(strings.Join(lines, "\n"), answerLength), taskRoot, t.ID), "\n\n")
	return nil
}
