package report

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// element is an XML element without our own types, so that the test judges the form.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// rule repeats the committed schema of one element, for machines without xmllint.
type rule struct {
	attrs    []string
	children []string // in order; "*" after a name: any number, "?": at most one
}

var junitRules = map[string]rule{
	"testsuites": {[]string{"name", "tests", "failures", "errors", "skipped", "time"}, []string{"testsuite*"}},
	"testsuite":  {[]string{"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"}, []string{"properties", "testcase*"}},
	"properties": {nil, []string{"property*"}},
	"property":   {[]string{"name", "value"}, nil},
	"testcase":   {[]string{"classname", "name", "time"}, []string{"skipped?", "error?", "failure?", "system-out?"}},
	"skipped":    {[]string{"message"}, nil},
	"error":      {[]string{"type", "message"}, nil},
	"failure":    {[]string{"type", "message"}, nil},
	"system-out": {nil, nil},
}

func requireForm(t *testing.T, e *element) {
	t.Helper()
	name := e.XMLName.Local
	want, known := junitRules[name]
	require.True(t, known, name)
	var attrs, children []string
	for _, a := range e.Attrs {
		attrs = append(attrs, a.Name.Local)
		switch a.Name.Local {
		case "tests", "failures", "errors", "skipped":
			_, err := strconv.ParseUint(a.Value, 10, 32)
			require.NoError(t, err, a.Value)
		case "time":
			seconds, err := strconv.ParseFloat(a.Value, 64)
			require.NoError(t, err, a.Value)
			require.GreaterOrEqual(t, seconds, 0.0)
		case "timestamp":
			_, err := time.Parse(time.RFC3339, a.Value)
			require.NoError(t, err, a.Value)
		case "message":
			require.LessOrEqual(t, utf8.RuneCountInString(a.Value), 500)
		}
	}
	require.ElementsMatch(t, want.attrs, attrs, name)
	left := want.children
	for i := range e.Children {
		child := e.Children[i].XMLName.Local
		children = append(children, child)
		for len(left) > 0 && strings.TrimRight(left[0], "*?") != child {
			left = left[1:]
		}
		require.NotEmpty(t, left, "%s: %v", name, children)
		if !strings.HasSuffix(left[0], "*") {
			left = left[1:]
		}
		requireForm(t, &e.Children[i])
	}
	if name == "testcase" {
		outcomes := 0
		for _, child := range children {
			if child != "system-out" {
				outcomes++
			}
		}
		require.LessOrEqual(t, outcomes, 1, children)
	}
}

