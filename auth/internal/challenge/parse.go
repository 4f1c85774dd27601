package challenge

import "strings"

// Parse returns the challenges of all lines of a header, in their order. It
// skips what it cannot read. Beyond RFC 9110 it accepts parameters without a comma between
// them, values in single quotes, and unquoted values with characters that need quotes, such
// as URLs. The first of several parameters with the same name counts.
func Parse(values []string) []Challenge {
	var all []Challenge
	for _, line := range values {
		// Lines are parsed separately: an open quote must not hide the next line.
		all = append(all, (&parser{line: line}).challenges()...)
	}
	return all
}

type parser struct {
	line string
	at   int
}

func (p *parser) challenges() []Challenge {
	var all []Challenge
	for {
		p.skip(" \t,")
		if p.at == len(p.line) {
			return all
		}
		word := p.token()
		if word == "" {
			p.junk()
			continue
		}
		blanks := p.skip(" \t")
		if p.peek() == '=' {
			p.at++
			p.skip(" \t")
			value, ok := p.value()
			if ok && len(all) > 0 {
				all[len(all)-1].set(word, value)
			}
			continue
		}
		if blanks == 0 && p.peek() != ',' && p.at < len(p.line) {
			p.junk() // "Bea{rer"
			continue
		}
		c := Challenge{Scheme: word}
		if blanks > 0 {
			c.Token = p.token68()
		}
		all = append(all, c)
	}
}

func (c *Challenge) set(name, value string) {
	name = strings.ToLower(name)
	if _, twice := c.Params[name]; twice {
		return
	}
	if c.Params == nil {
		c.Params = make(map[string]string)
	}
	c.Params[name] = value
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.line) {
		return 0
	}
	return p.line[p.at]
}

// skip skips bytes of a set and returns how many.
func (p *parser) skip(set string) int {
	from := p.at
	for p.at < len(p.line) && strings.IndexByte(set, p.line[p.at]) >= 0 {
		p.at++
	}
	return p.at - from
}

// junk skips up to the next comma or blank, or over a quoted string.
func (p *parser) junk() {
	if p.peek() == '"' {
		p.quoted()
		return
	}
	for p.at < len(p.line) && strings.IndexByte(", \t\"", p.line[p.at]) < 0 {
		p.at++
	}
}

func (p *parser) token() string {
	from := p.at
	for p.at < len(p.line) && isToken(p.line[p.at]) {
		p.at++
	}
	return p.line[from:p.at]
}

// token68 returns the next token68, or "" if a parameter or another challenge follows.
func (p *parser) token68() string {
	end := p.at
	for end < len(p.line) && (isAlphanumeric(p.line[end]) || strings.IndexByte("-._~+/", p.line[end]) >= 0) {
		end++
	}
	if end == p.at {
		return ""
	}
	for end < len(p.line) && p.line[end] == '=' {
		end++
	}
	rest := strings.TrimLeft(p.line[end:], " \t")
	if rest != "" && rest[0] != ',' {
		return ""
	}
	token := p.line[p.at:end]
	p.at = end
	return token
}

// value returns the value of a parameter. It is not ok if its quotes are not closed or if it
// has control characters.
func (p *parser) value() (value string, ok bool) {
	if p.peek() == '"' {
		value, ok = p.quoted()
	} else if value, ok = p.singleQuoted(); !ok {
		from := p.at
		for p.at < len(p.line) && strings.IndexByte(", \t", p.line[p.at]) < 0 {
			p.at++
		}
		value, ok = p.line[from:p.at], true
	}
	if strings.ContainsFunc(value, isControl) {
		return "", false
	}
	return strings.ToValidUTF8(value, "\ufffd"), ok
}

// singleQuoted reads a value in single quotes. RFC 9110 does not have them, but servers use
// them.
func (p *parser) singleQuoted() (value string, ok bool) {
	rest, ok := strings.CutPrefix(p.line[p.at:], "'")
	if !ok {
		return "", false
	}
	value, after, ok := strings.Cut(rest, "'")
	if !ok || after != "" && strings.IndexByte(", \t", after[0]) < 0 {
		return "", false
	}
	p.at = len(p.line) - len(after)
	return value, true
}

func (p *parser) quoted() (value string, ok bool) {
	var b strings.Builder
	for p.at++; p.at < len(p.line); p.at++ {
		switch c := p.line[p.at]; {
		case c == '"':
			p.at++
			return b.String(), true
		case c == '\\' && p.at+1 < len(p.line):
			p.at++
			b.WriteByte(p.line[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || 0x7f <= r && r <= 0x9f }

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isToken(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
