package conform

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/conformance"
	rendered "github.com/mainstay-mcp/mainstay/conformance/report"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// reportFormat is a format that reports are written in. Those without a matrix
// show one report only.
type reportFormat struct {
	name   string
	matrix bool
	write  func(w io.Writer, reports []*conformance.Report) error
}

// one makes a format of a rendering of one report.
func one(render func(io.Writer, *conformance.Report) error) func(io.Writer, []*conformance.Report) error {
	return func(w io.Writer, reports []*conformance.Report) error { return render(w, reports[0]) }
}

var reportFormats = []reportFormat{
	{formatText, false, one(func(w io.Writer, r *conformance.Report) error {
		return rendered.Text(w, r, rendered.TextOptions{Verbose: true})
	})},
	{"json", true, func(w io.Writer, reports []*conformance.Report) error {
		if len(reports) == 1 {
			return rendered.JSON(w, reports[0])
		}
		return rendered.Matrix(w, reports)
	}},
	{"html", true, rendered.HTML},
	{"junit", true, rendered.JUnit},
	{"sarif", true, rendered.SARIF},
	{formatGitHub, false, one(rendered.GitHub)},
	{"badge", false, one(rendered.BadgeJSON)},
	{formatBadgeSVG, false, one(rendered.BadgeSVG)},
	{"known-failing", false, one(conformance.WriteExpectations)},
	{"expected-failures", false, one(conformance.WriteOfficialExpectations)},
}

const (
	formatText     = "text"
	formatGitHub   = "github"
	formatBadgeSVG = "badge-svg"
	sarifFile      = "sarif-file"
	reportUsage    = "also write a report to a file: `FORMAT=FILE` with json, html, junit, sarif, text, github, badge, known-failing or expected-failures; in GitHub Actions github needs no file"
)

// reportFile is one --report: a format and where it goes.
type reportFile struct {
	reportFormat
	name string
	// step appends to the summary of a GitHub step, and marks its log.
	step bool
}

