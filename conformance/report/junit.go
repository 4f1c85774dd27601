package report

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// JUnit writes the reports for CI dashboards: a suite for each revision and area, and
// subject if there are several, with a case for each check. The text of a failure names the
// checks that have the same cause. Failures of the run are failures, inconclusive checks are errors; checks that do not apply and known failures are
// skipped with their reason. [JUnitSchema] describes the form.
func JUnit(w io.Writer, reports []*conformance.Report) error {
	root := junitRoot{Name: "mcpctl conform"}
	var all time.Duration
	names := junitSubjects(reports)
	for i, r := range reports {
		all += took(r)
		causes := causesOf(r)
		for _, part := range parts(r) {
			suite := junitSuiteOf(r, part, names[i], causes)
			root.Tests += suite.Tests
			root.Failures += suite.Failures
			root.Errors += suite.Errors
			root.Skipped += suite.Skipped
			root.Suites = append(root.Suites, suite)
		}
	}
	root.Time = seconds(all)
	b := bufio.NewWriter(w)
	_, _ = b.WriteString(xml.Header) // Flush tells
	enc := xml.NewEncoder(b)
	enc.Indent("", "  ")
	if err := enc.Encode(root); err != nil {
		return err
	}
	_ = b.WriteByte('\n') // Flush tells
	return b.Flush()
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitRoot struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Time   string       `xml:"time,attr"`
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Time      string `xml:"time,attr"`
	Timestamp string `xml:"timestamp,attr"`
	Hostname  string `xml:"hostname,attr"`
	// Inside the suite, because the usual schema does not allow them at the root.
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Skipped *junitSkip   `xml:"skipped,omitempty"`
	Error   *junitReason `xml:"error,omitempty"`
	Failure *junitReason `xml:"failure,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitSkip struct {
	Message string `xml:"message,attr"`
}

type junitReason struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junitSubjects names several subjects: by name and transport, with a number if both are
// the same. A single subject has no name. Names have no dot, which separates packages in a
// class.
func junitSubjects(reports []*conformance.Report) []string {
	out := make([]string, len(reports))
	if len(reports) == 1 {
		return out
	}
	taken := map[string]bool{}
	for i, r := range reports {
		name := strings.Trim(unsafeInClass.ReplaceAllString(named(r.Target)+" "+string(r.Target.Transport), "-"), "-")
		out[i] = name
		for n := 2; taken[out[i]]; n++ {
			out[i] = fmt.Sprintf("%s-%d", name, n)
		}
		taken[out[i]] = true
	}
	return out
}

var unsafeInClass = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// junitSuiteOf returns the suite of a part of a report. about names the subject if there
// are several.
func junitSuiteOf(r *conformance.Report, part part, about string, causes map[*conformance.Result]*finding) junitSuite {
	t := r.Target
	suite := junitSuite{
		Name: strings.Join(strings.Fields(fmt.Sprintf("mcp %s %s / %s", about, part.revision, part.area)), " "), Timestamp: r.StartedAt.UTC().Format("2006-01-02T15:04:05Z"),
		Hostname: "localhost",
		Properties: []junitProperty{
			{"mcp." + string(cmp.Or(t.Role, conformance.RoleServer)), printable(named(t))},
			{"mcp.revision", printable(string(part.revision))},
			{"mcpctl.verdict", string(r.Verdict())},
		},
	}
	var all time.Duration
	for _, res := range part.results {
		all += lasted(res)
		c := junitCaseOf(r, res, about, causes[res])
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = seconds(all)
	return suite
}

// causesOf returns the finding of each result that has one.
func causesOf(r *conformance.Report) map[*conformance.Result]*finding {
	out := map[*conformance.Result]*finding{}
	found := findings(r)
	for i := range found {
		for _, res := range found[i].results {
			out[res] = &found[i]
		}
	}
	return out
}

func junitCaseOf(r *conformance.Report, res *conformance.Result, about string, f *finding) junitCase {
	if about != "" {
		about += "."
	}
	c := junitCase{Class: fmt.Sprintf("mcp.%s%s.%s", about, res.Revision, res.Area), Name: res.ID, Time: seconds(lasted(res))}
	text := printable(clip(message(res), messageLimit))
	said := printable(clip(strings.Join(append([]string{message(res)}, remarks(res)...), "; "), messageLimit))
	reason := func() *junitReason {
		return &junitReason{Type: string(res.Level), Message: text, Text: printable(junitBody(r, res, f))}
	}
	switch {
	case res.Status == conformance.Skip:
		c.Skipped = &junitSkip{text}
		return c
	case r.Fails(res):
		c.Failure = reason()
	case res.Excused(), res.Unscored && res.Status != conformance.Pass:
		c.Skipped = &junitSkip{said}
	case res.Status == conformance.Inconclusive, res.Status == conformance.Error:
		c.Error = reason()
		c.Error.Type = string(res.Status)
	case res.Status == conformance.Warn:
		c.Out = printable(fmt.Sprintf("WARN %s: %s\n", res.Level, said))
	}
	for i := range res.Evidence {
		c.Out += printable(arrow(&res.Evidence[i])+" "+frameLine(&res.Evidence[i], frameLimit)) + "\n"
	}
	return c
}

// frameLimit bounds one frame in text formats.
const frameLimit = 2000

func junitBody(r *conformance.Report, res *conformance.Result, f *finding) string {
	lines := []string{res.Title}
	switch also := f.alsoFails(); {
	case also == "":
	case f.lead() == res:
		lines = append(lines, "cause: "+f.title(), "also fails: "+also)
	default:
		lines = append(lines, "cause: "+f.title(), "same cause as: "+f.lead().ID)
	}
	if s := source(res); s != "" {
		lines = append(lines, s)
	}
	if res.Spec.Quote != "" {
		lines = append(lines, strconv.Quote(res.Spec.Quote))
	}
	lines = append(lines, remarks(res)...)
	return strings.Join(append(lines, "again: "+again(r, res)), "\n")
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// printable replaces the characters that XML 1.0 forbids.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t' || c == '\n' || c == '\r', c >= 0x20 && c <= 0xD7FF, c >= 0xE000 && c <= 0xFFFD, c >= 0x10000:
			return c
		}
		return '\uFFFD'
	}, text)
}