// requireCounts compares the sums with their elements.
func requireCounts(t *testing.T, root *element) {
	t.Helper()
	sums := map[string]int{}
	for i := range root.Children {
		suite := &root.Children[i]
		counts := map[string]int{}
		for j := range suite.Children {
			c := &suite.Children[j]
			if c.XMLName.Local != "testcase" {
				continue
			}
			counts["tests"]++
			for _, outcome := range c.Children {
				counts[map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped", "system-out": "-"}[outcome.XMLName.Local]]++
			}
		}
		for _, name := range []string{"tests", "failures", "errors", "skipped"} {
			require.Equal(t, strconv.Itoa(counts[name]), suite.attr(name), "%s of %s", name, suite.attr("name"))
			sums[name] += counts[name]
		}
	}
	for name, n := range sums {
		require.Equal(t, strconv.Itoa(n), root.attr(name), name)
	}
}

func TestJUnit_FollowsItsSchema(t *testing.T) {
	t.Parallel()
	var all []*conformance.Report
	for _, r := range samples() {
		all = append(all, r)
	}
	groups := map[string][]*conformance.Report{"all": all}
	for name, r := range samples() {
		groups[name] = []*conformance.Report{r}
	}
	dir := t.TempDir()
	for name, reports := range groups {
		var b bytes.Buffer
		require.NoError(t, JUnit(&b, reports))
		var root element
		require.NoError(t, xml.Unmarshal(b.Bytes(), &root), name)
		requireForm(t, &root)
		requireCounts(t, &root)
		file := filepath.Join(dir, name+".xml")
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
		if lint, err := exec.LookPath("xmllint"); err == nil {
			out, err := exec.CommandContext(t.Context(), lint, "--nonet", "--noout", "--schema", "junit.xsd", file).CombinedOutput()
			require.NoError(t, err, "%s: %s", name, out)
		}
	}
	require.Error(t, JUnit(fullDisk{}, all))
}

// TestJUnit_SchemaSaysTheSame: the rules above and the schema know the same
// elements and attributes, so that neither can be loosened alone.
func TestJUnit_SchemaSaysTheSame(t *testing.T) {
	t.Parallel()
	var schema element
	require.NoError(t, xml.Unmarshal(JUnitSchema, &schema))
	elements, attributes := map[string]bool{}, map[string]bool{}
	var walk func(e *element)
	walk = func(e *element) {
		if name := e.attr("name"); name != "" {
			switch e.XMLName.Local {
			case "element":
				elements[name] = true
			case "attribute":
				attributes[name] = true
			}
		}
		for i := range e.Children {
			walk(&e.Children[i])
		}
	}
	walk(&schema)
	wantElements, wantAttributes := map[string]bool{}, map[string]bool{}
	for name, r := range junitRules {
		wantElements[name] = true
		for _, a := range r.attrs {
			wantAttributes[a] = true
		}
	}
	require.Equal(t, wantElements, elements)
	require.Equal(t, wantAttributes, attributes)
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, JUnit(&b, []*conformance.Report{wideReport()}))
	var root element
	require.NoError(t, xml.Unmarshal(b.Bytes(), &root))
	cases := map[string]*element{}
	for i := range root.Children {
		for j := range root.Children[i].Children {
			c := &root.Children[i].Children[j]
			cases[c.attr("classname")+" "+c.attr("name")] = c
		}
	}
	outcome := func(name string) string {
		require.Contains(t, cases, name)
		for _, child := range cases[name].Children {
			return child.XMLName.Local + ": " + child.attr("type") + ": " + child.attr("message")
		}
		return ""
	}
	require.Equal(t, "failure: MUST: passes, and is listed as a known failure", outcome("mcp.2026-07-28.base RPC-01/version"))
	require.Contains(t, outcome("mcp.2026-07-28.base RPC-07/exclusive"), "skipped: : expected that of all, got")
	require.Contains(t, outcome("mcp.2026-07-28.concurrency X-WIRE-12/pings"), "skipped: : the server closed the connection; flaky")
	require.Contains(t, outcome("mcp.2026-07-28.tools UTIL-15/bad-cursor"), "does not score")
	require.Contains(t, outcome("mcp.2025-11-25.base RPC-07/exclusive"), "failure: MUST: expected that of all, got </script>")
	require.Equal(t, "system-out: : ", outcome("mcp.2025-11-25.tools UTIL-15/bad-cursor"))
	require.Equal(t, "error: inconclusive: the server closed the connection", outcome("mcp.2025-11-25.concurrency X-WIRE-12/pings"))
	require.Equal(t, "error: error: disk full", outcome("mcp.2025-11-25.store_artifact S0-STORE-02"))
	require.Equal(t, "skipped: : transport: a rule of http", outcome("mcp.2025-11-25.http HTTP-19/get"))
	require.NotContains(t, cases, "mcp.2025-11-25.http HTTP-19/other", "not asked for")
	require.Empty(t, outcome("mcp.2025-11-25.base RPC-01/version"))
	require.NotContains(t, b.String(), "\x1b")

	strict := sampleReport()
	strict.Policy.Strict = true
	b.Reset()
	require.NoError(t, JUnit(&b, []*conformance.Report{strict}))
	require.Contains(t, b.String(), `<failure type="SHOULD" message="expected error -32602, got result {}">`)
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\t\n\uFFFD\uFFFD\uFFFDé🦀", printable("a\t\n\x00\x1b\uFFFEé🦀"))
}

// TestJUnit_Subjects: several subjects stay apart, also where dashboards know
// cases by class and name alone; one keeps the names it had.
func TestJUnit_Subjects(t *testing.T) {
	t.Parallel()
	http := sampleReport()
	http.Target.Transport = conformance.TransportHTTP
	var b bytes.Buffer
	require.NoError(t, JUnit(&b, []*conformance.Report{sampleReport(), http, sampleReport(), passedReport()}))
	var root element
	require.NoError(t, xml.Unmarshal(b.Bytes(), &root))
	requireForm(t, &root)
	suites, cases := map[string]bool{}, map[string]bool{}
	for _, suite := range root.Children {
		require.False(t, suites[suite.attr("name")], suite.attr("name"))
		suites[suite.attr("name")] = true
		for _, c := range suite.Children {
			if c.XMLName.Local == "testcase" {
				key := c.attr("classname") + " " + c.attr("name")
				require.False(t, cases[key], key)
				cases[key] = true
				require.Len(t, strings.Split(c.attr("classname"), "."), 4, "a dot begins a package")
			}
		}
	}
	require.Contains(t, cases, "mcp.every-u202ething-2-0-0-http.2025-11-25.base RPC-07/exclusive")

	b.Reset()
	require.NoError(t, JUnit(&b, []*conformance.Report{sampleReport()}))
	require.Contains(t, b.String(), `classname="mcp.2025-11-25.base"`)
}
