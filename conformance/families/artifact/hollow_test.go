package artifact

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSectionsThatSayNothing: what people put below a heading until it is written
// is as good as nothing; short answers and code are something.
func TestSectionsThatSayNothing(t *testing.T) {
	t.Parallel()
	for text, filled := range map[string]bool{
		"foo": false, "Foo bar baz": false, "asdf": false, "asdf qwerty.": false, "text": false, "Your text here": false, "- Test": false,
		"to be done": false, "**To be defined.**": false, "TBD - to be determined": false, "Coming soon...": false, "Work in progress": false,
		"> to do": false, "Fill me in": false, "待定": false, "- 待补充。": false, "TODO：稍后补充": false, "folgt": false, "À compléter": false,
		"&nbsp;": false, "<br/>": false, "<p>&nbsp;</p>": false, "<!-- why -->": false,
		"![a diagram of the flow](flow.png)": false, "![][flow]": false, `<img src="flow.png" alt="Flow">`: false,
		"[![a build](build.svg)](https://example.org)": true,
		"```\n```":                         false,
		"```mermaid\n```":                  false,
		"```mermaid\ngraph LR; A-->B\n```": true,
		"None":                             true, "n/a": true, "8": true, "无": true, "No risks": true, "text to be translated": true, "The foo service": true,
		"Test the login": true, "See <https://example.org>": true, "<https://example.org>": true, "<p>Refunds</p>": true, "Gr&uuml;n": true,
		"![flow](flow.png) shows the flow": true, "foo\n\nRefunds within a day": true, "Done by us": true, "```xml\n<br/>\n```": true,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := newDocument("## Risks\n\n"+text+"\n", "").section("Risks")
			require.Equal(t, filled, s.filled)
		})
	}
}
