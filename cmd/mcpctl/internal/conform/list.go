package conform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/report"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// listedCheck is a check of the suite, as programs read it.
type listedCheck struct {
	ID          string                    `json:"id"`
	Role        conformance.Role          `json:"role"`
	Scenario    string                    `json:"scenario"`
	Area        string                    `json:"area"`
	Suite       string                    `json:"suite"`
	Title       string                    `json:"title"`
	Level       conformance.Level         `json:"level"`
	House       conformance.Level         `json:"house,omitempty"`
	Section     string                    `json:"section,omitempty"`
	Quote       string                    `json:"quote,omitempty"`
	Seed        string                    `json:"seed,omitempty"`
	Since       mcp.Version               `json:"since,omitempty"`
	Until       mcp.Version               `json:"until,omitempty"`
	Official    []string                  `json:"official,omitempty"`
	Transport   conformance.TransportKind `json:"transport,omitempty"`
	Capability  string                    `json:"capability,omitempty"`
	Tools       []string                  `json:"tools,omitempty"`
	SideEffects conformance.SideEffects   `json:"sideEffects,omitempty"`
	Control     string                    `json:"control,omitempty"`
	// Runs and the rest are set in a plan.
	Revision mcp.Version            `json:"revision,omitempty"`
	Runs     *bool                  `json:"runs,omitempty"`
	Reason   conformance.SkipReason `json:"reason,omitempty"`
	Detail   string                 `json:"detail,omitempty"`
}

// allChecks are the checks of both suites, those for servers first, each in the order of
// a report.
func allChecks() []listedCheck {
	var out []listedCheck
	for _, c := range append(familychecks.List(), clientsuite.List()...) {
		out = append(out, listed(c))
	}
	return out
}

func listed(c conformance.Listed) listedCheck {
	return listedCheck{
		ID: c.ID, Role: c.Role, Scenario: c.Scenario, Area: c.Area, Suite: c.Suite, Title: c.Title, Level: c.Level, House: c.ProfileLevel,
		Section: c.Spec.Section, Quote: c.Spec.Quote, Seed: c.Spec.Requirement, Since: c.Since, Until: c.Until, Official: c.Official,
		Transport: c.Transport, Capability: c.Capability, Tools: c.Tools, SideEffects: c.SideEffects, Control: c.Control,
	}
}

// within reports whether the check is a rule of a revision.
func (c *listedCheck) within(v mcp.Version) bool {
	return (c.Since == "" || v.AtLeast(c.Since)) && (c.Until == "" || c.Until.AtLeast(v))
}

// revisions says in words for which revisions the rule holds.
func (c *listedCheck) revisions() string {
	switch {
	case c.Since == "" && c.Until == "":
		return "all"
	case c.Since == "":
		return "until " + string(c.Until)
	case c.Until == "":
		return "since " + string(c.Since)
	case c.Since == c.Until:
		return string(c.Since)
	}
	return string(c.Since) + " to " + string(c.Until)
}

// url is the rule's page in the newest revision that has it.
func (c *listedCheck) url() string {
	return report.RuleURL(c.Section, cmp.Or(c.Until, mcp.Latest))
}

