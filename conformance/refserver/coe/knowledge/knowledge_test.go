package knowledge

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	b := Shipped()
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
		"Is the sidebar blue?":                  {"designChoices.navigationStyle", 0.35},
		"Should we use X or Y?":                 {"", 0},
		"":                                      {"", 0},
		strings.Repeat("mobile ", 100_000):      {"designChoices.navigationStyle", 0.98},
	} {
		got := b.Search(question, "")
		require.Equal(t, want.confidence, got.Confidence, question[:min(len(question), 60)])
		require.Equal(t, want.confidence >= Sure, got.Sure())
		if want.section == "" {
			require.Nil(t, got.Entry)
		} else {
			require.Equal(t, want.section, got.Entry.Section)
		}
	}
}

// S1: from 0.7 on an answer counts as one.
func TestSure_S1_ASK_02_Boundary(t *testing.T) {
	t.Parallel()
	require.True(t, Answer{Confidence: 0.7}.Sure())
	require.False(t, Answer{Confidence: 0.69}.Sure())
}

func TestSearch_Hint(t *testing.T) {
	t.Parallel()
	b := Shipped()
	for hint, section := range map[string]string{
		"":                         "designChoices.navigationStyle",
		"responsive-design|mobile": "designChoices.navigationStyle",
		"breakpoints":              "designChoices.breakpoints",
		"| |":                      "designChoices.navigationStyle",
		"no such section":          "designChoices.navigationStyle",
	} {
		require.Equal(t, section, b.Search("mobile?", hint).Entry.Section, hint)
	}
}

func TestShipped(t *testing.T) {
	t.Parallel()
	for _, e := range Shipped().Entries {
		require.NotEmpty(t, e.Section)
		require.NotEmpty(t, e.Keywords)
		if e.Open {
			require.NotEmpty(t, e.Uncertainty)
			continue
		}
		require.NotEmpty(t, e.Answer, e.Section)
		require.NotEmpty(t, e.Quote, e.Section)
		require.Len(t, e.Lines, 2, e.Section)
	}
}

func TestTeam(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		team := &Team{Base: Shipped(), Delay: 2 * time.Second}
		begin := time.Now()
		a, err := team.Ask(t.Context(), "Which contrast ratio?", "", time.Second)
		require.NoError(t, err)
		require.True(t, a.Sure())
		require.Equal(t, 3*time.Second, time.Since(begin))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = team.Ask(ctx, "x", "", 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func FuzzSearch(f *testing.F) {
	f.Add("Should sidebar collapse on mobile?", "a|b")
	f.Add("\xff\x00", "|")
	b := Shipped()
	f.Fuzz(func(t *testing.T, question, hint string) {
		got := b.Search(question, hint)
		require.GreaterOrEqual(t, got.Confidence, 0.0)
		require.LessOrEqual(t, got.Confidence, 0.98)
		require.Equal(t, got.Entry != nil, got.Confidence > 0)
	})
}
