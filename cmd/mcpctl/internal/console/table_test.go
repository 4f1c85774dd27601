package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAligned(t *testing.T) {
	t.Parallel()
	headings := []string{"NAME", "TYPE", "", "DESCRIPTION"}
	rows := [][]string{
		{"message", "string", "required", "what is said to whom, and why it is said at all"},
		{"\u540d\u524d", "string", "", "wide"},
		{"a\u001b[31m", "x", "", ""},
	}
	for width, want := range map[int]string{
		Unlimited: `  NAME     TYPE              DESCRIPTION
  message  string  required  what is said to whom, and why it is said at all
  名前     string            wide
  a␛[31m   x
`,
		60: `  NAME     TYPE              DESCRIPTION
  message  string  required  what is said to whom, and why
                             it is said at all
  名前     string            wide
  a␛[31m   x
`,
		40: `  message  string  required
      what is said to whom, and why it
      is said at all
  名前  string
      wide
  a␛[31m  x
`,
	} {
		require.Equal(t, want, Aligned(false, width, "  ", headings, rows), width)
	}
	long := "a-name-that-is-longer-than-any-column-should-become-here"
	require.Equal(t, long+"\n"+"                                                  about it\nshort                                             about\n",
		Aligned(false, 80, "", nil, [][]string{{long, "about it"}, {"short", "about"}}))
	require.Equal(t, "a  about this and that and…\n", Brief(false, 28, "", [][]string{{"a", "about this and that and others"}}))
	require.Equal(t, "\x1b[2mA  B\x1b[0m\nx  y\n", Aligned(true, 80, "", []string{"A", "B"}, [][]string{{"x", "y"}}))
}
