package lint

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// phrases are what texts for models have that try to steer them. Each is a warning only: a text may
// have one of them for a good reason.
var phrases = []struct {
	pattern *lazyregexp.Regexp
	what    string
}{
	{lazyregexp.New(`(?i)\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|prior|above|earlier|other|all|any|system)\b.{0,20}\b(instructions?|prompts?|rules?|messages?)\b`), "it asks models to ignore other instructions"},
	{lazyregexp.New(`(?i)\b(do not|don't|never)\s+(tell|inform|mention|show|reveal|notify|let)\b.{0,30}\b(user|person|human|anyone)\b`), "it asks models to hide something from people"},
	{lazyregexp.New(`(?i)<\s*/?\s*(important|system|instructions?|secret|admin)\s*>`), "it has a tag that looks like an instruction of the system"},
	{lazyregexp.New(`(?i)(~/\.ssh|\bid_(rsa|ed25519)\b|/etc/(passwd|shadow)\b|\.aws/credentials|\bmcp\.json\b)`), "it names files with secrets"},
	{lazyregexp.New(`(?i)\b(before|whenever|every time|first)\b.{0,40}\b(use|using|call|calling|run|running)\b.{0,30}\b(this|any|another|other|a) tools?\b.{0,60}\b(read|send|call|pass|include|fetch)\b`), "it makes models do something else with each call"},
	{lazyregexp.New(`(?i)\b(instead of|rather than|in place of)\b.{0,30}\b(any|all|the|every) other tools?\b`), "it draws calls from other tools"},
	{lazyregexp.New(`(?i)\b(system prompt|conversation history|chat history)\b`), "it asks for the conversation or the system prompt"},
	{lazyregexp.New(`(?s)<!--.*?-->`), "it has a comment that people do not see when it is shown"},
}

// texts checks every text below a value, which models read.
func (c *check) texts(at string, v *doc.Value) {
	switch v.Kind() {
	case doc.String:
		c.text(at, v.Str())
	case doc.Array:
		for i, item := range v.Items() {
			c.texts(fmt.Sprintf("%s/%d", at, i), item)
		}
	case doc.Object:
		for _, m := range v.Members() {
			c.text(at, m.Name)
			c.texts(at+"/"+escaped(m.Name), m.Value)
		}
	case doc.Null, doc.Bool, doc.Number:
	}
}

func (c *check) text(at, text string) {
	last := ' '
	for _, r := range text {
		if isHidden(r, last) {
			c.add(Error, "hidden-character", at, fmt.Sprintf("a character that nobody sees: U+%04X", r), "models read what people cannot review", "remove it")
			break
		}
		last = r
	}
	if strings.HasSuffix(at, "/pattern") {
		return
	}
	for _, p := range phrases {
		if found := p.pattern.FindString(text); found != "" {
			c.add(Warning, "injection", at, p.what+": "+short(found), "it may be an attack on models that read it", "describe what the tool does, and leave the rest to the host")
		}
	}
}

func short(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// isHidden reports whether a character is drawn as nothing, or changes the order of others. Emoji
// are joined by one such character.
func isHidden(r, last rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r == '\u200d' || r == '\u200c':
		return last < 0x300
	case r >= 0xE0100 && r <= 0xE01EF:
		return true // variation selectors, which can carry a text
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0'
}
