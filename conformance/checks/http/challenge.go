package http

import (
	"fmt"
	"net/http"
	"strings"
)

// challenge is one challenge of a WWW-Authenticate header.
type challenge struct {
	scheme string
	params map[string]string // by lower-case name
}

// is reports whether the challenge asks for an access token.
func (c challenge) is() bool {
	return strings.EqualFold(c.scheme, "Bearer") || strings.EqualFold(c.scheme, "DPoP")
}

// challenges reads the header as RFC 9110, 11.6.1 has it. The error says where it
// cannot be read; what was read before is returned, too.
func challenges(h http.Header) (all []challenge, err error) {
	for _, line := range h.Values("WWW-Authenticate") {
		p := challengeParser{text: line}
		if err := p.list(); err != nil {
			return append(all, p.read...), err
		}
		all = append(all, p.read...)
	}
	return all, nil
}

// asked returns the first value of a parameter in the challenges that ask for an
// access token.
func asked(all []challenge, param string) (value string, there bool) {
	for _, c := range all {
		if v, ok := c.params[param]; ok && c.is() {
			return v, true
		}
	}
	return "", false
}

// challengeParser reads one line.
type challengeParser struct {
	text string
	at   int
	read []challenge
}

func (p *challengeParser) list() error {
	for p.skip(" \t,"); p.at < len(p.text); p.skip(" \t,") {
		scheme := p.token()
		if scheme == "" {
			return p.wrong("no scheme")
		}
		p.read = append(p.read, challenge{scheme: scheme, params: map[string]string{}})
		if p.end() {
			continue
		}
		if !p.skip(" ") {
			return p.wrong("no space after the scheme")
		}
		if p.token68() {
			continue
		}
		if err := p.parameters(p.read[len(p.read)-1].params); err != nil {
			return err
		}
	}
	return nil
}

// parameters reads those of one challenge. It stops before the scheme of the next.
func (p *challengeParser) parameters(into map[string]string) error {
	for p.skip(" \t,"); p.at < len(p.text); p.skip(" \t,") {
		begin := p.at
		name := strings.ToLower(p.token())
		if p.skip(" \t"); name == "" || p.at == len(p.text) || p.text[p.at] != '=' {
			if p.at = begin; name != "" && len(into) > 0 {
				return nil // the next challenge
			}
			return p.wrong("no parameter")
		}
		p.at++
		p.skip(" \t")
		value, err := p.value()
		if err != nil {
			return err
		}
		if _, twice := into[name]; twice {
			return fmt.Errorf("%s comes twice", name)
		}
		into[name] = value
		if p.skip(" \t"); !p.end() {
			return p.wrong("no comma after " + name)
		}
	}
	return nil
}

// value reads a token or a quoted string.
func (p *challengeParser) value() (string, error) {
	if p.at == len(p.text) || p.text[p.at] != '"' {
		if v := p.token(); v != "" {
			return v, nil
		}
		return "", p.wrong("no value")
	}
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c == '\\' && p.at+1 < len(p.text) && !isControl(p.text[p.at+1]): // RFC 9110 section 5.6.4
			p.at++
			b.WriteByte(p.text[p.at])
		case isControl(c):
			return "", p.wrong("a control character")
		default:
			b.WriteByte(c)
		}
	}
	return "", p.wrong("no closing quote")
}

// token68 skips what some schemes have in the place of parameters.
func (p *challengeParser) token68() bool {
	begin := p.at
	for p.at < len(p.text) && (tokenByte(p.text[p.at]) || p.text[p.at] == '/') {
		p.at++
	}
	some := p.at > begin
	p.skip("=")
	p.skip(" \t")
	if some && p.end() {
		return true
	}
	p.at = begin
	return false
}

// end reports whether a list goes on behind a comma, or is over.
func (p *challengeParser) end() bool { return p.at == len(p.text) || p.text[p.at] == ',' }

// skip passes any of the characters, and reports whether there were some.
func (p *challengeParser) skip(chars string) bool {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
	}
	return p.at > begin
}

func (p *challengeParser) token() string {
	begin := p.at
	for p.at < len(p.text) && tokenByte(p.text[p.at]) {
		p.at++
	}
	return p.text[begin:p.at]
}

// tokenByte reports whether c may be in a token (RFC 9110, 5.6.2).
func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func (p *challengeParser) wrong(what string) error {
	rest := p.text[p.at:]
	return fmt.Errorf("%s at %.40q", what, rest)
}

// misspelled says what is wrong with the values of a challenge for an access token, ""
// for nothing (RFC 6750, 3).
func (c challenge) misspelled() string {
	for _, name := range []string{"error", "error_description", "error_uri", "scope"} {
		for _, char := range []byte(c.params[name]) {
			if char < ' ' || char > '~' || char == '"' || char == '\\' {
				return fmt.Sprintf("%s has the character %q", name, char)
			}
		}
	}
	if scope, there := c.params["scope"]; there && strings.Join(strings.Fields(scope), " ") != scope {
		return "scope has spaces beside the names"
	}
	return ""
}

// isControl reports whether no text of a header may have c.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }
