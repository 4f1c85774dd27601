package suitetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/report"
	"github.com/mainstay-mcp/mainstay/internal/reportsample"
)

// specSite is where a report may link to.
const specSite = "https://modelcontextprotocol.io/specification/"

// pages are the HTML of every sample, and of a matrix.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	var all []*conformance.Report
	render := func(name string, reports ...*conformance.Report) {
		var b bytes.Buffer
		require.NoError(t, report.HTML(&b, reports))
		out[name] = b.String()
	}
	for name, r := range reportsample.All() {
		render(name, r)
		all = append(all, r)
	}
	render("matrix", all...)
	return out
}

// hash is what a page's policy names the text of an element by.
func hash(n *html.Node) string {
	sum := sha256.Sum256([]byte(n.FirstChild.Data))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// signs are what stands beside the word of a status.
var signs = map[conformance.Status]string{
	conformance.Pass: "✓", conformance.Fail: "✗", conformance.Warn: "!", conformance.Skip: "–", conformance.Inconclusive: "?", conformance.Error: "E",
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
				require.Contains(t, policy, "style-src 'sha256-"+hash(n)+"'", name)
				require.NotContains(t, n.FirstChild.Data, "url(")
				require.NotContains(t, n.FirstChild.Data, "@import")
			case "script":
				if get(n, "type") != "application/gzip" {
					scripts++
					require.Contains(t, policy, "script-src 'sha256-"+hash(n)+"'", name)
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
			word := string(status)
			if status == conformance.Skip {
				word = "n/a"
			}
			require.Regexp(t, "^"+regexp.QuoteMeta(signs[status])+" ("+word+"|stale) ", words(n))
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
