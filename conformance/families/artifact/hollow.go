package artifact

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fillers are words that fill a section until it is written, in lower case.
var fillers = []string{
	"tbd", "tba", "tbc", "todo", "fixme", "wip", "placeholder", "lorem", "ipsum", "dolor", "sit", "amet",
	"foo", "bar", "baz", "qux", "foobar", "asdf", "asdfasdf", "asdfgh", "qwerty", "qwertz", "blah", "bla", "text", "test",
	"待定", "待补充", "待完善", "待填写", "待确认", "稍后补充", "敬请期待",
	"folgt", "später", "offen", "later", "soon", "pendiente",
}

// fillerPhrases are what people write in the place of a section, in lower case.
var fillerPhrases = []string{
	"to be done", "to be determined", "to be defined", "to be decided", "to be written", "to be added", "to be completed",
	"to be confirmed", "to be announced", "to be filled in", "to do", "coming soon", "coming later", "work in progress",
	"under construction", "fill me in", "fill in", "fill this in", "your text here", "text here", "some text", "insert text here",
	"add text here", "noch offen", "folgt noch", "kommt noch", "wird ergänzt", "à compléter", "à définir", "à venir", "por definir",
}

var (
	// picture is an image in Markdown.
	picture = regexp.MustCompile(`!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])`)
	tag     = regexp.MustCompile(`</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>]*)?/?>`)
)

// saysSomething reports whether a line has a word that is no filler, or a number.
// "None" and "n/a" count; an image does not, nor does the mark of a fence.
func saysSomething(l textLine) bool {
	text := l.text
	if l.fenced && parseFence(text) != "" {
		return false
	}
	if _, item := listItem(text); item != "" {
		text = item
	}
	if !l.fenced {
		text = html.UnescapeString(tag.ReplaceAllLiteralString(picture.ReplaceAllLiteralString(text, " "), " "))
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isText(r) && r != '/' })
	said := " " + strings.Join(words, " ") + " "
	for _, phrase := range fillerPhrases {
		said = strings.ReplaceAll(said, " "+phrase+" ", " ")
	}
	return slices.ContainsFunc(strings.Fields(said), meansSomething)
}

func meansSomething(word string) bool {
	word = strings.Trim(word, "/")
	first, size := utf8.DecodeRuneInString(word)
	oneLetter := unicode.Is(unicode.Latin, first) && strings.Trim(word, word[:size]) == ""
	return word != "" && !oneLetter && !slices.Contains(fillers, word)
}

func isText(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
