package marker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind_S4_MARK_01_02(t *testing.T) {
	t.Parallel()
	const one = `ARTIFACT_CREATED:{"id":"1","artifact_type":"generated_file","title":"A"}|`
	for name, tt := range map[string]struct {
		text string
		id   string
		bad  bool
	}{
		"alone":                 {one, "1", false},
		"anywhere":              {"Done!\n" + one + "File generated", "1", false},
		"the first":             {one + strings.ReplaceAll(one, `"1"`, `"2"`), "1", false},
		"a bar inside":          {`ARTIFACT_CREATED:{"id":"1","title":"a|b"}|x`, "1", false},
		"spaces, as json.dumps": {`ARTIFACT_CREATED:{"id": "1", "artifact_type": "generated_file", "title": "A"}|x`, "1", false},
		"none":                  {"nothing", "", false},
		"empty":                 {"", "", false},
		"no bar":                {strings.TrimSuffix(one, "|"), "", true},
		"text before bar":       {strings.TrimSuffix(one, "|") + " |", "", true},
		"broken":                {`ARTIFACT_CREATED:{"id":|`, "", true},
		"cut":                   {one[:30], "", true},
		"no object":             {`ARTIFACT_CREATED:7|`, "", true},
		"no id":                 {`ARTIFACT_CREATED:{}|`, "", true},
		"prefix alone":          {"ARTIFACT_CREATED:", "", true},
		"first is broken":       {"ARTIFACT_CREATED:x" + one, "", true},
	} {
		got, found, err := Find(tt.text)
		require.Equal(t, tt.id, got.ID, name)
		require.Equal(t, tt.id != "", found, name)
		require.Equal(t, tt.bad, err != nil, name)
	}
}

// TestStrip: what the user reads has no marker, whatever state it is in.
func TestStrip(t *testing.T) {
	t.Parallel()
	const one = `ARTIFACT_CREATED:{"id":"1","artifact_type":"generated_file","title":"a|b"}|`
	for text, want := range map[string]string{
		"":                                   "",
		"nothing":                            "nothing",
		one + "File generated successfully.": "File generated successfully.",
		"Done! " + one + "File generated.":   "Done! File generated.",
		"a " + one + "b " + one + "c":        "a b c",
		one:                                  "",
		one[:30]:                             "",
		"Done.\nARTIFACT_CREATED:{\"id\":\nNext.":    "Done.\n\nNext.",
		"ARTIFACT_CREATED:[1]|File":                  "File",
		"ARTIFACT_CREATED:":                          "",
		`ARTIFACT_CREATED:{"id":"1"} File`:           "",
		"ARTIFACT_CREATED:ARTIFACT_CREATED:{}|x":     "x",
		"ARTIFACT_ARTIFACT_CREATED:{}|CREATED:{}|x":  "x",
		"  the saved file is artifact_created: yes ": "the saved file is artifact_created: yes",
	} {
		require.Equal(t, want, Strip(text), text)
	}
	require.Equal(t, "x", Strip("x"+strings.Repeat(one, maxMarkers)))
	require.Equal(t, "x", Strip("x"+strings.Repeat(one, maxMarkers+1)+"y"))
}

// FuzzFind: nothing panics, and what is found can be written and found again.
func FuzzFind(f *testing.F) {
	f.Add(`x ARTIFACT_CREATED:{"id":"1","artifact_type":"generated_file","title":"a|b"}|File`)
	f.Add(`ARTIFACT_CREATED:{"id":"\ud800"}|`)
	f.Add("ARTIFACT_CREATED:[]|")
	f.Fuzz(func(t *testing.T, text string) {
		require.NotContains(t, Strip(text), prefix)
		c, found, err := Find(text)
		require.False(t, found && err != nil)
		if !found {
			require.Empty(t, c)
			return
		}
		again, err := Text(c)
		require.NoError(t, err)
		got, found, err := Find(again)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, c, got)
		body, _, _ := strings.Cut(strings.TrimPrefix(again, prefix), "|")
		require.True(t, strings.HasSuffix(body, "}"), "the first bar ends the JSON")
	})
}
