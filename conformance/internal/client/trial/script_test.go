package trial

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadScripts_Refuses: a mistake in a script is found when it is read.
func TestReadScripts_Refuses(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"say hello":                              "unknown line",
		"on tools/call\n  shout hello":           "unknown action",
		"do tools/call echo {} | within":         "is no bound of a step",
		"do tools/call echo {} | after 2s":       "is no bound of a step",
		"C-A: guess":                             "unknown judgement",
		"C-A: step first failed":                 "invalid syntax",
		"C-A: step 0 pleased":                    `"pleased" is no outcome`,
		"C-A: step 0 error high":                 "invalid syntax",
		"C-A: count tools/call = many":           "invalid syntax",
		"C-A: param logging/setLevel level warn": "invalid character",
		"C-A: unsent first":                      "invalid syntax",
	} {
		_, err := readScripts("scenario C-A\n" + script + "\n")
		require.ErrorContains(t, err, want, script)
	}
}
