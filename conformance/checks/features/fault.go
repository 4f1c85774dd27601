package features

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// fault is the first of several answers that is not as it should be, with what was sent for it. The
// zero value is none.
type fault struct {
	text   string
	frames []conformance.Frame
}

// note records a fault in what came since the last step, unless there was one before.
func (f *fault) note(t *engine.Trial, format string, args ...any) {
	if f.text == "" {
		f.text, f.frames = fmt.Sprintf(format, args...), t.Trace.Since(t.EvidenceFrom)
	}
}

// decide decides a check: it holds if there is no fault.
func (f *fault) decide(t *engine.Trial, id, expected string) {
	if f.text == "" {
		t.Pass(id)
		return
	}
	t.FailBy(id, f.frames, expected, f.text)
}

// offered decides whether what is listed can be had. Any request may fail for reasons of its own, a
// network that is not there, so that only a denial speaks against it.
func offered(t *engine.Trial, id, expected string, denied, failed fault) {
	if denied.text == "" && failed.text != "" {
		t.Decide(id, conformance.Inconclusive, conformance.Result{Detail: failed.text, Evidence: failed.frames})
		return
	}
	denied.decide(t, id, expected)
}
