package failure

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// maxLines bounds the form for people.
const maxLines = 12

// kindColumn is the column of the kind on the first line.
const kindColumn = 76

// labelWidth is the width of the labels before evidence and commands to try.
const labelWidth = 12

// Human returns the failure for people, in lines of a width.
func (f *Failure) Human(s console.Style, width int) string {
	first := "error: " + visible.Line(f.Message)
	if f.Kind == KindInterrupted || f.Kind == KindTerminated || f.Kind == KindHangup {
		first = f.Message
	}
	tag := "[" + string(f.Kind) + "]"
	var lines []string
	column := 0
	for _, finding := range f.Findings {
		column = max(column, utf8.RuneCountInString(visible.Line(Pointer(finding))))
	}
	for _, finding := range f.Findings {
		lines = append(lines, fmt.Sprintf("  %-*s  %s", column, visible.Line(Pointer(finding)), visible.Line(finding.Message)))
	}
	if f.Signature != "" {
		lines = append(lines, "  "+visible.Line(f.Signature))
	}
	last := ""
	for _, e := range f.Evidence {
		label := e.Label
		if label == last {
			label = ""
		}
		last = e.Label
		lines = append(lines, fmt.Sprintf("  %-8s  %s", label, visible.Line(e.Text)))
	}
	if f.LoginURL != "" {
		lines = append(lines, "  log in at  "+visible.Line(f.LoginURL))
	}
	if f.Note != "" {
		lines = append(lines, "  "+visible.Line(f.Note))
	}
	for i, try := range f.Try {
		label := "try"
		if i > 0 {
			label = ""
		}
		lines = append(lines, fmt.Sprintf("  %-8s  %s", label, visible.Line(try)))
	}
	if over := len(lines) - maxLines + 1; over > 0 {
		// Lines are left out in the middle: the cause and the next step stay.
		keep := maxLines - 2 - min(3, len(f.Try)+1)
		tail := lines[len(lines)-(maxLines-2-keep):]
		lines = append(append(lines[:keep:keep], fmt.Sprintf("  … %d more lines: -o json shows all", over+1)), tail...)
	}
	var b strings.Builder
	head := console.Wrap(first, width, "  ")
	for _, line := range head[:len(head)-1] {
		b.WriteString(s.Bad(line) + "\n")
	}
	last = head[len(head)-1]
	gap := min(kindColumn, width-len(tag)) - utf8.RuneCountInString(last)
	switch room := width - len(tag) - utf8.RuneCountInString(last); {
	case room < 1: // a tag is never broken
		b.WriteString(s.Bad(last) + "\n  " + s.Dim(tag) + "\n")
	default:
		b.WriteString(s.Bad(last) + strings.Repeat(" ", max(1, min(2, room), gap)) + s.Dim(tag) + "\n")
	}
	for _, line := range lines {
		hang := "    "
		if len(line) > labelWidth && strings.HasPrefix(line[labelWidth-2:], "  ") {
			hang = strings.Repeat(" ", labelWidth)
		}
		for _, part := range console.Wrap(line, width, hang) {
			b.WriteString(part + "\n")
		}
	}
	return b.String()
}

// Pointer returns the place of a finding, in words for the whole value.
func Pointer(f schema.Finding) string {
	if f.Pointer == "" {
		return "(all)"
	}
	return f.Pointer
}

// Machine returns the failure as one line of JSON: the keys of the client's
// error, and the kind and exit code of mcpctl.
func (f *Failure) Machine() string {
	return string(console.Encode(map[string]any{"error": f.Object()}))
}

// Object returns the failure as the JSON object that Machine wraps.
func (f *Failure) Object() json.RawMessage {
	fields := map[string]json.RawMessage{}
	if f.From != nil {
		if raw, err := json.Marshal(f.From); err == nil {
			_ = json.Unmarshal(raw, &fields) // what Marshal wrote can be read
		}
	} else {
		for _, name := range []string{"http", "rpc", "process", "originalMCPCode"} {
			fields[name] = json.RawMessage("null")
		}
		for name, value := range map[string]string{"method": f.Method, "tool": f.Tool} {
			if value != "" {
				fields[name] = console.Encode(value)
			}
		}
		fields["retryable"] = console.Encode(false)
		fields["attempts"] = console.Encode(0)
		if f.Delivery != mcperrors.NotSent {
			fields["attempts"] = console.Encode(1)
		}
	}
	fields["delivery"] = console.Encode(f.Delivery.String())
	// A script that repeats retryable errors must not repeat what may have run, though the client's
	// error, which has two answers, may say that a later attempt can succeed.
	safe := f.Reads || f.Delivery == mcperrors.NotSent || f.Delivery == mcperrors.Rejected
	again := string(fields["retryable"]) == "true"
	switch {
	case safe:
	case f.Delivery == mcperrors.Unknown:
		fields["suggestedAction"] = console.Encode("Check whether it ran")
	case again:
		fields["suggestedAction"] = console.Encode("Check what it did")
	}
	fields["retryable"] = console.Encode(again && safe)
	fields["safeToRetry"] = console.Encode(safe)
	fields["kind"] = console.Encode(f.Kind)
	fields["exit"] = console.Encode(f.Kind.ExitCode())
	fields["message"] = console.Encode(f.Message)
	if len(f.Findings) > 0 {
		fields["findings"] = console.Encode(f.Findings)
	}
	if hint := f.hint(); hint != "" {
		fields["hint"] = console.Encode(hint)
	}
	if f.LoginURL != "" {
		fields["loginUrl"] = console.Encode(f.LoginURL)
	}
	if f.Note != "" && f.namesCommand() {
		fields["note"] = console.Encode(f.Note)
	}
	return ordered(fields)
}

// namesCommand reports whether the hint for a program is a command that it can run.
func (f *Failure) namesCommand() bool { return f.Kind == KindAuth && len(f.Try) > 0 }

func (f *Failure) hint() string {
	if f.namesCommand() {
		return f.Try[0]
	}
	parts := append([]string{}, f.Try...)
	if f.Note != "" {
		parts = append([]string{f.Note}, parts...)
	}
	return strings.Join(parts, "; ")
}

// ordered writes the keys in an order for people: what they look for first comes
// first.
func ordered(fields map[string]json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	add := func(name string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, console.Encode(name)...), ':'), fields[name]...)
		delete(fields, name)
	}
	for _, name := range []string{"kind", "exit", "message", "code", "server", "method", "tool", "delivery", "retryable", "safeToRetry", "http", "rpc", "process", "attempts", "hint"} {
		if _, ok := fields[name]; ok {
			add(name)
		}
	}
	for len(fields) > 0 {
		next := ""
		for name := range fields {
			if next == "" || name < next {
				next = name
			}
		}
		add(next)
	}
	return append(out, '}')
}
