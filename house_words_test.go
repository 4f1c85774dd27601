//go:build !race

package mainstay_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const (
	mostColumns     = 100
	mostReadmeLines = 120
)

// inputs are folders with pages that are data: what programs are tried on.
var inputs = []string{"testdata", "node_modules", ".git", "fixtures", "artifacts"}

// phrase has words that read as translated, in lower case, and what to say instead.
type phrase struct {
	better string
	words  []string
}

// in lists where the words are in a text, as they are written there. A phrase may go on
// in the next line.
func (p phrase) in(text string) (found []string) {
	text = strings.Join(strings.Fields(text), " ")
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		text = lower // a letter whose lower case has another length
	}
	letter := func(i int) bool {
		return i >= 0 && i < len(lower) && (lower[i] == '_' || lower[i] >= 'a' && lower[i] <= 'z' || lower[i] >= '0' && lower[i] <= '9')
	}
	for _, words := range p.words {
		for from := 0; ; {
			i := strings.Index(lower[from:], words)
			if i < 0 {
				break
			}
			i += from
			from = i + len(words)
			if !letter(i-1) && !letter(from) {
				found = append(found, text[i:from])
			}
		}
	}
	return found
}

// clumsy phrases are in no page of Markdown and in no exported documentation.
var clumsy = []phrase{
	{"callers that …", []string{"whoever"}},
	{"the value", []string{"what there is"}},
	{"reports", []string{"is told", "are told", "was told", "were told"}},
	{"reports", []string{"says so"}},
	{"again", []string{"anew"}},
	{"forever", []string{"for ever"}},
	{"automatically", []string{"by itself"}},
	{"unchanged", []string{"as it came", "as they came"}},
	{"the path of a call", []string{"the way of a call", "the way of the call"}},
	{"is idempotent", []string{"is the same when made again"}},
	{"is in", []string{"stand in", "stands in"}},
	{"the status of", []string{"how a client stands", "how the client stands", "how a server stands", "how the server stands", "how the servers stand", "how a list stands", "how the list stands", "how lists stand"}},
}

// clumsyToo are phrases of which there are still some, in code and in pages:
// house_words.txt has how many.
var clumsyToo = []phrase{
	{"describes, reports", []string{"says of", "say of", "says what", "say what", "says which", "says whether"}},
	{"is", []string{"stands", "stood"}},
	{"the result of", []string{"what came of", "came of it", "what became of", "what comes of"}},
	{"the plain verb", []string{"goes by what", "go by what", "left alone", "again and again", "sign of life", "slip of the pen", "is let go", "who asks"}},
	{"a value, a method", []string{"for what it alone", "of its own accord", "whatever it is", "whatever they are"}},
	{"inconclusive", []string{"not established"}},
	{"session era, stateless era", []string{"legacy", "modern"}},
}

// TestMarkdownIsPlain holds the pages that people read: width, phrases, and the
// length of the README. Pages in docs/generated are written by programs.
func TestMarkdownIsPlain(t *testing.T) {
	t.Parallel()
	for _, page := range markdown(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, wordFaults(string(text)), page)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), mostReadmeLines)
}

// markdown lists the pages of the project.
func markdown(t *testing.T) []string {
	t.Helper()
	var pages []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(inputs, name):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md"):
			pages = append(pages, path)
		}
		return nil
	}))
	require.Contains(t, pages, "README.md")
	return pages
}

var unbreakable = regexp.MustCompile(`^(\[[^]]+\]: )?<?https?://\S+>?$|^!\[|^\|`)

// wordFaults lists what is wrong with a page, by line. Code is left out, and a row
// of a table or a line that is one address may be long.
func wordFaults(text string) []string {
	var faults []string
	code := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if n := utf8.RuneCountInString(line); n > mostColumns && !code && !unbreakable.MatchString(line) {
			faults = append(faults, fmt.Sprintf("line %d has %d columns", i+1, n))
		}
		if code {
			continue
		}
		for _, p := range clumsy {
			for _, found := range p.in(line) {
				faults = append(faults, fmt.Sprintf("line %d: %q; say: %s", i+1, found, p.better))
			}
		}
	}
	return faults
}

func TestWordRulesCanFail(t *testing.T) {
	t.Parallel()
	require.Empty(t, wordFaults("A client retries.\n```\nwhoever\n```\nhttps://example.com/"+strings.Repeat("a", 100)))
	require.Equal(t, []string{"line 2 has 101 columns"}, wordFaults("\n"+strings.Repeat("é", 101)))
	require.Equal(t, []string{`line 1: "Whoever"; say: callers that …`, `line 1: "anew"; say: again`}, wordFaults("Whoever asks anew waits."))
	require.Len(t, wordFaults("It is told for ever, as it came, by itself."), 4)
}

const wordsFile = "house_words.txt"

var updateWords = flag.Bool("update", false, "lower the counts of "+wordsFile+" to those of now")

