package knowledge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const harbor = `# Harbor handbook

## Database dumps

Database dumps are written every night to the storage in Rotterdam. They are kept for 35 days.

## Pictures

Pictures of ships are stored as WebP in the bucket. They are kept for two years.

## Pilots

Pilots wear orange jackets. The pilot boat leaves at 6:00 and carries at most eight pilots.

## Fuel

Diesel is not sold on Sundays. The fuel pump was replaced in 2021.

## Lifts

The crane lifts 40 tons. It must not be used in winds above 20 m/s.
`

// TestSearch_It: what the asker works on is what "it" means, however many words the
// question has beside.
func TestSearch_It(t *testing.T) {
	t.Parallel()
	x := open(t, base(t, "harbor.md", harbor))
	for _, tt := range []struct {
		question, context, subject string
		section                    string // of an answer that is sure, "" for none
	}{
		{"Is it kept for 35 days?", "pictures", "", ""},
		{"Is it kept for 35 days?", "", "Shrink the pictures", ""},
		{"Is it kept for 35 days?", "the zeppelin", "", ""},
		{"Is it kept for 35 days?", "database dumps", "", "Database dumps"},
		{"Was it replaced in 2021?", "crane", "", ""},
		{"Was it replaced in 2021?", "the fuel pump", "", "Fuel"},
		{"How long is it kept at night?", "pictures", "", ""},
		{"How many tons does the crane lift if it must?", "pictures", "", "Lifts"}, // it is the crane
	} {
		a, err := x.Search(t.Context(), Question{Text: tt.question, Context: tt.context, Subject: tt.subject})
		require.NoError(t, err)
		if tt.section == "" {
			require.False(t, a.Sure(), "%s (%s): %v", tt.question, tt.context+tt.subject, a.Confidence)
			continue
		}
		require.True(t, a.Sure(), "%s (%s): %v %s", tt.question, tt.context, a.Confidence, a.Doubt)
		require.Contains(t, a.Entry.Section, tt.section, tt.question)
	}
}

// TestSearch_Traps: the words of a question are not enough where a passage has them in
// statements about different things.
func TestSearch_Traps(t *testing.T) {
	t.Parallel()
	x := open(t, base(t, "harbor.md", harbor))
	for question, sure := range map[string]bool{
		"Does the crane lift 20 tons?":            false, // 40 tons, 20 m/s
		"Does the crane lift 40 tons?":            true,
		"Which crane lifts 20 tons?":              false,
		"Which crane lifts 40 tons?":              true,
		"May the crane be used in winds?":         true, // "It"
		"Was diesel replaced in 2021?":            false,
		"Was the fuel pump replaced in 2021?":     true,
		"How much fuel is sold?":                  false, // 2021 is a year
		"How much does the crane lift?":           true,
		"Are database dumps kept for 35 days?":    true,
		"Are pictures of ships kept for 35 days?": false,
		"Does the pilot boat leave at 6:00?":      true,
	} {
		a := search(t, x, question, "")
		if a.Sure() != sure {
			t.Errorf("%s: %v %s", question, a.Confidence, a.Doubt)
		}
	}
}
