package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// report tells a failure on stderr, and ends a stream of events with it.
func (a *app) report(f *failure) {
	if f.silent {
		return
	}
	if a.flags.output == formatJSON || a.flags.output == formatNDJSON {
		line := f.machine()
		if a.errTerminal {
			line = visible.Line(line)
		}
		fmt.Fprintln(a.stderr, line)
		if a.events && a.flags.output == formatNDJSON {
			_ = a.printEvent("error", f.object()) // a broken pipe is seen by run
		}
		return
	}
	_, _ = a.stderr.Write([]byte(f.human(a.style(a.errTerminal))))
}

// maxLines is how long the human face is at most (cli.md §4.6).
const maxLines = 12

// kindColumn is where the kind of a failure stands on its first line.
const kindColumn = 76

func (f *failure) human(s style) string {
	first := "error: " + visible.Line(f.message)
	if f.kind == kindInterrupted || f.kind == kindTerminated || f.kind == kindHangup {
		first = f.message
	}
	tag := "[" + string(f.kind) + "]"
	gap := max(2, kindColumn-utf8.RuneCountInString(first))
	lines := []string{s.bad(first) + strings.Repeat(" ", gap) + s.dim(tag)}
	width := 0
	for _, finding := range f.findings {
		width = max(width, utf8.RuneCountInString(finding.Pointer))
	}
	for _, finding := range f.findings {
		lines = append(lines, fmt.Sprintf("  %-*s  %s", width, visible.Line(pointer(finding)), visible.Line(finding.Message)))
	}
	if f.signature != "" {
		lines = append(lines, "  "+visible.Line(f.signature))
	}
	last := ""
	for _, e := range f.evidence {
		label := e.label
		if label == last {
			label = ""
		}
		last = e.label
		lines = append(lines, fmt.Sprintf("  %-8s  %s", label, visible.Line(e.text)))
	}
	if f.note != "" {
		lines = append(lines, "  "+visible.Line(f.note))
	}
	for i, try := range f.try {
		label := "try"
		if i > 0 {
			label = ""
		}
		lines = append(lines, fmt.Sprintf("  %-8s  %s", label, visible.Line(try)))
	}
	if over := len(lines) - maxLines; over > 0 {
		// What is left out stands in the middle: the cause and the next step stay.
		keep := maxLines - 1 - min(3, len(f.try)+1)
		tail := lines[len(lines)-(maxLines-1-keep):]
		lines = append(append(lines[:keep:keep], fmt.Sprintf("  … %d more lines, -o json has all", over+1)), tail...)
	}
	return strings.Join(lines, "\n") + "\n"
}

func pointer(f schema.Finding) string {
	if f.Pointer == "" {
		return "(all)"
	}
	return f.Pointer
}

// machine returns the failure as one line of JSON: the keys of cli.md §4.6, the
// error's own where there is one, kind and exit ours (decisions 14).
func (f *failure) machine() string { return string(encoded(map[string]any{"error": f.object()})) }

func (f *failure) object() json.RawMessage {
	fields := map[string]json.RawMessage{}
	if f.from != nil {
		if raw, err := json.Marshal(f.from); err == nil {
			_ = json.Unmarshal(raw, &fields) // what Marshal wrote can be read
		}
	} else {
		for _, name := range []string{"http", "rpc", "process", "originalMCPCode"} {
			fields[name] = json.RawMessage("null")
		}
		for name, value := range map[string]string{"method": f.method, "tool": f.tool} {
			if value != "" {
				fields[name] = encoded(value)
			}
		}
		fields["retryable"] = encoded(false)
		fields["attempts"] = encoded(0)
		if f.delivery != mcperrors.NotSent {
			fields["attempts"] = encoded(1)
		}
	}
	fields["delivery"] = encoded(f.delivery.String())
	if f.delivery == mcperrors.Unknown {
		// A script that repeats what is retryable must not repeat this.
		fields["retryable"] = encoded(false)
		fields["suggestedAction"] = encoded("Check whether it ran")
	}
	fields["kind"] = encoded(f.kind)
	fields["exit"] = encoded(exitCodes[f.kind])
	fields["message"] = encoded(f.message)
	if len(f.findings) > 0 {
		fields["findings"] = encoded(f.findings)
	}
	if hint := f.hint(); hint != "" {
		fields["hint"] = encoded(hint)
	}
	return ordered(fields)
}

func (f *failure) hint() string {
	parts := append([]string{}, f.try...)
	if f.note != "" {
		parts = append([]string{f.note}, parts...)
	}
	return strings.Join(parts, "; ")
}

// ordered writes the keys that people look for first at the front.
func ordered(fields map[string]json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	add := func(name string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, encoded(name)...), ':'), fields[name]...)
		delete(fields, name)
	}
	for _, name := range []string{"kind", "exit", "message", "code", "server", "method", "tool", "delivery", "retryable", "http", "rpc", "process", "attempts", "hint"} {
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

// encoded encodes what cannot fail to be encoded.
func encoded(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

func age(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

var notSet = regexp.MustCompile(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\b(?i:not set|missing|required|undefined|not defined|must be set|needs?)\b`)

// missingVariable finds the environment variable a program says it misses.
func missingVariable(lines []string) string {
	for _, line := range lines {
		if m := notSet.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}