// reportFiles reads FORMAT=FILE, and refuses before a run what could not be
// written after it.
func (s *suite) reportFiles(given []string) ([]reportFile, error) {
	var out []reportFile
	for _, text := range given {
		format, names, found := strings.Cut(text, "=")
		if !found && format == formatGitHub {
			summary, _ := s.Console.Env("GITHUB_STEP_SUMMARY")
			if summary == "" {
				return nil, failure.Usage("--report github: GITHUB_STEP_SUMMARY is not set; outside GitHub Actions write github=FILE")
			}
			f, err := newReportFile(formatGitHub, summary)
			if err != nil {
				return nil, err
			}
			f.step = true
			out = append(out, f)
			continue
		}
		if names == "" {
			return nil, failure.Usage("--report %s: write %s=FILE", text, format)
		}
		for _, name := range splitBadge(format, names) {
			f, err := newReportFile(format, name)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// splitBadge takes the two files of badge=badge.json,badge.svg apart.
func splitBadge(format, names string) []string {
	if format != "badge" {
		return []string{names}
	}
	return strings.Split(names, ",")
}

func newReportFile(format, name string) (reportFile, error) {
	if format == "badge" && filepath.Ext(name) == ".svg" {
		format = formatBadgeSVG
	}
	f, err := formatNamed(format)
	if err != nil {
		return reportFile{}, err
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return reportFile{}, failure.Usage("--report %s=%s: there is no folder %s", format, name, filepath.Dir(name))
	}
	if err := checkFile(name); err != nil {
		f := failure.Usage("--report %s=%s: cannot write the file: %s", format, name, failure.RootCause(err))
		f.Note = failure.NoteNothingSent
		return reportFile{}, f
	}
	return reportFile{reportFormat: f, name: name}, nil
}

// checkFile finds out whether a file can be written, without changing one that
// exists and without leaving one that does not.
func checkFile(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil // a link to what does not exist yet
		}
		if err != nil {
			return err
		}
		_ = f.Close() // nothing was written to it
		return os.Remove(name)
	case err != nil:
		return err
	case info.Mode().IsRegular() || info.IsDir():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	return nil // to open a pipe would wait for its reader
}

func formatNamed(name string) (reportFormat, error) {
	at := slices.IndexFunc(reportFormats, func(f reportFormat) bool { return f.name == name })
	if at < 0 {
		var names []string
		for _, f := range reportFormats {
			names = append(names, f.name)
		}
		return reportFormat{}, failure.Usage("unknown report format %q: use %s", name, strings.Join(names, ", "))
	}
	return reportFormats[at], nil
}

// write writes the reports to the file; nothing is left of a file that could
// not be written whole.
func (f *reportFile) save(reports []*conformance.Report) error {
	if len(reports) > 1 && !f.matrix {
		return failure.Usage("format %s holds one report, not %d: use json, html, junit or sarif", f.reportFormat.name, len(reports))
	}
	var b bytes.Buffer
	if err := f.write(&b, reports); err != nil {
		return err
	}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if f.step {
		mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND // other steps' summaries stay
	}
	file, err := os.OpenFile(f.name, mode, 0o644)
	if err != nil {
		return failure.Usage("--report: %v", err)
	}
	if _, err := file.Write(b.Bytes()); err != nil {
		_ = file.Close() // the first error is the one to tell
		return failure.Usage("--report: %v", err)
	}
	return file.Close()
}

// conclude completes a report by what only the command line knows, writes it
// wherever it was asked for, and ends the command with its verdict.
func (s *suite) conclude(cmd *cobra.Command, t target.Target, report *conformance.Report, files []reportFile) error {
	report.Again = s.again(cmd, t)
	report.CI = s.ci()
	if at, _ := cmd.Flags().GetString(sarifFile); at != "" || len(report.Policy.Baselines) > 0 {
		report.CI.File = at
	}
	report.Target.Argv = s.Secrets.Command(report.Target.Argv)
	hide(report, s.Secrets.Known())
	for i := range files {
		if err := files[i].save([]*conformance.Report{report}); err != nil {
			return failure.New(failure.KindOutput, mcperrors.Answered, "%s", err)
		}
		if files[i].step {
			// The runner reads commands from both streams; stdout is the report's.
			if err := rendered.Annotations(s.Console.Err, report); err != nil {
				return err
			}
		}
	}
	if err := s.showReport(report); err != nil {
		return err
	}
	for i := range files {
		s.Console.Step("wrote %s", files[i].name)
	}
	return verdictOf(report)
}

// hide takes the secrets that were given for a server out of what the server said: it may
// repeat them.
func hide(report *conformance.Report, known mcperrors.Secrets) {
	for i := range report.Results {
		r := &report.Results[i]
		r.Detail, r.Expected, r.Actual = known.Hide(r.Detail), known.Hide(r.Expected), known.Hide(r.Actual)
		for j := range r.Evidence {
			f := &r.Evidence[j]
			f.Data, f.Note = []byte(known.Hide(string(f.Data))), known.Hide(f.Note)
			if f.HTTP == nil {
				continue
			}
			shown := *f.HTTP // frames of several checks have the same
			shown.Header = shown.Header.Clone()
			for _, values := range shown.Header {
				for k := range values {
					values[k] = known.Hide(values[k])
				}
			}
			f.HTTP = &shown
		}
	}
	for i := range report.Revisions {
		r := &report.Revisions[i]
		r.Name, r.Version = known.Hide(r.Name), known.Hide(r.Version)
		if len(r.Capabilities) > 0 {
			r.Capabilities = []byte(known.Hide(string(r.Capabilities)))
		}
	}
	report.Target.Name, report.Target.Version = known.Hide(report.Target.Name), known.Hide(report.Target.Version)
}

func (s *suite) showReport(report *conformance.Report) error {
	return s.Console.Data(func(w io.Writer) error {
		switch s.Console.Format {
		case console.JSON:
			return rendered.JSON(w, report)
		case console.NDJSON, console.Raw:
			var b bytes.Buffer
			if err := rendered.JSON(&b, report); err != nil {
				return err
			}
			_, err := w.Write(append(console.Compact(b.Bytes()), '\n'))
			return err
		}
		return rendered.Text(s.Console.Out, report, rendered.TextOptions{
			Verbose: s.Console.Verbose > 0, Quiet: s.Console.Quiet, Color: bool(s.Console.OutStyle()),
		})
	})
}

// sameRun are the flags of conform that decide what a check finds.
var sameRun = map[string]bool{"side-effects": true, "allow-tool": true, "suite": true, "gentle": true, "login": true, "transport": true, "spec": true, "requirements": true}

// again is the command line that repeats the run, up to its program.
func (s *suite) again(cmd *cobra.Command, t target.Target) []string {
	words := append(strings.Fields(cmd.CommandPath()), flags.Typed(cmd, sameRun)...)
	words = append(words, t.Words()...)
	for i := range words {
		words[i] = s.Secrets.Safe(words[i])
	}
	return words
}

// ci is the CI job that this is, by the environment.
func (s *suite) ci() conformance.CI {
	get := func(name string) string {
		v, _ := s.Console.Env(name)
		return v
	}
	switch {
	case get("GITHUB_ACTIONS") == "true":
		workflow, _, _ := strings.Cut(strings.TrimPrefix(get("GITHUB_WORKFLOW_REF"), get("GITHUB_REPOSITORY")+"/"), "@")
		return conformance.CI{
			Provider: formatGitHub, Commit: get("GITHUB_SHA"), Ref: get("GITHUB_REF"), File: workflow,
			URL: get("GITHUB_SERVER_URL") + "/" + get("GITHUB_REPOSITORY") + "/actions/runs/" + get("GITHUB_RUN_ID"),
		}
	case get("GITLAB_CI") == "true":
		return conformance.CI{Provider: "gitlab", Commit: get("CI_COMMIT_SHA"), Ref: get("CI_COMMIT_REF_NAME"), URL: get("CI_JOB_URL")}
	}
	return conformance.CI{}
}

func newConformReportCmd(s *suite) *cobra.Command {
	var to []string
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Convert a report to another format",
		Long: `Convert a report to another format. FILE was written by --report json or
--report html; - is standard input. Without =FILE the output goes to standard
output. There text is one screen, or every check with -v.`,
		Example: `  mcpctl conform report conform.json --to html=conform.html --to junit=conform.xml
  mcpctl conform report conform.html --to json
  mcpctl conform report conform.json --to github`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.Usage("conform report takes one file, not %d", len(args))
			}
			return s.convert(args, to, []string{formatText})
		},
	}
	flags.Texts(cmd.Flags(), &to, "to", "output `FORMAT[=FILE]`: json, html, junit, sarif, text, github, badge, known-failing or expected-failures")
	return cmd
}

