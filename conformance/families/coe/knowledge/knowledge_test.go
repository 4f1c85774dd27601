package knowledge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// open makes an index that is closed with the test.
func open(t testing.TB, b *Base) *Index {
	t.Helper()
	x, err := Open(t.Context(), b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

func search(t testing.TB, x *Index, question, hint string) Answer {
	t.Helper()
	a, err := x.Search(t.Context(), Question{Text: question, Hint: hint})
	require.NoError(t, err)
	return a
}

func TestSearch_Sample(t *testing.T) {
	t.Parallel()
	x := open(t, Shipped())
	for question, want := range map[string]struct {
		section    string
		confidence float64
	}{
		"Should sidebar collapse on mobile?":    {"designChoices.navigationStyle", 0.98},
		"SHOULD THE SIDEBAR COLLAPSE ON MOBILE": {"designChoices.navigationStyle", 0.98},
		"Which contrast ratio?":                 {"designSystem.contrast", 0.98},
		"How many color variants?":              {"designSystem.colors", 0.98},
		"Where do we store tasks?":              {"architecture.storage", 0.98},
		"What test coverage is required?":       {"quality.testing", 0.98},
		"What animation library should I use?":  {"openQuestions.animationLibrary", 0.35},
		"Should we use X or Y?":                 {"", 0},
		"Which cloud provider hosts this?":      {"", 0},
		"":                                      {"", 0},
		"\" OR entry MATCH (":                   {"", 0},
		strings.Repeat("hamburger ", 100_000):   {"designChoices.navigationStyle", 0.8}, // one word
	} {
		name := question[:min(len(question), 60)]
		got := search(t, x, question, "")
		require.InDelta(t, want.confidence, got.Confidence, 0, name)
		require.Equal(t, want.confidence >= Sure, got.Sure(), name)
		if want.section == "" {
			require.Nil(t, got.Entry, name)
		} else {
			require.Equal(t, want.section, got.Entry.Section, name)
		}
	}
	half := search(t, x, "Is the sidebar purple?", "")
	require.Less(t, half.Confidence, near, "half of a question is no answer")
}

func TestSearch_Hint(t *testing.T) {
	t.Parallel()
	x := open(t, Shipped())
	for hint, section := range map[string]string{
		"hamburger menu|x":    "designChoices.navigationStyle",
		"breakpoints":         "designChoices.breakpoints",
		"quality|breakpoints": "designChoices.breakpoints",
	} {
		require.Equal(t, section, search(t, x, "mobile?", hint).Entry.Section, hint)
	}
	free := search(t, x, "mobile?", "").Entry
	for _, hint := range []string{"| |", "no such section", `"`} {
		require.Equal(t, free, search(t, x, "mobile?", hint).Entry, hint)
	}
}

// S1: from 0.7 on an answer counts as one.
func TestSure_S1_ASK_02_Boundary(t *testing.T) {
	t.Parallel()
	e := &Entry{}
	require.True(t, Answer{Entry: e, Confidence: 0.7}.Sure())
	require.False(t, Answer{Entry: e, Confidence: 0.7}.Near())
	require.False(t, Answer{Entry: e, Confidence: 0.69}.Sure())
	require.True(t, Answer{Entry: e, Confidence: 0.69}.Near())
	require.False(t, Answer{Entry: e, Confidence: 0.29}.Near())
	require.False(t, Answer{Entry: &Entry{Open: true}, Confidence: 0.69}.Near())
}

func TestConfidence_Monotone(t *testing.T) {
	t.Parallel()
	last := -1.0
	for i := range 101 {
		c := confidence(float64(i) / 100)
		require.Greater(t, c, last)
		last = c
	}
	require.InDelta(t, best, last, 1e-9)
	require.Less(t, confidence(0.5), near)
	require.Greater(t, confidence(0.75), Sure)
}

// TestQuality holds the search to questions that somebody would ask.
func TestQuality(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/questions.txt")
	require.NoError(t, err)
	var x *Index
	var asked, first, sure, foreign int
	var wrong []string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		folder, isFolder := strings.CutPrefix(line, "@")
		question, want, known := strings.Cut(line, " => ")
		switch {
		case line == "" || line[0] == '#':
			continue
		case isFolder:
			b, err := Load(filepath.Join("testdata", folder))
			require.NoError(t, err)
			x = open(t, b)
			continue
		}
		a := search(t, x, question, "")
		where := "nothing"
		if a.Entry != nil {
			where = x.Base.Cite(a.Entry)
		}
		if !known {
			foreign++
			require.Less(t, a.Confidence, 0.6, "%s: %s", question, where)
			continue
		}
		asked++
		if !strings.Contains(where, want) {
			wrong = append(wrong, question+": "+where)
			continue
		}
		first++
		if a.Sure() {
			sure++
		}
		require.NotEmpty(t, a.Quote, question)
		require.Contains(t, a.Entry.Answer, a.Quote, question)
	}
	t.Logf("%d of %d questions find their answer, %d with confidence; %d strange ones find none", first, asked, sure, foreign)
	require.GreaterOrEqual(t, float64(first), 0.95*float64(asked), wrong)
	require.GreaterOrEqual(t, float64(sure), 0.9*float64(asked))
	require.GreaterOrEqual(t, foreign, 15)
}

// TestHeldOut asks questions that the author of the search had not seen. Most of them use
// other words than the documents, so an answer may be shown with a doubt.
func TestHeldOut(t *testing.T) {
	t.Parallel()
	b, err := Load("testdata/heldout")
	require.NoError(t, err)
	x := open(t, b)
	raw, err := os.ReadFile("testdata/heldout.txt")
	require.NoError(t, err)
	answered, strange := 0, 0
	for line := range strings.Lines(string(raw)) {
		question, want, known := strings.Cut(strings.TrimSpace(line), " => ")
		if question == "" || question[0] == '#' {
			continue
		}
		a := search(t, x, question, "")
		if !known {
			strange++
			require.False(t, a.Near() || a.Sure(), "%s: %v", question, a.Confidence)
			continue
		}
		answered++
		file, text, _ := strings.Cut(want, ": ")
		require.True(t, a.Near() || a.Sure(), "%s: %v", question, a.Confidence)
		require.Equal(t, file, a.Entry.File, question)
		require.Contains(t, a.Quote, text, question)
	}
	require.Equal(t, 7, answered)
	require.Equal(t, 6, strange)
}

// base makes a base of one Markdown file.
func base(t testing.TB, name, text string) *Base {
	t.Helper()
	b := &Base{Source: "docs", Entries: passages(&source.File{Name: name, Path: name, Data: []byte(text)})}
	return b
}

func TestPassages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A sentence of the long part.\n", 100)
	b := base(t, "guide/install.md", "---\ntitle: Install it\nlayout: x\n---\n# Guide\nIntro.\n\nSetext\n------\nBelow.\n\n```sh\n# no heading\n```\n## Empty\n### Deep\ntext\n## Long\n"+long)
	var sections []string
	for i, e := range b.Entries {
		require.LessOrEqual(t, len(e.Answer), maxPassage)
		require.Equal(t, "guide/install.md", e.File)
		require.Equal(t, "Install it\nGuide\nguide/install", e.Title)
		if i < 4 {
			sections = append(sections, fmt.Sprintf("%s %v %q", e.Section, e.Lines, e.Answer))
		}
	}
	require.Equal(t, []string{
		`Guide [6 6] "Intro."`,
		"Guide > Setext [10 14] \"Below.\\n\\n```sh\\n# no heading\\n```\"",
		`Guide > Empty > Deep [17 17] "text"`,
		sections[3],
	}, sections)
	require.Equal(t, "Guide > Long", b.Entries[3].Section)
	require.Greater(t, len(b.Entries), 4, "a long section is split")
	require.Empty(t, base(t, "empty.md", "").Entries)
}

