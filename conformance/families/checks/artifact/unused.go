package artifact

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// unusedID returns an artifact id that nobody has used, such as
// "PRD-21700000010001".
func unusedID(t *engine.Trial, prefix string) string {
	return fmt.Sprintf("%s-%d", prefix, t.Rev.Numbers.Take())
}

// newProject returns the name of a project that nobody has used.
func newProject(t *engine.Trial) string { return fmt.Sprintf("conform-%d", t.Rev.Numbers.Take()) }

// newWorkflow returns a task_id that nobody has used, to find log lines by.
func newWorkflow(t *engine.Trial) string {
	return fmt.Sprintf("conform-task-%d", t.Rev.Numbers.Take())
}
