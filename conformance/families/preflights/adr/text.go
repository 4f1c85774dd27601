package adr

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxSlug bounds the decorative part of a file name, in code points: at four bytes
// each a name is within the 255 bytes of file systems.
const maxSlug = 50

// Slug returns the decorative part of a file name for title: letters and digits of
// any script in lower case, runs of anything else as one hyphen, "untitled" when
// nothing is left.
func Slug(title string) string {
	var slug []rune
	for _, r := range strings.ToLower(norm.NFC.String(strings.ToValidUTF8(title, " "))) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && len(slug) > 0:
			slug = append(slug, r)
		case len(slug) > 0 && slug[len(slug)-1] != '-':
			slug = append(slug, '-')
		}
		if len(slug) >= maxSlug {
			break
		}
	}
	if s := strings.Trim(string(slug), "-"); s != "" {
		return s
	}
	return "untitled"
}

// FileName returns the name of the file of a document.
func FileName(uid UID, title string) string { return string(uid) + "_" + Slug(title) + ".md" }

// FileUID returns the UID of the document in a file by its name alone. The
// slug is never looked at (S3-UID-05).
func FileUID(name string) (UID, bool) {
	if path.Ext(name) != ".md" || len(name) <= UIDLen || name[UIDLen] != '_' {
		return "", false
	}
	uid := UID(name[:UIDLen])
	return uid, uid.Valid()
}

// Line returns s as one line of at most most code points: runs of white space
// and control characters become one space. What a caller wrote can then not
// pretend to be structure of a document.
func Line(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}), " ")
	if utf8.RuneCountInString(s) > most {
		s = strings.TrimSpace(string([]rune(s)[:most-1])) + "…"
	}
	return s
}

// Block returns s as a paragraph or several: line ends unified, control
// characters gone, and lines that would read as a heading, a separator or a
// comment escaped.
func Block(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimRightFunc(strings.Map(func(r rune) rune {
			if r != '\t' && unicode.IsControl(r) {
				return -1
			}
			return r
		}, line), unicode.IsSpace)
		if structural(line) {
			line = `\` + strings.TrimLeftFunc(line, unicode.IsSpace)
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func structural(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") || strings.HasPrefix(line, "-->") ||
		isSeparator(line) || isPart(line)
}

// isSeparator reports whether line is a rule: three or more of one character.
func isSeparator(line string) bool {
	if len(line) < 3 || !strings.ContainsRune("-=*_", rune(line[0])) {
		return false
	}
	return strings.Trim(line, line[:1]) == ""
}

func isPart(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, "# "), "PART ")
}