func TestSearch_QuotesTheParagraph(t *testing.T) {
	t.Parallel()
	x := open(t, base(t, "a.md", "# Tea\n\nGreen tea wants water of 70 degrees.\n\nBlack tea steeps for four minutes.\n\n# Milk\n\nOat milk is fine.\n"))
	a := search(t, x, "How long does black tea steep?", "")
	require.True(t, a.Sure())
	require.Equal(t, "Black tea steeps for four minutes.", a.Quote)
	require.Equal(t, []int{5, 5}, a.Lines)
	require.Equal(t, "a.md#Tea", x.Base.Cite(a.Entry))
	require.Contains(t, a.Entry.Answer, "Green tea", "the answer is the whole section")
}

func TestSearch_Words(t *testing.T) {
	t.Parallel()
	x := open(t, base(t, "a.md", `# A
trustProxy makes the server believe X-Forwarded-For.
# B
Die Straßenbahn fährt alle zehn Minuten. Für die Datenbankverbindung gilt das nicht.
# C
L'écran s'éteint après dix minutes d'inactivité.
# D
It doesn't matter who's first in the users' queue.
# E
サーバーの設定ファイルは毎朝読み込まれます。
`))
	for question, section := range map[string]string{
		"trust proxy": "A", "trustproxy": "A", "TRUSTPROXY": "A", "x-forwarded-for header": "A",
		"Strassenbahn": "B", "straßenbahnen": "B", "Wie oft fährt die Straßenbahn?": "B", "Datenbank": "B",
		"ecran": "C", "l’écran": "C", "inactivite": "C", "l'ecran eteint": "C",
		"user queue": "D", "queeu": "D", "設定ファイル": "E", "サーバー": "E",
	} {
		a := search(t, x, question, "")
		require.NotNil(t, a.Entry, question)
		require.Equal(t, section, a.Entry.Section, question)
	}
	require.Zero(t, search(t, x, "night", "").Confidence)
}

