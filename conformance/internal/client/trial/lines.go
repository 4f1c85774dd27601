package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Outcome is how a step ended for the caller, a closed list.
type Outcome string

// The outcomes.
const (
	OutcomeResult      Outcome = "result"      // a result
	OutcomeToolError   Outcome = "tool-error"  // a result with isError
	OutcomeError       Outcome = "error"       // refused by the server, or by the client itself
	OutcomeTimeout     Outcome = "timeout"     // the deadline passed
	OutcomeCanceled    Outcome = "canceled"    // the caller canceled the step
	OutcomeClosed      Outcome = "closed"      // the connection was lost
	OutcomeUnsupported Outcome = "unsupported" // the client does not have this feature
)

// Line is what a client prints on its standard output when a step has ended, as one line
// of JSON. Other lines are ignored.
type Line struct {
	// Step is the index into [Task.Steps], N the n of a call that is made several times.
	Step int `json:"step"`
	N    int `json:"n,omitempty"`
	// Outcome is how it ended.
	Outcome Outcome `json:"outcome"`
	// Code is that of the server's JSON-RPC error.
	Code int64 `json:"code,omitempty"`
	// Result is the result of the method. For a list it has the items of all pages.
	Result json.RawMessage `json:"result,omitempty"`
	// Delivery is the client's delivery word, if it reports one: "not-sent", "rejected",
	// "unknown" or "answered".
	Delivery string `json:"delivery,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

// Failed reports whether the caller got no result.
func (l Line) Failed() bool { return l.Outcome != OutcomeResult && l.Outcome != OutcomeToolError }

// Text returns the text of a tool's result.
func (l Line) Text() string {
	var result struct {
		Content []struct{ Text string }
	}
	_ = json.Unmarshal(l.Result, &result) // no result: no text
	out := ""
	for _, c := range result.Content {
		out += c.Text
	}
	return out
}

// Tools returns the names of the tools in the result of tools/list.
func (l Line) Tools() (names []string) {
	var result struct{ Tools []struct{ Name string } }
	_ = json.Unmarshal(l.Result, &result) // no result: none
	for _, t := range result.Tools {
		names = append(names, t.Name)
	}
	return names
}

// String shows the line in a report.
func (l Line) String() string {
	out := "reported " + string(l.Outcome)
	if l.Code != 0 {
		out += fmt.Sprintf(" %d", l.Code)
	}
	if l.Message != "" {
		out += ": " + l.Message
	} else if len(l.Result) > 0 {
		out += " " + string(l.Result)
	}
	if len(out) > 200 {
		out = strings.ToValidUTF8(out[:200], "") + "…"
	}
	return out
}

// Reporter reads the lines of a program from what is written to it. Safe for concurrent
// use.
type Reporter struct {
	mu   sync.Mutex
	rest []byte
	got  []Line
}

const maxLine = 16 << 20

// Write implements [io.Writer].
func (p *Reporter) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, data...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			break
		}
		p.add(p.rest[:i])
		p.rest = p.rest[i+1:]
	}
	if len(p.rest) > maxLine {
		p.rest = nil
	}
	return len(data), nil
}

// add must hold mu.
func (p *Reporter) add(line []byte) {
	var l struct {
		Line
		Step *int `json:"step"`
	}
	if json.Unmarshal(line, &l) == nil && l.Step != nil && l.Outcome != "" {
		l.Line.Step = *l.Step
		p.got = append(p.got, l.Line)
	}
}

// Lines returns all lines. The last one may lack its line break.
func (p *Reporter) Lines() []Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(p.rest)
	p.rest = nil
	return p.got
}
