package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mainstay-mcp/mainstay/conformance"
)

var pagesDir = flag.String("pages", "", "write the pages to this folder, for a browser (scripts/html-check.sh)")

// TestHTML_Pages: every page is written whole, and a full disk is told.
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
	for name, r := range samples() {
		render(name, r)
		all = append(all, r)
	}
	render("matrix", all...)
	return out
}

func parsed(t *testing.T, page string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	return doc
}

// each calls do for every element, in order.
func each(n *html.Node, do func(*html.Node)) {
	if n.Type == html.ElementNode {
		do(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		each(c, do)
	}
}

func get(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func words(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return strings.TrimSpace(b.String())
}

// TestHTML_Accessible: the structure that a screen reader finds its way by.
func TestHTML_Accessible(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		level, ids := 0, map[string]bool{}
		var labelled, links []string
		main, inputs, labels := 0, map[string]bool{}, map[string]bool{}
		each(parsed(t, page), func(n *html.Node) {
			if id := get(n, "id"); id != "" {
				require.False(t, ids[id], "%s: id %q stands twice", name, id)
				ids[id] = true
			}
			if l := get(n, "aria-labelledby"); l != "" {
				labelled = append(labelled, l)
			}
			switch n.Data {
			case "html":
				require.Equal(t, "en", get(n, "lang"), name)
			case "title", "caption", "summary", "button", "h1", "h2", "h3", "th", "dt":
				require.NotEmpty(t, words(n), "%s: an empty %s", name, n.Data)
			case "main":
				main++
			case "svg":
				require.Equal(t, "img", get(n, "role"), name)
				require.NotEmpty(t, get(n, "aria-label"), name)
			case "input":
				inputs[get(n, "id")] = true
			case "label":
				labels[get(n, "for")] = true
			case "a":
				links = append(links, get(n, "href"))
			case "table":
				var heads, captions int
				each(n, func(n *html.Node) {
					if n.Data == "th" {
						heads++
						require.Contains(t, []string{"col", "row", "rowgroup"}, get(n, "scope"), name)
					}
					if n.Data == "caption" {
						captions++
					}
				})
				require.Positive(t, heads, name)
				require.Equal(t, 1, captions, name)
			}
			if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
				now := int(n.Data[1] - '0')
				require.LessOrEqual(t, now, level+1, "%s: %q skips a level", name, words(n))
				level = now
			}
		})
		require.Equal(t, 1, main, name)
		require.Equal(t, inputs, labels, name)
		for _, id := range labelled {
			require.True(t, ids[id], "%s: nothing has the id %q", name, id)
		}
		for _, link := range links {
			if anchor, inside := strings.CutPrefix(link, "#"); inside {
				require.True(t, ids[anchor], "%s: nothing has the id %q", name, anchor)
				continue
			}
			require.True(t, strings.HasPrefix(link, specSite), "%s: a link to %q", name, link)
		}
	}
}

// TestHTML_SelfContained: nothing is loaded, nothing runs but our script.
func TestHTML_SelfContained(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		policy, scripts := "", 0
		each(parsed(t, page), func(n *html.Node) {
			for _, a := range n.Attr {
				require.NotContains(t, []string{"src", "srcset", "style", "action", "poster", "data", "background"}, a.Key, name)
				require.False(t, strings.HasPrefix(a.Key, "on"), "%s: %s", name, a.Key)
			}
			switch n.Data {
			case "link", "img", "iframe", "object", "embed", "base", "video", "audio":
				require.Failf(t, "an element that loads", "%s: %s", name, n.Data)
			case "meta":
				if get(n, "http-equiv") == "Content-Security-Policy" {
					policy = get(n, "content")
				}
			case "style":
				require.Contains(t, policy, "style-src 'sha256-"+hash(n.FirstChild.Data)+"'", name)
				require.NotContains(t, n.FirstChild.Data, "url(")
				require.NotContains(t, n.FirstChild.Data, "@import")
			case "script":
				if get(n, "type") != "application/gzip" {
					scripts++
					require.Contains(t, policy, "script-src 'sha256-"+hash(n.FirstChild.Data)+"'", name)
				}
			}
		})
		require.Equal(t, 1, scripts, "%s: the server's text made a script", name)
		require.Contains(t, policy, "default-src 'none'", name)
		require.NotContains(t, policy, "unsafe", name)
		require.False(t, strings.ContainsRune(page, 0x1b), name)
		require.False(t, strings.ContainsRune(page, 0x202e), name)
	}
}

// TestHTML_Findings: worst first, only the first one open, each with what proves
// it; sign and word beside each colour.
func TestHTML_Findings(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		open, first, urgent := 0, "", false
		each(parsed(t, page), func(n *html.Node) {
			if n.Data != "details" || get(n, "class") != "check" {
				return
			}
			if first == "" {
				first = get(n, "data-status")
			}
			for _, a := range n.Attr {
				if a.Key == "open" {
					open++
				}
			}
			status := conformance.Status(get(n, "data-status"))
			urgent = urgent || status == conformance.Fail
			l := lookOf(status)
			require.Regexp(t, "^"+regexp.QuoteMeta(l.Sign)+" ("+l.Word+"|stale) ", words(n))
		})
		require.LessOrEqual(t, open, 1, name)
		if urgent && name != "matrix" {
			require.Equal(t, 1, open, name)
			require.Equal(t, "fail", first, "%s: failures and stale entries stand first", name)
		}
	}
	page := pages(t)["wide"]
	for _, want := range []string{
		"Fails the run", "Known failures", "Inconclusive", "Broken, without score", "Passed", "Not applicable",
		`id="RPC-07/exclusive@2025-11-25"`, "X-&lt;/script&gt;", "the first 2000 of 5000 bytes", "flaky", "stale: remove the entry: known.txt:3",
		"mcpctl conform server :3000/mcp --spec 2025-11-25 --only RPC-07/exclusive", "speaks 2026-07-28, 2025-11-25",
	} {
		require.Contains(t, page, want)
	}
}

func TestHTML_Size(t *testing.T) {
	t.Parallel()
	r := passedReport()
	ok := r.Results[0]
	ok.Title, ok.Spec.Quote = strings.Repeat("seventy characters ", 4), strings.Repeat("quote ", 25)
	for i := range 299 {
		ok.ID = "S0-STORE-" + strconv.Itoa(i) + "/a-word"
		r.Results = append(r.Results, ok)
	}
	var b bytes.Buffer
	require.NoError(t, HTML(&b, []*conformance.Report{r}))
	require.Less(t, b.Len(), 200<<10)

	r = sampleReport()
	for range 500 {
		r.Results[1].Evidence = append(r.Results[1].Evidence, conformance.Frame{Data: bytes.Repeat([]byte("y"), 4096), Size: 4096})
	}
	b.Reset()
	require.NoError(t, HTML(&b, []*conformance.Report{r}))
	require.Less(t, b.Len(), 300<<10)
	require.Regexp(t, `4\d\d more frames are left out here`, b.String())
	require.Len(t, r.Results[1].Evidence, 502, "the report itself is left as it is")
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

// TestHTML_Contrast: text reads on what it stands on, in light and in dark.
func TestHTML_Contrast(t *testing.T) {
	t.Parallel()
	css, err := htmlFiles.ReadFile("html/style.css")
	require.NoError(t, err)
	light, dark, found := strings.Cut(string(css), "prefers-color-scheme: dark")
	require.True(t, found)
	for name, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range colour.FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		require.GreaterOrEqual(t, len(colours), 11, name)
		for _, ink := range []string{"fg", "muted", "link", "pass", "fail", "warn", "unknown", "error", "skip"} {
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