func newConformListCmd(s *suite) *cobra.Command {
	var spec, level, role, suite string
	cmd := &cobra.Command{
		Use:   "list [PATTERN…]",
		Short: "List the checks of the suites for servers and clients",
		Example: `  mcpctl conform list
  mcpctl conform list 'TOOL-01*'
  mcpctl conform list tools --role server --level MUST -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			revision, known := mcp.ParseVersion(spec)
			if spec != "" && !known {
				return failure.Usage("--spec %s: the suite covers revisions %s to %s", spec, mcp.Versions()[0], mcp.Latest)
			}
			checks := slices.DeleteFunc(allChecks(), func(c listedCheck) bool {
				asked := len(args) == 0 || slices.ContainsFunc(args, func(p string) bool { return conformance.Match(p, c.ID, c.Scenario, c.Area) })
				return !asked || role != "" && string(c.Role) != role || suite != "" && c.Suite != suite || spec != "" && !c.within(revision) || level != "" && string(c.Level) != level
			})
			if len(checks) == 0 {
				return failure.New(failure.KindNotFound, mcperrors.NotSent, "no check matches")
			}
			return s.showChecks(checks, func(c *listedCheck) []string {
				return []string{c.ID, string(c.Level), c.revisions(), c.Area, c.Title}
			})
		},
	}
	cmd.Flags().StringVar(&spec, "spec", "", "only rules that apply to this `revision`")
	cmd.Flags().Var(flags.Choice(&role, "", string(conformance.RoleServer), string(conformance.RoleClient)), "role", "only rules for servers or clients: server or client")
	cmd.Flags().Var(flags.Choice(&suite, "", "protocol", familychecks.Name), "suite", "only checks of this suite: protocol or seeds")
	cmd.Flags().Var(flags.Choice(&level, "", string(conformance.Must), string(conformance.Should), string(conformance.May), string(conformance.Advice)), "level", "only rules of this level: MUST, SHOULD, MAY or advice")
	return cmd
}

// showChecks writes a row for each check, or the checks themselves for programs.
func (s *suite) showChecks(checks []listedCheck, row func(*listedCheck) []string) error {
	switch s.Console.Format {
	case console.JSON:
		return s.Console.PrintJSON(console.Encode(checks))
	case console.NDJSON, console.Raw:
		for i := range checks {
			if err := s.Console.PrintRaw(console.Encode(checks[i])); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]string, len(checks))
	for i := range checks {
		rows[i] = row(&checks[i])
	}
	return s.Console.PrintTable(rows)
}

// showPlan writes what a run would do.
func (s *suite) showPlan(plan []conformance.Listed) error {
	var checks []listedCheck
	runs := 0
	for i := range plan {
		p := &plan[i]
		if p.Reason == conformance.SkipExcluded {
			continue
		}
		c := listed(*p)
		c.Revision, c.Runs, c.Reason, c.Detail = p.Revision, &p.Runs, p.Reason, p.Detail
		if p.Runs {
			runs++
		}
		checks = append(checks, c)
	}
	err := s.showChecks(checks, func(c *listedCheck) []string {
		why := "runs"
		if !*c.Runs {
			why = strings.TrimSuffix("skip "+string(c.Reason)+": "+c.Detail, ": ")
		}
		return []string{c.ID, string(c.Level), string(c.Revision), why}
	})
	if err != nil || s.Console.Format != console.Human || s.Console.Quiet {
		return err
	}
	return s.Console.Print(fmt.Sprintf("%d of %d would run\n", runs, len(checks)))
}

func newConformExplainCmd(s *suite) *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a check, with the rule of the specification",
		Long: `Explain a check, with the rule of the specification. ID is the id of a check,
that of a requirement such as UTIL-15, or a pattern such as UTIL-1*.`,
		Example: `  mcpctl conform explain RPC-07/exclusive
  mcpctl conform explain 'UTIL-1*'
  mcpctl conform explain UTIL-15 -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.Usage("conform explain takes the id of one check, not %d operands", len(args))
			}
			all := allChecks()
			checks := slices.DeleteFunc(slices.Clone(all), func(c listedCheck) bool {
				return !conformance.Match(args[0], c.ID, c.Scenario) && !strings.HasPrefix(c.ID, args[0]+"/")
			})
			if len(checks) == 0 {
				return noCheck(args[0], all)
			}
			if s.Console.Format != console.Human {
				return s.showChecks(checks, nil)
			}
			for i := range checks {
				if err := s.Console.Print(checks[i].explained()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func noCheck(id string, all []listedCheck) *failure.Failure {
	f := failure.New(failure.KindNotFound, mcperrors.NotSent, "no check matches %q", id)
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	for _, near := range suggest.Nearest(id, ids) {
		f.Try = append(f.Try, "mcpctl conform explain "+near)
	}
	return f
}

// explained is a check in words.
func (c *listedCheck) explained() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", name, text)
		}
	}
	fmt.Fprintf(&b, "%s\n  %s\n\n", c.ID, c.Title)
	level := string(c.Level)
	if c.House != "" {
		level += fmt.Sprintf("; %s for servers that announce the error profiles of this project", c.House)
	}
	line("level", "%s", level)
	line("revisions", "%s", c.revisions())
	if c.Quote != "" {
		line("rule", "%q", c.Quote)
	}
	line("spec", "%s", c.url())
	line("seed", "%s", c.Seed)
	line("scenario", "%s, area %s, suite %s", c.Scenario, c.Area, c.Suite)
	line("needs", "%s", c.needs())
	line("official", "%s", strings.Join(c.Official, ", "))
	if c.Role == conformance.RoleClient {
		line("run", "mcpctl conform client --only %s -- PROGRAM {url}", c.ID)
	} else {
		line("run", "mcpctl conform server --only %s SERVER", c.ID)
	}
	b.WriteString("\n")
	return b.String()
}

// needs returns what a server must offer for the check to run.
func (c *listedCheck) needs() string {
	var out []string
	if c.Transport != "" {
		out = append(out, "transport "+string(c.Transport))
	}
	if c.Capability != "" {
		out = append(out, "capabilities."+c.Capability)
	}
	if len(c.Tools) > 0 {
		out = append(out, fmt.Sprintf("permission to call %s (side effects: %s)", strings.Join(c.Tools, ", "), c.SideEffects))
	}
	if c.Control != "" {
		out = append(out, c.Control)
	}
	return strings.Join(out, "; ")
}
