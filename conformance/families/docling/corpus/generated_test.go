package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// generatedFloor is what each generated file must reach, in recall, precision and order.
const generatedFloor = .95

// limits are the files of which less is read, by a part of their name, and what each reaches
// at least. docs/reference.md names them.
var limits = []struct {
	part, why         string
	recall, precision float64
}{
	{"ghostscript_arabic", "Ghostscript 10.0 garbles the text of glyphs that stand for several letters", .92, .82},
	{"ghostscript_devanagari", "as in Arabic", .67, .50},
	{"ghostscript_latin", "as in Arabic: ligatures", .95, .87},
	{"ghostscript_thai", "as in Arabic", .95, .93},
	{"pdftocairo_devanagari", "cairo writes no text for some glyphs", .72, .71},
	{"pdftocairo_thai", "as in Devanagari", .91, .91},
	{"weasyprint_devanagari", "WeasyPrint 57 gives each glyph one text, whatever letters are around it", .87, .85},
	{"wkhtmltopdf_arabic", "Qt draws the beginning of lines beside the page", .91, .97},
	{"wkhtmltopdf_devanagari", "Qt writes no text for letters in another form", .68, .63},
	{"wkhtmltopdf_thai", "as in Devanagari", .93, .93},
	{"jspdf_chinese", "jsPDF draws no glyph for characters that it does not find in the font", .50, .95},
	{"_korean_", "a word that goes on in the next line gets a space", .88, .79},
}

// A reading is how well a program read a file.
type reading struct{ recall, precision, order float64 }

// A generated is a file that generate.mjs made, and how well we and pdftotext read it.
type generated struct {
	name                    string
	program, script, layout string
	ours, theirs            reading
	refused                 string
}

// TestGenerated converts the files that scripts/generated-pdfs.sh had many programs make, and
// compares the words and their order with those of the source, beside pdftotext.
//
//	MAINSTAY_GENERATED         folder of the files
//	MAINSTAY_GENERATED_REPORT  file for the report
//	MAINSTAY_CORPUS_SERVER     the program refserver
func TestGenerated(t *testing.T) {
	folder := os.Getenv("MAINSTAY_GENERATED")
	if folder == "" {
		t.Skip("scripts/generated-pdfs.sh makes the files, and runs this")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.pdf"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	srv := connect(t, folder)
	all := make([]generated, len(files))
	turns := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, file := range files {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			g, err := compare(t, srv, file)
			if err != nil {
				t.Error(err)
			}
			all[i] = g
		})
	}
	wg.Wait()
	report, failures := summarize(all)
	require.NoError(t, os.WriteFile(os.Getenv("MAINSTAY_GENERATED_REPORT"), []byte(report), 0o600))
	require.Empty(t, failures)
}

// compare reads a file with our server and with pdftotext.
func compare(t *testing.T, srv *client.Client, file string) (generated, error) {
	g := generated{name: strings.TrimSuffix(filepath.Base(file), ".pdf")}
	parts := strings.Split(g.name, "_")
	if len(parts) != 3 {
		return g, fmt.Errorf("%s is not named PROGRAM_SCRIPT_LAYOUT", file)
	}
	g.program, g.script, g.layout = parts[0], parts[1], parts[2]
	source, err := os.ReadFile(strings.TrimSuffix(file, ".pdf") + ".txt")
	if err != nil {
		return g, err
	}
	theirs, err := exec.CommandContext(t.Context(), "pdftotext", "-enc", "UTF-8", "-nopgbrk", file, "-").Output()
	if err != nil {
		return g, fmt.Errorf("pdftotext %s: %w", file, err)
	}
	ours, err := converted(t, srv, file)
	if err != nil {
		g.refused = err.Error()
	}
	g.ours, g.theirs = read(string(source), ours), read(string(source), string(theirs))
	return g, nil
}

