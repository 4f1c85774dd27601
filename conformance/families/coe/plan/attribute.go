package plan

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// attribute splits "Depends on: TASK-001" into a lower-case key and a value.
func attribute(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(strings.TrimSpace(line), ":")
	key, value = folded(key), strings.TrimSpace(value)
	return key, value, ok && key != "" && value != ""
}

// set reads a line as an attribute of the task in Markdown. It reports whether
// the line is one.
func (d *draft) set(text string, line int) (bool, error) {
	key, value, ok := attribute(text)
	if !ok {
		return false, nil
	}
	wrong := func(want string) (bool, error) {
		return true, d.file.Errorf(line, "%s %q; %s", key, value, want)
	}
	switch p := d.Prompt; key {
	case "id":
		d.ID = value
	case "priority":
		if d.Priority, ok = ParsePriority(strings.ToLower(value)); !ok {
			return wrong("use one of " + strings.Join(priorities, ", "))
		}
	case "status":
		if d.State, ok = states[strings.ToLower(value)]; !ok {
			return wrong("use pending, in-progress, paused, failed or done")
		}
	case "after", "depends on", "dependencies", "blocked by":
		d.after = append(d.after, commas(value)...)
	case "related", "related tasks", "see also":
		d.related = append(d.related, commas(value)...)
	case "estimate", "estimated hours", "hours":
		if d.EstimatedHours, ok = hours(value); !ok {
			return wrong("give hours or days, such as 3h or 2d")
		}
	case "complexity":
		if p.ComplexityLevel = strings.ToLower(value); !slices.Contains(complexities, p.ComplexityLevel) {
			return wrong("use one of " + strings.Join(complexities, ", "))
		}
	case "skills":
		p.SkillsRequired = append(p.SkillsRequired, commas(value)...)
	case "context":
		p.Context = strings.TrimSpace(p.Context + "\n" + value)
	case "requirement", "requirements":
		p.Requirements = append(p.Requirements, value)
	case "criterion", "criteria", "acceptance criteria", "done when":
		p.AcceptanceCriteria = append(p.AcceptanceCriteria, value)
	case "files", "write", "read":
		if p.Files == nil {
			p.Files = &Files{ReadFrom: []string{}, WriteTo: []string{}, ReferencedIn: []string{}}
		}
		list := &p.Files.WriteTo
		if key == "read" {
			list = &p.Files.ReadFrom
		}
		*list = append(*list, commas(value)...)
	default:
		return false, nil
	}
	return true, nil
}

// parens are the attributes at the end of a title: "Title (high, 3h, after TASK-001)".
var parens = regexp.MustCompile(`^(.*\S)\s*\(([^()]+)\)$`)

// inParens takes the attributes at the end of a title and returns the rest. A
// title whose parentheses hold no attribute stays as it is; attributes with
// something else among them are an error, because the rest would be lost.
func (d *draft) inParens(title string) (string, error) {
	m := parens.FindStringSubmatch(title)
	if m == nil {
		return title, nil
	}
	read, others, sure := *d, []string(nil), false
	for _, part := range commas(m[2]) {
		if p, ok := ParsePriority(strings.ToLower(part)); ok {
			read.Priority, sure = p, true
		} else if n, ok := hours(part); ok {
			read.EstimatedHours = n
			sure = sure || !isNumber(part) // a number alone may be one of the title's
		} else if name, ok := strings.CutPrefix(part, "after "); ok {
			read.after, sure = append(read.after, strings.TrimSpace(name)), true
		} else {
			others = append(others, part)
		}
	}
	switch {
	case len(others) == 0:
		*d = read
		return m[1], nil
	case sure:
		return "", d.file.Errorf(d.line, "(%s): %q is no attribute; give a priority (%s), an estimate such as 3h, or after and a task", m[2], others[0], strings.Join(priorities, ", "))
	}
	return title, nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

var duration = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*(h|hours?|d|days?)?$`)

// hours reads 3, 3h, 3 hours or 2d; a day has eight.
func hours(text string) (float64, bool) {
	m := duration.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if strings.HasPrefix(m[2], "d") {
		n *= 8
	}
	return n, err == nil && n <= MaxHours
}

func commas(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