// use is a kind of words in one folder below the root.
type use struct{ folder, words string }

// TestWordsOnlyFall counts clumsy phrases in all comments and texts of Go, in the texts of
// checks and in Markdown, and private ids in comments. Each may not become more than
// house_words.txt allows in all folders together, so that files can move. The aim is 0.
func TestWordsOnlyFall(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(wordsFile)
	require.NoError(t, err)
	allowed, most := map[use]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), " | ")
		require.Len(t, cells, 3, line)
		n, err := strconv.Atoi(cells[2])
		require.NoError(t, err)
		allowed[use{cells[1], cells[0]}] = n
		most[cells[0]] += n
	}
	found, sum := map[use][]string{}, map[string]int{}
	for _, f := range tree(t) {
		if !strings.HasPrefix(f.path, "house_") && f.path != "docs/generated/transcripts.md" { // which has texts of a foreign server
			wordsOf(f, found)
		}
	}
	for u, places := range found {
		sum[u.words] += len(places)
	}
	for u, places := range found {
		if n := len(places); sum[u.words] > most[u.words] && n > allowed[u] {
			t.Errorf("%q: %d in %s, %d are allowed: %s", u.words, n, u.folder, allowed[u], strings.Join(places[:min(n, 40)], " "))
		}
	}
	if !*updateWords {
		return
	}
	out := "# words | folder | how often at most. `go test . -run TestWordsOnlyFall -update` lowers the counts.\n"
	order := func(a, b use) int { return cmp.Or(cmp.Compare(a.words, b.words), cmp.Compare(a.folder, b.folder)) }
	for u, places := range found {
		if sum[u.words] <= most[u.words] {
			allowed[u] = len(places)
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(allowed), order) {
		if n := allowed[u]; n > 0 && (sum[u.words] > most[u.words] || len(found[u]) > 0) {
			out += fmt.Sprintf("%s | %s | %d\n", u.words, u.folder, n)
		}
	}
	require.NoError(t, os.WriteFile(wordsFile, []byte(out), 0o644)) //nolint:gosec // a file of the repository
}

// wordsOf adds the places of one file where clumsy phrases and private ids are.
func wordsOf(f source, found map[use][]string) {
	folder, _, ok := strings.Cut(f.path, "/")
	if !ok {
		folder = "."
	}
	add := func(line int, text string) {
		for _, phrases := range [][]phrase{clumsy, clumsyToo} {
			for _, p := range phrases {
				for range p.in(text) {
					u := use{folder, p.words[0]}
					found[u] = append(found[u], fmt.Sprintf("%s:%d", f.path, line))
				}
			}
		}
	}
	switch {
	case f.isGo():
		eachText(f.text, func(line int, text string, comment bool) {
			add(line, text)
			if !comment {
				return
			}
			for _, id := range privateID.FindAllString(text, -1) {
				if !publicID.MatchString(id) {
					u := use{folder, "private ids"}
					found[u] = append(found[u], fmt.Sprintf("%s:%d", f.path, line))
				}
			}
		})
	case path.Base(f.path) == "checks.txt", path.Ext(f.path) == ".md" && !slices.ContainsFunc(inputs, func(dir string) bool { return strings.Contains("/"+f.path, "/"+dir+"/") }):
		for i, line := range strings.Split(f.text, "\n") {
			add(i+1, line)
		}
	}
}

// eachText calls do for each string and each group of comments of Go source.
func eachText(text string, do func(line int, text string, comment bool)) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments) // the compiler reports what is no Go
	var comments []string
	first, last := 0, 0
	flush := func() {
		if len(comments) > 0 {
			do(first, strings.Join(comments, " "), true)
			comments = nil
		}
	}
	for {
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		if tok == token.COMMENT {
			if len(comments) > 0 && line > last+1 {
				flush()
			}
			if len(comments) == 0 {
				first = line
			}
			comments, last = append(comments, strings.TrimPrefix(lit, "//")), line+strings.Count(lit, "\n")
			continue
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // between two lines of comments
		}
		flush()
		switch tok {
		case token.STRING:
			do(line, lit, false)
		case token.EOF:
			return
		}
	}
}

func TestWordsCanRise(t *testing.T) {
	t.Parallel()
	found := map[use][]string{}
	wordsOf(source{"a/b.go", "package b\n\n// It is\n// told. See LC-04 and UTF-16.\n\nvar s = \"is told; LC-04\" // Whoever\n"}, found)
	wordsOf(source{"a/checks.txt", "\nanew"}, found)
	wordsOf(source{"b.md", "Standing stands."}, found)
	require.Equal(t, map[use][]string{
		{"a", "is told"}: {"a/b.go:3", "a/b.go:6"}, {"a", "private ids"}: {"a/b.go:3"}, {"a", "whoever"}: {"a/b.go:6"}, {"a", "anew"}: {"a/checks.txt:2"}, {".", "stands"}: {"b.md:1"},
	}, found)
}
