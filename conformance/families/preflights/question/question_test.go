package question

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func raw(t *testing.T, v any) map[string]json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var out map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	single := Question{ID: "q", Type: SingleChoice, Text: "?", Options: []string{"A", "B", Other}}
	multi := Question{ID: "q", Type: MultiChoice, Text: "?", Options: []string{"A", "B", Other}, MinSelections: 1}
	several := Question{ID: "q", Type: MultiChoice, Text: "?", Options: []string{"A", "B", Other}, MinSelections: 2}
	free := Question{ID: "q", Type: FreeText, Text: "?"}
	optional := Question{ID: "q", Type: FreeText, Text: "?", Optional: true}
	type given = map[string]any
	for _, tt := range []struct {
		name string
		q    Question
		in   given
		want []string
		bad  string
	}{
		{"absent", single, given{"x": 1}, nil, ""},
		{"null", single, given{"q": nil}, nil, ""},
		{"chosen", single, given{"q": "B"}, []string{"B"}, ""},
		{"no option", single, given{"q": "C"}, nil, "options"},
		{"case counts", single, given{"q": "a"}, nil, "options"},
		{"array", single, given{"q": []string{"A"}}, nil, "string"},
		{"other", single, given{"q": Other, "q__other": "C"}, []string{"C"}, ""},
		{"other alone", single, given{"q": Other}, nil, "q__other"},
		{"other number", single, given{"q": Other, "q__other": 1}, nil, "q__other"},
		{"other too long", single, given{"q": Other, "q__other": strings.Repeat("x", maxAnswer+1)}, nil, "longer"},
		{"several", multi, given{"q": []string{"B", "A", "B"}}, []string{"B", "A"}, ""},
		{"several with other", multi, given{"q": []string{"B", Other}, "q__other": "C"}, []string{"B", "C"}, ""},
		{"none", multi, given{"q": []string{}}, nil, "at least 1"},
		{"duplicates count once", several, given{"q": []string{"A", "A"}}, nil, "at least 2"},
		{"other that repeats an option counts once", several, given{"q": []string{"A", Other}, "q__other": "A"}, nil, "at least 2"},
		{"two", several, given{"q": []string{"A", "A", "B"}}, []string{"A", "B"}, ""},
		{"one as string", multi, given{"q": "A"}, nil, "array"},
		{"null inside", multi, given{"q": []any{"A", nil}}, nil, "array"},
		{"text", free, given{"q": " a "}, []string{" a "}, ""},
		{"blank", free, given{"q": "\n "}, nil, "empty"},
		{"blank and optional", optional, given{"q": "\n "}, nil, ""},
		{"too long", free, given{"q": strings.Repeat("ü", maxAnswer+1)}, nil, "longer"},
		{"just right", free, given{"q": strings.Repeat("ü", maxAnswer)}, []string{strings.Repeat("ü", maxAnswer)}, ""},
		{"object", free, given{"q": given{}}, nil, "string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.q.Read(raw(t, tt.in))
			if tt.bad != "" {
				var bad *BadAnswer
				require.ErrorAs(t, err, &bad)
				require.Equal(t, "q", bad.QuestionID)
				require.Contains(t, bad.Reason, tt.bad)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := Question{ID: "q", Type: MultiChoice, Text: "?", Options: []string{"A", Other}, MinSelections: 1}
	require.NoError(t, good.Check())
	for name, spoil := range map[string]func(*Question){
		"id":          func(q *Question) { q.ID = "Q 1" },
		"reserved id": func(q *Question) { q.ID = "q__other" },
		"no text":     func(q *Question) { q.Text = " " },
		"type":        func(q *Question) { q.Type = "radio" },
		"no options":  func(q *Question) { q.Options = nil },
		"only other":  func(q *Question) { q.Options = []string{Other} },
		"other first": func(q *Question) { q.Options = []string{Other, "A"} },
		"twice":       func(q *Question) { q.Options = []string{"A", "A", Other} },
		"blank":       func(q *Question) { q.Options = []string{" ", Other} },
		"too many":    func(q *Question) { q.MinSelections = 3 },
		"negative":    func(q *Question) { q.MinSelections = -1 },
		"single min":  func(q *Question) { q.Type = SingleChoice },
		"free":        func(q *Question) { q.Type = FreeText },
	} {
		q := good
		spoil(&q)
		require.Error(t, q.Check(), name)
	}
}
