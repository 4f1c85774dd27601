package mcperrors

import "strings"

// Redact returns s without secrets. It replaces each of the following with a
// mark:
//
//   - the user, query and fragment of a URL
//   - the value after a name of a secret: password=…, "apiKey": "…", Authorization: …, --token …
//   - credentials after Bearer and Basic
//   - words with the shape of well-known tokens
//   - every one of values
//
// Use values for secrets that the caller knows, such as the environment of a
// child process. Values shorter than four bytes are ignored.
//
// In doubt, Redact removes too much. It looks at one line at a time, so it does
// not find a secret that continues on the next line. Its running time is linear
// in the length of s.
func Redact(s string, values ...string) string {
	for _, v := range values {
		if len(v) >= 4 {
			s = strings.ReplaceAll(s, v, mask)
		}
	}
	return redactWords(redactURLs(s))
}

// RedactCommand returns a copy of a program and its arguments without secrets.
// It applies [Redact] to each argument. It also replaces the whole argument
// after an option with the name of a secret (-token …, --password …), even if
// the argument contains spaces.
func RedactCommand(args []string, values ...string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = Redact(arg, values...)
		if i == 0 {
			continue
		}
		if name := args[i-1]; strings.HasPrefix(name, "-") && !strings.Contains(name, "=") && isSecretName(name) {
			out[i] = mask
		}
	}
	return out
}

const mask = "[redacted]"

// redactURLs removes the user, query and fragment of URLs.
func redactURLs(s string) string {
	const sep = "://"
	at := strings.Index(s, sep)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at = strings.Index(s, sep) {
		start := at + len(sep)
		b.WriteString(s[:start])
		end := start + strings.IndexFunc(s[start:], endsURL)
		if end < start {
			end = len(s)
		}
		redactURL(&b, s[start:end])
		s = s[end:]
	}
	b.WriteString(s)
	return b.String()
}

func endsURL(r rune) bool {
	return r <= ' ' || r == '"' || r == '<' || r == '>' || r == '`'
}

// redactURL writes a redacted URL. rest begins after the scheme.
func redactURL(b *strings.Builder, rest string) {
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		b.WriteString(mask)
		authority = authority[i:]
	}
	b.WriteString(authority)
	if i := strings.IndexAny(path, "?#"); i >= 0 && i+1 < len(path) {
		path = path[:i+1] + mask
	}
	b.WriteString(path)
}

// redactWords removes credentials that it recognizes by the word before them or by
// their own form.
func redactWords(s string) string {
	var b strings.Builder
	for s != "" {
		n := wordLen(s)
		if n == 0 {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		word, rest := s[:n], s[n:]
		skip, secret := secretAfter(word, rest)
		switch {
		case secret > 0:
			b.WriteString(s[:n+skip])
			b.WriteString(mask)
			s = rest[skip+secret:]
		case isToken(word):
			b.WriteString(mask)
			s = rest
		default:
			b.WriteString(word)
			s = rest
		}
	}
	return b.String()
}

// wordLen returns the length of the word at the start of s: a name, an option or a
// token.
func wordLen(s string) int {
	for i := range len(s) {
		if !inWord(s[i]) {
			return i
		}
	}
	return len(s)
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// secretAfter finds the secret in rest that follows word, such as a value after its
// name. The secret begins after skip bytes. length is 0 if there is none.
func secretAfter(word, rest string) (skip, length int) {
	if isScheme(word) {
		skip = blanks(rest)
		if skip == 0 {
			return 0, 0
		}
		return skip, untilSpace(rest[skip:])
	}
	if !isSecretName(word) {
		return 0, 0
	}
	if n := quote(rest); n > 0 {
		skip = n // the quote that closes a member's name
	}
	skip += blanks(rest[skip:])
	switch {
	case skip < len(rest) && (rest[skip] == '=' || rest[skip] == ':'):
		for skip < len(rest) && (rest[skip] == '=' || rest[skip] == ':' || rest[skip] == '>') {
			skip++
		}
		skip += blanks(rest[skip:])
	case !strings.HasPrefix(word, "--") || skip == 0:
		return 0, 0
	}
	value := rest[skip:]
	if n := quote(value); n > 0 {
		return skip + n, untilQuote(value[n:], value[:n])
	}
	if isHeader(word) {
		return skip, untilLineEnd(value)
	}
	return skip, untilSpace(value)
}

// quote returns the length of the quotation mark at the start of s, escaped or not. It
// returns 0 if there is none.
func quote(s string) int {
	switch {
	case strings.HasPrefix(s, `"`), strings.HasPrefix(s, `'`):
		return 1
	case strings.HasPrefix(s, `\"`):
		return 2
	default:
		return 0
	}
}

func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

func untilLineEnd(s string) int {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return i
	}
	return len(s)
}

func untilSpace(s string) int {
	if i := strings.IndexAny(s, " \t\r\n\"'<>"); i >= 0 {
		return i
	}
	return len(s)
}

// untilQuote returns the length of s up to the closing mark or the end of the line. A
// mark after a backslash does not close.
func untilQuote(s, mark string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\r' || c == '\n':
			return i
		case c != mark[0]:
		case mark[0] != '\\' && i > 0 && s[i-1] == '\\':
		case strings.HasPrefix(s[i:], mark):
			return i
		}
	}
	return len(s)
}

// isScheme reports whether word is the scheme of HTTP credentials.
func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic")
}

// isHeader reports whether word is a secret header whose value may contain blanks.
func isHeader(word string) bool {
	name := strings.ToLower(word)
	return strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")
}

// punctuation removes characters that are optional in names.
var punctuation = strings.NewReplacer("-", "", "_", "", ".", "")

// SecretName reports whether name is the name of a secret. It knows names of
// options, variables, headers and JSON members: password, api_key, --token,
// Authorization.
func SecretName(name string) bool { return isSecretName(name) }

// isSecretName reports whether a name is that of a secret.
func isSecretName(word string) bool {
	name := strings.ToLower(word)
	if strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "-key") {
		return true
	}
	name = punctuation.Replace(name)
	for _, part := range []string{
		"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
		"credential", "authorization", "cookie", "sessionid",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	// "tokens: 400" is a count.
	return strings.HasSuffix(name, "token") || strings.HasSuffix(name, "pwd")
}

// minToken is the length of the shortest word that may be a token, in bytes.
const minToken = 16

// isToken reports whether a word has the form of a token of a well-known issuer.
func isToken(word string) bool {
	if len(word) < minToken {
		return false
	}
	for _, prefix := range []string{
		"sk-", "pk-", "rk_", "sk_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-",
		"xoxb-", "xoxp-", "xoxa-", "npm_", "hf_", "AKIA", "ASIA", "AIza", "eyJ",
	} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return false
}
