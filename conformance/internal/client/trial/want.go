package trial

import (
	"fmt"
	"strings"
)

// Want is what a client must report of a step: Text says it in a report.
type Want struct {
	Text string
	Ok   func(Line) bool
}

// Result wants a result with this text.
func Result(text string) Want {
	return Want{fmt.Sprintf("the result, with the text %q", text), func(l Line) bool { return l.Outcome == OutcomeResult && l.Text() == text }}
}

// Failed wants an error of any kind.
func Failed(text string) Want { return Want{text, Line.Failed} }

// ErrorCode wants the server's error code.
func ErrorCode(code int64) Want {
	return Want{fmt.Sprintf("error %d", code), func(l Line) bool { return l.Outcome == OutcomeError && l.Code == code }}
}

// mentions wants a result whose JSON contains part.
func mentions(part string) Want {
	return Want{"a result with " + part, func(l Line) bool {
		return l.Outcome == OutcomeResult && strings.Contains(string(l.Result), part)
	}}
}

// without wants anything but a result with this text.
func without(text string) Want {
	return Want{fmt.Sprintf("anything but the text %q", text), func(l Line) bool { return l.Text() != text }}
}