func read(source, text string) reading {
	s := Compare(CountWords(text), []map[string]int{CountWords(source)}, nil)
	return reading{s.Recall, s.Precision, Order(source, text)}
}

// converted is the text of a file as our server reads it, in reading order.
func converted(t *testing.T, srv *client.Client, file string) (string, error) {
	res, err := srv.CallTool(t.Context(), "convert_pdf", map[string]any{"file_path": filepath.Base(file)})
	if err != nil {
		return "", err
	}
	if res.IsError {
		return "", fmt.Errorf("%s", res.Text())
	}
	doc, err := document.Decode(res.StructuredContent)
	if err != nil {
		return "", err
	}
	for _, text := range doc.Texts {
		if text.Layer == document.LayerFurniture {
			text.Text = "" // the files have no headers and footers
		}
	}
	return Ordered("pdf", doc), nil
}

// summarize tables the readings by program, script and layout. It lists the files that are
// under their floor, and the programs, scripts and layouts that pdftotext reads better.
func summarize(all []generated) (report string, failures []string) {
	var out strings.Builder
	line := func(name string, n int, ours, theirs reading) {
		fmt.Fprintf(&out, "%-12s %5d   %.3f %.3f %.3f   %.3f %.3f %.3f\n", name, n, ours.recall, ours.precision, ours.order, theirs.recall, theirs.precision, theirs.order)
	}
	for _, l := range limits {
		fmt.Fprintf(&out, "limit %-24s %s\n", l.part, l.why)
	}
	out.WriteString("\n")
	for _, g := range all {
		floor := floorOf(g.name)
		if g.ours.recall < floor[0] || g.ours.precision < floor[1] || g.ours.order < floor[2] {
			failures = append(failures, fmt.Sprintf("%s: %.3f %.3f %.3f is under %.2f %.2f %.2f; pdftotext %.3f %.3f %.3f %s", g.name,
				g.ours.recall, g.ours.precision, g.ours.order, floor[0], floor[1], floor[2], g.theirs.recall, g.theirs.precision, g.theirs.order, g.refused))
		}
	}
	fmt.Fprintf(&out, "%-12s %5s   %-17s   %-17s\n%-12s %5s   %-17s   %-17s\n", "", "", "mainstay", "pdftotext", "", "files", "rec.  prec. order", "rec.  prec. order")
	for _, by := range []func(g generated) string{
		func(g generated) string { return g.program }, func(g generated) string { return g.script },
		func(g generated) string { return g.layout }, func(generated) string { return "all" },
	} {
		groups := map[string][]generated{}
		for _, g := range all {
			groups[by(g)] = append(groups[by(g)], g)
		}
		for _, name := range slices.SortedFunc(maps.Keys(groups), cmp.Compare[string]) {
			ours, theirs := mean(groups[name], func(g generated) reading { return g.ours }), mean(groups[name], func(g generated) reading { return g.theirs })
			line(name, len(groups[name]), ours, theirs)
			if behind(ours, theirs) {
				failures = append(failures, name+" is read better by pdftotext")
			}
		}
		out.WriteString("\n")
	}
	return out.String() + strings.Join(failures, "\n") + "\n", failures
}

// behind reports whether one reading is worse than another, by more than a thousandth.
func behind(a, b reading) bool {
	const slack = .001
	return a.recall < b.recall-slack || a.precision < b.precision-slack || a.order < b.order-slack
}

func mean(all []generated, of func(generated) reading) reading {
	var sum reading
	n := float64(len(all))
	for _, g := range all {
		r := of(g)
		sum = reading{sum.recall + r.recall/n, sum.precision + r.precision/n, sum.order + r.order/n}
	}
	return sum
}

// floorOf is what a file must reach, in recall, precision and order.
func floorOf(name string) [3]float64 {
	for _, l := range limits {
		if strings.Contains(name, l.part) {
			return [3]float64{l.recall, l.precision, generatedFloor}
		}
	}
	return [3]float64{generatedFloor, generatedFloor, generatedFloor}
}