func TestLoad_JSON(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "faq.json")
	require.NoError(t, os.WriteFile(p, []byte(`{"version":"7","entries":[
		{"section":"Parking","answer":"Guests park in the yard.","keywords":["car","garage"]},
		{"section":"Pets","open":true,"uncertainty":"Nobody has decided about pets."}]}`), 0o600))
	b, err := Load(p)
	require.NoError(t, err)
	require.Equal(t, "7", b.Version)
	require.False(t, b.Sample)
	x := open(t, b)
	a := search(t, x, "Is there a garage for my car?", "")
	require.True(t, a.Sure())
	require.Equal(t, "faq.json#Parking", b.Cite(a.Entry))
	require.Equal(t, []int{2, 2}, a.Lines)
	a = search(t, x, "Are pets allowed?", "")
	require.True(t, a.Entry.Open)
	require.InDelta(t, unsure, a.Confidence, 0)
}

// An error names the file, the line, and what to do.
func TestLoad_Refused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"entries":[{"answer":"x"}]}`:                                        `k.json:1: an entry without "section"; name what`,
		"[\n{\"section\":\"x\"}]":                                             `k.json:2: an entry without "answer"; write one`,
		`[{"section":"x","open":true}]`:                                       `without "uncertainty"; say why`,
		`[{"section":"x","answer":"y","lines":[3]}]`:                          `"lines" must be the first and the last line`,
		"[{\"section\":\"x\",\n\"anwser\":\"y\"}]":                            `k.json:2: unknown member "anwser"`,
		`[{"section":"x","answer":"` + strings.Repeat("y", maxText+1) + `"}]`: "more than 20000 characters; split the entry",
		`[]`:                 "no text in it; write a paragraph",
		"{\n\"entries\": [}": "k.json:2: not JSON",
	} {
		p := filepath.Join(t.TempDir(), "k.json")
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
		_, err := Load(p)
		require.ErrorContains(t, err, want)
	}
	_, err := Load(filepath.Join(t.TempDir(), "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLoad_Version(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := filepath.Join(dir, "a.md")
	require.NoError(t, os.WriteFile(p, []byte("text"), 0o600))
	one, err := Load(dir)
	require.NoError(t, err)
	require.Regexp(t, `^sha256:[0-9a-f]{12}$`, one.Version)
	require.NoError(t, os.WriteFile(p, []byte("other"), 0o600))
	two, err := Load(dir)
	require.NoError(t, err)
	require.NotEqual(t, one.Version, two.Version)
}

func TestSearch_Concurrent(t *testing.T) {
	t.Parallel()
	x := open(t, Shipped())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Search(ctx, Question{Text: "mobile"})
	require.ErrorIs(t, err, context.Canceled)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a, err := x.Search(t.Context(), Question{Text: "Which contrast ratio?"})
			if err != nil || !a.Sure() {
				t.Errorf("%v, %v", a, err)
			}
		})
	}
	wg.Wait()
}

func TestTeam(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		team := &Team{Index: open(t, Shipped()), Delay: 2 * time.Second}
		begin := time.Now()
		a, err := team.Ask(t.Context(), Question{Text: "Which contrast ratio?"}, time.Second)
		require.NoError(t, err)
		require.True(t, a.Sure())
		require.Equal(t, 3*time.Second, time.Since(begin))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = team.Ask(ctx, Question{Text: "x"}, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func FuzzSearch(f *testing.F) {
	f.Add("Should sidebar collapse on mobile?", "a|b")
	f.Add("\xff\x00", "|")
	f.Add(`l'été "NEAR(" 数据库 don't`, "AND|*")
	x, err := Open(f.Context(), Shipped())
	require.NoError(f, err)
	f.Cleanup(func() { _ = x.Close() })
	f.Fuzz(func(t *testing.T, question, hint string) {
		got, err := x.Search(context.WithoutCancel(t.Context()), Question{Text: question, Context: hint, Hint: hint})
		require.NoError(t, err)
		require.GreaterOrEqual(t, got.Confidence, 0.0)
		require.LessOrEqual(t, got.Confidence, best)
		require.Equal(t, got.Entry != nil, got.Confidence > 0)
	})
}

func FuzzPassages(f *testing.F) {
	f.Add("# a\n\ntext\n\n- b\n\n```\nc\n```\n")
	f.Add("---\ntitle: x\n---\n| a |\n|---|\n| b |\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, e := range passages(&source.File{Name: "f.md", Data: []byte(text)}) {
			require.NotEmpty(t, e.blocks)
			require.LessOrEqual(t, e.Lines[1], lines)
			for _, l := range languages {
				l.text(e.Answer)
			}
		}
	})
}
