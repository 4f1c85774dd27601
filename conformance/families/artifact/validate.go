package artifact

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// validationResult is the result of validate_artifact.
type validationResult struct {
	Passed              bool              `json:"passed"`
	AutomatedPassRate   string            `json:"automated_pass_rate"`
	AgentReviewRequired int               `json:"agent_review_required"`
	Results             []criterionResult `json:"results"`
}

// criterionResult is the verdict on one criterion. Passed is nil where no
// machine can tell.
type criterionResult struct {
	ID                  string `json:"id"`
	Category            string `json:"category"`
	Description         string `json:"description"`
	Passed              *bool  `json:"passed"`
	ValidationType      string `json:"validation_type"`
	Details             string `json:"details"`
	RequiresAgentReview bool   `json:"requires_agent_review,omitempty"`
}

// validator runs validate_artifact.
type validator struct {
	checklists *checklists
}

func validateTool(v *validator) family.Tool {
	return family.Tool{
		Name:  "validate_artifact",
		Title: "Validate artifact",
		Description: "Check a generated artifact (epic, PRD, story, specification …) against the checklist of its type. " +
			"The checklist follows from the prefix of artifact_id. The same input always gives the same result; " +
			"a failed criterion is a result, not an error.",
		InputSchema: validateSchema,
		ReadOnly:    true,
		Idempotent:  false,
		Handle:      v.handle,
	}
}

func (v *validator) handle(ctx context.Context, call *family.Call) (any, error) {
	args, err := family.ParseArgs(call.Arguments, "artifact_content", "artifact_id", "task_id")
	if err != nil {
		return nil, err
	}
	content, err := contentOf(args, 0)
	if err != nil {
		return nil, err
	}
	id, err := args.String("artifact_id", 1, 0)
	if err != nil {
		return nil, err
	}
	if _, err := args.TaskID(); err != nil {
		return nil, err
	}
	t, err := checkID(ctx, call, "artifact_id", id)
	if err != nil {
		return nil, err
	}
	fields := []slog.Attr{slog.String("artifact_id", id), slog.String("checklist_id", checklistID(t))}
	call.Started(ctx, fields...)
	list, err := v.checklists.get(ctx, time.Now(), t)
	if err != nil {
		return nil, err
	}
	res, err := judge(ctx, newDocument(content, id), list)
	if err != nil {
		return nil, err
	}
	call.Completed(append(fields,
		slog.String("automated_pass_rate", res.AutomatedPassRate),
		slog.Int("agent_review_count", res.AgentReviewRequired),
		slog.Bool("passed", res.Passed))...)
	return res, nil
}

// judge evaluates every criterion of list in its order. Agent and manual
// criteria never change the verdict.
func judge(ctx context.Context, d *document, list *checklist) (*validationResult, error) {
	res := &validationResult{Results: make([]criterionResult, 0, len(list.Criteria))}
	good, total := 0, 0
	for i := range list.Criteria {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cr := &list.Criteria[i]
		r := criterionResult{ID: cr.ID, Category: cr.Category, Description: cr.Description, ValidationType: cr.ValidationType}
		switch cr.ValidationType {
		case automated:
			passed, details := evaluate(d, cr)
			r.Passed, r.Details = &passed, details
			total++
			if passed {
				good++
			}
		case agent:
			r.Details, r.RequiresAgentReview = "Requires agent review", true
			res.AgentReviewRequired++
		case manual:
			r.Details = "Requires manual review"
		}
		res.Results = append(res.Results, r)
	}
	res.AutomatedPassRate = fmt.Sprintf("%d/%d", good, total)
	res.Passed = good == total
	return res, nil
}
