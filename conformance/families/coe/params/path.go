package params

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ID returns an id. Ids are compared and stored, never used as paths, but one
// that looks like a way out of a folder is refused all the same (X-SEC-01).
func (o *Object) ID(name string) string {
	var s string
	if !o.get(name, "a string", &s) {
		return ""
	}
	switch {
	case s == "":
		o.fail(name, Length, "%s must not be empty", o.path+name)
	case utf8.RuneCountInString(s) > maxID:
		o.fail(name, Length, "%s must be at most %d characters", o.path+name, maxID)
	case leaves(s) || strings.ContainsAny(s, `/\`) || hasControl(s):
		o.fail(name, Format, "%s is not an id", o.path+name)
	}
	return s
}

// Path returns the path of a file of the project: relative and without a way
// out of it (S1-SEC-02).
func (o *Object) Path(name string) string {
	var s string
	if o.get(name, "a string", &s) {
		o.checkPath(name, s)
	}
	return s
}

// Paths returns an array of paths, each as [Object.Path] takes it.
func (o *Object) Paths(name string) []string {
	paths := o.Texts(name)
	if len(paths) == 0 {
		return paths
	}
	// Texts has removed control characters, among them a NUL that must be seen.
	var sent []string
	o.get(name, "an array of strings", &sent)
	for i, p := range sent {
		o.checkPath(fmt.Sprintf("%s[%d]", name, i), p)
	}
	return sent
}

func (o *Object) checkPath(name, p string) {
	if leaves(p) || hasControl(p) {
		o.fail(name, Format, "%s must be a path inside the project", o.path+name)
	}
}

// leaves says whether a path is absolute, on any system, or has a parent
// folder in it, also when that is percent-encoded, even twice.
func leaves(p string) bool {
	for range 3 {
		if strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || strings.HasPrefix(p, "~") || hasDrive(p) || strings.ContainsRune(p, 0) {
			return true
		}
		for part := range strings.FieldsFuncSeq(p, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(p)
		if err != nil || decoded == p {
			return false
		}
		p = decoded
	}
	return true
}

func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0] >= 'A' && p[0] <= 'Z' || p[0] >= 'a' && p[0] <= 'z')
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
