package report

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

var pagesDir = flag.String("pages", "", "write the pages to this folder, for a browser (scripts/html-check.sh)")

// TestHTML_Pages: every page is complete, and a full disk is an error.
func TestHTML_Pages(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		require.True(t, strings.HasSuffix(strings.TrimSpace(page), "</html>"), name)
		if *pagesDir != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*pagesDir, name+".html"), []byte(page), 0o600))
		}
	}
	require.Error(t, HTML(fullDisk{}, []*conformance.Report{sampleReport()}))
}

// pages are the HTML of every sample, and of a matrix.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	var all []*conformance.Report
	render := func(name string, reports ...*conformance.Report) {
		var b bytes.Buffer
		require.NoError(t, HTML(&b, reports))
		out[name] = b.String()
	}
	reports := samples()
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		render(name, reports[name])
		all = append(all, reports[name])
	}
	render("matrix", all...)
	return out
}

// TestHTML_Size: a page has at most 300 KB, for as many checks as the reference run has and
// for a run with 60 findings.
func TestHTML_Size(t *testing.T) {
	t.Parallel()
	const most = 300_000
	r := wideReport()
	ok, skipped := passedReport().Results[0], r.Results[4]
	r.Results = nil
	for _, revision := range r.Revisions {
		for i := range 1450 {
			res := ok
			if i%5 > 2 {
				res = skipped
			}
			res.ID, res.Area, res.Revision = fmt.Sprintf("S%d-STORE-%d/a-word", i%7, i), "area "+strconv.Itoa(i/70), revision.Revision
			res.Title, res.Spec.Quote = fmt.Sprintf("a title of about sixty characters, %d of them different", i), strings.Repeat("quote ", i%25)
			r.Results = append(r.Results, res)
		}
	}
	var b bytes.Buffer
	require.NoError(t, HTML(&b, []*conformance.Report{r}))
	require.Less(t, b.Len(), most)

	b.Reset()
	require.NoError(t, HTML(&b, []*conformance.Report{manyFindings(60)}))
	require.Less(t, b.Len(), most)
	require.Equal(t, 60, strings.Count(b.String(), `data-status="fail" `)+strings.Count(b.String(), `data-status="fail">`)-2)

	r = sampleReport()
	for range 500 {
		r.Results[1].Evidence = append(r.Results[1].Evidence, conformance.Frame{Data: bytes.Repeat([]byte("y"), 4096), Size: 4096})
	}
	b.Reset()
	require.NoError(t, HTML(&b, []*conformance.Report{r}))
	require.Less(t, b.Len(), most)
	require.Regexp(t, `4\d\d more frames are left out here`, b.String())
	require.Len(t, r.Results[1].Evidence, 502, "the report itself is left as it is")
}

// TestHTML_Order: what to fix comes first, then the table, without rows and columns in which
// there is nothing.
func TestHTML_Order(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, HTML(&b, []*conformance.Report{sampleReport()}))
	page := b.String()
	at := -1
	for _, text := range []string{"Fails the run", "every response has exactly one", "Inconclusive", "Recommendations", "<table>", ">Passed ", ">Not applicable "} {
		next := strings.Index(page, text)
		require.Greater(t, next, at, text)
		at = next
	}
	require.NotContains(t, page, ">0<")
	require.Contains(t, page, "<p>Nothing ran in: http.</p>")

	b.Reset()
	require.NoError(t, HTML(&b, []*conformance.Report{passedReport()}))
	require.NotContains(t, b.String(), `<span class="word">fail</span>`, "a column without numbers")
}

func TestHTML_Matrix(t *testing.T) {
	t.Parallel()
	m := matrixOf([]*conformance.Report{sampleReport(), wideReport()})
	require.Len(t, m.Columns, 3)
	require.Equal(t, "2026-07-28 http", m.Columns[1].Detail)
	cells := map[string][]matrixCell{}
	for _, a := range m.Areas {
		require.Equal(t, 4, a.Span)
		for _, row := range a.Rows {
			cells[row.ID] = row.Cells
		}
	}
	require.NotContains(t, cells, "HTTP-19/get", "ran nowhere")
	require.Equal(t, "#s1-RPC-07/exclusive", cells["RPC-07/exclusive"][0].Link)
	require.Equal(t, "#s2-RPC-07/exclusive@2026-07-28", cells["RPC-07/exclusive"][1].Link)
	require.Equal(t, "known", cells["RPC-07/exclusive"][1].Note)
	require.Equal(t, "pass", cells["RPC-01/version"][0].Word)
	require.Empty(t, cells["RPC-01/version"][0].Link)
}

var colour = regexp.MustCompile(`--([a-z]+): (#[0-9a-f]{6});`)

// TestHTML_Contrast: text is readable on its background, in light and in dark.
func TestHTML_Contrast(t *testing.T) {
	t.Parallel()
	light, dark, found := strings.Cut(style, "prefers-color-scheme: dark")
	require.True(t, found)
	for name, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range colour.FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		require.GreaterOrEqual(t, len(colours), 11, name)
		for _, ink := range []string{"fg", "muted", "link", "pass", "fail", "warn", "inconclusive", "error", "skip"} {
			for _, paper := range []string{"bg", "card"} {
				require.GreaterOrEqual(t, contrast(t, colours[ink], colours[paper]), 4.5, "%s: %s on %s", name, ink, paper)
			}
		}
	}
	require.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 0.01)
	require.InDelta(t, 4.48, contrast(t, "#777777", "#ffffff"), 0.01)
}

// contrast is the ratio of WCAG 2: from 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(hex string) float64 {
		n, err := strconv.ParseUint(hex[1:], 16, 32)
		require.NoError(t, err)
		sum := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			c := float64(n>>(8*i)&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
