package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// form answers a form: with the flags, and at a terminal with what a person types.
func (a *Answers) form(ctx context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
	end, err := a.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	root, err := doc.Parse(r.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	content, problems := a.given(root, r.Fields)
	if a.asks {
		if content == nil {
			content = doc.NewObject()
		}
		for _, p := range problems { // what a flag has wrong is asked
			name, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
			content.Delete(name)
		}
		return a.askForm(ctx, r, content)
	}
	if content == nil || len(problems) > 0 {
		a.unanswered(formQuestion(r, content, problems), r.Params)
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	return client.AcceptForm(content.AppendJSON(nil))
}

// given returns what the flags answer, with the defaults of the form for the rest, and what does
// not fit. It returns nil if no flag names a field of the form.
func (a *Answers) given(root *doc.Value, fields []mcp.FormField) (*doc.Value, []schema.Finding) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var mine []operand.Operand
	for _, op := range a.operands {
		for _, f := range fields {
			if f.Name == op.Name() {
				mine = append(mine, op)
				a.used[f.Name] = true
			}
		}
	}
	if len(mine) == 0 {
		return nil, nil
	}
	content, mistyped, err := operand.Build(nil, mine, schema.New(root))
	if err != nil {
		return doc.NewObject(), []schema.Finding{{Message: err.Error()}}
	}
	for _, f := range fields {
		if f.Default != nil && content.Get(f.Name) == nil {
			if v, err := doc.Parse(f.Default); err == nil {
				content.Set(f.Name, v)
			}
		}
	}
	if judge, err := schema.NewJudge(root); err == nil {
		mistyped = append(mistyped, judge.Findings(content)...)
	}
	for _, f := range fields {
		if v := content.Get(f.Name); len(mistyped) == 0 && v != nil && client.CheckFormField(f, v.AppendJSON(nil)) != nil {
			mistyped = append(mistyped, schema.Finding{Pointer: "/" + f.Name, Message: "must be " + article(kind(f))})
		}
	}
	return content, mistyped
}

// formQuestion describes a form that the flags do not answer.
func formQuestion(r client.FormRequest, content *doc.Value, problems []schema.Finding) question {
	q := question{message: r.Message}
	for _, p := range problems {
		q.facts = append(q.facts, failure.Fact{Label: "answer", Text: strings.TrimSpace(strings.TrimPrefix(p.Pointer, "/") + " " + p.Message)})
	}
	needed := false
	for _, f := range r.Fields {
		q.facts = append(q.facts, failure.Fact{Label: "field", Text: described(f)})
		if f.Required && content.Get(f.Name) == nil {
			needed = true
			q.flags = append(q.flags, "--answer "+f.Name+"=…")
		}
	}
	if !needed && len(r.Fields) > 0 {
		q.flags = append(q.flags, "--answer "+r.Fields[0].Name+"=…")
	}
	return q
}

// described is one line about a field.
func described(f mcp.FormField) string {
	text := f.Name + " (" + kind(f)
	if f.Required {
		text += ", required"
	}
	text += ")"
	if f.Description != "" {
		text += ": " + console.OneLine(f.Description)
	}
	return text
}

// kind names the values of a field for people.
func kind(f mcp.FormField) string {
	if len(f.Choices) > 0 {
		var values []string
		for _, choice := range f.Choices {
			values = append(values, choice.Value)
		}
		lead := "one of "
		if f.Type == "array" {
			lead = "any of "
		}
		return lead + visible.Cut(strings.Join(values, ", "), 100)
	}
	switch f.Type {
	case "boolean":
		return "yes or no"
	case "integer":
		return "whole number"
	case "number":
		return "number"
	case "array":
		return "list"
	}
	switch f.Format {
	case "email":
		return "email address"
	case "uri":
		return "URI"
	case "date":
		return "date such as 1999-12-31"
	case "date-time":
		return "date and time such as 1999-12-31T23:59:59Z"
	}
	return "text"
}

// askForm has a person fill in the form. What the flags answer is not asked again.
func (a *Answers) askForm(ctx context.Context, r client.FormRequest, content *doc.Value) (*mcp.ElicitResult, error) {
	s := a.console.ErrStyle()
	a.note(s.Bold(visible.Line(r.From.Server)+" asks: ") + visible.Text(r.Message))
	a.console.Note(s.Dim("Enter takes the value in brackets, or leaves the field out. Ctrl-D cancels."))
	for again := false; ; again = true {
		for _, f := range r.Fields {
			if !again && content.Get(f.Name) != nil {
				continue
			}
			value, err := a.askField(ctx, f, content.Get(f.Name))
			if err != nil {
				return ended(err)
			}
			if content.Delete(f.Name); value != nil {
				content.Set(f.Name, value)
			}
		}
		for _, m := range content.Members() {
			a.console.Note("  " + visible.Line(m.Name) + " = " + visible.Line(m.Value.String()))
		}
		a.console.Note("Send this to " + visible.Line(r.From.Server) + "? [Y]es, [n]o, [e]dit")
		line, err := a.console.Line(ctx)
		if err != nil {
			return ended(err)
		}
		switch strings.ToLower(line) {
		case "", "y", "yes":
			return client.AcceptForm(content.AppendJSON(nil))
		case "n", "no":
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}
	}
}

// ended is the answer of a person who typed Ctrl-D.
func ended(err error) (*mcp.ElicitResult, error) {
	if errors.Is(err, console.ErrNoLine) {
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	return nil, err
}

// askField asks for one field until the value fits; nil leaves the field out. was is the value
// that was typed before, nil for none.
func (a *Answers) askField(ctx context.Context, f mcp.FormField, was *doc.Value) (*doc.Value, error) {
	if was == nil && f.Default != nil {
		was, _ = doc.Parse(f.Default) // nil for what is no JSON: there is no default then
	}
	named := f
	named.Name = cmp.Or(f.Title, f.Name)
	text := visible.Line(described(named))
	if was != nil {
		text += " [" + visible.Line(shown(was)) + "]"
	}
	a.note(text)
	for i, choice := range f.Choices {
		label := choice.Value
		if choice.Title != "" && choice.Title != choice.Value {
			label += " (" + choice.Title + ")"
		}
		a.console.Note(fmt.Sprintf("  %d  %s", i+1, visible.Line(label)))
	}
	for {
		line, err := a.console.Line(ctx)
		if err != nil {
			return nil, err
		}
		if line == "" {
			if was == nil && f.Required {
				a.console.Note("a value is required")
				continue
			}
			return was, nil
		}
		value, problem := typedField(f, line)
		if problem == "" {
			return value, nil
		}
		a.console.Note(visible.Line(problem))
	}
}

// note writes lines that break between words at the width of the terminal.
func (a *Answers) note(text string) {
	for line := range strings.Lines(text) {
		a.console.Note(strings.Join(console.Wrap(strings.TrimRight(line, "\n"), a.console.Width, "  "), "\n"))
	}
}

// shown is a value as a person would type it.
func shown(v *doc.Value) string {
	switch v.Kind() {
	case doc.String:
		return v.Str()
	case doc.Bool:
		if v.True() {
			return "yes"
		}
		return "no"
	case doc.Array:
		var items []string
		for _, item := range v.Items() {
			items = append(items, shown(item))
		}
		return strings.Join(items, ", ")
	case doc.Null, doc.Number, doc.Object:
	}
	return v.String()
}

// typedField reads what a person typed for a field. problem is empty if it fits.
func typedField(f mcp.FormField, line string) (value *doc.Value, problem string) {
	switch {
	case f.Type == "array":
		value = doc.NewArray()
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimSpace(part); part != "" {
				value.SetItem(len(value.Items()), doc.Text(chosen(f, part)))
			}
		}
	case len(f.Choices) > 0:
		value = doc.Text(chosen(f, line))
	case f.Type == "boolean":
		if value = boolean(line); value == nil {
			return nil, "type y or n"
		}
	}
	root, err := doc.Parse(f.Schema)
	if err != nil {
		return value, ""
	}
	if value == nil {
		var want string
		var fits bool
		if value, want, fits = schema.New(root).Typed(line); !fits {
			return nil, want
		}
	}
	if judge, err := schema.NewJudge(root); err == nil {
		if found := judge.Findings(value); len(found) > 0 {
			return nil, found[0].Message
		}
	}
	if client.CheckFormField(f, value.AppendJSON(nil)) != nil {
		return nil, "must be " + article(kind(f))
	}
	return value, ""
}

// article puts "a" or "an" before a kind of value.
func article(kind string) string {
	if strings.HasPrefix(kind, "email") {
		return "an " + kind
	}
	return "a " + kind
}

// chosen returns the value of a choice that was typed as its number, its value or its title.
func chosen(f mcp.FormField, text string) string {
	for _, choice := range f.Choices {
		if text == choice.Value || strings.EqualFold(text, choice.Title) {
			return choice.Value
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value
	}
	return text
}

// boolean returns what yes and no mean, nil for anything else.
func boolean(text string) *doc.Value {
	word := map[string]string{"y": "true", "yes": "true", "true": "true", "n": "false", "no": "false", "false": "false"}[strings.ToLower(text)]
	value, err := doc.Parse([]byte(word))
	if err != nil {
		return nil
	}
	return value
}
