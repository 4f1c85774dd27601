// Package question holds the questions of a clarification and judges the
// answers to them (tools.md §5.2).
package question

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Type is the type of a question.
type Type string

// The types of question there are.
const (
	SingleChoice Type = "single_choice"
	MultiChoice  Type = "multi_choice"
	FreeText     Type = "free_text"
)

// Other is the last option of every choice question. Choosing it requires an
// answer <id>__other (S3-CLAR-09).
const (
	Other       = "Other (specify)"
	OtherSuffix = "__other"
)

// Max is the most questions a session may ask (S3-Q-01).
const Max = 5

// maxAnswer bounds a text answer, in code points.
const maxAnswer = 10_000

// A Question is one question of a session.
type Question struct {
	ID            string   `json:"id"`
	Type          Type     `json:"type"`
	Text          string   `json:"question"`
	Options       []string `json:"options,omitempty"`
	MinSelections int      `json:"min_selections,omitempty"`
	Optional      bool     `json:"optional,omitempty"`
	// DependsOn names the question on whose answer Equals this one depends.
	// Clients never see a conditional question (S3-Q-02).
	DependsOn string `json:"-"`
	Equals    string `json:"-"`
}

// Conditional reports whether q depends on the answer to another question.
func (q *Question) Conditional() bool { return q.DependsOn != "" }

// Answers are the answers of a session: one text for a single choice or a free
// text, several for a multiple choice. An Other is replaced by its text.
type Answers map[string][]string

// Text returns the answer to a question as one text.
func (a Answers) Text(id string) string { return strings.Join(a[id], ", ") }

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Check returns what is wrong with a question, or nil. It judges what a
// language model made up.
func (q *Question) Check() error {
	switch {
	case !idPattern.MatchString(q.ID) || strings.HasSuffix(q.ID, OtherSuffix):
		return fmt.Errorf("question id %.70q is malformed", q.ID)
	case strings.TrimSpace(q.Text) == "":
		return fmt.Errorf("question %s has no text", q.ID)
	}
	switch q.Type {
	case FreeText:
		if len(q.Options) > 0 || q.MinSelections != 0 {
			return fmt.Errorf("question %s is a free text with options", q.ID)
		}
		return nil
	case SingleChoice, MultiChoice:
	default:
		return fmt.Errorf("question %s has the unknown type %.40q", q.ID, q.Type)
	}
	if n := len(q.Options); n < 2 || q.Options[n-1] != Other {
		return fmt.Errorf("question %s does not end with the option %s", q.ID, Other)
	}
	seen := map[string]bool{}
	for _, o := range q.Options {
		if strings.TrimSpace(o) == "" || seen[o] {
			return fmt.Errorf("question %s has an option that is empty or there twice", q.ID)
		}
		seen[o] = true
	}
	if q.MinSelections < 0 || q.MinSelections > len(q.Options) || q.Type == SingleChoice && q.MinSelections != 0 {
		return fmt.Errorf("question %s has an impossible min_selections", q.ID)
	}
	return nil
}

// A BadAnswer is an answer that does not fit its question.
type BadAnswer struct {
	QuestionID string
	Reason     string
}

func (e *BadAnswer) Error() string {
	return fmt.Sprintf("the answer to %s does not fit: %s", e.QuestionID, e.Reason)
}

// Read returns the answer to q that raw holds among all answers given, or nil
// when it holds none: the answer is absent, null, or empty and optional. An
// error is a [*BadAnswer].
func (q *Question) Read(raw map[string]json.RawMessage) ([]string, error) {
	given, ok := raw[q.ID]
	if !ok || string(given) == "null" {
		return nil, nil
	}
	chosen, err := q.decode(given)
	if err != nil {
		return nil, err
	}
	if q.Type == FreeText {
		return q.free(chosen[0])
	}
	var out []string
	for _, c := range chosen {
		if !slices.Contains(q.Options, c) {
			return nil, &BadAnswer{q.ID, "the answer is not one of the options"}
		}
		if c == Other {
			if c, err = q.other(raw); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if len(out) < q.MinSelections {
		return nil, &BadAnswer{q.ID, fmt.Sprintf("at least %d must be selected", q.MinSelections)}
	}
	return out, nil
}

func (q *Question) decode(given json.RawMessage) ([]string, error) {
	if q.Type == MultiChoice {
		var many []*string
		if json.Unmarshal(given, &many) != nil || slices.Contains(many, nil) {
			return nil, &BadAnswer{q.ID, "the answer must be an array of strings"}
		}
		out := make([]string, len(many))
		for i, s := range many {
			out[i] = *s
		}
		return out, nil
	}
	var one string
	if json.Unmarshal(given, &one) != nil {
		return nil, &BadAnswer{q.ID, "the answer must be a string"}
	}
	return []string{one}, nil
}

func (q *Question) free(text string) ([]string, error) {
	switch {
	case utf8.RuneCountInString(text) > maxAnswer:
		return nil, &BadAnswer{q.ID, fmt.Sprintf("the answer is longer than %d characters", maxAnswer)}
	case strings.TrimSpace(text) != "":
		return []string{text}, nil
	case q.Optional:
		return nil, nil
	}
	return nil, &BadAnswer{q.ID, "the answer is empty"}
}

// other returns the text that specifies the option Other.
func (q *Question) other(raw map[string]json.RawMessage) (string, error) {
	var text string
	name := q.ID + OtherSuffix
	if json.Unmarshal(raw[name], &text) != nil || strings.TrimSpace(text) == "" {
		return "", &BadAnswer{q.ID, Other + " needs a text in " + name}
	}
	if utf8.RuneCountInString(text) > maxAnswer {
		return "", &BadAnswer{q.ID, fmt.Sprintf("%s is longer than %d characters", name, maxAnswer)}
	}
	return text, nil
}
