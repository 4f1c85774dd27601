package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// paragraphs are n different paragraphs of ten words.
func paragraphs(n int) []string {
	out := make([]string, n)
	for i := range out {
		for j := range 10 {
			out[i] += fmt.Sprintf("word%dx%d ", i, j)
		}
	}
	return out
}

// TestDefectsAreFound plants what converters get wrong in a document of 20 paragraphs,
// for each format, and requires that the summary names it.
func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	whole := paragraphs(20)
	text := strings.Join(whole, "\n")
	backwards := func(s string) string {
		r := []rune(s)
		slices.Reverse(r)
		return string(r)
	}
	for _, format := range []string{"pdf", "docx", "xlsx", "pptx"} {
		for _, c := range []struct{ name, ours, refused, want string }{
			{"whole", text, "", ""},
			{"other order, other case", strings.ToUpper(strings.Join(slices.Concat(whole[10:], whole[:10]), " ")), "", ""},
			{"dropped paragraph", strings.Join(whole[1:], "\n"), "", "mean recall 0.9500"},
			{"doubled paragraph", text + "\n" + whole[3], "", "mean precision 0.9524"},
			{"words backwards", backwards(text), "", "mean recall 0.0000"},
			{"words glued together", strings.ReplaceAll(text, " ", ""), "", "mean recall 0.0000"},
			{"words cut", strings.ReplaceAll(text, "word", "wo rd"), "", "mean precision 0.0000"},
			{"nothing", "", "", "mean recall 0.0000"},
			{"refused", "", "not a file of this format", "d is refused"},
			{"refused, with text", text, "half of it", "d is refused"},
		} {
			r, err := Judge(&Document{Format: format, Package: "p", Path: "d"}, c.ours, c.refused, map[string]string{"reader": text})
			require.NoError(t, err)
			_, failures := Summary([]Result{r})
			if c.want == "" {
				require.Empty(t, failures, "%s: %s", format, c.name)
				continue
			}
			require.Contains(t, strings.Join(failures, "\n"), c.want, "%s: %s", format, c.name)
		}
	}
}

// Where programs differ, we may side with either, and need not have what one alone reads.
func TestTwoReferences(t *testing.T) {
	t.Parallel()
	references := []map[string]int{CountWords("a a b note"), CountWords("a b c")}
	for ours, want := range map[string][2]float64{
		"a b":        {1, 1},
		"a a b note": {1, 1},
		"a b c":      {1, 1},
		"a":          {.5, 1},
		"a b x y":    {1, .5},
		"a a a b":    {1, .75},
	} {
		s := Compare(CountWords(ours), references, nil)
		require.Equal(t, want, [2]float64{s.Recall, s.Precision}, ours)
		require.Equal(t, 2, s.Words)
	}
	s := Compare(CountWords("x x y"), references, nil)
	require.Equal(t, []string{"a", "b"}, s.Missing)
	require.Equal(t, []string{"x", "y"}, s.Extra)
}

// Words from parts that the other programs do not open do not lower our score, but
// the rest of the document must still appear only once.
func TestUnopenedParts(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"reader": "a b", parts: "box"}
	for ours, want := range map[string][2]float64{
		"a b":         {1, 1},
		"a b box":     {1, 1},
		"a b box box": {1, .75},
		"a b a box":   {1, .75},
		"box":         {0, 1},
	} {
		r, err := Judge(&Document{Format: "xlsx", Path: "d"}, ours, "", texts)
		require.NoError(t, err)
		require.Equal(t, want, [2]float64{r.Recall, r.Precision}, ours)
		require.Equal(t, []string{"reader"}, r.Read)
	}
	_, err := Judge(&Document{Format: "xlsx", Path: "d"}, "box", "", map[string]string{parts: "box"})
	require.ErrorContains(t, err, "no reference program reads it")
}

// A scan has no words: then we may have none either.
func TestNoWords(t *testing.T) {
	t.Parallel()
	none := []map[string]int{{}}
	require.Equal(t, Score{Recall: 1, Precision: 1}, Compare(map[string]int{}, none, nil))
	require.Zero(t, Compare(CountWords("ghost"), none, nil).Precision)
}

func TestNobodyReadsIt(t *testing.T) {
	t.Parallel()
	_, err := Judge(&Document{Format: "pdf", Path: "d"}, "text", "", nil)
	require.ErrorContains(t, err, "no reference program reads it")
}

func TestManifest(t *testing.T) {
	t.Parallel()
	docs, err := Manifest()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(docs), 60)
	for _, d := range docs {
		require.Contains(t, []string{"go", "npm", "deb", "debsrc"}, d.Kind, d.Name())
		for _, field := range []string{d.Package, d.Version, d.Path, d.Licence, d.Special} {
			require.NotEmpty(t, field, d.Name())
		}
	}
}

func TestManifestRefuses(t *testing.T) {
	t.Parallel()
	line := func(format string, sum int, aside string) string {
		return fmt.Sprintf("%s\tgo\tp\tv1\ta.pdf\t%064x\tMIT\tsmall\t%s\n", format, sum, aside)
	}
	var many strings.Builder
	for i := range 19 {
		many.WriteString(line("pdf", i+1, ""))
	}
	_, err := parseManifest("# comment\n" + many.String() + line("pdf", 99, "reads it wrong"))
	require.NoError(t, err)
	for want, text := range map[string]string{
		"are set aside":  many.String() + line("pdf", 98, "wrong") + line("pdf", 99, "wrong"),
		"listed twice":   line("pdf", 1, "") + line("pdf", 1, ""),
		"unknown format": line("doc", 1, ""),
		"fields":         "pdf\tgo\n",
		"no SHA-256":     strings.Replace(line("pdf", 1, ""), "000", "", 1),
	} {
		_, err := parseManifest(text)
		require.ErrorContains(t, err, want)
	}
}

// What is set aside stays in sight, and counts for nothing.
func TestSetAside(t *testing.T) {
	t.Parallel()
	good, err := Judge(&Document{Format: "pdf", Path: "good"}, "a b", "", map[string]string{"r": "a b"})
	require.NoError(t, err)
	bad, err := Judge(&Document{Format: "pdf", Path: "bad", SetAside: "the reader errs"}, "a", "", map[string]string{"r": "b"})
	require.NoError(t, err)
	table, failures := Summary([]Result{good, bad})
	require.Empty(t, failures)
	require.Contains(t, table, "pdf        1  1.0000")
	require.Contains(t, bad.String(), "SET ASIDE: the reader errs")
}

func TestTextCountsEachTextOnce(t *testing.T) {
	t.Parallel()
	b := document.NewBuilder("d", nil)
	b.Paragraph(nil, "body")
	b.Text(nil, document.PageFooter, "footer").Layer = document.LayerFurniture
	b.Paragraph(nil, "note").Layer = document.LayerNotes
	b.Table(nil, document.TableData{Cells: []document.Cell{document.NewCell(0, 0, 1, 2, "wide")}, NumRows: 1, NumCols: 2})
	b.ListItem(b.List(nil), "item", true, "3.")
	d, err := b.Document()
	require.NoError(t, err)
	require.Equal(t, "body\nfooter\n3. item\nwide\n", Text("pdf", d))
	require.Equal(t, "body\nnote\nitem\nwide\n", Text("docx", d))
	require.Equal(t, "body\nfooter\nnote\nitem\nwide\n", Text("pptx", d))
}
