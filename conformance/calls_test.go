package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadCalls(t *testing.T) {
	t.Parallel()
	calls, err := ReadCalls("calls.json", strings.NewReader(`{
	"tools": {"add": {"call": true, "examples": [{"a": 1}], "changes": ["x://sum"]}, "drop": {"call": false, "examples": []}},
	"prompts": {"p": {"examples": [{"city": "Oslo"}]}},
	"templates": {"x://{id}": {"examples": ["x://7"]}}
}`))
	require.NoError(t, err)
	require.True(t, *calls.Tools["add"].Call)
	require.False(t, *calls.Tools["drop"].Call)
	require.Equal(t, []string{"x://sum"}, calls.Tools["add"].Changes)
	require.Equal(t, "Oslo", calls.Prompts["p"].Examples[0]["city"])
	require.Equal(t, []string{"x://7"}, calls.Templates["x://{id}"].Examples)
}

func TestReadCalls_Errors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"no JSON":        {"{\n\n oops}", "calls.json:3: invalid character 'o'"},
		"a wrong type":   {"{\"tools\": {\"add\":\n {\"call\": \"yes\"}}}", "calls.json:2: "},
		"a wrong member": {`{"tool": {}}`, `unknown field "tool"`},
		"more text":      {"{}\n{}", "calls.json:2: text after the object"},
		"nothing":        {"", "calls.json:1: EOF"},
		"too long":       {strings.Repeat(" ", mostCalls+1), "more than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadCalls("calls.json", strings.NewReader(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func FuzzReadCalls(f *testing.F) {
	f.Add(`{"tools":{"a":{"examples":[{}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := ReadCalls("calls.json", strings.NewReader(text))
		if err != nil {
			require.Contains(t, err.Error(), "calls.json:")
		}
	})
}