func newConformMergeCmd(s *suite) *cobra.Command {
	var to []string
	cmd := &cobra.Command{
		Use:   "merge FILE FILE…",
		Short: "Combine reports into one matrix",
		Long: `Combine several reports: of several servers, or of one server on several
transports or systems. The HTML is a matrix of checks and servers.`,
		Example: `  mcpctl conform merge go.json typescript.json --to html=matrix.html
  mcpctl conform merge linux.json macos.json windows.json --to junit=all.xml
  mcpctl conform merge stdio.html http.html --to json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return failure.Usage("conform merge takes at least two reports, not %d", len(args))
			}
			return s.convert(args, to, []string{"json"})
		},
	}
	flags.Texts(cmd.Flags(), &to, "to", "output `FORMAT[=FILE]`: json, html, junit or sarif")
	return cmd
}

// convert reads reports and writes them in other formats. It judges nothing: it
// ends well whatever the verdict was.
func (s *suite) convert(names, to, unless []string) error {
	if len(to) == 0 {
		to = unless
	}
	var reports []*conformance.Report
	for _, name := range names {
		found, err := s.readReports(name)
		if err != nil {
			return err
		}
		reports = append(reports, found...)
	}
	for _, text := range to {
		if !strings.Contains(text, "=") {
			f, err := formatNamed(text)
			if err != nil {
				return err
			}
			if len(reports) > 1 && !f.matrix {
				return failure.Usage("format %s holds one report, not %d: use json, html, junit or sarif", f.name, len(reports))
			}
			write := func() error { return s.Console.Data(func(w io.Writer) error { return f.write(w, reports) }) }
			if f.name == formatText {
				write = func() error { return s.showReport(reports[0]) } // one screen; a file holds every check
			}
			if err := write(); err != nil {
				return err
			}
			continue
		}
		files, err := s.reportFiles([]string{text})
		if err != nil {
			return err
		}
		for i := range files {
			if err := files[i].save(reports); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *suite) readReports(name string) ([]*conformance.Report, error) {
	in := s.Console.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, failure.Usage("%v", err)
		}
		defer func() { _ = f.Close() }() // it is only read
		in = f
	}
	reports, err := rendered.Read(in)
	if err != nil {
		return nil, failure.Usage("%s: %v", name, err)
	}
	return reports, nil
}
