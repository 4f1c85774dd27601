package assistant

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeChat_Strict(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text after":     `{"content":"x"} and more`,
		"object after":   `{"content":"x"}{"content":"y"}`,
		"twice":          `{"content":"x","content":"y"}`,
		"twice, unknown": `{"content":"x","a":1,"a":2}`,
		"twice, escaped": `{"content":"x","c\u006fntent":"y"}`,
		"array":          `[{"content":"x"}]`,
		"null":           `null`,
		"no end":         `{"content":"x"`,
		"flag null":      `{"content":"x","artifact_generation":null}`,
		"type null":      `{"content":"x","thread_type":null}`,
		"content null":   `{"content":null}`,
		"content number": `{"content":1}`,
		"empty":          ``,
	} {
		_, err := decodeChat(strings.NewReader(body))
		require.Error(t, err, name)
	}
	got, err := decodeChat(strings.NewReader(` {"Content":"of another name","content":"x","more":{"content":"y"},"artifact_generation":true} ` + "\n"))
	require.NoError(t, err)
	require.Equal(t, &chatRequest{Content: "x", Generate: true, ThreadType: threadAssistant}, got)
}

// FuzzDecodeChat: nothing panics, and what is refused is not half read.
func FuzzDecodeChat(f *testing.F) {
	f.Add(`{"content":"x","artifact_generation":true,"thread_type":"assistant"}`)
	f.Add(`{"content":"x"}{}`)
	f.Add(`{"content":{"content":[`)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := decodeChat(strings.NewReader(body))
		require.Equal(t, err != nil, got == nil)
	})
}
