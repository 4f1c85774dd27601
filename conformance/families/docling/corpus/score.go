package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// bars are the means that a format must reach, in recall and in precision.
var bars = map[string]float64{"pdf": .98, "docx": .97, "xlsx": .97, "pptx": .98}

// A Score compares the words of a document with those of its references.
type Score struct {
	Recall, Precision float64
	Words             int      // that all references read
	Missing, Extra    []string // words, those that most often differ first
}

// Compare scores ours against what the reference programs read. Recall is the share of
// the words that all of them read that ours holds, 1 when there are none. Precision is
// the share of our words that any of them reads, or that stand in parts of the file that
// they do not open; 1 when we have none.
func Compare(ours map[string]int, references []map[string]int, unopened map[string]int) Score {
	all, either := maps.Clone(references[0]), maps.Clone(references[0])
	for _, ref := range references[1:] {
		for w := range all {
			all[w] = min(all[w], ref[w])
		}
		for w, n := range ref {
			either[w] = max(either[w], n)
		}
	}
	for w, n := range unopened {
		either[w] += n
	}
	var s Score
	var missing, extra int
	missing, s.Missing = less(all, ours)
	extra, s.Extra = less(ours, either)
	s.Words = total(all)
	s.Recall, s.Precision = share(missing, s.Words), share(extra, total(ours))
	return s
}

// less counts the words of a that b does not hold, and names them.
func less(a, b map[string]int) (int, []string) {
	rest := map[string]int{}
	for w, n := range a {
		if n > b[w] {
			rest[w] = n - b[w]
		}
	}
	names := slices.SortedFunc(maps.Keys(rest), func(v, w string) int {
		return cmp.Or(cmp.Compare(rest[w], rest[v]), cmp.Compare(v, w))
	})
	return total(rest), names
}

func total(words map[string]int) int {
	n := 0
	for _, c := range words {
		n += c
	}
	return n
}

func share(lacking, of int) float64 {
	if of == 0 {
		return 1
	}
	return 1 - float64(lacking)/float64(of)
}

// A Result is what became of one document.
type Result struct {
	*Document
	Score
	// Order is how much of it is in the order that one of the programs reads it in.
	Order float64
	// Refused is why our converter refused the document.
	Refused string
	// Read are the reference programs that read the document.
	Read []string
}

// Judge compares a document with its references: texts by the name of the program that
// read them, and by "parts". What we refuse holds no words. A document that no program
// reads is an error, because nothing says what is in it.
func Judge(d *Document, ours, refused string, texts map[string]string) (Result, error) {
	r := Result{Document: d, Refused: refused}
	var references []map[string]int
	for _, program := range slices.Sorted(maps.Keys(texts)) {
		if program != parts {
			r.Read = append(r.Read, program)
			references = append(references, CountWords(texts[program]))
		}
	}
	if len(references) == 0 {
		return r, fmt.Errorf("%s: no reference program reads it", d.Name())
	}
	r.Score = Compare(CountWords(ours), references, CountWords(texts[parts]))
	if refused != "" {
		r.Recall, r.Precision = 0, 0
	}
	return r, nil
}

// String is the line of a document in the report.
func (r Result) String() string {
	line := fmt.Sprintf("%-4s %.3f %.3f %.3f %6d  %s", r.Format, r.Recall, r.Precision, r.Order, r.Words, r.Name())
	if r.Refused != "" {
		line += "  REFUSED: " + r.Refused
	}
	if bar := bars[r.Format]; r.Recall < bar && r.Refused == "" {
		line += "  lacks: " + strings.Join(r.Missing[:min(len(r.Missing), 12)], " ")
	}
	if bar := bars[r.Format]; r.Precision < bar && r.Refused == "" {
		line += "  adds: " + strings.Join(r.Extra[:min(len(r.Extra), 12)], " ")
	}
	if r.SetAside != "" {
		line += "  SET ASIDE: " + r.SetAside
	}
	return line
}

// Summary returns the table of the formats, and what of it is not good enough: a mean
// under its bar, or a document that we refuse and a reference program reads.
func Summary(results []Result) (table string, failures []string) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-6s %5s %7s %9s %5s\n", "format", "files", "recall", "precision", "bar")
	for _, format := range []string{"pdf", "docx", "xlsx", "pptx"} {
		var n int
		var recall, precision float64
		for _, r := range results {
			if r.Format != format || r.SetAside != "" {
				continue
			}
			n, recall, precision = n+1, recall+r.Recall, precision+r.Precision
			if r.Refused != "" {
				failures = append(failures, fmt.Sprintf("%s is refused, and %s reads it: %s", r.Name(), strings.Join(r.Read, ", "), r.Refused))
			}
		}
		if n == 0 {
			continue
		}
		recall, precision = recall/float64(n), precision/float64(n)
		fmt.Fprintf(&out, "%-6s %5d %7.4f %9.4f %5.2f\n", format, n, recall, precision, bars[format])
		for _, mean := range []struct {
			name string
			is   float64
		}{{"recall", recall}, {"precision", precision}} {
			if mean.is < bars[format] {
				failures = append(failures, fmt.Sprintf("%s: mean %s %.4f is under %.2f", format, mean.name, mean.is, bars[format]))
			}
		}
	}
	return out.String(), failures
}
