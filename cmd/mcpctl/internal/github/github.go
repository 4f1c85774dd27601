// Package github writes what GitHub Actions reads: the commands that mark a file or a job, and the
// Markdown of the summary of a step. Text of a server can neither mention people nor link, format
// or begin a command.
package github

import (
	"fmt"
	"os"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Summary is the variable that names the file of the summary of a step.
const Summary = "GITHUB_STEP_SUMMARY"

// Annotation is a command that marks a line of a file, or the job if File is "". Kind is error,
// warning or notice.
type Annotation struct {
	Kind, Title, Text string
	File              string
	Line              int
}

// String returns the command.
func (a Annotation) String() string {
	place := ""
	if a.File != "" {
		place = fmt.Sprintf("file=%s,line=%d,", property(a.File), a.Line)
	}
	return "::" + a.Kind + " " + place + "title=" + property(a.Title) + "::" + data(a.Text)
}

// data and property escape the two places of a command.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(visible.Line(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}

// Markdown escapes the syntax of Markdown and GitHub. An invisible joiner breaks mentions and
// references.
func Markdown(text string) string {
	var b strings.Builder
	for _, c := range visible.Line(text) {
		switch {
		case strings.ContainsRune("\\`*_{}[]()<>|~!$^", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '&':
			b.WriteString("&amp;")
		case c == '@' || c == '#':
			b.WriteRune(c)
			b.WriteString("\u200b")
		case c == ':':
			b.WriteString("&#58;") // no URL becomes a link
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// AppendSummary appends Markdown to the summary of the step, whose file is of other commands, too.
func AppendSummary(file, text string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644) //nolint:gosec // GitHub reads it
	if err == nil {
		_, err = f.WriteString(text)
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return failure.New(failure.KindOutput, mcperrors.Answered, "the summary of the step was not written: %s", failure.RootCause(err))
	}
	return nil
}
